//! Records survive a round trip, and an invalid record is an error that names its place.

use std::collections::BTreeMap;

use assay_ledger::{Ledger, Problem};
use assay_model::{
    Attachment, CallNode, CallTree, CellDocument, CellId, DataSet, EventKind, Hint, Priority,
    ProcessorPart, Profile, ProfileLimits, Series, Slice, SliceId, SliceOutcome, StackFrame,
    StudyEvent, StudyRecord, TestSet, Waits,
};
use proptest::prelude::*;
use rusqlite::Connection;

use crate::common;

/// An existing ledger keeps the permissions set by its owner.
#[test]
fn a_new_ledger_and_its_logs_are_private() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let directory = tempfile::tempdir().unwrap();
    let mode = |path: &std::path::Path| fs_err::metadata(path).unwrap().mode() & 0o777;
    let (ledger, _, path) = common::sample_ledger(directory.path());
    for entry in fs_err::read_dir(directory.path()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    drop(ledger);
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let _ledger = Ledger::open(&path).unwrap();
    assert_eq!(mode(&path), 0o644);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_study_is_read_as_it_was_written(record in common::record()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/directory/ledger.db");
        let mut ledger = Ledger::open(&path).unwrap();
        common::write(&mut ledger, &record);
        let mut read = ledger.read(&record.study.id).unwrap();
        prop_assert_eq!(read.runs.len(), record.runs.len());
        for (read, written) in read.runs.iter_mut().zip(&record.runs) {
            prop_assert_eq!(read.started_ms, written.started_ms);
            read.updated_ms = written.updated_ms;
        }
        prop_assert_eq!(&read, &record);
        drop(ledger);

        let ledger = Ledger::open_read_only(&path).unwrap();
        let summary = &ledger.studies().unwrap()[0];
        prop_assert_eq!(&summary.id, &record.study.id);
        prop_assert_eq!(summary.slices, record.slices.len() as u64);
        prop_assert_eq!(summary.cells, record.study.cells.len() as u64);
        prop_assert_eq!(summary.systems.len(), record.systems.len());
        prop_assert_eq!(summary.elapsed_s, ledger.read(&record.study.id).unwrap().elapsed_s());
    }

    /// Whatever bytes are changed, reading ends in a record or an error.
    #[test]
    fn damage_is_an_error(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        keep in 0.1..1.0_f64,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let (ledger, record, path) = common::sample_ledger(directory.path());
        drop(ledger);
        let mut bytes = fs_err::read(&path).unwrap();
        for (index, byte) in changes {
            let length = bytes.len();
            bytes[index.index(length)] = byte;
        }
        bytes.truncate((bytes.len() as f64 * keep) as usize);
        fs_err::write(&path, bytes).unwrap();
        if let Ok(ledger) = Ledger::open_read_only(&path) {
            let _: Result<StudyRecord, _> = ledger.read(&record.study.id);
            let _: Result<Vec<_>, _> = ledger.studies();
        }
    }
}

#[test]
fn studies_are_listed_oldest_first_and_the_latest_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&directory.path().join("ledger.db")).unwrap();
    assert_eq!(ledger.latest().unwrap(), None);
    let mut record = common::sample();
    for (id, started_ms) in [("second", 20), ("third", 20), ("first", 10)] {
        record.study.id = id.to_owned();
        record.study.started_ms = started_ms;
        common::write(&mut ledger, &record);
    }
    let ids: Vec<String> = ledger.studies().unwrap().into_iter().map(|study| study.id).collect();
    assert_eq!(ids, ["first", "second", "third"]);
    assert_eq!(ledger.latest().unwrap().as_deref(), Some("third"));
}

