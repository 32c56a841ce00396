//! Reading capsules. Nothing of a file is believed before it is checked.

use std::collections::HashMap;
use std::path::Path;

use gdn_gpu::contract::Role;
use gdn_gpu::executor::{Code, Program};
use gdn_gpu::run::{Tensor, Tensors};
use safetensors::{Dtype, SafeTensors};

use super::write::dtype;
use super::{Capsule, KIND, Maker, Recorded, SCHEMA};
use crate::case::Case;
use crate::error::Error;
use crate::replay::{read, whole};

/// Loads a capsule; nothing where the file is whole and is no capsule.
///
/// # Errors
/// Names the file and what is wrong with it: unreadable, not whole, of another schema, a case that no kernel here has, a tensor
/// missing or of another shape, a program that is not the one that was run.
pub fn load(path: &Path) -> Result<Option<Capsule>, Error> {
    let bytes = read(path)?;
    let (tensors, metadata) = whole(path, &bytes)?;
    if metadata.get("kind").map(String::as_str) != Some(KIND) {
        return Ok(None);
    }
    Reader { path, tensors, metadata }.capsule().map(Some)
}

struct Reader<'a> {
    path: &'a Path,
    tensors: SafeTensors<'a>,
    metadata: HashMap<String, String>,
}

impl Reader<'_> {
    fn wrong(&self, problem: impl Into<String>) -> Error {
        Error::file(self.path, problem)
    }

    fn text(&self, key: &str) -> Result<&str, Error> {
        let found = self.metadata.get(key).map(String::as_str);
        found.ok_or_else(|| self.wrong(format!("is a capsule without metadata `{key}`; write it again with `check`")))
    }

    fn capsule(&self) -> Result<Capsule, Error> {
        let schema = self.text("schema")?;
        if schema != SCHEMA.to_string() {
            let version = self.metadata.get("suite_version").map_or("unknown", String::as_str);
            return Err(self.wrong(format!(
                "is a capsule of schema {schema}, written by version {version}; this version reads schema {SCHEMA}"
            )));
        }
        let case: Case =
            self.text("case")?.parse().map_err(|error: gdn_suites::Error| self.wrong(error.to_string()))?;
        let number = |key: &str| {
            let text = self.text(key)?;
            text.parse().map_err(|_| self.wrong(format!("metadata `{key}` = `{text}` is not a number in range")))
        };
        let token = number("token")?;
        if token >= case.tokens {
            return Err(self.wrong(format!("has token {token} of a case of {}", case.tokens)));
        }
        let verdicts: Vec<Recorded> = serde_json::from_str(self.text("verdicts")?)
            .map_err(|error| self.wrong(format!("metadata `verdicts` cannot be read: {error}")))?;
        if verdicts.is_empty() {
            return Err(self.wrong("has no verdict"));
        }
        let inputs = self.buffers(&case, "in", |role| role != Role::Output)?;
        let came_to_an_end = self.tensors.names().iter().any(|name| name.starts_with("out."));
        let outputs =
            if came_to_an_end { self.buffers(&case, "out", |role| role != Role::Input)? } else { Tensors::new() };
        let capsule = Capsule {
            token,
            inputs,
            outputs,
            program: self.program()?,
            ptx: self.words("ptx")?,
            runner: Maker {
                version: self.text("suite_version")?.to_owned(),
                executor: self.text("executor")?.to_owned(),
                device: self.text("device")?.to_owned(),
                arch: self.text("arch")?.to_owned(),
                versions: self.text("versions")?.to_owned(),
            },
            verdicts,
            case,
        };
        for (key, hash) in [("source_sha256", capsule.source_hash()), ("ptx_sha256", capsule.ptx_hash())] {
            if self.metadata.get(key) != hash.as_ref() {
                return Err(self.wrong(format!("the program in it is not the one that was run: `{key}` differs")));
            }
        }
        Ok(capsule)
    }

    /// The buffers of a role, each of the contract's type and sizes.
    fn buffers(&self, case: &Case, prefix: &str, wanted: fn(Role) -> bool) -> Result<Tensors, Error> {
        let mut found = Tensors::new();
        for (name, spec) in case.contract.buffers().filter(|(_, spec)| wanted(spec.role)) {
            let full = format!("{prefix}.{name}");
            let tensor = self
                .tensors
                .tensor(&full)
                .map_err(|_| self.wrong(format!("has no tensor `{full}`, which {case} has")))?;
            let (kind, shape) = (dtype(spec.dtype), spec.extent.sizes(&case.shape));
            if (tensor.dtype(), tensor.shape()) != (kind, shape.as_slice()) {
                return Err(self.wrong(format!(
                    "tensor `{full}` holds {:?} {:?}, {kind:?} {shape:?} is needed",
                    tensor.dtype(),
                    tensor.shape()
                )));
            }
            let tensor = Tensor::from_bytes(spec.dtype, tensor.data());
            if let (Tensor::F32(data), "in") = (&tensor, prefix) {
                let outside = |error: gdn_gpu::contract::DomainError| self.wrong(error.to_string());
                case.contract.check_values(name, spec.values, data).map_err(outside)?;
            }
            found.insert(name, tensor);
        }
        Ok(found)
    }

    /// A tensor that holds text.
    fn words(&self, name: &str) -> Result<Option<String>, Error> {
        let Ok(tensor) = self.tensors.tensor(name) else { return Ok(None) };
        if tensor.dtype() != Dtype::U8 {
            return Err(self.wrong(format!("tensor `{name}` holds {:?}, U8 is needed", tensor.dtype())));
        }
        let text = String::from_utf8(tensor.data().to_vec());
        text.map(Some).map_err(|_| self.wrong(format!("tensor `{name}` is no text")))
    }

    fn program(&self) -> Result<Option<Program>, Error> {
        let Some(text) = self.words("program")? else { return Ok(None) };
        let code = match self.text("program_kind")? {
            "cuda" => Code::Cuda(text),
            "ptx" => Code::Ptx(text),
            other => return Err(self.wrong(format!("metadata `program_kind` = `{other}`, must be `cuda` or `ptx`"))),
        };
        Ok(Some(Program { name: self.text("program_name")?.to_owned(), code }))
    }
}
