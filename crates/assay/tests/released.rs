//! A ledger that a released assay wrote, read by this one: JSON and CSV are the same byte for byte. The expected files
//! are those that the released assay printed, with its sentences in their present wording and the intervals of the
//! present statistics.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const RELEASED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assay-ledger/tests/released");

/// The ledger, unpacked into a directory.
fn ledger(directory: &Path) -> PathBuf {
    let packed = fs_err::File::open(format!("{RELEASED}/schema-3.db.gz")).unwrap();
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
fn a_released_ledger_is_judged_and_shown_as_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = ledger(directory.path());
    let before = |ending: &str| fs_err::read_to_string(format!("{RELEASED}/schema-3.{ending}"));
    let mut texts = Vec::new();
    for is_migrated in [false, true] {
        if is_migrated {
            drop(assay_ledger::Ledger::open(&path).unwrap());
        }
        for format in ["json", "csv"] {
            let shown = report(&path, directory.path(), format);
            assert_eq!(shown, before(format).unwrap(), "{format}, migrated: {is_migrated}");
        }
        texts.push(report(&path, directory.path(), "text"));
    }
    assert_eq!(texts[0], texts[1]);
    // Sentences may have changed. Figures, the machine, the systems and the events may not.
    let kept = ["  host: ", "  mariadb@", "  event: "];
    let before = before("txt").unwrap();
    let is_kept = |line: &&str| kept.iter().any(|begin| line.starts_with(begin)) || is_row(line);
    let lines: Vec<&str> = before.lines().filter(is_kept).collect();
    assert!(lines.iter().filter(|line| is_row(line)).count() >= 4, "{before}");
    for line in lines {
        assert!(texts[0].lines().any(|it| it == line), "no `{line}` in {}", texts[0]);
    }
}

/// Whether a line is about a test.
fn is_row(line: &str) -> bool {
    let tests = ["point-query ", "scan ", "update-index ", "read-only_range=10 "];
    tests.iter().any(|test| line.trim_start().starts_with(test))
}