#[test]
fn slices_are_unique_and_studies_are_atomic() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, mut record, _) = common::sample_ledger(directory.path());
    // The same slice, measured again with another result.
    let mut again = record.slices[0].clone();
    again.work.events /= 2;
    again.outcome = SliceOutcome::Troubled;
    let error = ledger.add_slice("sample", &again).unwrap_err();
    assert!(matches!(error.problem, Problem::Twice(_)), "{error}");
    let place = format!("{} at {}, block {}", again.cell.test, again.cell.setup, again.block);
    assert!(error.to_string().contains(&place), "{error}");
    again.round += 1;
    ledger.add_slice("sample", &again).unwrap();
    assert_eq!(ledger.read("sample").unwrap().slices.len(), record.slices.len() + 1);
    // Either all slices of a round are added, or none is.
    let next = Slice { round: again.round + 100, ..again.clone() };
    let error = ledger.add_slices("sample", &[next.clone(), again.clone()]).unwrap_err();
    assert!(matches!(error.problem, Problem::Twice(_)), "{error}");
    let later = Slice { round: next.round + 1, ..again };
    ledger.add_slices("sample", &[next, later]).unwrap();
    assert_eq!(ledger.read("sample").unwrap().slices.len(), record.slices.len() + 3);

    record.study.id = "other".to_owned();
    record.systems.truncate(1);
    let mut second_base = record.systems.clone();
    second_base.extend_from_within(..);
    for systems in [&[], second_base.as_slice()] {
        let error = ledger.create_study(&record.study, &record.runs[0], systems).unwrap_err();
        assert!(matches!(error.problem, Problem::Unstorable(_)), "{error}");
    }
    // The last row is refused.
    record.study.limits = None;
    record.study.cells.push(record.study.cells[0].clone());
    let error = ledger.create_study(&record.study, &record.runs[0], &record.systems).unwrap_err();
    assert!(matches!(error.problem, Problem::Twice(_)), "{error}");
    assert_eq!(ledger.studies().unwrap().len(), 1);
    assert!(matches!(ledger.read("other").unwrap_err().problem, Problem::NoSuchStudy(_)));
}

#[test]
fn an_unmeasured_study_is_removed_with_all_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, record, path) = common::sample_ledger(directory.path());
    assert!(!ledger.withdraw("sample").unwrap());
    assert_eq!(ledger.read("sample").unwrap().slices, record.slices);
    let mut unmeasured = record;
    unmeasured.study.id = "unmeasured".to_owned();
    unmeasured.slices.clear();
    common::write(&mut ledger, &unmeasured);
    ledger.set_settings("unmeasured", 0, &[("a".to_owned(), "b".to_owned())].into()).unwrap();
    assert!(ledger.withdraw("unmeasured").unwrap());
    assert!(!ledger.withdraw("unmeasured").unwrap());
    let ids: Vec<String> = ledger.studies().unwrap().into_iter().map(|study| study.id).collect();
    assert_eq!(ids, ["sample"]);
    drop(ledger);
    let file = Connection::open(path).unwrap();
    let tables = "SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c
        WHERE t.type = 'table' AND c.name = 'study'";
    let mut tables = file.prepare(tables).unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    for table in tables.map(Result::unwrap).filter(|table| table != "study") {
        let left = format!("SELECT count(*) FROM {table} WHERE study = 'unmeasured'");
        let left: u32 = file.query_row(&left, [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "{table}");
    }
}

#[test]
fn studies_are_named_and_removed_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, record, path) = common::sample_ledger(directory.path());
    let other = StudyRecord {
        study: assay_model::Study { id: "other".to_owned(), ..record.study.clone() },
        ..record.clone()
    };
    common::write(&mut ledger, &other);
    ledger.set_name("other", "nightly").unwrap();
    assert_eq!(ledger.find("night").unwrap(), "other");
    assert_eq!(ledger.studies().unwrap()[1].name.as_deref(), Some("nightly"));
    assert!(ledger.size("other").unwrap() > ledger.size("none").unwrap());
    for (study, name) in [
        ("sample", "nightly"),
        ("sample", "other"),
        ("none", "x"),
        ("other", "latest"),
        ("other", "a b"),
    ] {
        ledger.set_name(study, name).unwrap_err();
    }
    ledger.set_name("other", "weekly").unwrap();
    assert!(ledger.find("nightly").is_err());
    let both = ["other".to_owned(), "none".to_owned()];
    assert!(matches!(ledger.remove(&both).unwrap_err().problem, Problem::NoSuchStudy(_)));
    assert_eq!(ledger.read("other").unwrap().slices, other.slices);
    ledger.remove(&both[..1]).unwrap();
    assert_eq!(ledger.size("other").unwrap(), 0);
    assert_eq!(ledger.read("sample").unwrap().slices, record.slices);
    ledger.remove(&["sample".to_owned()]).unwrap();
    drop(ledger);
    let file = Connection::open(path).unwrap();
    for table in ["slice", "series", "attachment", "cell", "name", "study"] {
        let left: u32 =
            file.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "{table}");
    }
}

