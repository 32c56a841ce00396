//! NVIDIA's assembler, where it is installed, on every program: none may be one that devices refuse.

use std::path::PathBuf;
use std::process::Command;

use libtest_mimic::Failed;

use crate::form::{Form, program};

/// `ptxas` of the search path, or of the `nvidia-cuda-nvcc` wheel in the active Python environment.
pub(crate) fn find() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    if let Some(environment) = std::env::var_os("VIRTUAL_ENV") {
        let versions = std::fs::read_dir(PathBuf::from(environment).join("lib"));
        for version in versions.into_iter().flatten().flatten() {
            folders.push(version.path().join("site-packages/nvidia/cu13/bin"));
        }
    }
    folders.into_iter().map(|folder| folder.join("ptxas")).find(|file| file.is_file())
}

/// Assembles all forms; names those that are refused.
pub(crate) fn takes_every_form(ptxas: &PathBuf, forms: &[Form]) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (text, object) = (folder.path().join("forms.ptx"), folder.path().join("forms.cubin"));
    let mut refused = Vec::new();
    for forms in forms.chunks(200) {
        let mut left: Vec<&Form> = forms.iter().collect();
        while !left.is_empty() {
            let entries = left.iter().enumerate().map(|(at, form)| form.entry(&format!("form{at}")));
            let source = program(entries);
            std::fs::write(&text, &source)?;
            let output = Command::new(ptxas).args(["-arch=sm_90", "-O3", "-o"]).args([&object, &text]).output()?;
            if output.status.success() {
                break;
            }
            // Messages name lines; the form is that of the entry point before the line.
            let log = String::from_utf8_lossy(&output.stderr).into_owned();
            let numbers = log.split("line ").skip(1).filter_map(|rest| rest.split(';').next()?.parse::<usize>().ok());
            let entry = |line: usize| source.lines().take(line).filter(|line| line.contains(".entry")).count() - 1;
            let mut wrong: Vec<usize> = numbers.map(entry).collect();
            wrong.sort_unstable();
            wrong.dedup();
            if wrong.is_empty() {
                return Err(log.into());
            }
            refused.extend(wrong.iter().map(|&at| left[at].name.clone()));
            refused.push(log.lines().next().unwrap_or_default().to_owned());
            left = left.iter().enumerate().filter(|(at, _)| !wrong.contains(at)).map(|(_, form)| *form).collect();
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(format!("refused: {refused:?}").into()) }
}
