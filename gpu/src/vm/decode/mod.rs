//! Decodes a parsed module once into flat operations: registers become slots, labels become indices, every instruction is
//! either understood whole (each of its dotted parts accounted for) or an error.

pub(crate) mod code;
mod compare;
mod control;
mod convert;
mod floats;
mod flow;
mod integers;
mod layout;
mod memory;
mod moves;
mod operands;
mod products;
mod select;
pub use select::SUPPORTED;
mod sync;

use super::ptx::{self, Function, Instruction, Operand, TextError, Type};
use crate::vm::machine::regs::{Args, Mods, RowFn};
use code::{Class, Code, Kind, NO_SLOT, Op, Program, Slot, Special};
use std::collections::HashMap;

/// Limit on registers and constants of one function, each of which is a row in every warp.
const MAX_REGISTERS: u32 = 1 << 18;

/// Parses and decodes a PTX text.
pub(crate) fn load(text: &str) -> Result<Program, TextError> {
    decode(&ptx::parse(text)?)
}

fn decode(module: &ptx::Module) -> Result<Program, TextError> {
    let mut program = Program { files: module.files.clone(), ..Program::default() };
    let symbols = layout::layout(module, &mut program)?;
    for function in &module.functions {
        if function.declared_only {
            // Whoever calls it is told; a mere declaration harms nobody.
            program.functions.push(Code { name: function.name.clone(), ..Code::default() });
            continue;
        }
        let mut decoder = Decoder::new(module, function, &symbols)?;
        let code = decoder.run()?;
        program.ordered |= code.ops.iter().any(|op| match &op.kind {
            Kind::Atom(atom) => atom.space != ptx::Space::Shared,
            Kind::Load(access) | Kind::Store(access) => access.strong && access.space != ptx::Space::Shared,
            _ => false,
        });
        program.functions.push(code);
    }
    Ok(program)
}

/// Decodes one function.
pub(super) struct Decoder<'m> {
    module: &'m ptx::Module,
    function: &'m Function,
    symbols: &'m layout::Symbols,
    /// Slot of each register of the function.
    slots: Vec<Slot>,
    code: Code,
    word_consts: HashMap<u32, u32>,
    long_consts: HashMap<u64, u32>,
    special_slots: HashMap<(String, bool), Slot>,
    /// Each `.param` variable of the function.
    params: HashMap<String, layout::Param>,
    locals: HashMap<String, u32>,
    /// The instruction in hand.
    now: &'m Instruction,
    /// Its dotted parts, and which have been understood.
    parts: Vec<&'m str>,
    used: Vec<bool>,
    reads: Vec<Slot>,
    writes: Vec<Slot>,
    /// Index of each instruction's first operation.
    starts: Vec<u32>,
    /// The nearest scope from each outwards that has labels, if any.
    labelled: Vec<Option<u32>>,
    /// Branches to be resolved: operation and target instruction.
    pending: Vec<(usize, Vec<u32>)>,
}

/// What decoding an instruction gives: nothing more, or why not.
pub(super) type Decoded<T = ()> = Result<T, TextError>;

impl<'m> Decoder<'m> {
    fn new(module: &'m ptx::Module, function: &'m Function, symbols: &'m layout::Symbols) -> Decoded<Self> {
        static NOTHING: Instruction =
            Instruction { guard: None, opcode: String::new(), operands: Vec::new(), line: 0, source: None, scope: 0 };
        let mut code = Code {
            name: function.name.clone(),
            entry: function.entry,
            max_threads: function.max_threads,
            ..Code::default()
        };
        let mut slots = Vec::new();
        for (name, kind) in &function.registers {
            let slot = match (kind, kind.bytes()) {
                (Type::Pred, _) => {
                    code.pred_names.push(name.clone());
                    Slot { class: Class::Pred, index: code.pred_names.len() as u32 - 1 }
                }
                (_, 8) => {
                    code.long_names.push(name.clone());
                    Slot { class: Class::Long, index: code.long_names.len() as u32 - 1 }
                }
                _ => {
                    code.word_names.push(name.clone());
                    Slot { class: Class::Word, index: code.word_names.len() as u32 - 1 }
                }
            };
            slots.push(slot);
        }
        code.words = code.word_names.len() as u32;
        code.longs = code.long_names.len() as u32;
        code.preds = code.pred_names.len() as u32;
        let mut decoder = Self {
            module,
            function,
            symbols,
            slots,
            code,
            word_consts: HashMap::new(),
            long_consts: HashMap::new(),
            special_slots: HashMap::new(),
            params: HashMap::new(),
            locals: HashMap::new(),
            now: &NOTHING,
            parts: Vec::new(),
            used: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            starts: Vec::new(),
            labelled: Vec::new(),
            pending: Vec::new(),
        };
        decoder.scopes_with_labels();
        decoder.layout_params()?;
        Ok(decoder)
    }

