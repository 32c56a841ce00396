//! Branches, calls and ends.

use super::code::{Call, Kind};
use super::{Decoded, Decoder};
use crate::vm::ptx::{Operand, TextError, Type};
use std::collections::HashSet;

/// Limit on targets of all indexed branches of a function; many branches may share one long list.
const MAX_TARGETS: usize = 1 << 16;

impl Decoder<'_> {
    /// The instruction index that a label stands for, seen from a scope.
    fn label(&self, name: &str, scope: u32) -> Option<u32> {
        let mut next = self.labelled.get(scope as usize).copied().flatten();
        while let Some(scope) = next {
            if let Some(&target) = self.function.labels.get(&(name.to_owned(), scope)) {
                return Some(target);
            }
            let parent = self.function.scopes[scope as usize];
            next = if scope == 0 { None } else { self.labelled[parent as usize] };
        }
        None
    }

    /// Finds the scopes that labels are looked up in; a scope comes after the one around it.
    pub(super) fn scopes_with_labels(&mut self) {
        let own: HashSet<u32> = self.function.labels.keys().map(|(_, scope)| *scope).collect();
        for (scope, &parent) in self.function.scopes.iter().enumerate() {
            let outer = self.labelled.get(parent as usize).copied().flatten();
            self.labelled.push(if own.contains(&(scope as u32)) { Some(scope as u32) } else { outer });
        }
    }

    /// Instructions that begin a basic block.
    pub(super) fn leaders(&self) -> Decoded<HashSet<u32>> {
        // Only labels that something branches to: debug information puts one before nearly every instruction.
        let mut leaders = HashSet::from([0]);
        let mut indexed = 0;
        for (at, instruction) in self.function.body.iter().enumerate() {
            let base = instruction.opcode.split('.').next().unwrap_or("");
            if matches!(base, "bra" | "brx" | "call" | "ret" | "exit" | "trap") {
                leaders.insert(at as u32 + 1);
            }
            let lists = (base == "brx").then(|| instruction.operands.get(1)).flatten();
            if let Some(Operand::Name(list, _)) = lists {
                let names = self.function.branch_targets.get(list).map_or(&[][..], Vec::as_slice);
                indexed += names.len();
                if indexed > MAX_TARGETS {
                    let message = format!("the branch tables of `{}` have too many entries", self.function.name);
                    return Err(TextError::new(instruction.line, message));
                }
                let names = names.iter();
                leaders.extend(names.filter_map(|name| self.label(name, instruction.scope)));
            }
            if base == "bra"
                && let Some(Operand::Name(name, _)) = instruction.operands.first()
            {
                let Some(target) = self.label(name, instruction.scope) else {
                    let message = format!("label `{name}` is not defined in `{}`", self.function.name);
                    return Err(TextError::new(instruction.line, message));
                };
                leaders.insert(target);
            }
        }
        Ok(leaders)
    }

    fn target(&self, name: &str) -> Decoded<u32> {
        self.label(name, self.now.scope).ok_or_else(|| self.unsupported(&format!("label `{name}` is not defined")))
    }

    pub(super) fn bra(&mut self) -> Decoded {
        self.has("uni");
        self.arity(1)?;
        let Operand::Name(name, 0) = self.operand(0)? else {
            return Err(self.unsupported("its target is not a label"));
        };
        let target = self.target(name)?;
        self.pending.push((self.code.ops.len(), vec![target]));
        self.push(Kind::Branch(0));
        Ok(())
    }

    pub(super) fn brx(&mut self) -> Decoded {
        self.has("uni");
        if !self.has("idx") {
            return Err(self.unsupported("only brx.idx is known"));
        }
        self.arity(2)?;
        let index = self.source(0, Type::U32)?;
        let Operand::Name(list, 0) = self.operand(1)? else {
            return Err(self.unsupported("its target list is not a label"));
        };
        let Some(names) = self.function.branch_targets.get(list) else {
            return Err(self.unsupported(&format!("`{list}` is not a list of branch targets")));
        };
        let targets = names.iter().map(|name| self.target(name)).collect::<Result<Vec<u32>, _>>()?;
        self.pending.push((self.code.ops.len(), targets));
        self.reads.push(index);
        self.push(Kind::BranchIndexed { index: index.index, targets: Box::default() });
        Ok(())
    }

    pub(super) fn leave(&mut self) -> Decoded {
        self.has("uni");
        self.arity(0)?;
        let kind = match self.parts[0] {
            "ret" => Kind::Return,
            "exit" => Kind::Exit,
            _ => Kind::Trap,
        };
        self.push(kind);
        Ok(())
    }

    pub(super) fn call(&mut self) -> Decoded {
        self.has("uni");
        let mut operands = self.now.operands.iter();
        let mut first = operands.next();
        let empty = Vec::new();
        let mut results = &empty;
        if let Some(Operand::List(list)) = first {
            results = list;
            first = operands.next();
        }
        let Some(Operand::Name(name, 0)) = first else {
            return Err(self.unsupported("indirect calls are not supported"));
        };
        let arguments = match operands.next() {
            Some(Operand::List(list)) => list,
            None => &empty,
            Some(_) => return Err(self.unsupported("its arguments are not a list")),
        };
        if operands.next().is_some() {
            return Err(self.unsupported("indirect calls are not supported"));
        }
        let Some(&index) = self.symbols.functions.get(name) else {
            return Err(self.unsupported(&format!("function `{name}` is not declared")));
        };
        let callee = &self.module.functions[index];
        if callee.declared_only {
            return Err(self.unsupported(&format!("function `{name}` has no body in this text")));
        }
        if callee.entry || callee.params.len() != arguments.len() || callee.returns.len() != results.len() {
            return Err(self.unsupported(&format!("`{name}` does not take these arguments")));
        }
        // The callee's layout, computed as its own decoder will.
        let mut offset: u64 = 0;
        let mut places = Vec::new();
        for variable in callee.returns.iter().chain(&callee.params) {
            offset = offset.next_multiple_of(u64::from(variable.align).max(4));
            places.push(((offset / 4) as u32, variable.bytes.div_ceil(4) as u32));
            offset = offset.saturating_add(variable.bytes);
        }
        let mut copies = Vec::new();
        for (operand, (row, rows)) in results.iter().chain(arguments).zip(places) {
            let Operand::Name(name, 0) = operand else {
                return Err(self.unsupported("an argument is not a parameter variable"));
            };
            let Some(param) = self.params.get(name) else {
                return Err(self.unsupported(&format!("`{name}` is not a parameter variable")));
            };
            if !param.own || param.bytes.div_ceil(4) < u64::from(rows) {
                return Err(self.unsupported(&format!("`{name}` is smaller than the parameter it stands for")));
            }
            copies.push((param.at / 4, row, rows));
        }
        let arguments = copies.split_off(results.len());
        self.push(Kind::Call(Box::new(Call { function: index as u32, arguments, results: copies })));
        Ok(())
    }
}
