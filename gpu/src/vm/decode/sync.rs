//! Barriers, fences and what lanes of a warp do together.

use super::code::{AtomOp, Barrier, BarrierRed, Class, Collective, Kind, NO_SLOT, ShflMode, Slot};
use super::{Decoded, Decoder};
use crate::vm::ptx::{Operand, Type};

impl Decoder<'_> {
    pub(super) fn barrier(&mut self) -> Decoded {
        let old = self.parts[0] == "bar";
        if old && self.has("warp") {
            self.has("sync");
            self.arity(1)?;
            let members = self.source(0, Type::B32)?;
            self.reads.push(members);
            self.push(Kind::Collective(members.index, Collective::Warp));
            return Ok(());
        }
        self.has("cta");
        let aligned = self.has("aligned") || old;
        let action = self.one_of(&["sync", "arrive", "red"]);
        let red = match (action, self.one_of(&["popc", "and", "or"])) {
            (Some("red"), Some("popc")) => Some(BarrierRed::Popc),
            (Some("red"), Some("and")) => Some(BarrierRed::And),
            (Some("red"), Some("or")) => Some(BarrierRed::Or),
            (Some("sync" | "arrive"), None) => None,
            _ => return Err(self.unsupported("this barrier is not known")),
        };
        self.types();
        let count = self.now.operands.len();
        let at = usize::from(red.is_some());
        let named = count - at.min(count);
        let (id, threads) = match (red.is_some(), named) {
            (false, 1) | (true, 2) => (at, None),
            (false, 2) | (true, 3) => (at, Some(at + 1)),
            _ => return Err(self.unsupported("it has the wrong number of operands")),
        };
        let id = self.source(id, Type::U32)?;
        let threads = threads.map(|t| self.source(t, Type::U32)).transpose()?;
        let red = match red {
            None => None,
            Some(op) => {
                let d = self.destination(0, if op == BarrierRed::Popc { Type::U32 } else { Type::Pred })?;
                let (p, negated) = self.predicate(count - 1)?;
                self.writes.push(d);
                self.reads.push(Slot { class: Class::Pred, index: p });
                Some((op, d, p, negated))
            }
        };
        self.reads.push(id);
        self.reads.extend(threads);
        let count = threads.map_or(NO_SLOT, |t| t.index);
        self.push(Kind::Barrier(Barrier { id: id.index, count, wait: action != Some("arrive"), aligned, red }));
        Ok(())
    }

    /// A predicate operand, possibly negated.
    pub(super) fn predicate(&mut self, at: usize) -> Decoded<(u32, bool)> {
        match self.operand(at)? {
            Operand::Not(inner) => Ok((self.source_of(inner, Type::Pred)?.index, true)),
            other => Ok((self.source_of(other, Type::Pred)?.index, false)),
        }
    }

    pub(super) fn fence(&mut self) -> Decoded {
        let far = ["gl", "gpu", "sys", "cluster"].iter().filter(|s| self.has(s)).count() > 0;
        for part in ["cta", "sc", "acq_rel", "acquire", "release"] {
            self.has(part);
        }
        self.arity(0)?;
        self.push(Kind::Fence(far));
        Ok(())
    }

    pub(super) fn activemask(&mut self) -> Decoded {
        self.kind()?;
        self.arity(1)?;
        let d = self.destination(0, Type::B32)?;
        self.writes.push(d);
        self.push(Kind::ActiveMask(d.index));
        Ok(())
    }

    /// Hints and waits: their operands are understood but change nothing.
    #[allow(clippy::unnecessary_wraps)] // As the other decoders.
    pub(super) fn no_effect(&mut self) -> Decoded {
        self.used.fill(true);
        self.push(Kind::Nop);
        Ok(())
    }

    pub(super) fn collective(&mut self) -> Decoded {
        if !self.has("sync") {
            return Err(self.unsupported("only the forms with a member mask (.sync) are known"));
        }
        match self.parts[0] {
            "shfl" => self.shfl(),
            "vote" => self.vote(),
            "match" => self.matching(),
            _ => self.redux(),
        }
    }

    fn shfl(&mut self) -> Decoded {
        let mode = match self.one_of(&["up", "down", "bfly", "idx"]) {
            Some("up") => ShflMode::Up,
            Some("down") => ShflMode::Down,
            Some("bfly") => ShflMode::Bfly,
            Some(_) => ShflMode::Idx,
            None => return Err(self.unsupported("its mode is missing")),
        };
        self.kind()?;
        self.arity(5)?;
        let (d, valid) = self.pair(Type::B32)?;
        let value = self.source(1, Type::B32)?;
        let lane = self.source(2, Type::B32)?;
        let clamp = self.source(3, Type::B32)?;
        let members = self.source(4, Type::B32)?;
        // The value may be undefined in lanes that nobody reads, so only what steers the shuffle is checked here.
        self.reads.extend([lane, clamp, members]);
        let valid = valid.map(|p| p.index);
        let kind =
            Collective::Shfl { mode, d: d.index, valid, value: value.index, lane: lane.index, clamp: clamp.index };
        self.push(Kind::Collective(members.index, kind));
        Ok(())
    }

    /// The destination, with the predicate behind a bar if there is one.
    fn pair(&mut self, kind: Type) -> Decoded<(Slot, Option<Slot>)> {
        match self.operand(0)? {
            Operand::Pair(d, p) => {
                let (d, p) = (self.destination_of(d, kind)?, self.destination_of(p, Type::Pred)?);
                self.writes.extend([d, p]);
                Ok((d, Some(p)))
            }
            other => {
                let d = self.destination_of(other, kind)?;
                self.writes.push(d);
                Ok((d, None))
            }
        }
    }

    fn vote(&mut self) -> Decoded {
        let mode = self.one_of(&["all", "any", "uni", "ballot"]);
        self.types();
        self.arity(3)?;
        let kind = if mode == Some("ballot") { Type::B32 } else { Type::Pred };
        let slot = self.destination(0, kind)?;
        let (p, negated) = self.predicate(1)?;
        let members = self.source(2, Type::B32)?;
        let d = slot.index;
        let collective = match mode {
            Some("all") => Collective::VoteAll { d, p, negated },
            Some("any") => Collective::VoteAny { d, p, negated },
            Some("uni") => Collective::VoteUni { d, p, negated },
            Some(_) => Collective::Ballot { d, p, negated },
            None => return Err(self.unsupported("its mode is missing")),
        };
        self.reads.extend([Slot { class: Class::Pred, index: p }, members]);
        self.writes.push(slot);
        self.push(Kind::Collective(members.index, collective));
        Ok(())
    }

    fn matching(&mut self) -> Decoded {
        let all = self.has("all");
        if !all && !self.has("any") {
            return Err(self.unsupported("its mode is missing"));
        }
        let kind = self.kind()?;
        self.arity(3)?;
        let (d, valid) = self.pair(Type::B32)?;
        let value = self.source(1, kind)?;
        let members = self.source(2, Type::B32)?;
        self.reads.extend([value, members]);
        let d = d.index;
        let collective = if all {
            Collective::MatchAll { d, valid: valid.map(|p| p.index), value }
        } else {
            Collective::MatchAny { d, value }
        };
        self.push(Kind::Collective(members.index, collective));
        Ok(())
    }

    fn redux(&mut self) -> Decoded {
        let name = self.one_of(&["add", "min", "max", "and", "or", "xor"]);
        let kind = self.kind()?;
        let op = match (name, kind) {
            (Some("add"), Type::U32 | Type::S32) => AtomOp::Add,
            (Some("min"), Type::S32) => AtomOp::MinS,
            (Some("max"), Type::S32) => AtomOp::MaxS,
            (Some("min"), Type::U32) => AtomOp::MinU,
            (Some("max"), Type::U32) => AtomOp::MaxU,
            (Some("and"), Type::B32) => AtomOp::And,
            (Some("or"), Type::B32) => AtomOp::Or,
            (Some("xor"), Type::B32) => AtomOp::Xor,
            _ => return Err(self.unsupported("this reduction is not known")),
        };
        self.arity(3)?;
        let d = self.destination(0, Type::B32)?;
        let value = self.source(1, Type::B32)?;
        let members = self.source(2, Type::B32)?;
        self.reads.extend([value, members]);
        self.writes.push(d);
        self.push(Kind::Collective(members.index, Collective::Redux { op, d: d.index, value: value.index }));
        Ok(())
    }
}