#[test]
fn settings_are_kept_by_system_and_a_later_audit_replaces_them() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, record, _) = common::sample_ledger(directory.path());
    let settings = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let empty = vec![settings(&[]); record.systems.len()];
    assert_eq!(ledger.settings("sample").unwrap(), empty);
    let last = record.systems.len() - 1;
    let first = settings(&[("jit", "on"), ("build.compiler", ""), ("sql_mode", "'; --")]);
    ledger.set_settings("sample", last, &first).unwrap();
    assert_eq!(ledger.settings("sample").unwrap()[last], first);
    let second = settings(&[("jit", "off")]);
    ledger.set_settings("sample", last, &second).unwrap();
    assert_eq!(ledger.settings("sample").unwrap()[last], second);
    let error = ledger.set_settings("sample", 99, &second).unwrap_err();
    assert!(matches!(error.problem, Problem::Dangling), "{error}");
    assert!(matches!(ledger.settings("none").unwrap_err().problem, Problem::NoSuchStudy(_)));
}

#[test]
fn documents_are_read_on_request_and_checked() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, study, path) = common::sample_ledger(directory.path());
    let frame =
        |function: &str| StackFrame { function: function.to_owned(), module: "server".to_owned() };
    let calls = CallTree {
        frames: vec![frame("main"), frame("read")],
        nodes: vec![
            CallNode { caller: None, frame: 0, own: 3 },
            CallNode { caller: Some(0), frame: 1, own: 7 },
        ],
    };
    let profile = Profile {
        frequency: 1999,
        ops: 12.5,
        server: "server".to_owned(),
        serving: calls.clone(),
        dispersion: 1.0,
        background: CallTree::default(),
        waits: Some(Waits { ops: 2.0, calls }),
        processor: vec![ProcessorPart { ops: 2.0, instructions: 3000, cycles: 2500 }],
        limits: ProfileLimits { stripped: vec!["libc.so.6".to_owned()], ..Default::default() },
    };
    let cell = study.study.cells[0].id;
    let document = |system| CellDocument::new(system, cell, &profile).unwrap();
    // All or nothing is written; this system does not exist.
    let error = ledger.set_documents("sample", &[document(0), document(99)]).unwrap_err();
    assert!(matches!(error.problem, Problem::Dangling), "{error}");
    assert_eq!(ledger.documents("sample").unwrap().read_all::<Profile>().unwrap(), []);
    ledger.set_documents("sample", &[document(0)]).unwrap();
    ledger.set_documents("sample", &[document(0)]).unwrap();
    let known =
        |ledger: &Ledger| ledger.documents("sample").unwrap().read_all::<Profile>().unwrap();
    assert_eq!(known(&ledger), [(0, cell, profile.clone())]);

    // Another version of assay may know the name.
    let foreign =
        CellDocument { name: "unknown".to_owned(), json: "[7]".to_owned(), ..document(0) };
    ledger.set_documents("sample", std::slice::from_ref(&foreign)).unwrap();
    assert_eq!(known(&ledger).len(), 1);
    for (name, json) in [("unknown", "[7"), ("", "[7]"), (&"x".repeat(201), "[7]")] {
        let (name, json) = (name.to_owned(), json.to_owned());
        let wrong = CellDocument { name, json, ..foreign.clone() };
        let error = ledger.set_documents("sample", &[wrong]).unwrap_err();
        assert!(matches!(error.problem, Problem::Unstorable(_)), "{error}");
    }

    // A caller must precede its callees.
    let mut wrong = profile.clone();
    wrong.serving.nodes[0].caller = Some(1);
    assert!(CellDocument::new(0, cell, &wrong).is_err());
    for dispersion in [0.5, f64::NAN, f64::INFINITY] {
        assert!(CellDocument::new(0, cell, &Profile { dispersion, ..profile.clone() }).is_err());
    }
    drop(ledger);
    let damaged = rusqlite::Connection::open(&path).unwrap();
    damaged
        .execute("UPDATE document SET document = replace(document, '[1,1,7]', '[9,1,7]')", [])
        .unwrap();
    drop(damaged);
    let documents = Ledger::open(&path).unwrap().documents("sample").unwrap();
    let error = documents.check::<Profile>().unwrap_err();
    assert!(error.to_string().contains("comes before its caller"), "{error}");
}

