//! Runs the tools of a build. Their output goes to a log, and its last line to the user.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fs_err as fs;

use super::recipe::BuildStep;
use crate::error::{ProvisionError, Result};
use crate::programs;

/// Environment variables that would change a build without appearing in its recipe.
const FOREIGN: [&str; 12] = [
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "LIBS",
    "MAKEFLAGS",
    "DESTDIR",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
];

/// Minimum interval between two lines shown to the user.
const TELL: Duration = Duration::from_millis(200);

const LINE: usize = 160;

pub(super) struct Workshop<'a> {
    pub(super) place: &'a str,
    pub(super) log: PathBuf,
    pub(super) lock: &'a fs::File,
    pub(super) directory: &'a Path,
    pub(super) tell: &'a mut dyn FnMut(String),
}

impl Workshop<'_> {
    pub(super) fn run(&mut self, step: &BuildStep, environment: &[(&str, &str)]) -> Result<()> {
        let mut log = fs::OpenOptions::new().create(true).append(true).open(&self.log)?;
        writeln!(log, "$ {} {}", step.program, step.arguments.join(" "))?;
        let begin = log.metadata()?.len();
        let (said, says) = std::io::pipe()?;
        let mut command = Command::new(&step.program);
        command.args(&step.arguments).current_dir(self.directory);
        FOREIGN.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.env("LC_ALL", "C").envs(environment.iter().copied());
        // Each commit has a separate directory with its source and its build, which would keep ccache from recognizing
        // earlier work.
        let of_commit = self.directory.parent().unwrap_or(self.directory);
        command.env("CCACHE_BASEDIR", of_commit).env("CCACHE_NOHASHDIR", "1");
        // A source tree inside another repository's directory does not belong to that repository.
        command.env("GIT_CEILING_DIRECTORIES", self.directory);
        // The program also holds the lock, as its standard input, which is empty: if this process is killed, no other
        // process builds at the same place until the program has ended.
        command.stdin(Stdio::from(self.lock.file().try_clone()?));
        // Away from the terminal, whose Ctrl-C is for assay alone.
        command.stdout(says.try_clone()?).stderr(says).process_group(0);
        let mut child = programs::start(&mut command).map_err(|error| match error.kind() {
            ErrorKind::NotFound => ProvisionError::ToolMissing(step.program.clone()),
            _ => ProvisionError::Io(error),
        })?;
        // It has the writing end of the pipe.
        drop(command);
        let (mut lines, mut line, mut message) = (BufReader::new(said), Vec::new(), None);
        while lines.read_until(b'\n', &mut line)? > 0 {
            log.write_all(&line)?;
            let text = String::from_utf8_lossy(&line);
            let is_due = message.is_none_or(|message: Instant| message.elapsed() >= TELL);
            if is_due && !text.trim().is_empty() {
                (self.tell)(plain(text.trim()));
                message = Some(Instant::now());
            }
            line.clear();
        }
        let status = programs::wait(&mut child)?;
        if status.success() {
            return Ok(());
        }
        let text = fs::read(&self.log)?;
        let text = text.get(usize::try_from(begin).unwrap_or(0)..).unwrap_or_default();
        Err(ProvisionError::Build {
            place: self.place.to_owned(),
            step: step.name,
            status: status.to_string(),
            lines: failing(&String::from_utf8_lossy(text)).into(),
            log: self.log.clone().into(),
            advice: Vec::new(),
        })
    }
}

const SHOWN: usize = 16;
const CONTEXT: usize = 3;

/// The lines of a log that explain a failure: the first errors and the lines after them, or else the last lines.
pub(crate) fn failing(log: &str) -> Vec<String> {
    let signs = ["error:", "Error at", "ERROR", "FAILED:", "undefined reference", "fatal", "*** "];
    let lines: Vec<&str> = log.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let mut wanted = vec![false; lines.len()];
    for (at, line) in lines.iter().enumerate() {
        if signs.iter().any(|sign| line.contains(sign)) {
            wanted.iter_mut().skip(at).take(1 + CONTEXT).for_each(|it| *it = true);
        }
    }
    let found = lines.iter().zip(&wanted).filter(|(_, wanted)| **wanted).map(|(line, _)| *line);
    let mut shown: Vec<&str> = found.take(SHOWN).collect();
    if shown.is_empty() {
        shown = lines.iter().rev().take(SHOWN).rev().copied().collect();
    }
    shown.into_iter().map(plain).collect()
}

/// A line fit for a terminal: of moderate length, without control characters.
fn plain(line: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    line.chars().take(LINE).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_errors_are_shown_and_without_any_the_last_lines() {
        let log = "[1/3] a\nx.cc:1:2: error: 'uint64_t' does not name a type\n  1 | uint64_t x;\n    | ^~\n\
                   note\n[2/3] b\nninja: build stopped\n";
        let expected = [
            "x.cc:1:2: error: 'uint64_t' does not name a type",
            "  1 | uint64_t x;",
            "    | ^~",
            "note",
        ];
        assert_eq!(failing(log), expected);
        let quiet: String = (0..40).map(|number| format!("line {number}\n")).collect();
        let shown = failing(&quiet);
        assert_eq!((shown.len(), shown.last().unwrap().as_str()), (SHOWN, "line 39"));
        let long = format!("error: {}", "é".repeat(1000));
        assert_eq!(failing(&long)[0].chars().count(), LINE);
        assert_eq!(failing("error: \u{1b}[2J\tx"), ["error:  [2J x"]);
        assert!(failing("").is_empty());
    }
}
