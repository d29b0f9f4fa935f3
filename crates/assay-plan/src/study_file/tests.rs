//! What study files say, and what is said about their mistakes.

use assay_model::Hint;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn read(text: &str) -> Request {
    read_study("study.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn everything_can_be_said() {
    let request = read(
        r#"
        description = "doublewrite on and off"
        compare = ["on", "off", "mariadb@11.8/rocksdb"]
        preset = "standard"
        set = 47
        tests = ["point*", "scan"]
        budget = "10m"
        threshold = "3%"
        twin = false
        placement = "free"
        statements = "text"
        id-key = "secondary"
        seed = 7
        slice = "100ms"
        write-slice = "1s"
        blocks = 4
        rounds = 20

        [system.on]
        is = "mariadb@11.8"

        [system.off]
        is = "mariadb@11.8"
        options = { innodb_doublewrite = false, innodb_io_capacity = 2_000, x = "y" }

        [[setup]]
        clients = 1
        tables = 1

        [[setup]]
        clients = [4, 16]
        tables = 4
        rows = 50_000
        "#,
    );
    assert_eq!(request.systems.len(), 3);
    assert_eq!(request.systems[1].name.as_deref(), Some("off"));
    let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        request.systems[1].options,
        [
            option("innodb_doublewrite", "OFF"),
            option("innodb_io_capacity", "2000"),
            option("x", "y")
        ]
    );
    assert_eq!(request.systems[2].words, "mariadb@11.8/rocksdb");
    assert_eq!(request.setups[0].clients, Some(vec![1]));
    assert_eq!(request.setups[1].rows, Some(50_000));
    assert_eq!((request.budget_s, request.threshold), (Some(600.0), Some(0.03)));
    assert_eq!((request.slice_s, request.write_slice_s), (Some(0.1), Some(1.0)));
    assert_eq!((request.twin, request.seed, request.set), (Some(false), 7, TestSet::Set47));
}

#[test]
fn the_least_is_what_compare_does_by_itself() {
    let systems = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
    let request = read("compare = [\"mariadb@10.11\", \"mariadb@11.8\"]");
    assert_eq!(request, Request::of_systems(&systems));
}

/// Mistakes: the file, the message, what is marked, the hint.
const MISTAKES: [(&str, &str, &str, &str); 19] = [
    ("preset = \"quik\"", "no word", "\"quik\"", "did you mean `quick`"),
    ("prest = \"quick\"", "no key", "prest", "did you mean `preset`"),
    ("preset = 3", "a string is wanted here, not a whole number", "3", ""),
    ("set = 33", "no set of 33", "33", "one of 27"),
    (
        "set = 32\ntests = [\"scan\", \"point-querry\"]",
        "matches none",
        "\"point-querry\"",
        "point-query",
    ),
    ("budget = \"soon\"", "not a duration", "\"soon\"", ""),
    ("threshold = 2", "a string is wanted", "2", ""),
    ("threshold = \"2\"", "not a percentage", "\"2\"", ""),
    ("twin = \"yes\"", "`true` or `false`", "\"yes\"", ""),
    ("blocks = 0", "out of range", "0", ""),
    ("compare = [\"mariadb@11.8\"]", "at least one other", "[\"mariadb@11.8\"]", ""),
    (
        "compare = [\"mariabd@11.8\", \"a\"]",
        "not a product",
        "\"mariabd@11.8\"",
        "did you mean `mariadb@...`",
    ),
    (
        "compare = [\"odl\", \"b\"]\n[system.old]\nis = \"mariadb@11.8\"",
        "no system",
        "\"odl\"",
        "did you mean `old`",
    ),
    ("compare = [\"a@1\"]\n[system.x]\nif = \"mariadb@11.8\"", "no key", "if", "did you mean `is`"),
    ("[system.x]\noptions = {}", "`is` is missing", "x", "for example"),
    ("[[setup]]\nclients = []", "at least one number", "[]", ""),
    ("[[setup]]\nclient = 1", "no key", "client", "did you mean `clients`"),
    ("[[setup]]\nrows = -5", "out of range", "-5", ""),
    ("compare = [", "", "", ""),
];

#[test]
fn mistakes_are_shown_where_they_are() {
    for (text, message, marked, hint) in MISTAKES {
        let error = read_study("study.toml", text).expect_err(text);
        assert!(error.message.contains(message), "{text}: {error}");
        let lines: Vec<&str> = text.lines().collect();
        let line = lines[error.line - 1];
        let at: String = line.chars().skip(error.column - 1).collect();
        assert!(at.starts_with(marked), "{text}: {error}");
        let carets = error.to_string().lines().last().unwrap().matches('^').count();
        assert!(marked.is_empty() || carets == marked.chars().count(), "{text}: {error}");
        let hints = error.hints().join(" ");
        assert!(hints.contains(hint), "{text}: {hints}");
    }
}