    fn run(&mut self) -> Decoded<Code> {
        let leaders = self.leaders()?;
        let mut blocks = 0;
        for (index, instruction) in self.function.body.iter().enumerate() {
            if leaders.contains(&(index as u32)) {
                self.code.ops.push(plain(Kind::Block(blocks), instruction.line, instruction.source));
                blocks += 1;
                self.starts.push(self.code.ops.len() as u32 - 1);
            } else {
                self.starts.push(self.code.ops.len() as u32);
            }
            self.now = instruction;
            self.instruction()?;
        }
        // A label may stand at the very end; falling off the end is a return.
        let (line, source) = self.function.body.last().map_or((self.function.line, None), |i| (i.line, i.source));
        self.starts.push(self.code.ops.len() as u32);
        self.code.ops.push(plain(Kind::Block(blocks), line, source));
        self.code.ops.push(plain(Kind::Return, line, source));
        for (op, targets) in std::mem::take(&mut self.pending) {
            let resolved: Vec<u32> = targets.iter().map(|&t| self.starts[t as usize]).collect();
            match &mut self.code.ops[op].kind {
                Kind::Branch(target) => *target = resolved[0],
                Kind::BranchIndexed { targets, .. } => *targets = resolved.into(),
                _ => {}
            }
        }
        let mut code = std::mem::take(&mut self.code);
        if code.words.saturating_add(code.longs) > MAX_REGISTERS {
            let message = format!("`{}` takes more than {MAX_REGISTERS} registers", self.function.name);
            return Err(TextError::new(self.function.line, message));
        }
        flow::blocks(&mut code);
        Ok(code)
    }

    /// Decodes the instruction in hand.
    fn instruction(&mut self) -> Decoded {
        let opcode: &'m str = &self.now.opcode;
        self.parts = split(opcode);
        self.used = vec![false; self.parts.len()];
        self.used[0] = true;
        self.reads.clear();
        self.writes.clear();
        let first = self.code.ops.len();
        self.select()?;
        if let Some(at) = self.used.iter().position(|&used| !used) {
            let part = self.parts[at];
            return Err(self.unsupported(&format!("`.{part}` is not understood here")));
        }
        if let Some((register, negated)) = self.now.guard {
            let slot = self.slots[register as usize];
            if slot.class != Class::Pred {
                return Err(self.unsupported("its guard is not a predicate"));
            }
            for op in &mut self.code.ops[first..] {
                op.guard = slot.index;
                op.negated = negated;
            }
        }
        Ok(())
    }

    /// An error about the instruction in hand.
    pub(super) fn unsupported(&self, why: &str) -> TextError {
        let kind = if self.function.entry { "kernel" } else { "function" };
        TextError::new(
            self.now.line,
            format!("`{}` in {kind} `{}` is not supported: {why}", self.now.opcode, self.function.name),
        )
    }

    /// Whether the opcode has this part, which is thereby understood.
    pub(super) fn has(&mut self, part: &str) -> bool {
        match self.parts.iter().position(|p| *p == part) {
            Some(at) => {
                self.used[at] = true;
                true
            }
            None => false,
        }
    }

