//! Statements about the arithmetic, each compared with an independent evaluation.
mod approximations;
mod comparisons;
mod conversions;
mod floats;
mod oracle;
mod totality;