#[test]
fn what_is_missing_or_unused_is_told() {
    let missing = read_study("s", "preset = \"quick\"").unwrap_err();
    assert!(missing.message.contains("`compare` is missing"), "{missing}");
    let unused =
        "compare = [\"mariadb@10.11\", \"mariadb@11.8\"]\n[system.extra]\nis = \"mariadb@11.4\"";
    let unused = read_study("s", unused).unwrap_err();
    assert!(unused.message.contains("not compared"), "{unused}");
    assert_eq!((unused.line, unused.column), (2, 9));
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
        "--tests 'point*,scan' --clients 1,4 --threshold 1.5% --db-ps-mode disable --no-twin"
    ));
    request.systems[0].name = Some("old".into());
    assert!(first(&request).starts_with("compare = "));
}

fn a_request() -> impl Strategy<Value = Request> {
    let name = proptest::option::of("[a-z][a-z .#\"\\\\é-]{0,8}");
    let options = proptest::collection::vec(("[a-z_]{1,8}", "[ -~é]{0,8}"), 0..3);
    let words = select(vec!["mariadb@10.11", "mariadb@11.8/rocksdb", "mysql@9.7+a=b"]);
    let system = (words, name, options).prop_map(|(words, name, mut options)| {
        options.sort();
        options.dedup_by(|a, b| a.0 == b.0);
        // Options at length need a name to stand under.
        let options = if name.is_some() { options } else { Vec::new() };
        SystemRequest { words: words.to_owned(), name, options }
    });
    let clients = proptest::option::of(proptest::collection::vec(1..64_u32, 1..4));
    let setup = (clients, proptest::option::of(1..9_u32), proptest::option::of(1000..9000_u32))
        .prop_map(|(clients, tables, rows)| SetupRequest { clients, tables, rows });
    let times = proptest::collection::vec(proptest::option::of(1..100_000_u32), 3);
    let numbers = (proptest::option::of(1..999_u32), proptest::option::of(1..9_u32), any::<u64>());
    let how = (
        select(PRESETS.map(|it| it.1).to_vec()),
        select(SETS.map(|it| it.1).to_vec()),
        proptest::option::of(select(PLACEMENTS.map(|it| it.1).to_vec())),
        select(STATEMENTS.map(|it| it.1).to_vec()),
        select(ID_KEYS.map(|it| it.1).to_vec()),
        proptest::option::of(any::<bool>()),
    );
    let systems = proptest::collection::vec(system, 2..4);
    let setups = proptest::collection::vec(setup, 1..4);
    (systems, setups, times, numbers, how).prop_map(|(systems, setups, times, numbers, how)| {
        let seconds = |at: usize| times[at].map(|ms| f64::from(ms) / 1000.0);
        let (preset, set, placement, statements, id_key, twin) = how;
        Request {
            systems,
            preset,
            set,
            tests: vec!["point*".to_owned(), "scan".to_owned()],
            setups,
            budget_s: seconds(0),
            threshold: numbers.0.map(|tenths| f64::from(tenths) / 1000.0),
            twin,
            id_key,
            statements,
            placement,
            seed: numbers.2,
            slice_s: seconds(1),
            write_slice_s: seconds(2),
            blocks: numbers.1,
            rounds: numbers.1.map(|blocks| blocks + 2),
        }
    })
}

/// Whether the file can say it: names that differ only in what they stand for, and setups given twice, cannot.
fn can_be_said(request: &Request) -> bool {
    let clash =
        |a: &SystemRequest, b: &SystemRequest| a.name == b.name && a.name.is_some() && a != b;
    let systems = &request.systems;
    let unclear = systems.iter().any(|a| systems.iter().any(|b| clash(a, b)));
    let setups = &request.setups;
    let twice = setups.iter().enumerate().any(|(at, setup)| setups[..at].contains(setup));
    !unclear && !twice
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(request in a_request()) {
        prop_assume!(can_be_said(&request));
        let text = write_study(&request);
        match read_study("again.toml", &text) {
            Ok(read) => prop_assert_eq!(read, request),
            Err(error) => prop_assert!(false, "{}\n{}", error, text),
        }
    }

    #[test]
    fn no_text_is_a_panic(text in "[a-z=\\[\\]\"., \\n{}#0-9é-]{0,80}") {
        let _ = read_study("any.toml", &text);
    }

    #[test]
    fn no_damaged_file_is_a_panic(
        request in a_request(),
        at in any::<prop::sample::Index>(),
        put in "[ -~é\\n]{0,3}",
    ) {
        let text = write_study(&request);
        let chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len());
        let damaged: String =
            chars[..at].iter().copied().chain(put.chars()).chain(chars[at + 1..].iter().copied()).collect();
        let _ = read_study("damaged.toml", &damaged);
    }
}