    /// The first of these parts that the opcode has.
    pub(super) fn one_of(&mut self, parts: &[&'static str]) -> Option<&'static str> {
        parts.iter().copied().find(|part| self.has(part))
    }

    /// The types among the parts, in order; all are thereby understood.
    pub(super) fn types(&mut self) -> Vec<Type> {
        let mut types = Vec::new();
        for (at, part) in self.parts.iter().enumerate().skip(1) {
            if let Some(kind) = Type::parse(part) {
                self.used[at] = true;
                types.push(kind);
            }
        }
        types
    }

    /// The opcode's one type.
    pub(super) fn kind(&mut self) -> Decoded<Type> {
        let types = self.types();
        types.first().copied().ok_or_else(|| self.unsupported("it names no type that is supported"))
    }

    pub(super) fn operand(&self, at: usize) -> Decoded<&'m Operand> {
        self.now.operands.get(at).ok_or_else(|| self.unsupported("it has too few operands"))
    }

    pub(super) fn arity(&self, count: usize) -> Decoded {
        if self.now.operands.len() == count {
            return Ok(());
        }
        Err(self.unsupported(&format!("it has {} operands where {count} are expected", self.now.operands.len())))
    }

    /// Adds an operation with the registers read and written so far.
    pub(super) fn push(&mut self, kind: Kind) {
        let mut op = plain(kind, self.now.line, self.now.source);
        op.reads = std::mem::take(&mut self.reads).into();
        op.writes = std::mem::take(&mut self.writes).into();
        self.code.ops.push(op);
    }

    /// Adds a row function over the given destination and sources.
    pub(super) fn alu(&mut self, f: RowFn, mods: Mods, d: Slot, sources: &[Slot]) {
        self.row(f, mods, d, sources, false);
    }

    /// Adds a row function that only moves data.
    pub(super) fn moves(&mut self, f: RowFn, d: Slot, sources: &[Slot]) {
        self.row(f, Mods::default(), d, sources, true);
    }

    fn row(&mut self, f: RowFn, mods: Mods, d: Slot, sources: &[Slot], moves: bool) {
        let at = |i: usize| sources.get(i).map_or(0, |s| s.index);
        let args = Args { d: d.index, a: at(0), b: at(1), c: at(2), e: at(3), mods };
        self.reads = sources.to_vec();
        self.writes = vec![d];
        self.push(Kind::Alu { f, args, moves });
    }
}

pub(super) fn plain(kind: Kind, line: u32, source: Option<(u32, u32)>) -> Op {
    Op { kind, guard: NO_SLOT, negated: false, line, source, reads: Box::default(), writes: Box::default() }
}

/// Splits `ld.global.L1::no_allocate.f32` at its dots.
fn split(opcode: &str) -> Vec<&str> {
    opcode.split('.').collect()
}

/// The special register of this name and whether it is 64 bits wide.
pub(super) fn special(name: &str) -> Option<(Special, bool)> {
    let axis = |c: &str| ["x", "y", "z"].iter().position(|a| *a == c);
    if let Some((base, component)) = name.split_once('.') {
        let axis = axis(component)?;
        return Some((
            match base {
                "%tid" => Special::Tid(axis),
                "%ntid" => Special::Ntid(axis),
                "%ctaid" => Special::Ctaid(axis),
                "%nctaid" => Special::Nctaid(axis),
                _ => return None,
            },
            false,
        ));
    }
    Some(match name {
        "%laneid" => (Special::LaneId, false),
        "%warpid" => (Special::WarpId, false),
        "%nwarpid" => (Special::NWarpId, false),
        "%lanemask_eq" => (Special::LaneMaskEq, false),
        "%lanemask_lt" => (Special::LaneMaskLt, false),
        "%lanemask_le" => (Special::LaneMaskLe, false),
        "%lanemask_gt" => (Special::LaneMaskGt, false),
        "%lanemask_ge" => (Special::LaneMaskGe, false),
        "%smid" => (Special::Arbitrary, false),
        "%nsmid" => (Special::NSmId, false),
        "%gridid" => (Special::Arbitrary, true),
        "%dynamic_smem_size" => (Special::DynamicSharedSize, false),
        "%total_smem_size" => (Special::TotalSharedSize, false),
        _ => return None,
    })
}
