//! What is no case: each message names the thing and the remedy.

use gdn_gpu::contract::DomainError;
use gdn_reference::ShapeError;

/// Why a line is no case, or a name no kernel.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that nothing has.
    #[error("unknown {what} `{given}`{}", did_you_mean(.nearest.as_deref()))]
    Unknown {
        /// What sort of name.
        what: &'static str,
        /// The name given.
        given: String,
        /// The nearest valid name.
        nearest: Option<String>,
    },
    /// A case line that does not parse.
    #[error("malformed case line `{line}`: {problem}; a case reads like `{example}`")]
    CaseLine {
        /// The line.
        line: String,
        /// What is wrong.
        problem: String,
        /// A valid line.
        example: String,
    },
    /// A shape or value outside of a contract.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// Arrays that do not fit together.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

fn did_you_mean(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

impl Error {
    /// An unknown name, with the nearest of the valid ones.
    pub fn unknown<'a>(what: &'static str, given: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        let nearest =
            valid.into_iter().min_by_key(|name| strsim::damerau_levenshtein(name, given)).map(ToOwned::to_owned);
        Self::Unknown { what, given: given.to_owned(), nearest }
    }
}
