//! A writer killed at any moment loses no slice whose write had returned.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use assay_ledger::Ledger;

use crate::common;

const LEDGER: &str = "ASSAY_TEST_LEDGER";

#[test]
#[ignore = "not a test: the process that `killed_writer_loses_nothing` starts and kills"]
fn writer() {
    let path = std::env::var_os(LEDGER).unwrap();
    let mut ledger = Ledger::open(Path::new(&path)).unwrap();
    let record = common::sample();
    ledger.create_study(&record.study, &record.runs[0], &record.systems).unwrap();
    let mut slice = record.slices[0].clone();
    slice.run = 0;
    for round in 0.. {
        slice.round = round;
        ledger.add_slice("sample", &slice).unwrap();
        println!("wrote {round}");
    }
}

#[test]
fn killed_writer_loses_nothing() {
    for enough in [1, 40, 300] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.db");
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["kill::writer", "--exact", "--ignored", "--nocapture"])
            .env(LEDGER, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut acknowledged = 0;
        for line in BufReader::new(writer.stdout.take().unwrap()).lines() {
            if !line.unwrap().contains("wrote ") {
                continue;
            }
            acknowledged += 1;
            if acknowledged == enough {
                // SIGKILL. The test still reads what the writer printed before.
                writer.kill().unwrap();
            }
        }
        writer.wait().unwrap();
        assert!(acknowledged >= enough);

        let slices = Ledger::open(&path).unwrap().read("sample").unwrap().slices;
        assert!(slices.len() >= acknowledged, "{} of {acknowledged}", slices.len());
        assert!(slices.iter().zip(0..).all(|(slice, round)| slice.round == round));
    }
}
