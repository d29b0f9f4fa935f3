//! A test defined only here, to be planned, sent, stored, judged and reported without changes to assay.

use assay_ledger::Ledger;
use assay_load::{ClientSession, ClientWork, RunBound, Tables, fill};
use assay_model::{
    Artifact, Class, Definition, Dialect, Distribution, Fill, Group, Host, Pacing, PlanningFacts,
    Role, Schema, Script, Slice, StartFrom, Step, Study, StudyRecord, System, TableChoice, Test,
    TestSet, Unit,
};
use assay_plan::{MachineFacts, Request, SetupRequest, plan_of};
use assay_report::{Format, TextOptions, render};

fn count_by_k() -> Test {
    let group = Group { rank: 6, word: "own".to_owned(), title: "own work".to_owned() };
    let step = Step {
        sql: "SELECT COUNT(*) FROM sbtest WHERE k BETWEEN ? AND ?".to_owned(),
        postgres: None,
        table: TableChoice::Drawn,
        fill: vec![Fill::Drawn(1), Fill::Plus(9)],
        times: 2,
        text: false,
        renews: None,
    };
    assay_workloads::define(Definition {
        name: "count-by-k".to_owned(),
        group,
        groups: Vec::new(),
        does: "count the rows of a range of 10 values of k, twice".to_owned(),
        class: Class::Read,
        start_from: StartFrom::Fresh,
        unit: Unit::Query,
        schema: Schema::Sbtest,
        roles: vec![Role {
            script: Script {
                steps: vec![step],
                draw: Distribution::Special,
                rows: None,
                mix: Vec::new(),
                scratch: Vec::new(),
            },
            clients: None,
            pacing: Pacing::Closed,
        }],
        planning: PlanningFacts::default(),
        digest: String::new(),
    })
}

fn recorded(study: &Study, systems: &[System], session: &mut ClientSession) -> StudyRecord {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let mut ledger = Ledger::open(&path).unwrap();
    let begun = StudyRecord::new(study.clone(), Host::default(), systems.to_vec());
    ledger.create_study(study, &begun.runs[0], systems).unwrap();
    for (block, round) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        for system in 0..systems.len() {
            let slice = Slice {
                block,
                round,
                position: system as u32,
                started_ms: 1_795_000_000_000,
                work: session.run(0, RunBound::Events(50)).unwrap(),
                ..Slice::new(system, study.cells[0].id)
            };
            assert_eq!((slice.work.read, slice.work.rows), (100, 100));
            ledger.add_slice(&study.id, &slice).unwrap();
        }
    }
    ledger.finish(&study.id).unwrap();
    drop(ledger);

    Ledger::open_read_only(&path).unwrap().read(&study.id).unwrap()
}

#[test]
fn a_test_is_defined_in_one_place() {
    let test = count_by_k();
    let request = Request {
        setups: vec![SetupRequest { rows: Some(1000), ..SetupRequest::default() }],
        tests: vec!["count-*".to_owned()],
        ..Request::of_systems(&["mariadb@10.11", "mariadb@10.11"].map(str::to_owned))
    };
    let machine = MachineFacts { cpus: 2, memory_mb: 1 << 14, disk_mb: 1 << 16, realtime: None };
    let suite = assay_workloads::tests_of(TestSet::All).into_iter().chain([test]).collect();
    let plan = plan_of(&request, machine, suite).unwrap();
    let mut study = plan.study;
    study.id = "20261122-0d48".to_owned();
    assert_eq!(study.cells.iter().map(|cell| cell.id.test).collect::<Vec<_>>(), [test]);
    let cell = study.cells[0].id;

    let server = assay_testkit::mariadb();
    let (options, prefix) = (server.connect_options(), assay_testkit::prefix("10.11"));
    let tables = Tables {
        dialect: Dialect::MySql,
        engine: assay_model::Engine::InnoDb,
        form: study.table_form.clone(),
        data: cell.setup.data(),
        seed: study.seed,
    };
    fill(&options, &tables, &mut |_| ()).unwrap();
    let work = ClientWork {
        dialect: Dialect::MySql,
        test,
        setup: cell.setup,
        statements: study.statements,
        seed: study.seed,
    };
    let mut session = ClientSession::open(&options, &work, &[]).unwrap();

    let systems: Vec<System> = (plan.systems.iter().enumerate())
        .map(|(number, it)| System {
            name: it.name.clone(),
            spec: it.spec.clone(),
            artifact: Artifact::Prefix(prefix.clone()),
            is_base: number == 0,
            is_twin: it.is_twin,
            options: Vec::new(),
        })
        .collect();
    let record = recorded(&study, &systems, &mut session);
    assert_eq!(record.study.cells[0].id.test, test);
    assert_eq!(record.study.cells[0].id.test.definition(), test.definition());
    let judgement = assay_verdict::judge(&record);
    let judged = judgement.cells.iter().find(|judged| judged.system == 1).unwrap();
    assert_eq!(judged.cell, cell);
    let rqps = judged.rqps.unwrap().value;
    assert!((0.1..10.0).contains(&rqps), "{rqps}");
    let text = TextOptions { width: 120, color: false, verbose: true };
    for format in [Format::TEXT, Format::HTML, Format::MARKDOWN, Format::CSV, Format::JSON] {
        let shown = render(&record, &judgement, format, &text);
        assert!(shown.contains("count-by-k") && shown.contains("own"), "{format:?}: {shown}");
    }
}
