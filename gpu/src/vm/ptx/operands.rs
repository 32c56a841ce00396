//! Registers and operands: where names become register indices.

use super::ast::{Operand, Type};
use super::lexer::{TextError, Token};
use super::parser::Parser;

impl Parser<'_> {
    /// `.reg .b32 %r<10>, %temp;`
    pub(super) fn registers(&mut self) -> Result<(), TextError> {
        self.declares()?;
        self.word()?;
        let mut name = self.word()?;
        if matches!(name, ".v2" | ".v4") {
            return Err(self.error_before("vector registers are not supported"));
        }
        let Some(kind) = name.strip_prefix('.').and_then(Type::parse) else {
            return Err(self.error_before(format!("registers of type `{name}` are not supported")));
        };
        loop {
            name = self.word()?;
            let range = if self.eat('<') {
                let count = self.int()?;
                self.expect('>')?;
                Some(count)
            } else {
                None
            };
            let Some(scope) = self.scopes.last_mut() else { break };
            match range {
                Some(count) => scope.ranges.entry(name.to_owned()).or_default().push((count, kind)),
                None => {
                    scope.names.insert(name.to_owned(), kind);
                }
            }
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')
    }

    /// The index of the register of this name, given when it is first used so that `%r<4000000000>` costs nothing.
    pub(super) fn register(&mut self, name: &str) -> Option<u32> {
        let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = (&name[..digits], name[digits..].parse::<u64>().ok());
        for &scope in self.declaring.iter().rev() {
            let Some(scope) = self.scopes.get_mut(scope) else { continue };
            if let Some(&index) = scope.resolved.get(name) {
                return Some(index);
            }
            let kind = scope.names.get(name).copied().or_else(|| {
                let mut ranges = scope.ranges.get(prefix)?.iter();
                ranges.find(|(count, _)| number.is_some_and(|n| n < *count)).map(|(_, kind)| *kind)
            });
            if let Some(kind) = kind {
                let index = self.function.registers.len() as u32;
                self.function.registers.push((name.to_owned(), kind));
                scope.resolved.insert(name.to_owned(), index);
                return Some(index);
            }
        }
        None
    }

    /// One operand, with `p|q` pairs.
    pub(super) fn operand(&mut self) -> Result<Operand, TextError> {
        let first = match self.peek() {
            Some(Token::Symbol('[')) => self.address()?,
            Some(Token::Symbol('{')) => {
                self.next()?;
                Operand::Vector(self.list('}')?)
            }
            Some(Token::Symbol('(')) => {
                self.next()?;
                Operand::List(self.list(')')?)
            }
            Some(Token::Symbol('!')) => {
                self.next()?;
                Operand::Not(Box::new(self.simple()?))
            }
            _ => self.simple()?,
        };
        if self.eat('|') {
            let second = self.simple()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn list(&mut self, close: char) -> Result<Vec<Operand>, TextError> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(self.simple()?);
            if self.eat(',') {
                continue;
            }
            self.expect(close)?;
            return Ok(items);
        }
    }

    fn address(&mut self) -> Result<Operand, TextError> {
        self.next()?;
        let base = self.simple()?;
        let (base, mut offset) = match base {
            Operand::Name(name, offset) => (Operand::Name(name, 0), offset),
            other => (other, 0),
        };
        if matches!(self.peek(), Some(Token::Symbol('+' | '-'))) {
            offset = offset.wrapping_add(self.distance()?);
        }
        if self.peek() == Some(Token::Symbol(',')) {
            return Err(self.error("texture, surface and tensor addresses are not supported"));
        }
        self.expect(']')?;
        Ok(Operand::Address(Box::new(base), offset))
    }

    /// `+4`, `-4`, `+-4`.
    fn distance(&mut self) -> Result<i64, TextError> {
        let mut negative = self.eat('-');
        if !negative {
            self.expect('+')?;
            negative = self.eat('-');
        }
        let value = self.int()? as i64;
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    /// A name, a number or `_`.
    pub(super) fn simple(&mut self) -> Result<Operand, TextError> {
        let negative = self.eat('-');
        let token = self.next()?;
        Ok(match token {
            Token::Int(value) => Operand::Int(if negative { value.wrapping_neg() } else { value }),
            Token::F32(bits) => Operand::F32(bits ^ (u32::from(negative) << 31)),
            Token::F64(bits) => Operand::F64(bits ^ (u64::from(negative) << 63)),
            Token::Word("_") if !negative => Operand::Sink,
            Token::Word(word) if !negative => self.name(word)?,
            other => return Err(self.error_before(format!("unexpected {other} in an operand"))),
        })
    }

    fn name(&mut self, word: &str) -> Result<Operand, TextError> {
        if let Some(register) = self.register(word) {
            return Ok(Operand::Reg(register));
        }
        let mut scopes = self.declaring.iter().rev().filter_map(|&scope| self.scopes.get(scope));
        let name = scopes.find_map(|s| s.renamed.get(word)).cloned().unwrap_or_else(|| word.to_owned());
        let named =
            matches!(self.peek(), Some(Token::Symbol('+' | '-'))) && matches!(self.peek_after(), Some(Token::Int(_)));
        let offset = if named { self.distance()? } else { 0 };
        Ok(Operand::Name(name, offset))
    }
}
