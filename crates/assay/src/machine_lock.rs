//! One measuring assay per machine: a second would spoil both.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::interrupt::Interrupt;
use crate::progress::Progress;

/// The file that is locked, the same for all users of the machine.
const FILE: &str = "/tmp/assay-measures.lock";

/// Between two attempts, while another assay measures.
const ATTEMPT_EVERY: Duration = Duration::from_millis(200);

/// Held while this assay measures; the kernel frees it however assay ends.
pub(crate) struct MachineLock {
    _file: File,
}

impl MachineLock {
    /// Waits until no other assay measures on this machine.
    pub(crate) fn wait(progress: &Progress, interrupt: &Interrupt) -> Result<Self> {
        let file = open(Path::new(FILE))?;
        let mut is_told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("cannot lock `{FILE}`"));
                }
            }
            interrupt.check()?;
            if !is_told {
                progress.begin("waiting for another assay that measures on this machine");
                is_told = true;
            }
            std::thread::sleep(ATTEMPT_EVERY);
        }
    }
}

/// Opens the file whoever made it: a lock needs no right to write, and `/tmp` may refuse to create over others' files.
fn open(path: &Path) -> Result<File> {
    match fs_err::File::open(path) {
        Ok(file) => Ok(file.into_parts().0),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let made = fs_err::OpenOptions::new().read(true).write(true).create(true).open(path)?;
            Ok(made.into_parts().0)
        }
        Err(error) => Err(error.into()),
    }
}
