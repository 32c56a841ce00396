//! Moves and selections: `mov` with packing and unpacking, `selp`, `slct`.

use super::code::{Class, Slot};
use super::floats::{f, fz};
use super::{Decoded, Decoder};
use crate::vm::machine::regs::{Mods, RowFn, row};
use crate::vm::ptx::{Operand, Type};

impl Decoder<'_> {
    pub(super) fn selp(&mut self) -> Decoded {
        let kind = self.kind()?;
        self.arity(4)?;
        let d = self.destination(0, kind)?;
        let (a, b) = (self.source(1, kind)?, self.source(2, kind)?);
        let (p, negated) = self.predicate(3)?;
        let p = Slot { class: Class::Pred, index: p };
        let (a, b) = if negated { (b, a) } else { (a, b) };
        let f: RowFn = match d.class {
            Class::Long => row!(|a: u64, b: u64, p: bool| if p { a } else { b }),
            Class::Word => row!(|a: u32, b: u32, p: bool| if p { a } else { b }),
            Class::Pred => return Err(self.unsupported("predicates cannot be selected")),
        };
        self.moves(f, d, &[a, b, p]);
        Ok(())
    }

    pub(super) fn slct(&mut self) -> Decoded {
        let ftz = self.has("ftz");
        let types = self.types();
        let (Some(&kind), Some(&by)) = (types.first(), types.get(1)) else {
            return Err(self.unsupported("its types are missing"));
        };
        self.arity(4)?;
        let d = self.destination(0, kind)?;
        let sources = [self.source(1, kind)?, self.source(2, kind)?, self.source(3, by)?];
        let f: RowFn = match (d.class, by) {
            (Class::Long, Type::S32) => row!(|a: u64, b: u64, c: u32| if c as i32 >= 0 { a } else { b }),
            (Class::Word, Type::S32) => row!(|a: u32, b: u32, c: u32| if c as i32 >= 0 { a } else { b }),
            (Class::Long, Type::F32) => row!(mods m, |a: u64, b: u64, c: u32| if not_negative(c, m) { a } else { b }),
            (Class::Word, Type::F32) => row!(mods m, |a: u32, b: u32, c: u32| if not_negative(c, m) { a } else { b }),
            _ => return Err(self.unsupported("these types are not known")),
        };
        self.alu(f, Mods { ftz, ..Mods::default() }, d, &sources);
        Ok(())
    }

    /// `mov`, with packing and unpacking of vectors.
    pub(super) fn mov(&mut self) -> Decoded {
        let kind = self.kind()?;
        self.arity(2)?;
        match (self.operand(0)?, self.operand(1)?) {
            (Operand::Vector(parts), _) => self.unpack(parts, kind),
            (_, Operand::Vector(parts)) => self.pack(parts, kind),
            (_, Operand::Name(name, 0)) if name.starts_with("%clock") || name.starts_with("%globaltimer") => {
                let d = self.destination(0, kind)?;
                self.writes.push(d);
                self.push(super::code::Kind::Clock(d));
                Ok(())
            }
            _ => {
                let d = self.destination(0, kind)?;
                let a = self.source(1, kind)?;
                let f: RowFn = match d.class {
                    Class::Long => row!(|a: u64| a),
                    Class::Word => row!(|a: u32| a),
                    Class::Pred => row!(|a: bool| a),
                };
                self.moves(f, d, &[a]);
                Ok(())
            }
        }
    }

    fn unpack(&mut self, parts: &[Operand], kind: Type) -> Decoded {
        let a = self.source(1, kind)?;
        let element = match (kind.bytes(), parts.len()) {
            (8, 2) => Type::B32,
            (8, 4) | (4, 2) => Type::B16,
            (4, 4) | (2, 2) => Type::B8,
            _ => return Err(self.unsupported("these parts do not make up its type")),
        };
        // The source may be one of the destinations' registers only when classes agree, so it is kept aside.
        let kept = self.scratch(a.class);
        let keep: RowFn = if a.class == Class::Long { row!(|a: u64| a) } else { row!(|a: u32| a) };
        self.moves(keep, kept, &[a]);
        for (at, part) in parts.iter().enumerate() {
            if *part == Operand::Sink {
                continue;
            }
            let d = self.destination_of(part, element)?;
            let shift = self.word(at as u32 * element.bytes() * 8);
            let f: RowFn = match (a.class, element) {
                (Class::Long, Type::B32) => row!(|a: u64, s: u32| (a >> (s & 63)) as u32),
                (Class::Long, _) => row!(|a: u64, s: u32| (a >> (s & 63)) as u32 & 0xFFFF),
                (_, Type::B16) => row!(|a: u32, s: u32| a >> (s & 31) & 0xFFFF),
                _ => row!(|a: u32, s: u32| a >> (s & 31) & 0xFF),
            };
            self.moves(f, d, &[kept, shift]);
        }
        Ok(())
    }

    fn pack(&mut self, parts: &[Operand], kind: Type) -> Decoded {
        let d = self.destination(0, kind)?;
        let element = match (kind.bytes(), parts.len()) {
            (8, 2) => Type::B32,
            (8, 4) | (4, 2) => Type::B16,
            (4, 4) | (2, 2) => Type::B8,
            _ => return Err(self.unsupported("these parts do not make up its type")),
        };
        let sources = parts.iter().map(|part| self.source_of(part, element)).collect::<Result<Vec<_>, _>>()?;
        let f: RowFn = match (kind.bytes(), parts.len()) {
            (8, 2) => row!(|a: u32, b: u32| u64::from(a) | u64::from(b) << 32),
            (8, _) => row!(|a: u32, b: u32, c: u32, e: u32| u64::from(a | b << 16) | u64::from(c | e << 16) << 32),
            (4, 2) => row!(|a: u32, b: u32| a | b << 16),
            (4, _) => row!(|a: u32, b: u32, c: u32, e: u32| (a & 0xFF)
                | (b & 0xFF) << 8
                | (c & 0xFF) << 16
                | (e & 0xFF) << 24),
            _ => row!(|a: u32, b: u32| (a & 0xFF) | (b & 0xFF) << 8),
        };
        self.moves(f, d, &sources);
        Ok(())
    }
}

/// Whether an f32 selects the first operand: −0 does, as do negative subnormals under `.ftz`; NaN selects the second.
fn not_negative(bits: u32, m: Mods) -> bool {
    (if m.ftz { fz(bits) } else { f(bits) }) >= 0.0
}
