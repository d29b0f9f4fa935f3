//! Round trips and mistakes of study files.

use assay_model::{
    CpuPlacement, Hint, JudgedFigures, Preset, Priority, RandType, StatementMode, Suite, TestSet,
};
use assay_terms::Terms;
use assay_workloads::OltpOptions;
use proptest::prelude::*;

use super::*;
use crate::{InsertBenchRequest, LimitsRequest, SetupRequest, SystemRequest, parse_duration_s};

const FULL: &str = r#"
preset = "standard"
set = 42
tests = ["point*", "scan"]
budget = "10m"
threshold = "0.5%"
twin = true
source = "maven"
offline = true
accept-expired-index = true
terms = "published"
seed = 7
placement = "connections-on-one-cpu"
priority = "normal"
statements = "text"
slice = "100ms"
write-slice = "200ms"
turn = "10ms"
blocks = 6
rounds = 400
compare = ["old", "mariadb@11.8", "new-no-doublewrite"]

[system.old]
is = "mariadb@10.11"
config = "old.cnf"

[system.new-no-doublewrite]
is = "mariadb@11.8"
options = { innodb-doublewrite = false, innodb_io_capacity = 2_000, "a.b" = 1.50, name = "x y" }

[[setup]]
clients = [1, 4]
rows = 100_000

[[setup]]
clients = 4
tables = 4

[gate]
max-slowdown = "3%"
limits = { writes = "5%", "*range=10" = "1%" }
allow-undecided = true
"#;

fn words(words: &str) -> SystemRequest {
    SystemRequest { words: words.into(), ..SystemRequest::default() }
}

#[test]
fn reads_every_key() {
    let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let named = |name: &str, words: &str, config: Option<&str>, options| SystemRequest {
        words: words.into(),
        name: Some(name.into()),
        config: config.map(str::to_owned),
        without: Vec::new(),
        options,
        of_file: Vec::new(),
    };
    let expected = Request {
        systems: vec![
            named("old", "mariadb@10.11", Some("old.cnf"), Vec::new()),
            words("mariadb@11.8"),
            named(
                "new-no-doublewrite",
                "mariadb@11.8",
                None,
                vec![
                    option("innodb_doublewrite", "OFF"),
                    option("innodb_io_capacity", "2000"),
                    option("a.b", "1.50"),
                    option("name", "x y"),
                ],
            ),
        ],
        source: Some("maven".to_owned()),
        offline: true,
        accept_expired_index: true,
        terms: "published".to_owned(),
        preset: Preset::Standard,
        set: TestSet::Set42,
        tests: vec!["point*".into(), "scan".into()],
        setups: vec![
            SetupRequest { clients: Some(vec![1, 4]), tables: None, rows: Some(100_000) },
            SetupRequest { clients: Some(vec![4]), tables: Some(4), rows: None },
        ],
        budget_s: Some(600.0),
        threshold: Some(0.005),
        twin: Some(true),
        statements: StatementMode::Text,
        placement: Some(CpuPlacement::ConnectionsOnOneCpu),
        priority: Some(Priority::Normal),
        seed: 7,
        slice_s: Some(0.1),
        write_slice_s: Some(0.2),
        turn_s: Some(0.01),
        blocks: Some(6),
        rounds: Some(400),
        limits: Some(LimitsRequest {
            most: 0.03,
            limits: vec![("writes".into(), 0.05), ("*range=10".into(), 0.01)],
            allow_undecided: true,
        }),
        ..Request::default()
    };
    assert_eq!(read_study("study.toml", FULL), Ok(expected));
}

