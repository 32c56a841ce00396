//! The device that answers: programs of many forms each, loaded when the first of their forms is asked for.

use gdn_gpu::Executor;
use gdn_gpu::executor::{Code, Module, Program};

use crate::answers::run;
use crate::form::{Form, program};

/// Forms of one program.
const BATCH: usize = 48;

/// What has become of a program.
#[derive(Clone, Copy)]
enum Loaded {
    NotYet,
    Refused,
    As(Module),
}

/// An executor with the forms' programs.
pub(crate) struct Device {
    executor: Box<dyn Executor>,
    programs: Vec<Loaded>,
}

impl Device {
    pub(crate) fn new(executor: Box<dyn Executor>) -> Self {
        Self { executor, programs: Vec::new() }
    }

    /// Whose answers these are.
    pub(crate) fn describe(&self) -> String {
        let description = self.executor.describe();
        format!("{} ({}), {}", description.device, description.arch, description.versions)
    }

    fn load(&mut self, name: String, forms: &[Form]) -> Result<Module, String> {
        let entries = forms.iter().enumerate().map(|(at, form)| form.entry(&format!("form{at}")));
        let program = Program { name, code: Code::Ptx(program(entries)) };
        self.executor.load(&program).map_err(|error| error.to_string())
    }

    /// The answers of the form at a place in the list, as the device gives them.
    ///
    /// # Errors
    /// Why there are none. A program that does not load is taken apart, so that only those forms fail that are at fault.
    pub(crate) fn answers(&mut self, forms: &[Form], at: usize, operands: &[u8]) -> Result<Vec<u8>, String> {
        let (batch, form) = (at / BATCH, &forms[at]);
        if self.programs.len() <= batch {
            self.programs.resize(batch + 1, Loaded::NotYet);
        }
        if matches!(self.programs[batch], Loaded::NotYet) {
            let end = forms.len().min((batch + 1) * BATCH);
            let loaded = self.load(format!("forms {batch}"), &forms[batch * BATCH..end]);
            self.programs[batch] = loaded.map_or(Loaded::Refused, Loaded::As);
        }
        let (module, entry) = match self.programs[batch] {
            Loaded::As(module) => (module, at % BATCH),
            _ => (self.load(form.name.clone(), std::slice::from_ref(form))?, 0),
        };
        let answers = run(self.executor.as_mut(), module, &format!("form{entry}"), form, operands);
        answers.map_err(|error| error.to_string())
    }
}
