//! Baselines: the accepted facts of each kernel, a text file an executor and architecture, and the PTX that they were measured on.
//!
//! A baseline is TOML that changes line by line, closed by a digest of all before it, so that half of a file or an edited one is never
//! taken for a whole one. Programs lie in `ptx/` beside it under the hash of their text. New programs are written before the baseline
//! that names them and old ones removed after it, and the baseline itself takes its place in one step: whenever that is cut
//! off, the old baseline or the new one is there, whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gdn_gpu::executor::{Code, Description, Program};
use gdn_gpu::ptx;
use serde::{Deserialize, Serialize};

use super::Facts;
use crate::error::Error;
use crate::files::write_whole;

/// Version of the file; another is refused.
pub const SCHEMA: u32 = 1;

/// What begins the last line.
const DIGEST: &str = "# sha256 ";

/// What was accepted on one executor and architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// [`SCHEMA`].
    pub schema: u32,
    /// `cuda` or `vm`.
    pub executor: String,
    /// The device and its versions, in words.
    pub device: String,
    /// Seed of what was drawn.
    pub seed: u64,
    /// The kernels.
    pub kernels: BTreeMap<String, Accepted>,
}

/// What is read before the rest, which another schema may have otherwise.
#[derive(Deserialize)]
struct Schema {
    schema: u32,
}

/// What was accepted of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The file in `ptx/`, without its ending.
    pub program: String,
    /// The facts.
    #[serde(flatten)]
    pub facts: Facts,
}

/// The file of an executor's baseline in a folder: one an architecture where that is a device's.
pub fn path(folder: &Path, description: &Description) -> PathBuf {
    let name = match description.executor {
        "cuda" => format!("cuda-{}", description.arch),
        other => other.to_owned(),
    };
    folder.join(format!("{name}.toml"))
}

/// The name that a program is kept under: its own, and the hash of its text however its registers are numbered.
pub fn stem(name: &str, text: &str) -> String {
    let own: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("{own}-{}", &ptx::hash(&ptx::renumbered(text))[..12])
}

fn program_path(folder: &Path, stem: &str) -> PathBuf {
    folder.join("ptx").join(format!("{stem}.ptx"))
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// [`Error::File`] where there is none, it is not whole, or it is of another schema: each with the remedy.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let refused = |problem: String| {
            Error::file(
                path,
                format!("{problem}; restore it from version control, or accept a new one with `gate --accept`"),
            )
        };
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => refused("is missing: there is no baseline for this executor".into()),
            _ => refused(format!("cannot be read: {error}")),
        })?;
        let (body, digest) = text
            .trim_end()
            .rsplit_once(DIGEST)
            .ok_or_else(|| refused("is not whole: its last line has no digest".into()))?;
        if ptx::hash(body) != digest {
            return Err(refused("is not what was accepted: its digest is another".into()));
        }
        let no_baseline = |error: toml::de::Error| refused(format!("is no baseline: {}", error.message()));
        let Schema { schema } = toml::from_str(body).map_err(no_baseline)?;
        if schema != SCHEMA {
            return Err(refused(format!("is of schema {schema}, and this version reads schema {SCHEMA}")));
        }
        toml::from_str(body).map_err(no_baseline)
    }

    /// Writes the baseline and the programs that it names, by their stems, and removes programs that no baseline beside it names.
    ///
    /// # Errors
    /// Where a file cannot be written; what was accepted before is then still there.
    pub fn write(&self, path: &Path, programs: &BTreeMap<String, String>) -> Result<(), Error> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let made = |folder: &Path| {
            std::fs::create_dir_all(folder).map_err(|error| Error::file(folder, format!("cannot be made: {error}")))
        };
        made(&folder.join("ptx"))?;
        for (stem, text) in programs {
            let path = program_path(folder, stem);
            // One of the same hash differs in the numbers of its registers at most: the accepted one stays.
            if !path.exists() {
                write_whole(&path, text)?;
            }
        }
        let body = toml::to_string(self).map_err(|error| Error::file(path, error.to_string()))?;
        write_whole(path, &format!("{body}\n{DIGEST}{}\n", ptx::hash(&format!("{body}\n"))))?;
        remove_orphans(folder)
    }

    /// The accepted program of a kernel.
    ///
    /// # Errors
    /// Where its file is missing or is not what was accepted.
    pub fn program(&self, path: &Path, kernel: &str) -> Result<Option<Program>, Error> {
        let Some(accepted) = self.kernels.get(kernel) else { return Ok(None) };
        let path = program_path(path.parent().unwrap_or(Path::new(".")), &accepted.program);
        let refused = |problem: String| Error::file(&path, format!("{problem}; restore it from version control"));
        let text = std::fs::read_to_string(&path).map_err(|error| refused(format!("cannot be read: {error}")))?;
        let own = accepted.program.rsplit_once('-').map_or("", |(own, _)| own);
        if stem(own, &text) != accepted.program {
            return Err(refused("is not the accepted PTX: its hash is another".into()));
        }
        Ok(Some(Program { name: format!("the accepted {own}"), code: Code::Ptx(text) }))
    }
}

/// Removes the programs in `ptx/` that no baseline of the folder names. A baseline that cannot be read may name any: nothing is
/// removed then.
fn remove_orphans(folder: &Path) -> Result<(), Error> {
    let cannot = |error: std::io::Error| Error::file(folder, format!("cannot be read: {error}"));
    let mut named = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let Ok(baseline) = Baseline::read(&path) else { return Ok(()) };
            named.extend(baseline.kernels.into_values().map(|accepted| accepted.program));
        }
    }
    for entry in std::fs::read_dir(folder.join("ptx")).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let known = path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| named.contains(stem));
        if !known && path.extension().is_some_and(|extension| extension == "ptx") {
            std::fs::remove_file(&path).map_err(|error| Error::file(&path, format!("cannot be removed: {error}")))?;
        }
    }
    Ok(())
}
