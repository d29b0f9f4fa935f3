//! Events with captured values.

use assay_model::{
    CapturedKind, CapturedValues, Dialect, Generator, PerDialect, Sending, Setup, Sql,
    StatementMode, Transaction, UserRowsFile, UserStep, Variable,
};

use super::*;
use crate::captured_lines::{CapturedLines, keep_captured};
use crate::mix::kinds;

const LINES: &[u8] = br#"[1, "a'", [1, "x"], {"hex": "ff"}]
[2, null, [2], null]
[3.50, "c", [null], null]
"#;

fn texts(dialect: Dialect, draw: CapturedDraw, client: u32, events: u64) -> Vec<String> {
    let lines = CapturedLines::parse(LINES, 4).unwrap();
    let columns = lines.columns().to_vec();
    keep_captured("events", lines);
    let file = UserRowsFile { path: String::new(), sha256: "events".to_owned() };
    let variable = |(column, name): (u32, &str)| Variable {
        name: name.to_owned(),
        values: Some(Generator::Captured {
            column,
            of: columns[column as usize].kind.unwrap_or(CapturedKind::Texts),
            most_bytes: 10,
        }),
    };
    let sql = Sql {
        pieces: ["SELECT ", ", ", " IN (", "), ", ""].map(str::to_owned).to_vec(),
        variables: vec![0, 1, 2, 3],
    };
    let send = UserStep::Send {
        sql: PerDialect::all(sql),
        times: 2,
        keep: Vec::new(),
        sending: Sending::Alone,
        when: None,
    };
    let kind = Transaction {
        session: Vec::new(),
        name: "seen".to_owned(),
        weight: 1.0,
        variables: (0..).zip(["a", "b", "c", "d"]).map(variable).collect(),
        steps: vec![send],
        captured: Some(CapturedValues { file, lines: 3, width: 4, draw }),
        logged: None,
    };
    let setup = Setup { clients: 2, tables: 1, rows: 1 };
    let test = crate::micro::test_by_name("scan").unwrap();
    let mut program = EventProgram::new(dialect, test, setup, StatementMode::Prepared);
    let mut statements = Vec::new();
    program.mix = kinds(dialect, &[kind], StatementMode::Prepared, &[Vec::new()], &mut statements);
    assert_eq!(statements[0].mode, StatementMode::Text, "a list is no parameter");
    let client = ProgramClient::new(Arc::new(program), 7, client);
    let mut event = EventBuf::default();
    let mut of_event = |sequence| {
        client.write_event(sequence, 0, &mut event);
        let text = |operation| {
            let Operation::Execute { arguments, .. } = operation else { panic!("text") };
            let mut text = Vec::new();
            statements[0].push_text(dialect.has_escapes(), arguments, &[], &mut text);
            String::from_utf8(text).unwrap()
        };
        let [first, second] = event.operations().map(text).collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(first, second, "repetitions use the line of the event");
        first
    };
    (0..events).map(&mut of_event).collect()
}

#[test]
fn events_take_lines_in_order_and_clients_in_turn() {
    let client_texts = |dialect, client| texts(dialect, CapturedDraw::InOrder, client, 2);
    let lines = [
        "SELECT 1, 'a''' IN (1, 'x'), X'ff'",
        "SELECT 2, NULL IN (2), NULL",
        "SELECT 3.50, 'c' IN (NULL), NULL",
    ];
    assert_eq!(client_texts(Dialect::MySql, 0), [lines[0], lines[2]]);
    assert_eq!(client_texts(Dialect::MySql, 1), [lines[1], lines[0]]);
    assert_eq!(client_texts(Dialect::Postgres, 0)[0], "SELECT 1, 'a''' IN (1, 'x'), '\\xff'");
}

#[test]
fn any_line_is_drawn_and_its_values_belong_together() {
    let drawn = texts(Dialect::MySql, CapturedDraw::Random, 0, 300);
    let mut counts = std::collections::BTreeMap::new();
    drawn.into_iter().for_each(|text| *counts.entry(text).or_insert(0) += 1);
    assert_eq!(counts.len(), 3);
    assert!(counts.values().all(|count| (60..140).contains(count)), "{counts:?}");
}
