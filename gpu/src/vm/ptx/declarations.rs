//! Variables and parameters: `.global .align 4 .b8 table[24] = {…};` and the lists in function heads.

use super::ast::{Space, Type, Variable};
use super::lexer::{TextError, Token};
use super::parser::Parser;

/// Largest variable; anything beyond is a malformed text rather than a kernel of this kind.
const MAX_BYTES: u64 = 1 << 28;

impl Parser<'_> {
    /// `(.param .u64 a, .param .align 8 .b8 b[16])`.
    pub(super) fn parameters(&mut self) -> Result<Vec<Variable>, TextError> {
        self.expect('(')?;
        let mut params = Vec::new();
        if self.eat(')') {
            return Ok(params);
        }
        loop {
            match self.word()? {
                ".param" => {}
                ".reg" => return Err(self.error_before("parameters in registers are not supported")),
                other => return Err(self.error_before(format!("expected a parameter, found `{other}`"))),
            }
            params.push(self.declarator(Space::Param, false)?);
            if self.eat(',') {
                continue;
            }
            self.expect(')')?;
            return Ok(params);
        }
    }

    /// A variable declaration up to its semicolon; several names may share one type.
    pub(super) fn variable_statement(&mut self, external: bool) -> Result<Vec<Variable>, TextError> {
        let space = match self.word()? {
            ".global" => Space::Global,
            ".const" => Space::Const,
            ".shared" => Space::Shared,
            ".local" => Space::Local,
            ".param" => Space::Param,
            other => return Err(self.error_before(format!("directive `{other}` is not supported"))),
        };
        let first = self.declarator(space, external)?;
        let mut all = vec![first];
        while self.eat(',') {
            let name = self.word()?.to_owned();
            let template = Variable { name, init: Vec::new(), pointers: Vec::new(), ..all[0].clone() };
            all.push(template);
        }
        self.expect(';')?;
        Ok(all)
    }

    fn declarator(&mut self, space: Space, external: bool) -> Result<Variable, TextError> {
        let mut align = 0;
        let mut vector = 1;
        let kind = loop {
            match self.word()? {
                ".align" => align = self.int()?,
                ".v2" => vector = 2,
                ".v4" => vector = 4,
                ".ptr" | ".global" | ".const" | ".shared" | ".local" => {}
                ".attribute" => {
                    self.expect('(')?;
                    while !self.eat(')') {
                        self.next()?;
                    }
                }
                word => match word.strip_prefix('.').and_then(Type::parse) {
                    Some(kind) => break kind,
                    None => return Err(self.error_before(format!("variables of type `{word}` are not supported"))),
                },
            }
        };
        // `.param .u64 .ptr .global .align 1 name` puts attributes behind the type.
        while let Some(Token::Word(word)) = self.peek() {
            match word {
                ".ptr" | ".global" | ".const" | ".shared" | ".local" => {
                    self.next()?;
                }
                ".align" => {
                    self.next()?;
                    self.int()?;
                }
                _ => break,
            }
        }
        let name = self.word()?.to_owned();
        let element = u64::from(kind.bytes()) * vector;
        let mut count: u64 = 1;
        let mut open = false;
        while self.eat('[') {
            if self.eat(']') {
                open = true;
                continue;
            }
            count = count.saturating_mul(self.int()?);
            self.expect(']')?;
        }
        let mut variable =
            Variable { name, space, align: 0, bytes: 0, init: Vec::new(), dynamic: false, pointers: Vec::new() };
        if self.eat('=') {
            self.initializer(kind, &mut variable)?;
            if open {
                count = (variable.init.len() as u64).div_ceil(element.max(1));
            }
        } else if open {
            if !(external && space == Space::Shared) {
                return Err(self.error_before(format!("`{}` has no size", variable.name)));
            }
            variable.dynamic = true;
            count = 0;
        } else if external && space != Space::Shared {
            return Err(self
                .error_before(format!("`{}` is defined elsewhere; only whole programs can be loaded", variable.name)));
        }
        variable.bytes = count.saturating_mul(element);
        if variable.bytes > MAX_BYTES || variable.init.len() as u64 > variable.bytes {
            return Err(self.error_before(format!("`{}` is too large, or its initializer is", variable.name)));
        }
        let align = if align == 0 { element } else { align };
        if !align.is_power_of_two() || align > 4096 {
            return Err(self.error_before(format!("{align} is no alignment")));
        }
        variable.align = align as u32;
        Ok(variable)
    }

    fn initializer(&mut self, kind: Type, variable: &mut Variable) -> Result<(), TextError> {
        let mut depth = 0_u32;
        loop {
            if self.eat('{') {
                depth += 1;
                continue;
            }
            if self.eat('}') {
                depth = depth.checked_sub(1).ok_or_else(|| self.error_before("unexpected `}`"))?;
            } else {
                self.initial_value(kind, variable)?;
            }
            while depth > 0 && self.eat('}') {
                depth -= 1;
            }
            if depth == 0 {
                return Ok(());
            }
            self.expect(',')?;
        }
    }

    fn initial_value(&mut self, kind: Type, variable: &mut Variable) -> Result<(), TextError> {
        use super::ast::Operand;
        let at = variable.init.len();
        let mut value = self.simple()?;
        if let Operand::Name(name, _) = &value
            && name == "generic"
            && self.eat('(')
        {
            value = self.simple()?;
            self.expect(')')?;
            if let (Operand::Name(name, _), Some(Token::Symbol('+'))) = (&value, self.peek()) {
                self.next()?;
                value = Operand::Name(name.clone(), self.int()? as i64);
            }
        }
        let bits = match value {
            Operand::F32(bits) if kind == Type::F32 => u64::from(bits),
            Operand::F64(bits) if kind == Type::F32 => u64::from((f64::from_bits(bits) as f32).to_bits()),
            Operand::F32(bits) => f64::from(f32::from_bits(bits)).to_bits(),
            Operand::Int(bits) | Operand::F64(bits) => bits,
            Operand::Name(name, offset) if kind.bytes() == 8 => {
                variable.pointers.push((at, name, offset));
                0
            }
            _ => return Err(self.error_before("unsupported initial value")),
        };
        variable.init.extend_from_slice(&bits.to_le_bytes()[..kind.bytes() as usize]);
        Ok(())
    }
}
