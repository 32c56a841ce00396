//! What the oracle and its bounds are held to, in one executable: what they have in common (the operations, over half a dozen scalars)
//! takes longer to compile than to run.

mod common;
mod identities;
mod precision;
mod quantize;
mod search;
mod soundness;
