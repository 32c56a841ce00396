//! Statements about the arithmetic, each compared with an independent evaluation.
mod conversions;
mod floats;
mod integers;
mod oracle;
