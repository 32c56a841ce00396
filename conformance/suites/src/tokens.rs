//! A case's launches, token after token: each is given what the one before it left of the carried state.

use gdn_gpu::contract::Role;
use gdn_gpu::run::Tensors;

use crate::case::Case;
use crate::draw::Draws;
use crate::error::Error;
use crate::family::Suite;

/// The inputs of a case's launches.
pub struct Tokens<'a> {
    case: &'a Case,
    suite: &'static dyn Suite,
    token: u32,
    state: Tensors,
}

impl<'a> Tokens<'a> {
    /// Starts before the first token.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a kernel without a suite.
    pub fn of(case: &'a Case) -> Result<Self, Error> {
        Ok(Self { case, suite: crate::find(case.contract.kernel)?, token: 0, state: Tensors::new() })
    }

    /// The next token and its inputs; nothing after the last.
    #[expect(clippy::should_implement_trait, reason = "each step needs what the launch of the one before left")]
    pub fn next(&mut self) -> Option<(u32, Tensors)> {
        if self.token == self.case.tokens {
            return None;
        }
        let mut inputs = self.suite.draw(self.case, &Draws::new(self.case, self.token));
        inputs.append(&mut self.state);
        self.token += 1;
        Some((self.token - 1, inputs))
    }

    /// Takes what a launch left: the carried buffers are the next token's.
    pub fn left(&mut self, outputs: &Tensors) {
        for (name, spec) in self.case.contract.buffers() {
            if spec.role == Role::Carried
                && let Some(tensor) = outputs.get(name)
            {
                self.state.insert(name, tensor.clone());
            }
        }
    }
}
