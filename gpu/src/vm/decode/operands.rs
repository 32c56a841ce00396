//! Operands to slots: registers, immediates, special registers and addresses of variables.

use super::code::{Address, Class, Slot, Special};
use super::layout::Symbol;
use super::{Decoded, Decoder, special};
use crate::vm::machine::regs::{Mods, row};
use crate::vm::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::vm::ptx::{Operand, Space, Type};

impl Decoder<'_> {
    /// A source operand of this type.
    pub(super) fn source(&mut self, at: usize, kind: Type) -> Decoded<Slot> {
        let operand = self.operand(at)?;
        self.source_of(operand, kind)
    }

    pub(super) fn source_of(&mut self, operand: &Operand, kind: Type) -> Decoded<Slot> {
        let class = class_of(kind);
        match operand {
            Operand::Reg(register) => {
                let slot = self.slots[*register as usize];
                if slot.class == class {
                    Ok(slot)
                } else {
                    Err(self.unsupported(&format!(
                        "register `{}` does not hold a {kind}",
                        self.function.registers[*register as usize].0
                    )))
                }
            }
            Operand::Int(_) | Operand::F32(_) | Operand::F64(_) => self.immediate(operand, kind),
            Operand::Name(name, offset) => self.named(name, *offset, class),
            _ => Err(self.unsupported("an operand is of the wrong form")),
        }
    }

    /// The constant slot of an immediate.
    fn immediate(&mut self, operand: &Operand, kind: Type) -> Decoded<Slot> {
        let bits = match (operand, kind) {
            (Operand::Int(value), Type::F32) => u64::from((*value as i64 as f32).to_bits()),
            (Operand::Int(value), Type::F64) => (*value as i64 as f64).to_bits(),
            (Operand::Int(value), _) => *value,
            (Operand::F32(bits), Type::F64) => f64::from(f32::from_bits(*bits)).to_bits(),
            (Operand::F32(bits), _) if kind.bytes() == 4 => u64::from(*bits),
            (Operand::F64(bits), Type::F32) => u64::from((f64::from_bits(*bits) as f32).to_bits()),
            (Operand::F64(bits), _) if kind.bytes() == 8 => *bits,
            _ => return Err(self.unsupported("an immediate does not fit its type")),
        };
        Ok(match (kind, kind.bytes()) {
            (Type::Pred, _) => self.const_pred(bits != 0),
            (_, 8) => self.long(bits),
            (_, 4) => self.word(bits as u32),
            (_, 2) => self.word(bits as u32 & 0xFFFF),
            _ => self.word(bits as u32 & 0xFF),
        })
    }

    /// A slot that always holds this word.
    pub(super) fn word(&mut self, value: u32) -> Slot {
        let next = self.code.words;
        let index = *self.word_consts.entry(value).or_insert(next);
        if index == next {
            self.code.words += 1;
            self.code.const_words.push((index, value));
        }
        Slot { class: Class::Word, index }
    }

    /// A slot that always holds this 64-bit value.
    pub(super) fn long(&mut self, value: u64) -> Slot {
        let next = self.code.longs;
        let index = *self.long_consts.entry(value).or_insert(next);
        if index == next {
            self.code.longs += 1;
            self.code.const_longs.push((index, value));
        }
        Slot { class: Class::Long, index }
    }

    pub(super) fn const_pred(&mut self, value: bool) -> Slot {
        let slot = self.scratch(Class::Pred);
        self.code.const_preds.push((slot.index, value));
        slot
    }

    /// A new slot of no register.
    pub(super) fn scratch(&mut self, class: Class) -> Slot {
        let count = match class {
            Class::Word => &mut self.code.words,
            Class::Long => &mut self.code.longs,
            Class::Pred => &mut self.code.preds,
        };
        *count += 1;
        Slot { class, index: *count - 1 }
    }

    /// A special register or the address of a variable.
    fn named(&mut self, name: &str, offset: i64, class: Class) -> Decoded<Slot> {
        if let Some((special, wide)) = special(name) {
            let long = class == Class::Long;
            if class == Class::Pred || wide && !long || offset != 0 {
                return Err(self.unsupported(&format!("`{name}` cannot stand here")));
            }
            return Ok(self.special(name, special, long));
        }
        if matches!(name, "%clock" | "%clock_hi" | "%clock64" | "%globaltimer" | "%globaltimer_lo" | "%globaltimer_hi")
        {
            return Err(self.unsupported("clocks can be read by `mov` only"));
        }
        if name == "WARP_SZ" {
            return Ok(if class == Class::Long { self.long(32) } else { self.word(32) });
        }
        if name.starts_with('%') {
            return Err(
                self.unsupported(&format!("`{name}` is neither a declared register nor a supported special register"))
            );
        }
        self.address_of(name, offset, class, false)
    }

    fn special(&mut self, name: &str, special: Special, long: bool) -> Slot {
        if let Some(&slot) = self.special_slots.get(&(name.to_owned(), long)) {
            return slot;
        }
        let slot = self.scratch(if long { Class::Long } else { Class::Word });
        self.code.specials.push((slot, special));
        self.special_slots.insert((name.to_owned(), long), slot);
        slot
    }

    /// A slot with the address of a variable in its own space, or in the generic one.
    pub(super) fn address_of(&mut self, name: &str, offset: i64, class: Class, generic: bool) -> Decoded<Slot> {
        let window = |space_base: u64| if generic { space_base } else { 0 };
        if let Some(&at) = self.locals.get(name) {
            let distance = i64::from(at).wrapping_add(offset);
            let slot = self.scratch(class);
            let Ok(distance) = u32::try_from(distance) else {
                return Err(self.unsupported("the address lies outside of the frame"));
            };
            self.code.locals.push((slot, distance));
            if !generic || class != Class::Long {
                return Ok(slot);
            }
            let address = self.scratch(Class::Long);
            self.moves(row!(|a: u64| a.wrapping_add(LOCAL_WINDOW)), address, &[slot]);
            return Ok(address);
        }
        if let Some(param) = self.params.get(name) {
            if !self.function.entry || param.own {
                return Err(self.unsupported(&format!("the address of parameter `{name}` of a function is taken")));
            }
            let value = u64::from(param.at).wrapping_add(PARAM_WINDOW).wrapping_add_signed(offset);
            if class != Class::Long {
                return Err(self.unsupported("the address of a parameter takes 64 bits"));
            }
            return Ok(self.long(value));
        }
        let inner = format!("{}/{name}", self.function.name);
        let symbol = self.symbols.names.get(&inner).or_else(|| self.symbols.names.get(name)).copied();
        match symbol {
            Some(Symbol::Shared(at)) => {
                let value = u64::from(at).wrapping_add(window(SHARED_WINDOW)).wrapping_add_signed(offset);
                Ok(if class == Class::Long { self.long(value) } else { self.word(value as u32) })
            }
            Some(Symbol::Global(global)) => {
                if class != Class::Long {
                    return Err(self.unsupported("the address of a variable takes 64 bits"));
                }
                let slot = self.scratch(Class::Long);
                self.code.symbols.push((slot.index, global, offset));
                Ok(slot)
            }
            None => Err(self.unsupported(&format!("`{name}` is not declared"))),
        }
    }

    /// A destination register of this type, or a scratch slot for `_`.
    pub(super) fn destination(&mut self, at: usize, kind: Type) -> Decoded<Slot> {
        let operand = self.operand(at)?;
        self.destination_of(operand, kind)
    }

    pub(super) fn destination_of(&mut self, operand: &Operand, kind: Type) -> Decoded<Slot> {
        match operand {
            Operand::Reg(register) => {
                let slot = self.slots[*register as usize];
                if slot.class == class_of(kind) {
                    Ok(slot)
                } else {
                    Err(self.unsupported(&format!(
                        "register `{}` does not hold a {kind}",
                        self.function.registers[*register as usize].0
                    )))
                }
            }
            Operand::Sink => Ok(self.scratch(class_of(kind))),
            _ => Err(self.unsupported("its destination is not a register")),
        }
    }

    /// Bits of the register behind an operand, for sign extension.
    pub(super) fn register_bits(&self, operand: &Operand) -> u32 {
        match operand {
            Operand::Reg(register) => self.function.registers[*register as usize].1.bytes() * 8,
            _ => 64,
        }
    }

    /// Any register or constant, whatever its class.
    pub(super) fn any_source(&mut self, operand: &Operand, kind: Type) -> Decoded<Slot> {
        match operand {
            Operand::Reg(register) => Ok(self.slots[*register as usize]),
            _ => self.source_of(operand, kind),
        }
    }

    /// A source that may be wider than its type (conversions and stores allow it): cut to the type's class.
    pub(super) fn wide_source(&mut self, operand: &Operand, kind: Type) -> Decoded<Slot> {
        let slot = self.any_source(operand, kind)?;
        match (slot.class, class_of(kind)) {
            (Class::Long, Class::Word) => {
                let word = self.scratch(Class::Word);
                self.moves(row!(|a: u64| a as u32), word, &[slot]);
                Ok(word)
            }
            (found, wanted) if found == wanted => Ok(slot),
            _ => Err(self.unsupported("an operand is of the wrong size")),
        }
    }

    /// `[base+offset]` in a state space.
    pub(super) fn memory_address(&mut self, at: usize, space: Space) -> Decoded<Address> {
        let Operand::Address(base, offset) = self.operand(at)? else {
            return Err(self.unsupported("an address in brackets is missing"));
        };
        let base = match &**base {
            Operand::Reg(register) => self.slots[*register as usize],
            Operand::Name(name, distance) => self.address_of(name, *distance, Class::Long, space == Space::Generic)?,
            Operand::Int(value) => self.long(*value),
            _ => return Err(self.unsupported("an address is of the wrong form")),
        };
        if base.class == Class::Pred {
            return Err(self.unsupported("an address is a predicate"));
        }
        Ok(Address { base, offset: *offset })
    }

    /// No modifiers.
    pub(super) fn no_mods() -> Mods {
        Mods::default()
    }
}

/// The register file that values of a type live in.
pub(super) const fn class_of(kind: Type) -> Class {
    match (kind, kind.bytes()) {
        (Type::Pred, _) => Class::Pred,
        (_, 8) => Class::Long,
        _ => Class::Word,
    }
}