/// Time after the study is not study time, and what was not done may be tried again.
#[test]
fn what_was_not_done_is_no_time_of_the_study_and_can_be_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, study, _) = common::sample_ledger(directory.path());
    let before = ledger.read("sample").unwrap();
    let when_ms = before.runs.last().unwrap().updated_ms + 60_000;
    let event = |what| StudyEvent { when_ms, system: None, what };
    let not_done = |afterward: &str| {
        event(EventKind::NotDone {
            afterward: afterward.to_owned(),
            what: "no profile of point-query".to_owned(),
            test: "point-query".to_owned(),
            data: DataSet { tables: 1, rows: 1000 },
            why: "\"it\" ended".to_owned(),
        })
    };
    let (prevented, other) = (not_done("profile"), not_done("profiles"));
    ledger.add_event("sample", &other).unwrap();
    ledger.add_event("sample", &prevented).unwrap();
    let read = ledger.read("sample").unwrap();
    assert_eq!(read.elapsed_s(), before.elapsed_s());
    assert_eq!(ledger.studies().unwrap()[0].elapsed_s, before.elapsed_s());
    assert_eq!(read.events.last(), Some(&prevented));
    ledger.add_event("sample", &event(EventKind::WritesRepeated)).unwrap();
    ledger.forget_not_done("sample", "profile").unwrap();
    let read = ledger.read("sample").unwrap();
    assert_eq!(read.events.len(), study.events.len() + 2);
    assert!(!read.events.contains(&prevented) && read.events.contains(&other));
    assert!(read.elapsed_s() >= before.elapsed_s() + 60.0);
}

#[test]
fn series_and_attachments_are_read_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, record, path) = common::sample_ledger(directory.path());
    let (slice, other) = (record.slices[0].id(), record.slices[1].id());
    let series = |name: &str, counts: &[u64]| Series {
        name: name.to_owned(),
        step_ms: 1000,
        counts: counts.to_vec(),
    };
    let profile = Attachment {
        name: "server.folded".to_owned(),
        media_type: "text/plain".to_owned(),
        bytes: vec![0, 255, 10],
    };
    ledger.add_series("sample", slice, &series("events", &[3, 0, 1 << 40])).unwrap();
    ledger.add_series("sample", slice, &series("errors", &[])).unwrap();
    ledger.add_attachment("sample", slice, &profile).unwrap();
    let expected = [series("errors", &[]), series("events", &[3, 0, 1 << 40])];
    assert_eq!(ledger.series("sample", slice).unwrap(), expected);
    assert_eq!(ledger.series("sample", other).unwrap(), []);
    assert_eq!(ledger.attachments("sample", slice).unwrap(), ["server.folded"]);
    assert_eq!(ledger.attachment("sample", slice, "server.folded").unwrap(), profile);

    for wrong in [series("", &[1]), series("big", &[(1 << 40) + 1]), series(&"x".repeat(201), &[])]
    {
        let error = ledger.add_series("sample", slice, &wrong).unwrap_err();
        assert!(matches!(error.problem, Problem::Unstorable(_)), "{error}");
    }
    let error = ledger.add_series("sample", slice, &series("events", &[1])).unwrap_err();
    assert!(matches!(error.problem, Problem::Twice(_)), "{error}");
    let error = ledger.attachment("sample", slice, "other").unwrap_err();
    assert!(matches!(error.problem, Problem::NoSuchAttachment(_)), "{error}");
    let nowhere = SliceId { round: slice.round + 1, ..slice };
    let error = ledger.add_attachment("sample", nowhere, &profile).unwrap_err();
    assert!(matches!(error.problem, Problem::NoSuchSlice { .. }), "{error}");

    // Reading checks the same bounds.
    drop(ledger);
    let file = Connection::open(&path).unwrap();
    file.execute("UPDATE series SET step_ms = 0", []).unwrap();
    file.execute("UPDATE attachment SET media_type = ''", []).unwrap();
    drop(file);
    let ledger = Ledger::open_read_only(&path).unwrap();
    let error = ledger.series("sample", slice).unwrap_err().to_string();
    assert!(error.contains("`series`, row `errors`: `step_ms` is 0, not"), "{error}");
    let error = ledger.attachment("sample", slice, "server.folded").unwrap_err().to_string();
    assert!(
        error.contains("`attachment`, row `server.folded`: `length of media_type` is 0"),
        "{error}"
    );
    assert_eq!(ledger.read("sample").unwrap().slices, record.slices);
}

