//! Where variables and parameters lie: device memory, a block's shared memory, a thread's local memory, parameter areas.

use super::code::{EntryParam, GlobalVariable, Program, SharedVariable};
use super::{Decoded, Decoder};
use crate::vm::memory::{PARAM_WINDOW, SHARED_GAP};
use crate::vm::ptx::{Module, Space, TextError, Variable};
use std::collections::HashMap;

/// Largest static shared memory of a module.
const MAX_SHARED: u64 = 1 << 24;
/// Most bytes that all variables of a module in device memory may take.
const MAX_GLOBAL: u64 = 1 << 28;
/// Largest local memory of a function: a thread cannot have more.
const MAX_LOCAL: u64 = 512 << 10;
/// Largest area for parameters and call sequences of a function.
const MAX_PARAMS: u64 = 256 << 10;

/// What a name of module scope stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    /// Index among the program's globals.
    Global(u32),
    /// Offset in shared memory.
    Shared(u32),
}

/// Names to symbols; variables in functions as `function/name`.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    pub(super) names: HashMap<String, Symbol>,
    /// Functions by name, as indices.
    pub(super) functions: HashMap<String, usize>,
}

/// Places every global and shared variable of a module.
pub(super) fn layout(module: &Module, program: &mut Program) -> Result<Symbols, TextError> {
    let functions = module.functions.iter().enumerate().map(|(at, f)| (f.name.clone(), at)).collect();
    let mut symbols = Symbols { functions, ..Symbols::default() };
    let mut global: u64 = 0;
    let mut pointers = Vec::new();
    let outer = module.variables.iter().map(|v| (None, v));
    let inner = module.functions.iter().flat_map(|f| f.variables.iter().map(move |v| (Some(f), v)));
    let mut offset: u64 = 0;
    let mut dynamic = Vec::new();
    for (function, variable) in outer.chain(inner) {
        let line = function.map_or(1, |f| f.line);
        let key = function.map_or_else(|| variable.name.clone(), |f| format!("{}/{}", f.name, variable.name));
        match variable.space {
            Space::Global | Space::Const => {
                global = global.saturating_add(variable.bytes);
                if global > MAX_GLOBAL {
                    let message = format!("variables up to `{}` take more than {MAX_GLOBAL} bytes", variable.name);
                    return Err(TextError::new(line, message));
                }
                symbols.names.insert(key, Symbol::Global(program.globals.len() as u32));
                pointers.push(variable);
                program.globals.push(GlobalVariable {
                    name: variable.name.clone(),
                    bytes: variable.bytes,
                    init: variable.init.clone(),
                    constant: variable.space == Space::Const,
                    pointers: Vec::new(),
                });
            }
            Space::Shared if variable.dynamic => dynamic.push((key, variable)),
            Space::Shared => {
                offset = offset.next_multiple_of(u64::from(variable.align).max(16));
                symbols.names.insert(key, Symbol::Shared(offset as u32));
                program.shared.push(SharedVariable {
                    name: variable.name.clone(),
                    offset: offset as u32,
                    bytes: variable.bytes as u32,
                    dynamic: false,
                });
                // A gap nobody owns, so that running past an array does not end in the next one.
                offset += variable.bytes + u64::from(SHARED_GAP);
            }
            _ => {}
        }
        if offset > MAX_SHARED {
            return Err(TextError::new(
                line,
                format!("shared variables up to `{}` take more than {MAX_SHARED} bytes", variable.name),
            ));
        }
    }
    // All `extern` arrays are one and the same memory, as large as a launch makes it; it comes last.
    offset = offset.next_multiple_of(1024);
    for (at, (key, variable)) in dynamic.into_iter().enumerate() {
        symbols.names.insert(key, Symbol::Shared(offset as u32));
        if at == 0 {
            program.shared.push(SharedVariable {
                name: variable.name.clone(),
                offset: offset as u32,
                bytes: 0,
                dynamic: true,
            });
        }
    }
    program.shared_bytes = offset as u32;
    for (at, variable) in pointers.into_iter().enumerate() {
        for (byte, name, distance) in &variable.pointers {
            match symbols.names.get(name) {
                Some(Symbol::Global(global)) => program.globals[at].pointers.push((*byte, *global, *distance)),
                _ => {
                    return Err(TextError::new(
                        1,
                        format!("`{}` is initialized with the address of unknown `{name}`", variable.name),
                    ));
                }
            }
        }
    }
    Ok(symbols)
}

/// A parameter, or a variable of a call sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Param {
    /// Byte in the parameter area, or among an entry's parameters.
    pub(super) at: u32,
    pub(super) bytes: u64,
    /// Whether the body declares it.
    pub(super) own: bool,
}

impl Decoder<'_> {
    /// Places parameters, call-sequence variables and local variables of the function.
    pub(super) fn layout_params(&mut self) -> Decoded {
        let mut offset: u64 = 0;
        let mut place = |variable: &Variable| {
            offset = offset.next_multiple_of(u64::from(variable.align).max(4));
            let at = offset;
            offset = offset.saturating_add(variable.bytes);
            at as u32
        };
        let param =
            |variable: &Variable, at: u32, own: bool| (variable.name.clone(), Param { at, bytes: variable.bytes, own });
        if self.function.entry {
            let mut end: u64 = 0;
            for variable in &self.function.params {
                end = end.next_multiple_of(u64::from(variable.align));
                self.params.extend([param(variable, end as u32, false)]);
                self.code.entry_params.push(EntryParam { offset: end as u32, bytes: variable.bytes as u32 });
                end += variable.bytes;
            }
            if end > 32764 {
                return Err(TextError::new(
                    self.function.line,
                    format!("the parameters of `{}` take {end} bytes", self.function.name),
                ));
            }
            self.code.entry_param_bytes = end as u32;
        } else {
            for variable in &self.function.returns {
                let at = place(variable);
                self.params.extend([param(variable, at, false)]);
                self.code.result_rows.push((at / 4, variable.bytes.div_ceil(4) as u32));
            }
            for variable in &self.function.params {
                let at = place(variable);
                self.params.extend([param(variable, at, false)]);
                self.code.argument_rows.push((at / 4, variable.bytes.div_ceil(4) as u32));
            }
        }
        let mut local: u64 = 0;
        for variable in &self.function.variables {
            match variable.space {
                Space::Param => {
                    let at = place(variable);
                    self.params.extend([param(variable, at, true)]);
                }
                Space::Local => {
                    local = local.next_multiple_of(u64::from(variable.align).max(4));
                    self.locals.insert(variable.name.clone(), local as u32);
                    local += variable.bytes;
                }
                _ => {}
            }
        }
        if offset > MAX_PARAMS || local > MAX_LOCAL {
            return Err(TextError::new(
                self.function.line,
                format!("the frame of `{}` is too large", self.function.name),
            ));
        }
        self.code.local_bytes = local.next_multiple_of(16) as u32;
        self.code.param_rows = offset.div_ceil(4) as u32;
        debug_assert!(u64::from(u32::MAX) < PARAM_WINDOW);
        Ok(())
    }
}
