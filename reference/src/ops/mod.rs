//! The operations, one file a kernel family.