#[test]
fn calibration_and_later_audits_replace_earlier_ones() {
    let directory = tempfile::tempdir().unwrap();
    let mut record = common::sample();
    let cell = CellId {
        test: assay_workloads::test_by_name("insert").unwrap(),
        ..record.study.cells[0].id
    };
    record.study.cells[0].id = cell;
    (record.slices, record.blocks) = (Vec::new(), Vec::new());
    let mut ledger = Ledger::open(&directory.path().join("ledger.db")).unwrap();
    common::write(&mut ledger, &record);
    ledger.set_calibrated_events("sample", cell, 777).unwrap();
    ledger.set_turn("sample", cell, 12, 2500).unwrap();
    for priority in [Priority::Realtime, Priority::Normal] {
        ledger.set_priority("sample", cell, priority).unwrap();
        assert_eq!(ledger.read("sample").unwrap().study.cells[0].priority, priority);
    }
    ledger.set_audit("sample", &record.audit[..1]).unwrap();
    let read = ledger.read("sample").unwrap();
    let written = &read.study.cells[0];
    assert_eq!((written.events, written.turn_ms), (Some(777), 12));
    assert_eq!((written.warm_us, written.warm_time_us()), (Some(2500), 2500));
    assert_eq!(read.audit, record.audit[..1]);
}

#[test]
fn unstorable_values_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, record, _) = common::sample_ledger(directory.path());
    let mut slice = record.slices[0].clone();
    assert!(matches!(ledger.add_slice("none", &slice).unwrap_err().problem, Problem::Dangling));
    slice.system = 99;
    assert!(matches!(ledger.add_slice("sample", &slice).unwrap_err().problem, Problem::Dangling));
    slice = record.slices[0].clone();
    slice.counters.set("host_busy_ns", Some(u64::MAX));
    let error = ledger.add_slice("sample", &slice).unwrap_err();
    assert!(error.to_string().contains("`host_busy_ns` of 18446744073709551615"), "{error}");
    let cell =
        CellId { test: assay_workloads::tests_of(TestSet::Set32)[0], ..record.study.cells[0].id };
    let cell = CellId { setup: assay_model::Setup { clients: 3, tables: 99, rows: 1 }, ..cell };
    assert!(matches!(
        ledger.set_calibrated_events("sample", cell, 1).unwrap_err().problem,
        Problem::NoSuchCell { .. }
    ));
    assert!(matches!(
        ledger.set_turn("sample", cell, 5, 1000).unwrap_err().problem,
        Problem::NoSuchCell { .. }
    ));
    assert!(matches!(
        ledger.set_turn("sample", record.study.cells[0].id, u32::MAX, 1000).unwrap_err().problem,
        Problem::Unstorable(_)
    ));
    assert!(matches!(ledger.finish("none").unwrap_err().problem, Problem::NoSuchStudy(_)));
    assert!(matches!(ledger.read("none").unwrap_err().problem, Problem::NoSuchStudy(_)));
    assert!(ledger.create_study(&record.study, &record.runs[0], &record.systems).is_err());
    assert_eq!(ledger.read("sample").unwrap().slices, record.slices);
}

