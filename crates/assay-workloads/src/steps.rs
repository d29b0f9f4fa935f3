//! Statements that scripts build for sysbench's tables, and tests made of them.

use assay_model::{
    Class, Definition, Distribution, Fill, Group, Pacing, PlanningFacts, Role, Schema, Script,
    StartFrom, Step, TableChoice, Test, Unit,
};

use crate::digest::digest;
use crate::sbtest::{C_GROUPS, PAD_GROUPS};

const C: Fill = Fill::Digits(C_GROUPS);
const PAD: Fill = Fill::Digits(PAD_GROUPS);

pub(crate) fn read(name: &str, does: &str, group: Group, steps: Vec<Step>) -> Definition {
    let (draw, mix, scratch) = (Distribution::Uniform, Vec::new(), Vec::new());
    let script = Script { steps, draw, rows: None, mix, scratch };
    Definition {
        class: Class::Read,
        roles: vec![Role { script, clients: None, pacing: Pacing::Closed }],
        ..statementless(name, does, group, Schema::default())
    }
}

/// A test whose clients choose their statements at run time, or whose statements are unknown.
pub fn statementless(name: &str, does: &str, group: Group, schema: Schema) -> Definition {
    Definition {
        name: name.to_owned(),
        group,
        groups: Vec::new(),
        does: does.to_owned(),
        class: Class::Write,
        start_from: StartFrom::Aged,
        unit: Unit::Query,
        schema,
        roles: Vec::new(),
        planning: PlanningFacts::default(),
        digest: String::new(),
    }
}

pub(crate) fn write(
    name: &str,
    does: &str,
    rows_per_event: u32,
    steps: impl IntoIterator<Item = Step>,
) -> Definition {
    Definition {
        class: Class::Write,
        start_from: StartFrom::Fresh,
        planning: PlanningFacts { rows_per_event, ..PlanningFacts::default() },
        ..read(name, does, group(5, "writes", "writes"), steps.into_iter().collect())
    }
}

pub(crate) fn group(rank: u32, word: &str, title: &str) -> Group {
    Group { rank, word: word.to_owned(), title: title.to_owned() }
}

pub(crate) fn step(sql: &str, fill: &[Fill]) -> Step {
    Step {
        sql: sql.to_owned(),
        postgres: None,
        table: TableChoice::Drawn,
        fill: fill.to_vec(),
        times: 1,
        text: false,
        renews: None,
    }
}

pub(crate) fn transaction(steps: Vec<Step>) -> Vec<Step> {
    let bare = |sql| Step { table: TableChoice::None, ..step(sql, &[]) };
    [vec![bare("BEGIN")], steps, vec![bare("COMMIT")]].concat()
}

pub(crate) fn point() -> Step {
    step("SELECT c FROM sbtest WHERE id=?", &[Fill::Drawn(1)])
}

/// The range from the draw to the draw plus `span`, inclusive. May extend past the end of the table.
pub(crate) fn between(columns: &str, key: &str, span: u32, tail: &str) -> Step {
    let sql = format!("SELECT {columns} FROM sbtest WHERE {key} BETWEEN ? AND ?{tail}");
    step(&sql, &[Fill::Drawn(1), Fill::Plus(span)])
}

pub(crate) fn below(range: u32) -> u32 {
    range.saturating_sub(1)
}

pub(crate) fn update_k() -> Step {
    step("UPDATE sbtest SET k=k+1 WHERE id=?", &[Fill::Drawn(1)])
}

pub(crate) fn update_c() -> Step {
    step("UPDATE sbtest SET c=? WHERE id=?", &[C, Fill::Drawn(1)])
}

pub(crate) fn delete() -> Step {
    step("DELETE FROM sbtest WHERE id=?", &[Fill::Drawn(1)])
}

pub(crate) fn changes_of_a_row() -> [Step; 2] {
    let insert = Step {
        table: TableChoice::Same,
        ..step(
            "INSERT INTO sbtest (id, k, c, pad) VALUES (?, ?, ?, ?)",
            &[Fill::Again, Fill::Drawn(1), C, PAD],
        )
    };
    [delete(), insert]
}

/// The server numbers the new row. On MySQL and MariaDB an `id` of 0 requests that.
pub(crate) fn insert_numbered() -> Step {
    Step {
        postgres: Some("INSERT INTO sbtest (k, c, pad) VALUES (?, ?, ?)".to_owned()),
        text: true,
        ..step("INSERT INTO sbtest (id, k, c, pad) VALUES (0, ?, ?, ?)", &[Fill::Drawn(1), C, PAD])
    }
}

pub(crate) fn insert_unused() -> Step {
    let sql = "INSERT INTO sbtest (id, k, c, pad) VALUES (?, ?, ?, ?)";
    Step { text: true, ..step(sql, &[Fill::Unused, Fill::Drawn(1), C, PAD]) }
}

pub fn needs_numbering(test: Test) -> bool {
    let numbered = insert_numbered();
    test.roles.iter().any(|role| role.script.steps.contains(&numbered))
}

pub(crate) fn marks(count: u32) -> String {
    vec!["?"; count as usize].join(", ")
}

/// A test of the same name and digest without events of these kinds. Kinds and statements keep their numbers. `None` if
/// no kind would remain.
pub fn without_kinds(test: Test, names: &[String]) -> Option<Test> {
    let mut definition = test.definition().clone();
    for kind in definition.roles.iter_mut().flat_map(|role| &mut role.script.mix) {
        if names.contains(&kind.name) {
            kind.weight = 0.0;
        }
    }
    let mut kinds = definition.roles.iter().flat_map(|role| &role.script.mix);
    kinds.any(|kind| kind.weight > 0.0).then(|| Test::intern(definition.clone()))
}

pub fn define(definition: Definition) -> Test {
    let digest = digest(&definition);
    Test::intern(Definition { digest, ..definition })
}
