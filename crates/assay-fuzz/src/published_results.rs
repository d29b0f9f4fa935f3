//! Untrusted published results.

use assay_import::{
    ClientRun, ImportFacts, SystemRun, hammerdb_runs, ibench_run, iostat, metrics, output,
    pgbench_log, pgbench_run, qps_table, rate_table, run_doubts, step_rows, study_of,
    study_of_runs, sysbench_run, vmstat,
};
use assay_model::{Setup, StudyRecord};

pub(crate) fn small() -> Option<StudyRecord> {
    const TABLE: &str = "col-1 : x.my5651_rel.z12a_c8r32.pk1\ncol-2 : x.my8036_rel.z12a_c8r32.pk1\n\
        100\t90\thot-points_range=100\n200\t210\tscan_range=100\n";
    let (table, _) = qps_table("small", TABLE.as_bytes()).ok()?;
    study_of(&table, None, &about()).ok()
}

pub(crate) fn tables(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let numbers = |values: &[Option<f64>]| {
        values.iter().flatten().for_each(|value| assert!(value.is_finite(), "{value}"));
    };
    if let Ok((table, faults)) = qps_table("file", bytes) {
        assert!(table.rows.len() + table.servers.len() + faults.len() <= lines);
        assert!(table.rows.iter().all(|row| !row.test.is_empty()));
        table.rows.iter().for_each(|row| numbers(&row.values));
        table.servers.iter().for_each(|name| drop(assay_import::dbms(name)));
        if let Ok(record) = study_of(&table, None, &about()) {
            assert!(record.slices.iter().all(|it| it.ops_per_second().is_some()));
            drop(assay_verdict::judge(&record));
        }
    }
    if let Ok((all, faults)) = metrics("file", bytes) {
        assert!(all.sections.len() + faults.len() <= lines);
        for row in all.sections.iter().flat_map(|it| it.absolute.iter().chain(&it.relative)) {
            assert_eq!(row.printed.len(), row.values.len());
            numbers(&row.values);
        }
    }
    if let Ok((rows, faults)) = step_rows("file", bytes) {
        assert!(rows.len() + faults.len() <= lines);
        rows.iter().for_each(|row| numbers(&row.values));
    }
    if let Ok((found, faults)) = vmstat("file", bytes) {
        assert!(found.samples.len() + faults.len() <= lines);
        assert!(found.published_mean(|it| it.cs).is_none_or(|mean| mean >= 0.0));
    }
    if let Ok((found, faults)) = iostat("file", bytes) {
        assert!(found.devices.values().map(Vec::len).sum::<usize>() + faults.len() <= lines);
    }
    if let Ok((run, faults)) = ibench_run("file", bytes) {
        assert!(run.seconds.len() + faults.len() <= lines);
        assert!(run.seconds.iter().all(|second| second.inserts.is_finite()));
    }
    if let Ok((run, faults)) = sysbench_run("file", bytes) {
        assert!(run.intervals.len() + faults.len() <= lines);
        assert!([run.qps, run.tps, run.seconds].iter().flatten().all(|it| it.is_finite()));
        runs(&run);
    }
    if let Ok((run, faults)) = pgbench_run("file", bytes) {
        assert!(run.intervals.len() + faults.len() <= lines);
        assert!([run.tps, run.seconds].iter().flatten().all(|it| it.is_finite()));
        runs(&run);
    }
    if let Ok((found, faults)) = hammerdb_runs("file", bytes) {
        assert!(found.len() + faults.len() <= lines);
        assert!(found.iter().all(|run| run.nopm.is_finite()));
    }
    if let Ok((mut log, faults)) = pgbench_log("file", bytes) {
        let rates = log.rates();
        assert!(faults.len() <= lines && rates.iter().all(|rate| rate.is_finite()));
        log.add(&log.clone());
        assert_eq!(log.rates().len(), rates.len());
    }
    drop(output(bytes));
    if let Ok((table, faults)) = rate_table("file", bytes) {
        assert!(table.rows.len() + faults.len() <= lines);
        table.rows.iter().for_each(|row| numbers(&row.values));
    }
}

/// A run against itself, repeated.
fn runs(run: &ClientRun) {
    let system_run = |system: &str| SystemRun {
        system: system.to_owned(),
        file: system.to_owned(),
        run: run.clone(),
    };
    let repeated = [system_run("a"), system_run("b"), system_run("a"), system_run("b")];
    drop(run_doubts(&repeated));
    if let Ok(record) = study_of_runs(&repeated, &about()) {
        drop(assay_verdict::judge(&record));
    }
}

fn about() -> ImportFacts {
    ImportFacts {
        reported_in: "file".to_owned(),
        id: "imported-1".to_owned(),
        imported_ms: 0,
        setup: Setup { clients: 1, tables: 1, rows: 1 },
        assay_version: String::new(),
    }
}
