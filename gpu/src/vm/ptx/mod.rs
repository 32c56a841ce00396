//! PTX text to a [`Module`]: declarations, functions and instructions, each with the line it stands on.
//!
//! Nothing is interpreted here: instructions keep their dotted parts as text, register names are resolved to indices, and
//! the decoder decides what each means. Every complaint is a [`TextError`] with a line.

pub(crate) mod ast;
mod declarations;
mod lexer;
mod operands;
mod parser;

pub(crate) use ast::{Function, Instruction, Module, Operand, Space, Type, Variable};
pub use lexer::TextError;
pub(crate) use parser::parse;
