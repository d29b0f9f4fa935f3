//! Programs that sources run. Their results count only while this process is not being stopped.

use std::io;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

static HALTED: Mutex<()> = Mutex::new(());

/// While the returned guard is held, no program starts and no thread acts on a program's exit. The caller ends these
/// programs and then this process: an interrupted step must not count as failed or done.
pub fn halt() -> MutexGuard<'static, ()> {
    HALTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a program without the database password in its environment.
pub(crate) fn start(command: &mut Command) -> io::Result<Child> {
    let _starting = halt();
    command.env_remove("ASSAY_PASSWORD").spawn()
}

pub(crate) fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    let status = child.wait();
    drop(halt());
    status
}

pub(crate) fn output(command: &mut Command) -> io::Result<Output> {
    let child = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let output = child.wait_with_output();
    drop(halt());
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_gets_the_password_of_a_database() {
        let mut command = Command::new("env");
        let output = output(command.env("ASSAY_PASSWORD", "canary").env("OTHER", "there")).unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("OTHER=there") && !text.contains("canary"), "{text}");
    }
}
