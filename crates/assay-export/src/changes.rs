//! Why cells changed: the terms of their time, the server's counters and functions.

use assay_model::StudyRecord;
use assay_verdict::{CellJudgement, Changed, FunctionChange, Wait};

use crate::cells::{interval, key};
use crate::exported::Exported;
use crate::studies::system;
use crate::table::Kind::{Boolean, Integer, Real, Text};
use crate::table::{Column, Table, Value, column};

const CHANGES: &[Column] = &[
    column("study", Text, "name of the study"),
    column("test", Text, "name of the test"),
    column("clients", Integer, "number of clients"),
    column("tables", Integer, "number of tables"),
    column("rows", Integer, "rows of each table"),
    column("system", Text, "name of the system, which is compared with the base"),
    column(
        "kind",
        Text,
        "time, term, background, counter, serving function, background function, wait",
    ),
    column("name", Text, "of the term, counter, function or wait; null: code without a name"),
    column("module", Text, "the file that holds the code of a function"),
    column("base_value", Real, "per operation of the base, µs; of a counter its growth"),
    column("value", Real, "the same of the system"),
    column("change", Real, "`value` less `base_value`"),
    column("change_low", Real, "lower end of its 95% interval; null if unknown"),
    column("change_high", Real, "upper end"),
    column(
        "is_certain",
        Boolean,
        "whether the change exceeds its error; of functions, given how many there are",
    ),
];

/// What changed in a cell.
struct Named<'a> {
    kind: &'static str,
    name: Option<&'a str>,
    module: Option<&'a str>,
    changed: &'a Changed,
    /// `None` if the change has no interval.
    is_certain: Option<bool>,
}

impl<'a> Named<'a> {
    fn new(kind: &'static str, name: &'a str, changed: &'a Changed) -> Self {
        let is_certain = Some(changed.is_certain());
        Self { kind, name: Some(name), module: None, changed, is_certain }
    }

    fn function(kind: &'static str, it: &'a FunctionChange) -> Self {
        let (name, module) = (it.function.as_deref(), Some(it.module.as_str()));
        Self { kind, name, module, changed: &it.changed, is_certain: Some(it.is_certain) }
    }
}

pub(crate) fn changes(studies: &[Exported]) -> Table {
    let mut rows = Vec::new();
    // Published results have no terms.
    for it in studies.iter().filter(|it| !it.record.is_reported()) {
        for cell in &it.judgement.cells {
            rows.extend(named(cell).into_iter().map(|named| row(&it.record, cell, &named)));
        }
    }
    let about = "One row for each term, counter, function and wait of a cell in a system other than the base. \
                 Counters are those that changed; functions and waits are those of profiles.";
    Table { name: "changes", about, columns: CHANGES.into(), rows }
}

fn named<'a>(cell: &'a CellJudgement) -> Vec<Named<'a>> {
    let mut all = Vec::new();
    if let Some(change) = &cell.change {
        all.push(Named::new("time", "time", &change.time));
        all.extend(change.terms.iter().map(|(term, it)| Named::new("term", term.key(), it)));
        let background = change.background_cpu.as_ref();
        all.extend(background.map(|it| Named::new("background", "background_cpu", it)));
    }
    let counters = cell.counters.iter().flatten();
    all.extend(counters.map(|it| Named::new("counter", &it.name, &it.changed)));
    if let Some(profile) = &cell.profile {
        let serving = profile.serving.iter();
        all.extend(serving.map(|it| Named::function("serving function", it)));
        let background = profile.background.iter();
        all.extend(background.map(|it| Named::function("background function", it)));
        let waits = profile.waits.iter().flatten();
        let wait = |(wait, it): &'a (Wait, Changed)| Named {
            is_certain: None,
            ..Named::new("wait", wait.key(), it)
        };
        all.extend(waits.map(wait));
    }
    all
}

fn row(record: &StudyRecord, cell: &CellJudgement, named: &Named<'_>) -> Vec<Value> {
    let changed = named.changed;
    let mut row = vec![record.study.id.as_str().into()];
    row.extend(key(cell.cell));
    row.extend([
        system(record, cell.system),
        named.kind.into(),
        named.name.into(),
        named.module.into(),
        changed.before.into(),
        changed.after.into(),
    ]);
    let [_, low, high] = interval(named.is_certain.map(|_| changed.by));
    row.extend([(changed.after - changed.before).into(), low, high, named.is_certain.into()]);
    row
}
