//! The tests of a set: `assay tests`.

use assay_model::{Class, StartFrom, Test, TestSet};
use serde::Serialize;

use crate::data::json;
use crate::format::TextOptions;
use crate::text::paint;
use crate::text::table::{left, plain_table, trimmed};

/// Raised when the shape below changes incompatibly.
const SCHEMA: u32 = 1;

/// A test and a description of its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTest {
    /// The test.
    pub test: Test,
    /// The work of one event, in a line.
    pub does: String,
    /// The statements of one event.
    pub statements: Vec<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    set: usize,
    tests: Vec<TestRow<'a>>,
}

#[derive(Serialize)]
struct TestRow<'a> {
    test: &'a str,
    group: &'static str,
    class: Class,
    pre: bool,
    does: &'a str,
    statements: &'a [String],
}

/// The tests as scripts get them: schema 1, with their statements.
#[must_use]
pub fn tests_json(set: TestSet, list: &[ListedTest]) -> String {
    let tests = list.iter().map(|listed| part(set, listed)).collect();
    json::text(&Document { schema: SCHEMA, set: set.len(), tests })
}

fn part(set: TestSet, listed: &ListedTest) -> TestRow<'_> {
    let ListedTest { test, does, statements } = listed;
    let (group, class) = (test.group(set).word.as_str(), test.class);
    TestRow { test: &test.name, group, class, pre: is_pre(*test), does, statements }
}

/// Whether it reads tables as loaded, before any write.
fn is_pre(test: Test) -> bool {
    test.class == Class::Read && test.start_from == StartFrom::Fresh
}

/// The tests as a table, and how to choose some of them.
#[must_use]
pub fn tests_text(set: TestSet, list: &[ListedTest], options: &TextOptions) -> String {
    let mut table = plain_table();
    table.set_header(["test", "group", "class", "one event"].map(left));
    for ListedTest { test, does, .. } in list {
        let class = match test.class {
            Class::Read => "read",
            Class::Write => "write",
        };
        table.add_row(
            [test.name.clone(), test.group(set).word.clone(), class.into(), does.clone()].map(left),
        );
    }
    let mut lines = trimmed(&table);
    lines.push(String::new());
    lines.push(format!(
        "{} of the {} tests of `--set {}`, in the order they run",
        list.len(),
        set.len(),
        set.len()
    ));
    if list.iter().any(|listed| is_pre(listed.test)) {
        lines.push("  .pre: on tables as loaded, before any write".to_owned());
    }
    lines
        .push("  to run some of them: `assay compare BASE OTHER --tests 'point*,scan'`".to_owned());
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}
