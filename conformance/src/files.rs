//! Files that are written whole or not at all.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// Held while a file is written: whoever ends the process takes it first, so that no temporary file is left behind.
static WRITING: Mutex<()> = Mutex::new(());

/// Makes an interrupt (Ctrl-C) wait until files that are being written are whole, and then end the process with status 130, as shells
/// have it.
pub fn finish_before_interrupts() {
    // A handler that is set already does the same.
    let _ = ctrlc::set_handler(|| {
        let _whole = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        std::process::exit(130);
    });
}

/// The folder that a file is to be written in; asked before long work, so that its result is not lost at the end.
///
/// # Errors
/// Where there is no such folder.
pub fn folder_of(path: &Path) -> Result<&Path, Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() {
        return Ok(folder);
    }
    Err(Error::file(path, format!("cannot be written: there is no folder {}; make it first", folder.display())))
}

/// Writes a file through a temporary one beside it, so that no reader ever sees half of it.
///
/// # Errors
/// Where the folder does not exist or cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Error> {
    write_bytes(path, text.as_bytes())
}

/// [`write_whole`] of anything.
///
/// # Errors
/// Where the folder does not exist or cannot be written.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let folder = folder_of(path)?;
    let cannot = |error: &dyn std::fmt::Display| Error::file(path, format!("cannot be written: {error}"));
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut temporary = tempfile::Builder::new();
    // Temporary files are for their owner alone unless they are told: this one becomes a file like any other.
    #[cfg(unix)]
    temporary.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = temporary.tempfile_in(folder).map_err(|error| cannot(&error.kind()))?;
    file.write_all(bytes).map_err(|error| cannot(&error))?;
    file.persist(path).map_err(|error| cannot(&error.error))?;
    Ok(())
}
