//! The tests of a set: `assay tests`.

use assay_model::{Class, StartFrom, Suite, Test, TestSet, counted};
use serde::{Serialize, Serializer};

use crate::data::json;
use crate::document::{Block, Column, PageDocument, Row, Table};
use crate::formats::text;
use crate::page::TextOptions;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTest {
    pub test: Test,
    pub does: String,
    pub statements: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedFrom<'a> {
    Set(TestSet),
    Oltp,
    Tpcc,
    Workload(&'a str),
}

impl ListedFrom<'_> {
    fn set(self) -> TestSet {
        match self {
            Self::Set(set) => set,
            Self::Oltp | Self::Tpcc | Self::Workload(_) => TestSet::default(),
        }
    }
}

#[derive(Serialize)]
struct TestsDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    suite: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "set_name")]
    set: Option<TestSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: Option<&'a str>,
    tests: Vec<ListedTestRow<'a>>,
}

fn set_name<S: Serializer>(set: &Option<TestSet>, to: S) -> Result<S::Ok, S::Error> {
    match set {
        Some(set) => set.serialize_name(to),
        None => to.serialize_none(),
    }
}

#[derive(Serialize)]
struct ListedTestRow<'a> {
    test: &'a str,
    group: &'static str,
    class: Class,
    pre: bool,
    does: &'a str,
    statements: &'a [String],
}

#[must_use]
pub fn tests_json(from: ListedFrom<'_>, list: &[ListedTest]) -> String {
    let tests = list.iter().map(|listed| part(from.set(), listed)).collect();
    let (suite, set, workload) = match from {
        ListedFrom::Set(set) => (None, Some(set), None),
        ListedFrom::Oltp => (Some(Suite::Oltp.word()), None, None),
        ListedFrom::Tpcc => (Some(Suite::Tpcc.word()), None, None),
        ListedFrom::Workload(name) => (None, None, Some(name)),
    };
    json::versioned(TestsDocument { suite, set, workload, tests })
}

fn part(set: TestSet, listed: &ListedTest) -> ListedTestRow<'_> {
    let ListedTest { test, does, statements } = listed;
    let (group, class) = (test.group(set).word.as_str(), test.class);
    ListedTestRow { test: &test.name, group, class, pre: is_pre(*test), does, statements }
}

/// Whether it reads tables as loaded, before any write.
fn is_pre(test: Test) -> bool {
    test.class == Class::Read && test.start_from == StartFrom::Fresh && test.workload().is_none()
}

#[must_use]
pub fn tests_text(from: ListedFrom<'_>, list: &[ListedTest], options: &TextOptions) -> String {
    let set = from.set();
    let columns = ["test", "group", "class", "one event"].map(Column::words);
    let rows = list.iter().map(|ListedTest { test, does, .. }| {
        let class = match test.class {
            Class::Read => "read",
            Class::Write => "write",
        };
        Row::new([test.name.clone(), test.group(set).word.clone(), class.to_owned(), does.clone()])
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
        ListedFrom::Oltp => format!("{} of `--suite oltp`", counted(count as u64, "script")),
        ListedFrom::Tpcc => format!("{} of `--suite tpcc`", counted(count as u64, "test")),
        ListedFrom::Workload(name) => {
            format!("{} of workload `{name}`", counted(count as u64, "test"))
        }
    });
    if list.iter().any(|listed| is_pre(listed.test)) {
        lines.push("  .pre: on tables as loaded, before any write".to_owned());
    }
    let how = match from {
        ListedFrom::Set(_) => "`assay compare BASE OTHER --tests 'point*,scan'`",
        ListedFrom::Oltp => {
            "`assay compare BASE OTHER --suite oltp --tests 'oltp_read*,bulk_insert'`"
        }
        ListedFrom::Tpcc => "`assay compare BASE OTHER --suite tpcc -- --warehouses 10`",
        ListedFrom::Workload(_) => "`assay compare BASE OTHER --workload FILE --tests 'GLOB,...'`",
    };
    lines.push(format!("  to run some of them: {how}"));
    let blocks = vec![Block::Table(table), Block::Lines(lines)];
    text::render(&PageDocument { blocks, ..PageDocument::default() }, *options)
}
