//! A small study that assay measured once, judged and shown: JSON and CSV are the same byte for byte.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assay-ledger/tests/recorded");

/// The ledger, unpacked into a directory.
fn ledger(directory: &Path) -> PathBuf {
    let packed = fs_err::File::open(format!("{RECORDED}/study.db.gz")).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let path = directory.join("ledger.db");
    fs_err::write(&path, bytes).unwrap();
    path
}

fn report(ledger: &Path, state: &Path, format: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["report", "--format", format, "--ledger"])
        .arg(ledger)
        .env("XDG_STATE_HOME", state)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_recorded_study_is_judged_and_shown_as_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = ledger(directory.path());
    let before = |ending: &str| fs_err::read_to_string(format!("{RECORDED}/study.{ending}"));
    for format in ["json", "csv"] {
        assert_eq!(report(&path, directory.path(), format), before(format).unwrap(), "{format}");
    }
    let text = report(&path, directory.path(), "text");
    // Sentences may have changed. Figures, the machine, the systems and the events may not.
    let kept = ["  host: ", "  mariadb@", "  event: "];
    let before = before("txt").unwrap();
    let is_kept = |line: &&str| kept.iter().any(|begin| line.starts_with(begin)) || is_row(line);
    let lines: Vec<&str> = before.lines().filter(is_kept).collect();
    assert!(lines.iter().filter(|line| is_row(line)).count() >= 4, "{before}");
    for line in lines {
        assert!(text.lines().any(|it| it == line), "no `{line}` in {text}");
    }
}

/// Whether a line is about a test.
fn is_row(line: &str) -> bool {
    let tests = ["point-query ", "scan ", "update-index ", "read-only_range=10 "];
    tests.iter().any(|test| line.trim_start().starts_with(test))
}
