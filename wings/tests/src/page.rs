//! The tests of a set, a suite or a workload, as text and JSON. Pure: no I/O, no clock.

use assay_model::{Class, StartFrom, Test, TestSet, counted};
use assay_report::Page;
use assay_report::blocks::{
    Block, Column, JsonValue, PageContent, PageDocument, Row, Table, Wish, versioned,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedTest {
    pub(crate) test: Test,
    pub(crate) does: String,
    pub(crate) statements: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListedFrom<'a> {
    Set(TestSet),
    /// A suite without sets: its word, what one of its tests is called, and arguments of an example.
    Suite([&'static str; 3]),
    Workload(&'a str),
}

impl ListedFrom<'_> {
    fn set(self) -> TestSet {
        match self {
            Self::Set(set) => set,
            Self::Suite(_) | Self::Workload(_) => TestSet::default(),
        }
    }
}

pub(crate) fn tests<'a>(from: ListedFrom<'a>, list: &'a [ListedTest]) -> Page<'a> {
    Page::new(TestsPage { from, list })
}

struct TestsPage<'a> {
    from: ListedFrom<'a>,
    list: &'a [ListedTest],
}

impl PageContent for TestsPage<'_> {
    fn document(&self, _: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let blocks = blocks(self.from, self.list);
        then(&PageDocument { blocks, ..PageDocument::default() });
    }

    fn json(&self) -> Option<String> {
        Some(versioned(document(self.from, self.list)))
    }
}

fn document(from: ListedFrom<'_>, list: &[ListedTest]) -> JsonValue {
    let (key, name): (&str, JsonValue) = match from {
        // The name of a published set is a number.
        ListedFrom::Set(set) => {
            let size = set.word().parse::<u64>();
            ("set", size.map_or_else(|_| set.word().into(), JsonValue::Whole))
        }
        ListedFrom::Suite([word, ..]) => ("suite", word.into()),
        ListedFrom::Workload(name) => ("workload", name.into()),
    };
    let tests = list.iter().map(|listed| row(from.set(), listed)).collect();
    JsonValue::object([(key, name), ("tests", tests)])
}

fn row(set: TestSet, listed: &ListedTest) -> JsonValue {
    let ListedTest { test, does, statements } = listed;
    JsonValue::object([
        ("test", test.name().into()),
        ("group", test.group(set).word.as_str().into()),
        ("class", class(*test).into()),
        ("pre", is_pre(*test).into()),
        ("does", does.as_str().into()),
        ("statements", statements.iter().map(String::as_str).collect()),
    ])
}

fn class(test: Test) -> &'static str {
    match test.class {
        Class::Read => "read",
        Class::Write => "write",
    }
}

/// Whether it reads tables as loaded, before any write.
fn is_pre(test: Test) -> bool {
    test.class == Class::Read && test.start_from == StartFrom::Fresh && test.workload().is_none()
}

fn blocks(from: ListedFrom<'_>, list: &[ListedTest]) -> Vec<Block<'static>> {
    let set = from.set();
    let columns = ["test", "group", "class", "one event"].map(Column::words);
    let rows = list.iter().map(|ListedTest { test, does, .. }| {
        let class = class(*test).to_owned();
        Row::new([test.name.clone(), test.group(set).word.clone(), class, does.clone()])
    });
    let table = Table::new(columns.to_vec(), rows).flush();
    let mut lines = Vec::new();
    let count = list.len();
    lines.push(match from {
        ListedFrom::Set(set) => {
            let set = set.word();
            let size = if set.parse::<u32>().is_ok() { format!("{set} ") } else { String::new() };
            format!("{count} of the {size}tests of `--set {set}`, in the order they run")
        }
        ListedFrom::Suite([word, noun, _]) => {
            format!("{} of `--suite {word}`", counted(count as u64, noun))
        }
        ListedFrom::Workload(name) => {
            format!("{} of workload `{name}`", counted(count as u64, "test"))
        }
    });
    if list.iter().any(|listed| is_pre(listed.test)) {
        lines.push("  .pre: on tables as loaded, before any write".to_owned());
    }
    let how = match from {
        ListedFrom::Set(_) => "--tests 'point*,scan'".to_owned(),
        ListedFrom::Suite([word, _, example]) => format!("--suite {word} {example}"),
        ListedFrom::Workload(_) => "--workload FILE --tests 'GLOB,...'".to_owned(),
    };
    lines.push(format!("  to run some of them: `assay compare BASE OTHER {how}`"));
    vec![Block::Table(table), Block::Lines(lines)]
}
