//! Tests of requests and their plans.

use assay_model::{COUNT_THRESHOLD, Preset, Suite};
use assay_workloads::OltpOptions;

use super::*;
use crate::request::{LimitsRequest, SystemRequest};

fn request() -> Request {
    Request::of_systems(&["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()])
}

fn names(request: &Request) -> Vec<String> {
    plan(request, MACHINE).unwrap().systems.into_iter().map(|system| system.name).collect()
}

const MACHINE: MachineFacts =
    MachineFacts { cpus: 2, memory_mb: 16_000, disk_mb: 50_000, realtime: None };

#[test]
fn quick_is_the_published_set_on_one_small_table() {
    let plan = plan(&request(), MACHINE).unwrap();
    assert_eq!(plan.study.cells.len(), 32);
    assert_eq!(plan.study.setups, [Setup { clients: 1, tables: 1, rows: 100_000 }]);
    assert!(plan.study.blocks >= 4);
}

/// Error reserved for blocks that never come would be wasted.
#[test]
fn a_study_plans_the_blocks_that_its_budget_has_time_for() {
    let blocks = |change: &dyn Fn(&mut Request)| {
        let mut request = request();
        change(&mut request);
        plan(&request, MACHINE).unwrap().study.blocks
    };
    let of_budget = |seconds| blocks(&|request| request.budget_s = Some(seconds));
    assert_eq!([1.0, 60.0, 7200.0].map(of_budget), [4, 4, 40]);
    let (short, usual) = (of_budget(150.0), blocks(&|_| ()));
    assert!(4 < short && short < usual && usual < 40, "{short} {usual}");
    assert_eq!(blocks(&|request| (request.budget_s, request.blocks) = (Some(1.0), Some(9))), 9);
}

#[test]
fn turns_fit_into_slices() {
    let planned = |turn_s, slice_s| {
        let request = Request { turn_s: Some(turn_s), slice_s, ..request() };
        plan(&request, MACHINE).map(|plan| {
            let cell = &plan.study.cells[0];
            (cell.turn_ms, cell.slice_ms)
        })
    };
    assert_eq!(planned(0.005, None).unwrap(), (5, 50));
    assert_eq!(planned(0.2, None).unwrap(), (200, 400));
    assert_eq!(planned(0.2, Some(0.2)).unwrap(), (200, 200));
    for (turn_s, slice_s) in [(0.3, 0.2), (0.001, 101.0)] {
        let refused = planned(turn_s, Some(slice_s));
        assert!(
            matches!(refused, Err(PlanError::OutOfRange { option: "turn =", .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn passwords_of_running_servers_are_not_stored() {
    let mut request = request();
    let url = "mysql://me:secret@db.example/sbtest";
    request.systems = vec![SystemRequest::parse(url), SystemRequest::parse("mysql@8.0")];
    request.preset = Preset::Standard;
    let plan = plan(&request, MachineFacts { memory_mb: 64_000, ..MACHINE }).unwrap();
    assert_eq!(plan.systems.len(), 2, "a twin of what runs already");
    assert_eq!(plan.systems[0].name, "mysql://me@db.example:3306/sbtest");
    assert_eq!(plan.systems[0].url.as_ref().unwrap().password.as_ref().unwrap().reveal(), "secret");
    assert!(plan.study.recipe.contains("me@db.example"));
    assert!(!format!("{plan:?}").contains("secret"));
    assert!(plan.study.cells.iter().all(|cell| cell.placement == CpuPlacement::Free));
}

#[test]
fn running_servers_are_refused_where_they_cannot_take_part() {
    let url = SystemRequest::parse("postgres://me@db.example/sbtest");
    let other = SystemRequest::parse("postgres@16");
    let refused = |change: &dyn Fn(&mut Request)| {
        let mut request = Request { systems: vec![url.clone(), other.clone()], ..request() };
        change(&mut request);
        matches!(
            plan(&request, MACHINE),
            Err(PlanError::CannotTakePart { .. } | PlanError::SameDatabase(_))
        )
    };
    assert!(!refused(&|_| ()));
    assert!(refused(&|request| request.twin = Some(true)));
    assert!(refused(&|request| request.systems[1] = url.clone()));
    assert!(refused(&|request| request.preset = Preset::Published));
    assert!(refused(&|request| request.placement = Some(CpuPlacement::OneCpu)));
    assert!(refused(&|request| {
        request.systems[0].options.push(("jit".to_owned(), "on".to_owned()));
    }));
}

#[test]
fn the_same_system_twice_gets_a_number() {
    let mut request = request();
    request.systems = vec![SystemRequest::parse("mariadb@11.8"); 3];
    assert_eq!(names(&request), ["mariadb@11.8", "mariadb@11.8 #2", "mariadb@11.8 #3"]);
}

#[test]
fn names_are_those_that_were_given_or_short() {
    let options: String = (0..60).map(|at| format!("+option_{at}=value")).collect();
    let mut request = request();
    let named = format!("old=mysql@8.0{options}");
    let [first, second] = ["0", "1"].map(|it| format!("mysql@8.0{options}+sync_binlog={it}"));
    request.systems = [&named, &first, &second, &first].map(|it| SystemRequest::parse(it)).into();
    let short = "mysql@8.0+sync_binlog=0+...";
    let second = "mysql@8.0+sync_binlog=1+...";
    assert_eq!(names(&request), ["old", short, second, &format!("{short} #2")]);
    let planned = plan(&request, MACHINE).unwrap();
    assert_eq!(planned.systems[0].spec.to_string(), named.trim_start_matches("old="));
    assert_eq!(planned.systems[1].spec.to_string(), first);
    request.systems = ["a=mysql@8.0", "a=mysql@9.7"].map(SystemRequest::parse).into();
    let error = plan(&request, MACHINE).unwrap_err().to_string();
    assert!(error.contains("`a`") && error.contains("two systems have this name"), "{error}");
    request.systems = ["a=mysql@8.0", "a=mysql@8.0"].map(SystemRequest::parse).into();
    assert_eq!(names(&request), ["a", "a #2"]);
}

#[test]
fn the_twin_repeats_the_base() {
    let mut request = request();
    request.twin = Some(true);
    let all = ["mariadb@10.11", "mariadb@11.8", "mariadb@10.11 (twin)"];
    assert_eq!(names(&request), all);
    let plan = plan(&request, MACHINE).unwrap();
    assert_eq!(plan.systems[0].spec, plan.systems[2].spec);
    assert_eq!(plan.systems.iter().filter(|system| system.is_twin).count(), 1);
    // A system compared only with its twin is an A/A test.
    request.systems.truncate(1);
    assert_eq!(names(&request), ["mariadb@10.11", "mariadb@10.11 (twin)"]);
}

#[test]
fn standard_has_a_twin_unless_told_otherwise() {
    let mut request = request();
    request.preset = Preset::Standard;
    let large = MachineFacts { memory_mb: 64_000, disk_mb: 200_000, ..MACHINE };
    assert_eq!(plan(&request, large).unwrap().systems.len(), 3);
    request.twin = Some(false);
    assert_eq!(plan(&request, large).unwrap().systems.len(), 2);
}

#[test]
fn setups_that_share_data_are_measured_on_the_same_instances() {
    let mut request = request();
    let setup = |clients: &[u32], tables| SetupRequest {
        clients: Some(clients.to_vec()),
        tables: Some(tables),
        rows: Some(10_000),
    };
    request.setups = vec![setup(&[1], 1), setup(&[4], 4), setup(&[4], 1)];
    request.tests = vec!["scan".into(), "insert".into()];
    let study = plan(&request, MACHINE).unwrap().study;
    let cells: Vec<_> = study
        .cells
        .iter()
        .map(|cell| (cell.id.test.name.clone(), cell.id.setup.clients, cell.id.setup.tables))
        .collect();
    let expected = [
        ("scan", 1, 1),
        ("scan", 4, 1),
        ("insert", 1, 1),
        ("insert", 4, 1),
        ("scan", 4, 4),
        ("insert", 4, 4),
    ];
    assert_eq!(cells, expected.map(|(test, clients, tables)| (test.to_owned(), clients, tables)));
}

#[test]
fn published_runs_each_test_once_and_long() {
    let mut request = request();
    request.preset = Preset::Published;
    let large = MachineFacts { memory_mb: 64_000, disk_mb: 2_000_000, ..MACHINE };
    let study = plan(&request, large).unwrap().study;
    assert_eq!(study.experiment, Experiment::Sequential);
    assert_eq!(study.setups, [Setup { clients: 1, tables: 1, rows: 50_000_000 }]);
    let seconds = |name: &str| {
        let test = assay_workloads::test_by_name(name).unwrap();
        study.cells.iter().find(|cell| cell.id.test == test).unwrap().slice_ms / 1000
    };
    assert_eq!(seconds("point-query"), 600);
    assert_eq!(seconds("update-index"), 1800);
    assert_eq!(seconds("write-only"), 600);
    request.blocks = Some(4);
    assert!(plan(&request, large).is_err());
}

#[test]
fn preset_published_needs_memory_for_one_system_at_a_time() {
    // Those of a server of 32 GB.
    let machine = MachineFacts { memory_mb: 31_000, disk_mb: 500_000, ..MACHINE };
    let systems = ["mysql@5.6", "mysql@8.0", "mysql@9.4"];
    let systems = systems.map(|words| format!("{words}+innodb_buffer_pool_size=23G"));
    let insert_bench = Some(crate::request::InsertBenchRequest::default());
    let of_suite = |suite| Request { suite, ..Request::of_systems(&systems) };
    let suites = [Suite::Micro, Suite::Oltp, Suite::Tpcc].map(of_suite);
    let bench = Request { insert_bench, ..Request::of_systems(&systems) };
    for request in suites.into_iter().chain([bench]) {
        let published = Request { preset: Preset::Published, ..request.clone() };
        let study = plan(&published, machine).unwrap().study;
        assert!(study.experiment.runs_one_system());
        assert!(study.cells.iter().all(|cell| cell.priority == Priority::Normal));
        assert!(matches!(plan(&request, machine), Err(PlanError::TooLittle { .. })));
    }
}

#[test]
fn steps_have_segments_where_systems_take_turns() {
    let machine = MachineFacts { memory_mb: 31_000, disk_mb: 500_000, ..MACHINE };
    let planned = |preset, segments| {
        let usual = crate::request::InsertBenchRequest::default();
        let bench = crate::request::InsertBenchRequest { segments, ..usual };
        let request = Request { insert_bench: Some(bench), preset, ..request() };
        plan(&request, machine).map(|plan| plan.study.segments)
    };
    assert_eq!(planned(Preset::Quick, None).unwrap(), 20);
    assert_eq!(planned(Preset::Quick, Some(33)).unwrap(), 33);
    assert_eq!(planned(Preset::Quick, Some(1)).unwrap(), 0);
    assert_eq!(planned(Preset::Published, None).unwrap(), 0);
    assert!(matches!(planned(Preset::Published, Some(20)), Err(PlanError::Conflict(_))));
}

/// Counts have tests of their own, because the clients of a measured step are several threads.
#[test]
fn the_insert_benchmark_is_counted_as_a_suite() {
    let counted = |count| Request { suite: Suite::InsertBench, count, ..request() };
    let study = plan(&counted(Counting::Only), MACHINE).unwrap().study;
    assert_eq!((study.experiment, study.cells.len()), (Experiment::Counted, 5));
    assert!(matches!(plan(&counted(Counting::None), MACHINE), Err(PlanError::Conflict(_))));
}

#[test]
fn every_test_runs_at_all_client_counts_before_the_next() {
    let mut request = request();
    request.setups[0].clients = Some(vec![1, 4, 1]);
    let cells = plan(&request, MACHINE).unwrap().study.cells;
    assert_eq!(cells.len(), 64);
    for both in cells.chunks(2) {
        assert_eq!(both[0].id.test, both[1].id.test);
        assert_eq!([both[0].id.setup.clients, both[1].id.setup.clients], [1, 4]);
    }
}

#[test]
fn tables_in_a_form_that_not_all_systems_know_are_refused() {
    let refused = |systems: [&str; 2], oltp| {
        let request = Request {
            suite: Suite::Oltp,
            oltp,
            ..Request::of_systems(&systems.map(str::to_owned))
        };
        plan(&request, MACHINE).map_err(|error| error.to_string()).err()
    };
    let text =
        |text: &str| OltpOptions { create_table_options: text.to_owned(), ..Default::default() };
    let both = refused(["mariadb@11.8", "postgres@16"], text("ROW_FORMAT=COMPACT")).unwrap();
    assert!(both.contains("one text for all systems"), "{both}");
    for systems in [["mariadb@11.8", "mysql@8.0"], ["postgres@16", "postgres@17"]] {
        assert_eq!(refused(systems, text("COMMENT='x'")), None);
    }
}

#[test]
fn refuses_invalid_requests() {
    for change in [
        (|r: &mut Request| r.systems.truncate(1)) as fn(&mut Request),
        |r| r.setups[0].rows = Some(0),
        |r| r.setups[0].tables = Some(0),
        |r| r.setups[0].clients = Some(vec![0]),
        |r| r.setups.clear(),
        |r| r.slice_s = Some(601.0),
        |r| (r.write_slice_s, r.budget_s) = (Some(61.0), Some(4.0)),
        |r| r.tests = vec!["nothing".into()],
    ] {
        let mut request = request();
        change(&mut request);
        assert!(plan(&request, MACHINE).is_err());
    }
}

#[test]
fn clients_share_a_cpu_with_their_threads_while_each_has_one() {
    let mut request = request();
    request.setups[0].clients = Some(vec![1, 2, 3]);
    request.tests = vec!["point-query".to_owned(), "insert".to_owned()];
    let placements = |request: &Request| -> Vec<CpuPlacement> {
        let cells = plan(request, MACHINE).unwrap().study.cells;
        cells.iter().map(|cell| cell.placement).collect()
    };
    use CpuPlacement::{ConnectionsOnOneCpu, Free, OneCpu, Pairs};
    assert_eq!(placements(&request), [OneCpu, Pairs, Free, ConnectionsOnOneCpu, Pairs, Free]);
    request.placement = Some(Free);
    assert_eq!(placements(&request), [Free; 6]);
    request.placement = None;
    request.systems[1].words = "mariadb@11.8+thread_handling=pool-of-threads".to_owned();
    assert_eq!(placements(&request), [OneCpu, Free, Free, Free, Free, Free]);
}

#[test]
fn shared_connection_threads_are_not_pinned() {
    let mut request = request();
    request.systems[1].words = "mariadb@11.8+loose-thread-handling=pool-of-threads".to_owned();
    let cells = plan(&request, MACHINE).unwrap().study.cells;
    let has = |placement| cells.iter().any(|cell| cell.placement == placement);
    assert!(has(CpuPlacement::OneCpu) && !has(CpuPlacement::ConnectionsOnOneCpu));
    request.placement = Some(CpuPlacement::ConnectionsOnOneCpu);
    assert!(matches!(plan(&request, MACHINE), Err(PlanError::CannotTakePart { .. })));
}

#[test]
fn a_requested_cache_size_counts() {
    for (words, fits) in [
        ("mariadb@11.8+innodb_buffer_pool_size=8G", true),
        ("mariadb@11.8+innodb_buffer_pool_size=12G", false),
        ("mariadb@11.8+innodb-buffer-pool-size=12884901888", false),
        ("postgres@18+shared_buffers=12GB", false),
        ("postgres@18+shared_buffers=16384", true),
        ("mariadb@11.8+innodb_buffer_pool_size=99999999999999999T", false),
    ] {
        let mut request = request();
        request.systems[1].words = words.to_owned();
        assert_eq!(plan(&request, MACHINE).is_ok(), fits, "{words}");
    }
}

#[test]
fn names_the_size_that_fits() {
    let mut request = request();
    request.setups[0].rows = Some(50_000_000);
    let error = plan(&request, MACHINE).unwrap_err();
    let PlanError::TooLittle { what: "memory", rows_that_fit, .. } = error else {
        panic!("{error}")
    };
    request.setups[0].rows = Some(rows_that_fit as u32);
    plan(&request, MACHINE).unwrap();
}

#[test]
fn terms_decide_sizes_besides_the_data() {
    let machine = MachineFacts { memory_mb: 64_000, disk_mb: 500_000, ..MACHINE };
    let sizes_mb = |terms: &str, rows: u32| {
        let words = ["mysql@5.6".to_owned(), "mysql@8.0".to_owned()];
        let mut request = Request { terms: terms.to_owned(), ..Request::of_systems(&words) };
        request.setups[0].rows = Some(rows);
        let study = plan(&request, machine).unwrap().study;
        (crate::cache_mb(&study), crate::log_mb(&study))
    };
    // The log is not limited to 2 GiB, and 15 files of it are as large as one.
    assert_eq!(sizes_mb("lean", 8_000_000), (3456, 2048));
    assert_eq!(sizes_mb("published", 8_000_000), (3584, 4620));
    assert_eq!(
        (sizes_mb("lean", 100_000), sizes_mb("published", 100_000)),
        ((256, 512), (256, 540))
    );
}

#[test]
fn a_count_needs_servers_that_assay_starts() {
    let systems = ["mariadb@10.11", "mysql://me@db/test"].map(str::to_owned);
    let attached = Request { count: Counting::After, ..Request::of_systems(&systems) };
    let published = Request { count: Counting::After, preset: Preset::Published, ..request() };
    for (request, word) in [(attached, "already running"), (published, "preset `published`")] {
        let refused = plan(&request, MACHINE).unwrap_err().to_string();
        assert!(refused.to_lowercase().contains("counts") && refused.contains(word), "{refused}");
    }
}

#[test]
fn a_study_that_only_counts_has_one_client_and_takes_no_word_on_time() {
    let counts = Request { count: Counting::Only, ..request() };
    let study = plan(&counts, MACHINE).unwrap().study;
    assert_eq!((study.experiment, study.threshold), (Experiment::Counted, COUNT_THRESHOLD));
    assert!(study.cells.iter().all(|cell| cell.id.setup.clients == 1));
    let command = study.recipe.lines().next().unwrap();
    assert!(command.starts_with("# assay count mariadb@10.11 "), "{command}");
    for (option, wrong) in [
        ("budget", Request { budget_s: Some(60.0), ..counts.clone() }),
        ("soak", Request { soak_s: Some(600.0), ..counts.clone() }),
        ("twin", Request { twin: Some(true), ..counts.clone() }),
    ] {
        let error = plan(&wrong, MACHINE).unwrap_err();
        assert_eq!(error, PlanError::NothingTimed { option });
    }
}

#[test]
fn a_gate_on_instructions_has_a_limit_and_a_command_of_its_own() {
    let limits = LimitsRequest { most: 0.01, ..LimitsRequest::default() };
    let asked = Request { count: Counting::Only, limits: Some(limits), ..request() };
    let study = plan(&asked, MACHINE).unwrap().study;
    let recipe = &study.recipe;
    assert!(recipe.contains("--count --max-more 1%"), "{recipe}");
    assert!(
        recipe.contains("max-more = \"1%\"") && recipe.contains("count = \"only\""),
        "{recipe}"
    );
    assert_eq!(crate::request_of(&study).unwrap().limits, asked.limits);
    let timed = recipe.replace("count = \"only\"\n", "");
    let error = crate::read_study("x.toml", &timed).unwrap_err().to_string();
    assert!(error.contains("`[gate]` lacks `max-slowdown`"), "{error}");
}