#[test]
fn options_of_scripts_are_a_table_of_their_own() {
    let text = r#"compare = ["mysql@8.0", "mysql@9.7"]
suite = "oltp"
tests = ["oltp_read*", "bulk-insert.lua"]

[oltp]
range-size = 1_000
range-selects = false
auto-inc = false
create-table-options = "ROW_FORMAT=COMPRESSED"
skip-trx = true
rand-type = "zipfian"
rand-zipfian-exp = 1.25
rand-pareto-h = 1e-3
"#;
    let request = read_study("", text).unwrap();
    let options = OltpOptions {
        range_size: 1000,
        range_selects: false,
        auto_inc: false,
        create_table_options: "ROW_FORMAT=COMPRESSED".to_owned(),
        skip_trx: true,
        rand_type: RandType::Zipfian,
        rand_zipfian_exp: 1.25,
        rand_pareto_h: 0.001,
        ..OltpOptions::default()
    };
    assert_eq!((request.suite, &request.oltp), (Suite::Oltp, &options));
    let written = write_study(&request);
    assert!(written.contains("[oltp]\nrange-size = 1000\n"), "{written}");
    assert!(!written.contains("delta"), "{written}");
    assert_eq!(read_study("", &written), Ok(request));
}

#[test]
fn the_preset_decides_what_is_left_out() {
    let request = read_study("", r#"compare = ["mysql@8.0", "mysql@9.7"]"#).unwrap();
    assert_eq!(request.systems, [words("mysql@8.0"), words("mysql@9.7")]);
    assert_eq!(request.setups, [SetupRequest::default()]);
    assert_eq!((request.preset, request.set, request.seed), (Preset::Quick, TestSet::Set32, 1));
    assert_eq!((request.budget_s, request.twin, request.blocks), (None, None, None));
}

#[test]
fn preset_published_implies_the_published_terms_unless_others_are_named() {
    let systems = "compare = [\"mysql@8.0\", \"mysql@9.7\"]";
    let read =
        |more: &str| read_study("", &format!("preset = \"published\"\n{more}\n{systems}")).unwrap();
    let (implied, named) = (read(""), read("terms = \"lean\""));
    assert_eq!((implied.terms.as_str(), named.terms.as_str()), ("published", "lean"));
    for request in [implied, named] {
        let written = write_study(&request);
        assert_eq!(read_study("", &written), Ok(request), "{written}");
    }
}

#[test]
fn lists_of_cpus_are_those_of_taskset() {
    let text = "compare = [\"mysql@8.0\", \"mysql@9.7\"]\nserver-cpus = \"1,0,2-11\"\n";
    for (more, clients) in
        [("", None), ("client-cpus = \"12-15\"\n[insert-bench]\n", Some("12-15"))]
    {
        let request = read_study("", &format!("{text}{more}")).unwrap();
        assert_eq!(request.server_cpus.as_deref(), Some("0-11"));
        assert_eq!(request.client_cpus.as_deref(), clients);
        assert_eq!(read_study("", &write_study(&request)), Ok(request));
    }
    let message = shown(&text.replace("2-11", "11-2"));
    assert!(message.contains("`1,0,11-2` is not a list of CPUs such as `0-11`"), "{message}");
}

#[test]
fn counts_and_times_are_taken_as_on_the_command_line() {
    let text = r#"
        compare = ["mysql@8.0", "mysql@9.7"]
        tests = ["oltp_point_select"]
        budget = 90
        slice = 0.1
        write-slice = "1m30s"
        [[setup]]
        clients = [1, "4-6"]
        tables = "1k"
        rows = "1.5M"
    "#;
    let request = read_study("", text).unwrap();
    assert_eq!((request.budget_s, request.slice_s), (Some(90.0), Some(0.1)));
    assert_eq!(request.write_slice_s, Some(90.0));
    let setup =
        SetupRequest { clients: Some(vec![1, 4, 5, 6]), tables: Some(1000), rows: Some(1_500_000) };
    assert_eq!(request.setups, [setup]);
    assert_eq!(read_study("", &write_study(&request)), Ok(request));
}

#[test]
fn a_written_file_is_easy_to_read() {
    let written = r#"preset = "standard"
set = 42
tests = ["point*", "scan"]
budget = "10m"
threshold = "0.5%"
twin = true
seed = 7
placement = "connections-on-one-cpu"
priority = "normal"
statements = "text"
slice = "100ms"
write-slice = "200ms"
turn = "10ms"
blocks = 6
rounds = 400
terms = "published"
source = "maven"
offline = true
accept-expired-index = true
compare = ["old", "mariadb@11.8", "new-no-doublewrite"]

[system.old]
is = "mariadb@10.11"
config = "old.cnf"

[system.new-no-doublewrite]
is = "mariadb@11.8"
options = { innodb_doublewrite = "OFF", innodb_io_capacity = "2000", "a.b" = "1.50", name = "x y" }

[[setup]]
clients = [1, 4]
rows = 100_000

[[setup]]
clients = 4
tables = 4

[gate]
max-slowdown = "3%"
limits = { writes = "5%", "*range=10" = "1%" }
allow-undecided = true
"#;
    assert_eq!(write_study(&read_study("", FULL).unwrap()), written);
}

#[test]
fn mistakes_are_shown_with_their_place() {
    let ab = "compare = [\"mariadb@10.11\", \"mariadb@11.8\"]\n";
    let many = "\"scan\", ".repeat(40);
    let behind = [
        "prset = \"quick\"",
        "rows = 1000",
        "[[setup]]\nzzz = 1000",
        "preset = \"quik\"",
        "preset = 1",
        "placement = \"one_cpu\"",
        "statements = \"binary\"",
        "set = 33",
        "set = \"33\"",
        "budget = true",
        "budget = \"10 parsecs\"",
        "threshold = \"2\"",
        "tests = [\"point*\", \"scn\"]",
        "tests = [\"[\"]",
        "tests = \"scan\"",
        "tests = []",
        "twin = \"true\"",
        "seed = -1",
        "blocks = 0",
        "budget = \"10m",
        "[system.x]",
        "[system.\"a b\"]\nis = \"mysql@1\"",
        "[system.x]\nis = \"mysql@5.6/innodbb\"",
        "[system.x]\nis = \"mysql@5.6\"\noptions = { a-b = 1, a_b = 2 }",
        "[system.x]\nis = \"mysql@5.6\"\noptions = { \"--x\" = 1 }",
        "[system.x]\nis = \"mysql@5.6\"\noptions = { x.y = 1 }",
        "[system.x]\nis = \"mysql@5.6\"\noption = { x = 1 }",
        "[system.x]\nis = \"mysql@5.6\"\n[system.x]\nis = \"mysql@5.7\"",
        "[[system]]\nis = \"mysql@5.6\"",
        "[setup]\nrows = 1000",
        "[[setup]]\nrows = 10",
        "[[setup]]\nrows = \"3G\"",
        "[[setup]]\nclients = \"4-1\"",
        "[[setup]]\nclients = [1, 0]",
        "[[setup]]\nrows = 1000\nseed = 1",
        "[[setup]]\nclients = [1, 4]\n\n[[setup]]\nclients = 4",
        &format!("tests = [{many}\"pont-query\", {many}\"scan\"]"),
    ]
    .map(|text| format!("{ab}{text}\n"));
    let alone = [
        "",
        "compare = [\"mariadb@10.11\"]",
        "compare = [\"mariadb@10.11\", \"mariadb@latest\"]",
        "compare = [\"mariabd@10.11\", \"mariadb@11.8\"]",
        "compare = [\"mariadb\", \"mariadb@11.8\"]",
        "compare = [\n\t\"größe@1\",\n]",
        "compare = [ \"mysql@1\", \"\u{1f600}@1\" ]",
        "compare = [\"mysql@\\u0031\", \"mysql@\\u0041\"]",
        "compare = [\"old\", \"nwe\"]\n[system]\nold.is = \"mysql@8.0\"\nnew.is=\"mysql@9.7\"",
        "compare = [\"old\", \"other\"]\n[system.old]\nis = \"mysql@8.0\"",
        "compare = [\"mysql@8.0\", \"mysql@9.7\"]\n[gate]\nlimits = { writes = \"3%\" }",
        "compare = [\"mysql@8.0\", \"mysql@9.7\"]\n[gate]\nmax-slowdown = \"3%\"\nlimits = { wirte = \"3%\" }",
        "compare = [\"mysql@8.0\", \"mysql@9.7\"]\n[gate]\nmax-slowdown = 3",
        "compare = [\"mysql@8.0\", \"mysql@9.7\"]\nmax-slowdown = \"3%\"",
    ]
    .map(str::to_owned);
    let all: Vec<_> = behind.iter().chain(&alone).map(|text| shown(text)).collect();
    insta::assert_snapshot!(all.join("\n\n"));
}

#[test]
fn mistakes_in_the_options_of_scripts_are_shown_with_their_place() {
    let ab = "compare = [\"mariadb@10.11\", \"mariadb@11.8\"]\n";
    let all = [
        "[oltp]\nrange-size = 10",
        "suite = \"oltp\"\ntests = [\"point-query\"]",
        "suite = \"oltp\"\nworkload = \"x.toml\"",
        "suite = \"oltp\"\n[oltp]\nrange_size = 10",
        "suite = \"oltp\"\n[oltp]\nrand-pareto-h = 1",
        "suite = \"oltp\"\n[oltp]\ndelete-inserts = 101",
    ]
    .map(|text| shown(&format!("{ab}{text}\n")));
    insta::assert_snapshot!(all.join("\n\n"));
}

/// A later version may have other defaults.
#[test]
fn a_ledger_keeps_options_that_have_their_defaults() {
    let systems = ["mysql@8.0", "mysql@8.4"].map(str::to_owned);
    let insert_bench = Some(InsertBenchRequest::default());
    let request = Request { insert_bench, ..Request::of_systems(&systems) };
    let stored = crate::study::study_of(&request).request;
    for (part, keys) in [
        ("options", options::keys_of::<Request>()),
        ("insert_bench", options::keys_of::<InsertBenchRequest>()),
    ] {
        for key in keys {
            assert!(stored[part].get(*key).is_some(), "{key}");
        }
    }
}

#[test]
fn of_two_mistakes_a_file_and_a_command_name_the_same_one() {
    let shown = shown("compare = [\"mysql@8.0\", \"mysql\"]\ntests = [\"nosuch\"]\n");
    let request = Request {
        tests: vec!["nosuch".to_owned()],
        ..Request::of_systems(&["mysql@8.0", "mysql"].map(str::to_owned))
    };
    let machine =
        crate::MachineFacts { cpus: 4, memory_mb: 1 << 16, disk_mb: 1 << 20, realtime: None };
    let planned = crate::plan(&request, machine).unwrap_err();
    assert!(matches!(planned, crate::PlanError::SystemName { .. }), "{planned}");
    assert!(shown.contains("`mysql`") && !shown.contains("nosuch"), "{shown}");
}

fn shown(text: &str) -> String {
    let error = read_study("study.toml", text).unwrap_err();
    let hints = error.hints().into_iter().map(|hint| format!("\nhint: {hint}"));
    format!("{error}{}", hints.collect::<String>())
}

#[test]
fn config_files_for_all_systems_are_read_and_written() {
    let read = |lines: &str| {
        read_study("s.toml", &format!("compare = [\"mysql@8.0\", \"mysql@8.4\"]\n{lines}\n"))
    };
    let one = read("config = \"my.cnf\"\nscale-memory = \"50%\"").unwrap();
    assert_eq!((one.config, one.scale_memory), (vec!["my.cnf".to_owned()], Some(0.5)));
    let lines =
        "config = [\"mysql=a.cnf\"]\nscale-memory = \"100%\"\nconfig-options = [\"mysql: a=b\"]";
    let whole = read(lines).unwrap();
    assert_eq!((whole.scale_memory, whole.config_options.len()), (Some(1.0), 1));
    assert_eq!(read_study("again", &write_study(&whole)).unwrap(), whole);
    let wrong = read("config-options = [\"a=b\"]").unwrap_err().to_string();
    assert!(wrong.contains("write it as"), "{wrong}");
}

fn system() -> impl Strategy<Value = SystemRequest> {
    let spec =
        prop::sample::select(vec!["mysql@8.0", "mariadb@11.8/rocksdb+a=b", "mysql@dir:/x y"]);
    let option = ("x(\\.x)?[a-z0-9_]{0,6}", "[^\\p{Cc}/~.]{0,8}");
    let options = prop::collection::btree_map(option.0, option.1, 0..3);
    let config = prop::option::of("[^\\p{Cc}]{0,8}");
    let own = ("[a-zé0-9][a-z._-]{0,8}", config, options);
    (spec, prop::option::of(own)).prop_map(|(spec, own)| {
        let words = spec.to_owned();
        let Some((name, config, options)) = own else { return SystemRequest::parse(&words) };
        let options = options.into_iter().collect();
        let name = Some(name);
        SystemRequest { words, name, config, options, ..SystemRequest::default() }
    })
}

fn setup() -> impl Strategy<Value = SetupRequest> {
    let clients = prop::option::of(prop::collection::vec(1..=4096_u32, 1..4));
    let (tables, rows) = (prop::option::of(1..=1000_u32), prop::option::of(1000..=2_000_000_u32));
    (clients, tables, rows).prop_map(|(clients, tables, rows)| SetupRequest {
        clients,
        tables,
        rows,
    })
}

fn duration() -> impl Strategy<Value = Option<f64>> {
    let seconds = |ms: u64| parse_duration_s(&format!("{ms}ms")).unwrap();
    prop::option::of((1..10_000_000_000_u64).prop_map(seconds))
}

fn share(hundredths: u32) -> f64 {
    f64::from(hundredths) / 100.0 / 100.0
}

fn gate_request() -> impl Strategy<Value = LimitsRequest> {
    let scope = prop::sample::select(vec!["writes", "scan", "*range=10", "[p]*"]);
    let limits = prop::collection::btree_map(scope, 1..10_000_u32, 0..3);
    (1..10_000_u32, limits, any::<bool>()).prop_map(|(most, limits, allow_undecided)| {
        LimitsRequest {
            most: share(most),
            limits: limits.into_iter().map(|(of, most)| (of.to_owned(), share(most))).collect(),
            allow_undecided,
        }
    })
}

prop_compose! {
    fn request()(
        systems in prop::collection::vec(system(), 2..5),
        setups in prop::collection::vec(setup(), 1..4),
        words in (
            prop::sample::select(vec![Preset::Smoke, Preset::Standard, Preset::Published]),
            prop::sample::select(vec![TestSet::Set27, TestSet::Set47]),
            prop::option::of(prop::sample::select(vec![CpuPlacement::OneCpu, CpuPlacement::Free])),
            prop::option::of(prop::sample::select(vec![Priority::Realtime, Priority::Normal])),
            prop::sample::select(vec![StatementMode::Prepared, StatementMode::Text]),
            prop::sample::select(JudgedFigures::ALL.to_vec()),
        ),
        tests in prop::collection::vec(prop::sample::select(vec!["scan", "p*", "*-{si,pk}"]), 0..3),
        durations in (duration(), duration(), duration(), duration()),
        percent in prop::option::of(1..10_000_u32),
        source in prop::option::of(prop::sample::select(vec!["maven", "mysql.com"])),
        (offline, accept_expired_index) in any::<(bool, bool)>(),
        terms in prop::sample::select(Terms::names()),
        (workload, scale, define) in (
            prop::sample::select(vec![
                &[][..],
                &["shop.toml"],
                &["a b/x.pgbench"],
                &["a.sql@3", "tpcb-like"],
            ]),
            prop::option::of(1_u32..=40_000),
            prop::sample::select(vec![&[][..], &["a=1"], &["b=x y,z", "c=-1"]]),
        ),
        limits in prop::option::of(gate_request()),
        (twin, seed) in (prop::option::of(any::<bool>()), any::<u64>()),
        (blocks, rounds) in (prop::option::of(1..=1000_u32), prop::option::of(2..=10_000_u32)),
    ) -> Request {
        let (preset, set, placement, priority, statements, judge) = words;
        let (budget_s, slice_s, write_slice_s, turn_s) = durations;
        let repeats = preset != Preset::Published;
        Request {
            systems,
            source: source.map(str::to_owned),
            offline,
            accept_expired_index,
            terms: terms.to_owned(),
            setups,
            preset,
            workload: workload.iter().map(|it| (*it).to_owned()).collect(),
            scale,
            define: define.iter().map(|it| (*it).to_owned()).collect(),
            set,
            placement,
            priority,
            statements,
            tests: tests.into_iter().map(str::to_owned).collect(),
            budget_s,
            slice_s,
            write_slice_s,
            turn_s,
            limits,
            threshold: percent.map(share),
            judge,
            twin,
            seed,
            blocks: blocks.filter(|_| repeats),
            rounds: rounds.filter(|_| repeats),
            ..Request::default()
        }
    }
}

prop_compose! {
    fn insert_bench()(
        rows in prop::option::of([1000..=2_000_000_u32, 1000..=2_000_000_u32, 1000..=2_000_000_u32]),
        clients in prop::option::of(1..=4096_u32),
        query_seconds in prop::option::of(1..=86_400_u32),
        flags in any::<[bool; 4]>(),
        indexes in prop::option::of(0..=3_u32),
        partitions in prop::option::of((2..=1000_u32, prop::option::of(1..=2_000_000_u32))),
        open_transaction in prop::option::of(1..=86_400_u32),
        repeats in prop::option::of(1..=1000_u32),
        segments in prop::option::of(1..=1000_u32),
    ) -> InsertBenchRequest {
        let [io_bound, shared_table, indexes_first, unprepared] = flags;
        InsertBenchRequest {
            rows: rows.map_or(Vec::new(), Vec::from),
            clients,
            query_seconds,
            io_bound,
            shared_table,
            indexes,
            indexes_first,
            partitions: partitions.map(|(count, _)| count),
            partition_rows: partitions.and_then(|(_, rows)| rows),
            open_transaction,
            unprepared,
            repeats,
            segments,
        }
    }
}

/// Whether a study file can express a request: one system per name, no two setups alike.
fn is_sayable(request: &Request) -> bool {
    let systems = &request.systems;
    let clash =
        |a: &SystemRequest| systems.iter().any(|b| a.name.is_some() && a.name == b.name && a != b);
    let alike = |a: &SetupRequest| {
        request.setups.iter().filter(|b| (a.tables, a.rows) == (b.tables, b.rows)).count() > 1
    };
    !systems.iter().any(clash) && !request.setups.iter().any(alike)
}

proptest! {
    #[test]
    fn what_is_written_reads_back(request in request().prop_filter("sayable", is_sayable)) {
        let text = write_study(&request);
        prop_assert_eq!(read_study("study.toml", &text), Ok(request), "{}", text);
    }

    #[test]
    fn the_insert_benchmark_reads_back(bench in insert_bench(), seed in any::<u64>()) {
        let systems = ["mariadb@10.11", "mysql@9.7"].map(str::to_owned);
        let request =
            Request { insert_bench: Some(bench), seed, ..Request::of_systems(&systems) };
        let text = write_study(&request);
        prop_assert_eq!(read_study("study.toml", &text), Ok(request), "{}", text);
    }

    #[test]
    fn no_text_panics(text in "(\\PC|[\\[\\]=\"\n\t.{}#])*") {
        let _ = read_study("study.toml", &text);
    }

    #[test]
    fn no_depth_panics(depth in 0..20_000_usize, open in "(\\[|\\{a=|a\\.|\\[\\[a\\.)") {
        let _ = read_study("study.toml", &format!("a = {}", open.repeat(depth)));
        let _ = read_study("study.toml", &open.repeat(depth));
    }

    #[test]
    fn no_slip_panics(at in 0..FULL.len(), len in 0..9_usize, insert in "(\\PC|[\\[\\]=\"\n\t.{}]){0,3}") {
        let end = (at + len).min(FULL.len());
        let text = [&FULL[..at], &insert, &FULL[end..]].concat();
        let _ = read_study("study.toml", &text);
    }
}

#[test]
fn the_command_that_says_the_same_stands_on_top() {
    let first = |request: &Request| write_study(request).lines().next().unwrap().to_owned();
    let systems = ["mariadb@10.11", "mariadb@dir:/my builds"].map(str::to_owned);
    let mut request = Request::of_systems(&systems);
    assert_eq!(first(&request), "# assay compare mariadb@10.11 'mariadb@dir:/my builds'");
    request.tests = vec!["point*".into(), "scan".into()];
    request.setups[0].clients = Some(vec![1, 4]);
    request.threshold = Some(0.015);
    request.twin = Some(false);
    request.statements = StatementMode::Text;
    assert!(first(&request).ends_with(
        "--tests 'point*,scan' --threshold 1.5% --no-twin --db-ps-mode disable --clients 1,4"
    ));
    request.systems[0].name = Some("old".into());
    assert!(first(&request).starts_with("# assay compare old=mariadb@10.11 "));
    // On the command line, options of a system are part of its specification.
    request.systems[0].options = vec![("a".into(), "b".into())];
    assert!(!first(&request).starts_with("# "));
}

#[test]
fn control_characters_stay_in_their_text() {
    let odd = "a\nset = 27\r\u{1b}[2J\u{7f}\"\\b\n'''\n\"\"\"".to_owned();
    let usual = Request::of_systems(&["mysql@8.0", "mysql@9.7"].map(str::to_owned));
    let written = |change: &dyn Fn(&mut Request)| -> toml::Table {
        let mut request = usual.clone();
        change(&mut request);
        let text = write_study(&request);
        assert!(!text.starts_with('#'), "{text}");
        toml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let odd = || odd.clone();
    let text = Some(odd());
    let text = text.as_deref();
    assert_eq!(written(&|it| it.tests = vec![odd()])["tests"][0].as_str(), text);
    assert_eq!(written(&|it| it.workload = vec![odd()])["workload"].as_str(), text);
    assert_eq!(written(&|it| it.source = Some(odd()))["source"].as_str(), text);
    let script = written(&|it| it.script_options = vec![odd()]);
    assert_eq!(script["script-options"][0].as_str(), text);
    // The text contains a line equal to an option with its default value.
    let option = || "a\nrange-size = 100\n".to_owned();
    let oltp = written(&|it| it.oltp.create_table_options = option());
    assert_eq!(oltp["oltp"]["create-table-options"].as_str(), Some(option().as_str()));
    let system = written(&|it| {
        let options = vec![(odd(), odd())];
        it.systems[0] = SystemRequest { name: Some(odd()), options, ..it.systems[0].clone() };
    });
    assert_eq!(system["system"][odd().as_str()]["options"][odd().as_str()].as_str(), text);
}

#[test]
fn a_value_that_begins_with_a_dash_is_typed_with_its_option() {
    let words = ["mariadb@10.11", "mariadb@11.8"].map(str::to_owned);
    let workload = vec!["-x y.toml".to_owned()];
    let request = Request { workload, ..Request::of_systems(&words) };
    let written = write_study(&request);
    assert!(written.lines().next().unwrap().contains("--workload='-x y.toml'"), "{written}");
}

#[test]
fn each_element_of_a_list_is_one_value() {
    let bench = "compare = [\"mysql@8.0\", \"mysql@9.7\"]\n[insert-bench]\n";
    let message = shown(&format!("{bench}rows = [\"10M,4M\", \"4M\", \"400k\"]\n"));
    assert!(message.contains("10M,4M"), "{message}");
}

#[test]
fn the_login_of_a_repository_is_in_no_recipe() {
    let words = ["postgres@git:https://me:canary@h/x.git#v1", "mysql://me:canary@h/db"];
    let request = Request::of_systems(&words.map(str::to_owned));
    let machine =
        crate::MachineFacts { cpus: 4, memory_mb: 1 << 16, disk_mb: 1 << 20, realtime: None };
    let plan = crate::plan(&request, machine).unwrap();
    assert!(plan.study.recipe.contains("postgres@git:https://h/x.git#v1"), "{}", plan.study.recipe);
    let message: Vec<_> =
        plan.systems.iter().map(|it| format!("{} {:?}", it.name, it.spec)).collect();
    assert!(!format!("{message:?} {:?}", plan.study).contains("canary"), "{message:?}");
    assert_eq!(plan.systems[0].login.as_ref().unwrap().password.reveal(), "canary");
    let request = Request {
        insert_bench: Some(crate::request::InsertBenchRequest::default()),
        ..Request::of_systems(&[words[0].to_owned(), "postgres@17".to_owned()])
    };
    let plan = crate::plan(&request, machine).unwrap();
    assert!(!format!("{:?}", plan.study).contains("canary"), "{:?}", plan.study);
}
