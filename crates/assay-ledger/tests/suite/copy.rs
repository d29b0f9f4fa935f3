//! Conclusions of studies, and studies copied to another ledger.

use assay_ledger::{Ledger, Problem};
use assay_model::{Conclusion, Conclusions, Estimate, Verdict};
use proptest::prelude::*;
use rusqlite::Connection;

use crate::common;

fn conclusions() -> Conclusions {
    let estimate = Estimate { value: 0.1 + 0.2, low: f64::MIN_POSITIVE, high: f64::INFINITY };
    let concluded = Conclusion {
        cell: 0,
        system: 0,
        verdict: Verdict::Slower,
        qps: Some(estimate),
        rqps: Some(Estimate::without_interval(1.0)),
        cpu_verdict: Some(Verdict::Same),
        cpu_ratio: None,
    };
    Conclusions { judged_by: "0.1.0".to_owned(), cells: vec![concluded] }
}

#[test]
fn conclusions_are_kept_until_the_study_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, _, path) = common::sample_ledger(directory.path());
    assert_eq!(ledger.conclusions("sample").unwrap(), None);
    for _ in 0..2 {
        ledger.set_conclusions("sample", &conclusions()).unwrap();
        let read = ledger.conclusions("sample").unwrap().unwrap();
        assert_eq!(read.judged_by, "0.1.0");
        assert_eq!(read.cells[0].differences(&conclusions().cells[0]), Vec::<&str>::new());
        assert_eq!(read.cells[0].qps, conclusions().cells[0].qps);
        assert!(!read.cells[0].rqps.unwrap().has_interval());
    }
    let mut wrong = conclusions();
    wrong.cells[0].cell = 9999;
    let error = ledger.set_conclusions("sample", &wrong).unwrap_err();
    assert!(matches!(error.problem, Problem::Dangling), "{error}");
    assert!(ledger.conclusions("sample").unwrap().is_some(), "the earlier ones stay");
    assert!(ledger.set_conclusions("none", &conclusions()).is_err());
    ledger.reopen("sample").unwrap();
    assert_eq!(ledger.conclusions("sample").unwrap(), None);
    // A finished study has its conclusions: both, or neither.
    assert!(ledger.conclude("sample", &wrong).is_err());
    assert!(!ledger.read("sample").unwrap().finished);
    ledger.conclude("sample", &conclusions()).unwrap();
    assert!(ledger.read("sample").unwrap().finished);
    assert!(ledger.conclusions("sample").unwrap().is_some());
    ledger.set_conclusions("sample", &conclusions()).unwrap();
    drop(ledger);
    for (change, message) in [
        ("UPDATE verdict SET verdict = 'best'", "an unknown word"),
        ("UPDATE verdict SET verdict = hex(zeroblob(1000000))", "0…`, an unknown word"),
        ("UPDATE verdict SET verdict = 'same', cpu_ratio_low = 1", "`cpu_ratio` is NULL"),
        ("UPDATE verdict SET cpu_ratio_low = NULL, cell = 9999", "`cell` is 9999"),
        ("UPDATE verdict SET cell = 0; UPDATE study SET judged_by = NULL", "has verdicts"),
    ] {
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {change}")).unwrap();
        drop(connection);
        let error = Ledger::open_read_only(&path).unwrap().conclusions("sample").unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("UPDATE study SET request = CAST(x'ff' AS TEXT)").unwrap();
    drop(connection);
    let error = Ledger::open_read_only(&path).unwrap().rows("sample").unwrap_err().to_string();
    assert!(error.contains("table `study`, row 1: `request` invalid utf-8"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn a_copied_study_is_the_same(record in common::record()) {
        let directory = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&directory.path().join("a.db")).unwrap();
        common::write(&mut ledger, &record);
        let id = &record.study.id;
        let rows = ledger.rows(id).unwrap();
        prop_assert_eq!(ledger.read(id).unwrap(), {
            let bytes = Ledger::bytes_of(std::slice::from_ref(&rows)).unwrap();
            prop_assert_eq!(&bytes, &Ledger::bytes_of(std::slice::from_ref(&rows)).unwrap());
            let alone = Ledger::of_bytes(&bytes, directory.path()).unwrap();
            prop_assert!(alone.holds_only(&rows).unwrap());
            prop_assert_eq!(&alone.rows(id).unwrap(), &rows);
            alone.read(id).unwrap()
        });
        let error = ledger.add_rows(std::slice::from_ref(&rows)).unwrap_err();
        prop_assert!(matches!(error.problem, Problem::Twice(_)), "{}", error);
        // Row ids are taken in the other ledger.
        let (mut other, sample, _) = common::sample_ledger(directory.path());
        if !sample.study.id.starts_with(id.as_str()) {
            other.add_rows(std::slice::from_ref(&rows)).unwrap();
            prop_assert_eq!(&other.rows(id).unwrap(), &rows);
            prop_assert!(!other.holds_only(&rows).unwrap());
            prop_assert_eq!(other.read(id).unwrap(), ledger.read(id).unwrap());
        }
    }
}