#[test]
fn a_bad_row_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, _, path) = common::sample_ledger(directory.path());
    drop(ledger);
    let tamper = Connection::open(&path).unwrap();
    tamper.pragma_update(None, "foreign_keys", false).unwrap();
    tamper.pragma_update(None, "ignore_check_constraints", true).unwrap();
    for (change, back, complaint) in [
        (
            "UPDATE slice SET test = 'scam' WHERE id = 2",
            "UPDATE slice SET test = (SELECT test FROM cell LIMIT 1) WHERE id = 2",
            "table `slice`, row 2: `test` is `scam`, an unknown test",
        ),
        (
            "UPDATE slice SET system = -1 WHERE id = 1",
            "UPDATE slice SET system = 0 WHERE id = 1",
            "table `slice`, row 1: `system` is -1",
        ),
        (
            "UPDATE slice SET system = 99 WHERE id = 1",
            "UPDATE slice SET system = 0 WHERE id = 1",
            "table `slice`, row 1: `system` is 99, but there are",
        ),
        (
            "UPDATE slice SET outcome = 'perfect', failure = 'x' WHERE id = 1",
            "UPDATE slice SET outcome = 'good', failure = NULL WHERE id = 1",
            "table `slice`, row 1: `outcome` is `perfect`, an unknown word",
        ),
        (
            "UPDATE slice SET errors = '[[1]' WHERE id = 1",
            "UPDATE slice SET errors = '[]' WHERE id = 1",
            "table `slice`, row 1: `errors`: ",
        ),
        (
            "UPDATE slice SET block = 5000000000 WHERE id = 1",
            "UPDATE slice SET block = 0 WHERE id = 1",
            "table `slice`, row 1: `block` is 5000000000, out of range",
        ),
        (
            "UPDATE slice SET clients = clients + 1 WHERE id = 1",
            "UPDATE slice SET (test, clients, tables, rows) = \
                (SELECT test, clients, tables, rows FROM cell LIMIT 1) WHERE id IN (1, 2)",
            "table `slice`, row 1: ",
        ),
        (
            "UPDATE system SET number = number + 10",
            "UPDATE system SET number = number - 10",
            "table `system`, row 0: is missing",
        ),
        (
            "UPDATE system SET spec = '{}' WHERE number = 0",
            "DELETE FROM system",
            "table `system`, row 0: `spec`: missing field",
        ),
    ] {
        tamper.execute(change, []).unwrap();
        let error = Ledger::open_read_only(&path).unwrap().read("sample").unwrap_err();
        let expected = format!("ledger `{}`: {complaint}", path.display());
        assert!(error.to_string().starts_with(&expected), "{error}\n{change}");
        tamper.execute(back, []).unwrap();
    }
}

#[test]
fn other_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text");
    fs_err::write(&text, "no database at all, but long enough to look at").unwrap();
    let other = directory.path().join("other.db");
    Connection::open(&other).unwrap().execute("CREATE TABLE t (a)", []).unwrap();
    for path in [&text, &other] {
        for opened in [Ledger::open(path), Ledger::open_read_only(path)] {
            let error = opened.unwrap_err();
            assert!(matches!(error.problem, Problem::NotALedger), "{error}");
            assert_eq!(error.hints().len(), 1);
        }
    }
    let error = Ledger::open(&text.join("ledger.db")).unwrap_err();
    assert!(matches!(error.problem, Problem::Directory(_)), "{error}");
    let missing = directory.path().join("missing.db");
    let error = Ledger::open_read_only(&missing).unwrap_err();
    assert!(error.to_string().contains("missing.db"), "{error}");
    assert!(!missing.exists());
}

#[test]
fn a_locked_ledger_is_reported_but_readable() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, record, path) = common::sample_ledger(directory.path());
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut slice = record.slices[0].clone();
    slice.round += 1;
    let error = ledger.add_slice("sample", &slice).unwrap_err();
    assert!(matches!(error.problem, Problem::Locked), "{error}");
    assert!(error.hints()[0].starts_with("wait for the other assay"));
    let reader = Ledger::open_read_only(&path).unwrap();
    assert_eq!(reader.read("sample").unwrap().slices, record.slices);
    other.execute_batch("ROLLBACK").unwrap();
    ledger.add_slice("sample", &slice).unwrap();
}

/// SQLite itself does not notice and writes on to an unlinked file.
#[test]
fn a_ledger_that_is_removed_or_replaced_is_noticed() {
    for is_replaced in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (mut ledger, record, path) = common::sample_ledger(directory.path());
        let id = &record.study.id;
        ledger.finish(id).unwrap();
        fs_err::remove_file(&path).unwrap();
        if is_replaced {
            drop(Ledger::open(&path).unwrap());
        }
        let event = record.events[0].clone();
        for error in [ledger.finish(id).unwrap_err(), ledger.add_event(id, &event).unwrap_err()] {
            assert!(matches!(error.problem, Problem::Gone), "{error}");
        }
    }
}
