//! The `gdn-conformance` command.
#![forbid(unsafe_code)]

fn main() {}
