//! Statements about the arithmetic, each compared with an independent evaluation.
mod floats;
mod oracle;
