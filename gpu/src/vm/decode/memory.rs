//! Loads, stores, atomics and the address-space conversions.

use super::code::{Access, Address, Atom, AtomOp, Class, Extend, Kind, ParamAccess, Slot};
use super::{Decoded, Decoder};
use crate::vm::machine::regs::row;
use crate::vm::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW};
use crate::vm::ptx::{Operand, Space, Type};

/// Qualifiers that only hint at caching.
const HINTS: &[&str] = &[
    "nc",
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "L2::evict_normal",
    "L2::evict_first",
    "L2::evict_last",
    "L2::evict_unchanged",
];

impl Decoder<'_> {
    fn space(&mut self) -> Space {
        match self.one_of(&[
            "global",
            "shared",
            "shared::cta",
            "local",
            "const",
            "param",
            "param::entry",
            "param::func",
        ]) {
            Some("global") => Space::Global,
            Some("shared" | "shared::cta") => Space::Shared,
            Some("local") => Space::Local,
            Some("const") => Space::Const,
            Some(_) => Space::Param,
            None => Space::Generic,
        }
    }

    /// Takes the qualifiers of ordering and caching; `true` if the access is a strong one.
    fn ordering(&mut self) -> bool {
        for hint in HINTS {
            self.has(hint);
        }
        self.has("weak");
        let strong = ["volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "sc"]
            .iter()
            .filter(|q| self.has(q))
            .count()
            > 0;
        for scope in ["cta", "cluster", "gpu", "sys"] {
            self.has(scope);
        }
        strong
    }

    /// Takes `.v2` or `.v4`.
    fn count(&mut self) -> u32 {
        match self.one_of(&["v2", "v4"]) {
            Some("v2") => 2,
            Some(_) => 4,
            None => 1,
        }
    }

    fn elements(&mut self, at: usize, count: u32, kind: Type, load: bool) -> Decoded<([Slot; 4], u32)> {
        let operand = self.operand(at)?;
        let single = std::slice::from_ref(operand);
        let items = match operand {
            Operand::Vector(items) => items.as_slice(),
            _ => single,
        };
        if items.len() != count as usize {
            return Err(self.unsupported(&format!("it names {} registers where {count} are expected", items.len())));
        }
        let mut slots = [Slot { class: Class::Word, index: 0 }; 4];
        let mut bits = 64;
        for (slot, item) in slots.iter_mut().zip(items) {
            *slot = match item {
                Operand::Sink if load => self.destination_of(item, kind)?,
                Operand::Reg(_) if load => self.any_source(item, kind)?,
                _ if load => return Err(self.unsupported("its destination is not a register")),
                _ => self.wide_source(item, kind)?,
            };
            bits = self.register_bits(item);
            let fits = slot.class != Class::Pred
                && (kind.bytes() < 8 || slot.class == Class::Long)
                && (!load || bits >= kind.bytes() * 8);
            if !fits {
                return Err(self.unsupported("a register is too small"));
            }
        }
        Ok((slots, bits))
    }

    pub(super) fn load(&mut self) -> Decoded {
        self.access(true)
    }

    pub(super) fn store(&mut self) -> Decoded {
        self.access(false)
    }

    fn access(&mut self, load: bool) -> Decoded {
        let space = self.space();
        let strong = self.ordering();
        let count = self.count();
        let hinted = self.has("L2::cache_hint");
        let kind = self.kind()?;
        self.arity(2 + usize::from(hinted))?;
        let (registers, bits) = self.elements(usize::from(!load), count, kind, load)?;
        let extend = if kind.signed() { Extend::Sign } else { Extend::Zero };
        let size = kind.bytes();
        let used = &registers[..count as usize];
        if space == Space::Param
            && self.param_access(
                usize::from(load),
                load,
                ParamAccess { offset: 0, size, count, registers, bits, extend },
            )?
        {
            return Ok(());
        }
        let address = self.memory_address(usize::from(load), space)?;
        if load {
            self.reads.push(address.base);
            self.writes.extend_from_slice(used);
        } else {
            // The values stored are looked at lane by lane: an undefined one makes undefined memory, no fault by itself.
            self.reads.push(address.base);
            self.reads.extend_from_slice(used);
        }
        let access = Box::new(Access { space, address, size, count, registers, bits, extend, strong });
        self.push(if load { Kind::Load(access) } else { Kind::Store(access) });
        Ok(())
    }

    /// An access to a named parameter. `false` when the address is a register, which only an entry's parameters allow.
    fn param_access(&mut self, at: usize, load: bool, mut access: ParamAccess) -> Decoded<bool> {
        let Operand::Address(base, offset) = self.operand(at)? else {
            return Err(self.unsupported("an address in brackets is missing"));
        };
        let Operand::Name(name, distance) = &**base else {
            if load && self.function.entry {
                return Ok(false);
            }
            return Err(self.unsupported("parameters of functions can be accessed by name only"));
        };
        let Some(&param) = self.params.get(name) else {
            return Err(self.unsupported(&format!("`{name}` is not a parameter")));
        };
        let bytes = param.bytes;
        let within = offset.wrapping_add(*distance);
        let end = within.checked_add(i64::from(access.size * access.count)).unwrap_or(i64::MAX);
        if within < 0 || end as u64 > bytes || within % i64::from(access.size) != 0 {
            return Err(self.unsupported(&format!(
                "the access lies outside of parameter `{name}` of {bytes} bytes, or is misaligned"
            )));
        }
        access.offset = param.at + within as u32;
        let used = access.registers[..access.count as usize].to_vec();
        let entry = self.function.entry && !param.own;
        if load {
            self.writes = used;
        } else {
            self.reads = used;
        }
        self.push(match (load, entry) {
            (true, true) => Kind::LoadEntryParam(access),
            (true, false) => Kind::LoadParam(access),
            (false, false) => Kind::StoreParam(access),
            (false, true) => return Err(self.unsupported("an entry's parameters are read-only")),
        });
        Ok(true)
    }

    pub(super) fn atom(&mut self) -> Decoded {
        let returns = self.parts[0] == "atom";
        let space = self.space();
        self.ordering();
        self.has("noftz");
        let hinted = self.has("L2::cache_hint");
        let name = self.one_of(&["add", "and", "or", "xor", "exch", "cas", "inc", "dec", "min", "max"]);
        let kind = self.kind()?;
        let size = kind.bytes();
        let op = match (name, kind) {
            (Some("add"), Type::F32) => AtomOp::AddF32,
            (Some("add"), Type::F64) => AtomOp::AddF64,
            (Some("add"), Type::F16) => AtomOp::AddF16,
            (Some("add"), Type::F16x2) => AtomOp::AddF16x2,
            (Some("add"), Type::Bf16) => AtomOp::AddBf16,
            (Some("add"), Type::Bf16x2) => AtomOp::AddBf16x2,
            (Some("add"), _) if size >= 4 => AtomOp::Add,
            (Some("and"), _) if size >= 4 => AtomOp::And,
            (Some("or"), _) if size >= 4 => AtomOp::Or,
            (Some("xor"), _) if size >= 4 => AtomOp::Xor,
            (Some("exch"), _) if size >= 4 => AtomOp::Exch,
            (Some("cas"), _) if size >= 2 => AtomOp::Cas,
            (Some("inc"), Type::U32) => AtomOp::Inc,
            (Some("dec"), Type::U32) => AtomOp::Dec,
            (Some("min"), Type::S32 | Type::S64) => AtomOp::MinS,
            (Some("max"), Type::S32 | Type::S64) => AtomOp::MaxS,
            (Some("min"), Type::U32 | Type::U64) => AtomOp::MinU,
            (Some("max"), Type::U32 | Type::U64) => AtomOp::MaxU,
            _ => return Err(self.unsupported("this operation does not exist for this type")),
        };
        if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
            return Err(self.unsupported("atomics work on global and shared memory"));
        }
        let first = usize::from(returns);
        let cas = usize::from(op == AtomOp::Cas);
        self.arity(first + 2 + cas + usize::from(hinted))?;
        let result = if returns { Some(self.destination(0, kind)?) } else { None };
        let address: Address = self.memory_address(first, space)?;
        let value = self.source(first + 1, kind)?;
        let swap = if cas == 1 { Some(self.source(first + 2, kind)?) } else { None };
        self.reads.extend([address.base, value]);
        self.reads.extend(swap);
        self.writes.extend(result);
        self.push(Kind::Atom(Box::new(Atom { space, address, op, size, result, value, swap })));
        Ok(())
    }

    /// A cache policy: a number that nothing looks at.
    pub(super) fn createpolicy(&mut self) -> Decoded {
        self.used.fill(true);
        let d = self.destination(0, Type::B64)?;
        let zero = self.long(0);
        self.moves(row!(|a: u64| a), d, &[zero]);
        Ok(())
    }

    /// `cp.async`, which may complete at once as far as the ISA goes.
    pub(super) fn copy_async(&mut self) -> Decoded {
        if !self.has("async") || self.parts.contains(&"bulk") || self.parts.contains(&"mbarrier") {
            return Err(self.unsupported("only cp.async between global and shared memory is known"));
        }
        if self.one_of(&["commit_group", "wait_group", "wait_all"]).is_some() {
            return self.no_effect();
        }
        for part in ["shared", "shared::cta", "global", "L2::cache_hint"] {
            self.has(part);
        }
        self.ordering();
        let Operand::Int(bytes @ (4 | 8 | 16)) = self.operand(2)? else {
            return Err(self.unsupported("it copies 4, 8 or 16 bytes"));
        };
        if self.now.operands.len() > 3 {
            return Err(self.unsupported("zero filling and cache policies of cp.async are not known"));
        }
        let count = (*bytes / 4) as u32;
        let registers: [Slot; 4] = std::array::from_fn(|_| self.scratch(Class::Word));
        for (load, at, space) in [(true, 1, Space::Global), (false, 0, Space::Shared)] {
            let address = self.memory_address(at, space)?;
            self.reads.push(address.base);
            let access =
                Access { space, address, size: 4, count, registers, bits: 32, extend: Extend::Zero, strong: false };
            self.push(if load { Kind::Load(Box::new(access)) } else { Kind::Store(Box::new(access)) });
        }
        Ok(())
    }

    pub(super) fn cvta(&mut self) -> Decoded {
        let to = self.has("to");
        let space = self.space();
        let kind = self.kind()?;
        self.arity(2)?;
        let d = self.destination(0, kind)?;
        let operand = self.operand(1)?;
        if let (Operand::Name(name, offset), false) = (operand, to)
            && !name.starts_with('%')
        {
            let generic = self.address_of(name, *offset, d.class, true)?;
            self.moves(row!(|a: u64| a), d, &[generic]);
            return Ok(());
        }
        let a = self.source(1, kind)?;
        if d.class != Class::Long {
            return Err(self.unsupported("addresses take 64 bits"));
        }
        // Parameters already have generic addresses; global and constant memory is where generic addresses say.
        let f = match (space, to) {
            (Space::Shared, false) => row!(|a: u64| a.wrapping_add(SHARED_WINDOW)),
            (Space::Shared, true) => row!(|a: u64| a.wrapping_sub(SHARED_WINDOW)),
            (Space::Local, false) => row!(|a: u64| a.wrapping_add(LOCAL_WINDOW)),
            (Space::Local, true) => row!(|a: u64| a.wrapping_sub(LOCAL_WINDOW)),
            (Space::Generic, _) => return Err(self.unsupported("it names no space")),
            _ => row!(|a: u64| a),
        };
        self.moves(f, d, &[a]);
        Ok(())
    }

    pub(super) fn isspacep(&mut self) -> Decoded {
        let space = self.space();
        self.arity(2)?;
        let d = self.destination(0, Type::Pred)?;
        let a = self.source(1, Type::U64)?;
        let f = match space {
            Space::Shared => row!(|a: u64| (SHARED_WINDOW..SHARED_WINDOW + WINDOW).contains(&a)),
            Space::Local => row!(|a: u64| (LOCAL_WINDOW..LOCAL_WINDOW + WINDOW).contains(&a)),
            Space::Param => row!(|a: u64| (PARAM_WINDOW..PARAM_WINDOW + WINDOW).contains(&a)),
            Space::Global => row!(|a: u64| a >= 1 << 40),
            _ => row!(|_a: u64| false),
        };
        self.alu(f, Self::no_mods(), d, &[a]);
        Ok(())
    }
}
