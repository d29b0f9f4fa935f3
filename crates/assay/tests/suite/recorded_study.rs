//! Snapshot of a small recorded study: JSON, CSV and text.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assay-ledger/tests/recorded");

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

/// `INSTA_UPDATE=always` updates the snapshots.
#[test]
fn a_recorded_study_is_judged_and_shown_as_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = ledger(directory.path());
    for format in ["json", "csv", "text"] {
        insta::assert_snapshot!(format, report(&path, directory.path(), format));
    }
}
