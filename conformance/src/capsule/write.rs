//! Writing capsules of a run's failing cases.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gdn_gpu::contract::Role;
use gdn_gpu::executor::{Code, Program};
use gdn_gpu::ptx;
use gdn_gpu::run::Tensors;
use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::{Capsule, KIND, Maker, Recorded, SCHEMA};
use crate::case::Case;
use crate::check::CaseResult;
use crate::error::Error;
use crate::files::write_bytes;
use crate::runner::Runner;

/// What came of writing a run's capsules.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The file of each case that has one, by its case line.
    pub files: BTreeMap<String, PathBuf>,
    /// Failing cases without a capsule.
    pub without: usize,
}

/// Writes a capsule of every failing case that kept its launch, to a folder that is made where it is missing.
///
/// # Errors
/// Where the folder cannot be made or a file cannot be written.
pub fn write_all(runner: &mut Runner, results: &[CaseResult], folder: &Path) -> Result<Written, Error> {
    let mut written = Written::default();
    let maker = Maker::from(&runner.describe());
    let mut compiled: Vec<(Program, Option<String>)> = Vec::new();
    for result in results.iter().filter(|result| !result.passed()) {
        let Some(launch) = &result.failing else {
            written.without += 1;
            continue;
        };
        let program = runner.program(result.case.contract.kernel)?;
        let capsule = Capsule {
            case: result.case.clone(),
            token: launch.token,
            inputs: launch.inputs.clone(),
            outputs: launch.outputs.clone(),
            ptx: program.as_ref().and_then(|program| portable(program, &mut compiled)),
            program,
            runner: maker.clone(),
            verdicts: launch.verdicts.iter().map(Recorded::from).collect(),
        };
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::file(folder, format!("the folder cannot be made: {error}")))?;
        let path = folder.join(file_name(&result.case));
        write_bytes(&path, &capsule.bytes(&path)?)?;
        written.files.insert(result.case.to_string(), path);
    }
    Ok(written)
}

/// PTX of a CUDA program, compiled once a run.
fn portable(program: &Program, compiled: &mut Vec<(Program, Option<String>)>) -> Option<String> {
    let Code::Cuda(source) = &program.code else { return None };
    if let Some((_, ptx)) = compiled.iter().find(|(known, _)| known == program) {
        return ptx.clone();
    }
    let made = ptx::of(&program.name, source).ok();
    compiled.push((program.clone(), made.clone()));
    made
}

/// The same case has the same file in every run: a later capsule of it takes the place of an earlier one.
fn file_name(case: &Case) -> String {
    let hash = ptx::hash(&case.to_string());
    format!("{}-{}.safetensors", case.contract.kernel, &hash[..10])
}

impl Capsule {
    /// The whole file.
    fn bytes(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let cannot = |error: &dyn std::fmt::Display| Error::file(path, format!("cannot be written: {error}"));
        let verdicts = serde_json::to_string(&self.verdicts).map_err(|error| cannot(&error))?;
        let name = self.program.as_ref().map(|program| program.name.clone());
        let kind = self.program.as_ref().map(|program| match program.code {
            Code::Cuda(_) => "cuda",
            Code::Ptx(_) => "ptx",
        });
        let metadata = [
            ("kind", Some(KIND.to_owned())),
            ("schema", Some(SCHEMA.to_string())),
            ("suite_version", Some(self.runner.version.clone())),
            ("case", Some(self.case.to_string())),
            ("token", Some(self.token.to_string())),
            ("executor", Some(self.runner.executor.clone())),
            ("device", Some(self.runner.device.clone())),
            ("arch", Some(self.runner.arch.clone())),
            ("versions", Some(self.runner.versions.clone())),
            ("program_name", name),
            ("program_kind", kind.map(ToOwned::to_owned)),
            ("source_sha256", self.source_hash()),
            ("ptx_sha256", self.ptx_hash()),
            ("flags", Some(self.flags())),
            ("verdicts", Some(verdicts)),
        ];
        let metadata = metadata.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();

        let mut tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
        let mut put = |prefix: &str, from: &Tensors, wanted: fn(Role) -> bool| {
            for (name, spec) in self.case.contract.buffers().filter(|(_, spec)| wanted(spec.role)) {
                let Some(tensor) = from.get(name) else { continue };
                let shape = spec.extent.sizes(&self.case.shape);
                tensors.push((format!("{prefix}.{name}"), dtype(spec.dtype), shape, tensor.bytes()));
            }
        };
        put("in", &self.inputs, |role| role != Role::Output);
        put("out", &self.outputs, |role| role != Role::Input);
        let texts = [
            ("program", self.program.as_ref().map(|Program { code: Code::Cuda(text) | Code::Ptx(text), .. }| text)),
            ("ptx", self.ptx.as_ref()),
        ];
        for (name, text) in texts {
            let Some(text) = text else { continue };
            tensors.push((name.to_owned(), Dtype::U8, vec![text.len()], text.as_bytes().to_vec()));
        }
        let views = tensors
            .iter()
            .map(|(name, dtype, shape, data)| Ok((name, TensorView::new(*dtype, shape.clone(), data)?)))
            .collect::<Result<Vec<_>, safetensors::SafeTensorError>>()
            .map_err(|error| cannot(&error))?;
        safetensors::serialize(views, Some(metadata)).map_err(|error| cannot(&error))
    }
}

/// An element type as the file names it.
pub(super) const fn dtype(dtype: gdn_gpu::contract::Dtype) -> Dtype {
    match dtype {
        gdn_gpu::contract::Dtype::F32 => Dtype::F32,
        gdn_gpu::contract::Dtype::I32 => Dtype::I32,
        gdn_gpu::contract::Dtype::I8 => Dtype::I8,
    }
}
