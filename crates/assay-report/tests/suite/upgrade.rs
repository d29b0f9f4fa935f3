//! Tasks in a report of an upgrade: the same in its head and its body, each once.

use assay_model::{
    AnswerCounts, AnswerDifference, AnswerPart, Artifact, AuditClass, AuditFinding, DumpFinding,
    DumpFindingKind, EventKind, LogShare, PerDialect, Sending, SessionSetting, SliceOutcome, Sql,
    StudyEvent, StudyRecord, Test, Transaction, UntakenOption, UserStep,
};
use assay_report::{Format, TextOptions, render};
use assay_verdict::judge;

use crate::common::record;

/// Without line breaks.
fn shown(record: &StudyRecord, format: Format) -> String {
    let options = TextOptions { width: 100, color: false, verbose: true };
    let text = render(record, &judge(record), format, &options);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text(record: &StudyRecord) -> String {
    shown(record, Format::TEXT)
}

fn times(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

pub(crate) fn note(record: &mut StudyRecord, system: usize, what: EventKind) {
    record.events.push(StudyEvent { when_ms: 0, system: Some(system), what });
}

/// A test of a log: its name, its statement, and the settings of its sessions.
pub(crate) type Logs<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

/// A study whose first tests are those of a log. The others are left out.
pub(crate) fn of_log(others: &[&str], tests: &[Logs<'_>]) -> StudyRecord {
    let mut record = record(others);
    record.study.cells.truncate(tests.len());
    let mut made = Vec::new();
    for (cell, (name, sql, session)) in record.study.cells.iter_mut().zip(tests) {
        let settings = session.iter().map(|(name, value)| SessionSetting::new(name, value));
        let sql = Sql { pieces: vec![(*sql).to_owned()], variables: Vec::new() };
        let step = UserStep::Send {
            sql: PerDialect::all(sql),
            times: 1,
            keep: Vec::new(),
            sending: Sending::Alone,
            when: None,
        };
        let kind = Transaction {
            name: (*name).to_owned(),
            weight: 1.0,
            variables: Vec::new(),
            steps: vec![step],
            captured: None,
            session: settings.map(Result::unwrap).collect(),
            logged: Some(LogShare { calls: 10, share: 0.1 }),
        };
        let mut definition = cell.id.test.definition().clone();
        definition.name = (*name).to_owned();
        definition.roles[0].script.mix = vec![kind];
        made.push((cell.id, Test::intern(definition)));
        cell.id.test = made.last().unwrap().1;
    }
    record.slices.retain(|slice| made.iter().any(|(before, _)| *before == slice.cell));
    for slice in &mut record.slices {
        slice.cell.test = made.iter().find(|(before, _)| *before == slice.cell).unwrap().1;
    }
    record
}

pub(crate) fn differs(test: &str, statement: &str, what: AnswerPart) -> AnswerDifference {
    AnswerDifference {
        test: test.to_owned(),
        statement: statement.to_owned(),
        sent: statement.to_owned(),
        what,
        why: None,
        count: 1,
        of: 1,
        base: "1 row".to_owned(),
        here: "error 1064: near `rank`".to_owned(),
    }
}

fn fail(record: &mut StudyRecord, system: usize, test: &str, why: &str) {
    for slice in &mut record.slices {
        if slice.system == system && slice.cell.test.name() == test {
            slice.outcome = SliceOutcome::Failed(why.to_owned());
        }
    }
}

#[test]
fn reads_that_come_from_the_query_cache_of_the_base_are_told_first() {
    let with_query_cache = |values: [Option<&str>; 2], size: Option<&str>| {
        let mut record = of_log(&["11.8"], &[("top", "SELECT 1", &[])]);
        let finding = |setting: &str, values: [Option<&str>; 2]| AuditFinding {
            setting: setting.to_owned(),
            values: values.into_iter().map(|it| it.map(str::to_owned)).collect(),
            class: AuditClass::Expected,
            why: "requested".to_owned(),
            is_asked: true,
            statements: Vec::new(),
        };
        record.audit = vec![finding("query_cache_type", values)];
        let asked = size.map(|size| ("query-cache-size".to_owned(), size.to_owned()));
        record.systems[0].spec.overrides.extend(asked);
        record
    };
    let warning = "answers repeated reads from its query cache (`query_cache_type = ON`)";
    for (format, begin) in [(Format::TEXT, "warning: "), (Format::HTML, "Warning")] {
        let words = shown(&with_query_cache([Some("ON"), None], None), format);
        let plain = words.replace("<code>", "`").replace("</code>", "`");
        let first = plain.find(begin).unwrap();
        let place = plain.find("answers repeated reads from its query cache").unwrap();
        assert!(place > first && place - first < 200, "{plain}");
        assert!(plain.contains("append `+query_cache_type=OFF` to the name of `mariadb@10.11`"));
        assert!(plain.to_lowercase().contains("must be looked at: query cache"), "{plain}");
    }
    assert!(
        text(&with_query_cache([Some("1"), Some("OFF")], Some("16M")))
            .contains("query_cache_type = 1")
    );
    // MariaDB 10.0 has no size by default.
    let mut without_size = with_query_cache([Some("ON"), None], None);
    if let Artifact::Prefix(prefix) = &mut without_size.systems[0].artifact {
        prefix.version = "10.0.38".to_owned();
    }
    let mut several = of_log(&["11.4", "11.8"], &[("top", "SELECT 1", &[])]);
    several.audit = with_query_cache([Some("ON"), None], None).audit;
    several.audit[0].values.push(None);
    let words = text(&several);
    assert_eq!(times(&words, "answers repeated reads from its query cache"), 1, "{words}");
    assert!(words.contains("mariadb@11.4 and mariadb@11.8 have no such cache"), "{words}");
    for without in [
        with_query_cache([Some("OFF"), None], None),
        with_query_cache([Some("DEMAND"), None], None),
        with_query_cache([Some("ON"), None], Some("0M")),
        with_query_cache([Some("ON"), Some("1")], None),
        without_size,
    ] {
        assert!(!text(&without).contains("from its query cache"));
    }
    assert!(text(&with_query_cache([None, Some("ON")], None)).contains(warning));
}

#[test]
fn a_statement_that_fails_is_counted_once_and_told_once() {
    let sql = "SELECT rank FROM t";
    let tests: [Logs<'_>; 4] = [
        ("ranks", sql, &[]),
        ("orders", "INSERT INTO orders VALUES (1)", &[]),
        ("top", "SELECT 1", &[]),
        ("old", "SELECT old", &[]),
    ];
    let mut record = of_log(&["11.8"], &tests);
    note(&mut record, 1, EventKind::AnswerDiffers(differs("ranks", sql, AnswerPart::Error)));
    fail(&mut record, 1, "ranks", "error 1064: near `rank`");
    fail(&mut record, 1, "orders", "error 1364: no default");
    for system in 0..2 {
        fail(&mut record, system, "old", "error 1146: no table");
    }
    let refused = EventKind::SettingRefused {
        setting: "sql_mode = 'A,B'".to_owned(),
        modes: vec!["B".to_owned()],
        message: "error 1231".to_owned(),
    };
    note(&mut record, 1, refused);
    for (part, why) in [("ranks", "error 1064: near `rank`"), ("orders", "error 1364: no default")]
    {
        let left_out = EventKind::KindLeftOut {
            test: "everything".to_owned(),
            part: part.to_owned(),
            why: why.to_owned(),
        };
        note(&mut record, 1, left_out);
    }
    let words = text(&record);
    let words = words.split("conditions").next().unwrap();
    for part in [
        "refusals: 1 statement: ranks, 1 test failing here only: orders, 1 session setting: `sql_mode = 'A,B'`; what",
        "must be fixed: refused, or other rows: 1 statement: ranks",
        "failed: could not be tested: 3 tests: 2 that must be fixed, old (on all systems: ",
        "`sql_mode = 'A,B'` (only B; the rest of the list is set): error 1231",
        "statements were carried out without what is refused",
    ] {
        assert_eq!(times(words, part), 1, "{part}: {words}");
    }
    for error in ["error 1064: near `rank`", "error 1364: no default"] {
        assert_eq!(times(words, error), 1, "{error}: {words}");
    }
    assert!(!words.contains("all but"), "{words}");
}

#[test]
fn another_failure_of_a_refused_statement_is_told_too() {
    let sql = "SELECT rank FROM t";
    let report_failure = |failure: &str| {
        let mut record = of_log(&["11.8"], &[("ranks", sql, &[]), ("top", "SELECT 1", &[])]);
        note(&mut record, 1, EventKind::AnswerDiffers(differs("ranks", sql, AnswerPart::Error)));
        fail(&mut record, 1, "ranks", failure);
        text(&record).split("conditions").next().unwrap().to_owned()
    };
    let words = report_failure(
        "query `SELECT rank FROM t` failed: server error 1064 (`42000`): near `rank`",
    );
    assert!(!words.contains("server error 1064"), "{words}");
    let other =
        report_failure("query `SELECT rank FROM t` failed: server error 1205 (`HY000`): Lock wait");
    assert!(other.contains("server error 1205"), "{other}");
    assert!(other.contains("refusals: 1 statement: ranks; what works"), "{other}");
}

#[test]
fn statements_of_a_dump_that_the_base_refuses_too_are_nothing_to_fix() {
    let report_refusal = |systems: &[usize]| {
        let mut record = of_log(&["11.8"], &[("top", "SELECT 1", &[])]);
        let restored = |what, message: &str| DumpFinding {
            what,
            file: "shop.sql".to_owned(),
            line: 12,
            statement: "CREATE TABLE scores (".to_owned(),
            message: message.to_owned(),
            count: 2,
        };
        for system in systems {
            let refused = restored(DumpFindingKind::Error, "error 1064");
            note(&mut record, *system, EventKind::Restored(refused));
            let login = restored(DumpFindingKind::Login, "user `a` logs in with `b`");
            note(&mut record, *system, EventKind::Restored(login));
        }
        text(&record)
    };
    let words = report_refusal(&[1]);
    let both = "refusals: 2 statements of the dump, 1 login plugin; what works";
    assert!(words.contains(both), "{words}");
    assert!(!words.contains("mend the dump first"), "{words}");
    let words = report_refusal(&[0, 1]);
    assert!(words.contains("refusals: none; "), "{words}");
    let first = "warning: mend the dump first: mariadb@10.11 itself refuses 2 statements of it, so tables or rows may \
                 be missing on all systems; the first is `CREATE TABLE scores (` (`shop.sql`, line 12): error 1064";
    assert!(words.contains(first), "{words}");
}

#[test]
fn a_statement_of_several_sets_of_settings_is_one() {
    let sql = "SELECT a FROM t GROUP BY b";
    let tests: [Logs<'_>; 3] = [
        ("top", sql, &[("sql_mode", "ANSI")]),
        ("top-2", sql, &[("sql_mode", "ANSI"), ("names", "utf8mb4")]),
        ("top-3", sql, &[("sql_mode", "")]),
    ];
    let mut record = of_log(&["11.8"], &tests);
    for (test, ..) in tests {
        note(&mut record, 1, EventKind::AnswerDiffers(differs(test, sql, AnswerPart::Error)));
    }
    // A different order of the same statement is not another task.
    note(&mut record, 1, EventKind::AnswerDiffers(differs("top", sql, AnswerPart::Warnings)));
    let words = text(&record);
    let several = "1 statement (3 tests)";
    for part in [
        format!("refusals: {several}: top, top-2, top-3; what works"),
        format!("must be fixed: refused, or other rows: {several}: top, top-2, top-3"),
        "note: the report is about 1 statement (3 tests, because sessions set `names`, `sql_mode` differently)"
            .to_owned(),
    ] {
        assert!(words.contains(&part), "{part}: {words}");
    }
    let list = "top, top-2, top-3: fails for all of 3 values; 1 row → error 1064";
    assert_eq!(times(&words, list), 1, "{words}");
    let alone = of_log(&["11.8"], &tests[..1]);
    assert!(!text(&alone).contains("the report is about"));
}

#[test]
fn transactions_are_not_counted_as_statements() {
    let settings: &[(&str, &str)] = &[("sql_mode", "ANSI")];
    let tests: [Logs<'_>; 3] =
        [("a", "SELECT 1", settings), ("b", "SELECT 1", &[]), ("c", "SELECT 2", &[])];
    let mut record = of_log(&["11.8"], &tests);
    let cell = record.study.cells[2].id;
    let mut definition = cell.test.definition().clone();
    let steps = &mut definition.roles[0].script.mix[0].steps;
    let again = steps[0].clone();
    steps.push(again);
    let test = Test::intern(definition);
    record.study.cells[2].id.test = test;
    for slice in record.slices.iter_mut().filter(|slice| slice.cell == cell) {
        slice.cell.test = test;
    }
    let note = "the report is about 1 statement and 1 transaction (3 tests, because sessions set `sql_mode` \
                differently)";
    let words = text(&record);
    assert!(words.contains(note), "{words}");
}

#[test]
fn another_collation_of_the_connection_is_one_finding() {
    let tests: [Logs<'_>; 2] = [("a", "SELECT 'a'", &[]), ("b", "SELECT 'b'", &[])];
    let mut record = of_log(&["11.8"], &tests);
    for (test, sql, _) in tests {
        let why = Some("the connection has another collation".to_owned());
        let types = AnswerDifference { why, ..differs(test, sql, AnswerPart::Types) };
        note(&mut record, 1, EventKind::AnswerDiffers(types));
    }
    let words = text(&record);
    assert!(words.contains("refusals: none; "), "{words}");
    for part in [
        "must be looked at: collation of connections: the connection has another collation; 2 statements: a, b",
        "returns columns of other types: the connection has another collation; the first is `SELECT 'a'`",
    ] {
        assert_eq!(times(&words, part), 1, "{part}: {words}");
    }
}

#[test]
fn a_server_that_will_not_start_is_not_said_to_start() {
    let option = |name: &str| UntakenOption {
        name: name.to_owned(),
        value: "1".to_owned(),
        said: None,
        place: None,
        remedy: String::new(),
    };
    let report_options = |refused: &[&str]| {
        let mut record = of_log(&["11.8"], &[("top", "SELECT 1", &[])]);
        let options: Vec<UntakenOption> = refused.iter().map(|name| option(name)).collect();
        if !options.is_empty() {
            note(&mut record, 1, EventKind::ConfigLeftOut { options });
        }
        let options = vec![option("binlog_format")];
        note(&mut record, 1, EventKind::ConfigDeprecated { options });
        text(&record)
    };
    let (not_started, started) = (report_options(&["query_cache_size"]), report_options(&[]));
    assert!(not_started.contains("refusals: 1 option of the config file; what"), "{not_started}");
    assert!(started.contains("refusals: none; "), "{started}");
    for words in [&not_started, &started] {
        assert!(words.contains("new warnings: 1 deprecated option; "), "{words}");
    }
    assert!(not_started.contains("will not start with this config file"), "{not_started}");
    assert!(!not_started.contains("starts with this config file"), "{not_started}");
    assert!(not_started.contains("takes other options of this config file that are deprecated"));
    assert!(started.contains("starts with this config file, in which options are deprecated"));
}

#[test]
fn systems_that_do_not_take_the_same_options_share_a_note() {
    let mut record = of_log(&["11.4", "11.8"], &[("top", "SELECT 1", &[])]);
    let option = |name: &str| UntakenOption {
        name: name.to_owned(),
        value: "1".to_owned(),
        said: None,
        place: None,
        remedy: String::new(),
    };
    for (system, name) in [(0, "x"), (0, "x"), (1, "y"), (2, "x")] {
        note(&mut record, system, EventKind::ConfigLeftOut { options: vec![option(name)] });
    }
    let words = text(&record);
    let both = "mariadb@10.11 and mariadb@11.8 run without 1 option of the config file, which they do not take: `x`";
    for part in
        [both, "mariadb@11.4 runs without 1 option of the config file, which it does not take: `y`"]
    {
        assert_eq!(times(&words, part), 1, "{part}: {words}");
    }
    assert_eq!(times(&words, "without 1 option"), 2, "{words}");
}

#[test]
fn servers_without_autocommit_are_noted() {
    let mut record = of_log(&["11.8"], &[("top", "SELECT 1", &[])]);
    assert!(!text(&record).contains("autocommit"));
    for system in &mut record.systems {
        system.spec.overrides.push(("autocommit".to_owned(), "OFF".to_owned()));
    }
    let words = text(&record);
    let note = "note: the options of mariadb@10.11 and mariadb@11.8 switch `autocommit` off; assay's connections, \
                including those that measure, switch it on";
    assert_eq!(times(&words, note), 1, "{words}");
}

#[test]
fn the_first_sentence_says_what_happens_to_the_statements_and_five_facts_say_what_it_means() {
    let tests: [Logs<'_>; 3] =
        [("a", "SELECT 1", &[]), ("b", "SELECT 2", &[]), ("c", "SELECT 3", &[])];
    let mut record = of_log(&["11.8"], &tests);
    note(&mut record, 1, EventKind::AnswerDiffers(differs("a", "SELECT 1", AnswerPart::Rows)));
    let counts =
        AnswerCounts { statements: 4, same: 2, undetermined: 1, ..AnswerCounts::default() };
    note(&mut record, 1, EventKind::AnswersCompared(counts));
    let words = text(&record);
    let first = "1 of 3 statements changes its answer, none is refused; speed: slower in 1";
    assert!(words.starts_with(first), "{words}");
    let outcomes = words.split("what happens to the statements").nth(1).unwrap();
    let facts = [
        "changed answers: 1 of 3 statements: a; people and programs that read it get something else",
        "refusals: none; nothing tried on both fails here and works on mariadb@10.11",
        "new warnings: none; ",
        "plans: ",
        "speed: slower in 1",
    ];
    let places = facts.map(|fact| outcomes.find(fact).unwrap_or_else(|| panic!("{fact}: {words}")));
    assert!(places.is_sorted(), "{words}");
    // The names of systems keep their case, also those that users gave.
    record.systems[1].name = "new".to_owned();
    let refused = DumpFinding {
        what: DumpFindingKind::Error,
        file: "shop.sql".to_owned(),
        line: 4,
        statement: "CREATE".to_owned(),
        message: "no".to_owned(),
        count: 1,
    };
    note(&mut record, 1, EventKind::Restored(refused));
    let page = shown(&record, Format::HTML);
    assert!(page.contains("new refused 1 statement of the dump.") && !page.contains("New refused"));
    assert!(!page.contains("Mariadb@"));
}
