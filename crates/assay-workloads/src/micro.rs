//! The microbenchmarks: `micro.toml` has their definitions, order and published sets.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use assay_model::{
    Class, Definition, Distribution, Fill, Group, PlanningFacts, Renewal, Scratch, StartFrom, Step,
    TableChoice, Test, TestSet, Unit,
};
use serde::Deserialize;

use crate::steps::{define, marks, read, transaction};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Micro {
    groups: BTreeMap<String, TitledGroup>,
    scratch: BTreeMap<String, Scratch>,
    test: Vec<PublishedTest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TitledGroup {
    rank: u32,
    title: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PublishedTest {
    name: String,
    does: String,
    group: String,
    #[serde(default)]
    groups: BTreeMap<TestSet, String>,
    sets: Vec<TestSet>,
    /// 0 in sets without an order.
    #[serde(default)]
    place: usize,
    before: Option<usize>,
    /// `None` for a read.
    changes: Option<u32>,
    /// The write runs after all reads, on aged data.
    #[serde(default)]
    is_last: bool,
    #[serde(default = "query")]
    unit: Unit,
    #[serde(default)]
    is_long: bool,
    #[serde(default)]
    uses_up_rows: bool,
    as_fast_as: Option<String>,
    #[serde(default)]
    is_timed_as_published: bool,
    #[serde(default)]
    warms_itself: bool,
    draw: Option<Distribution>,
    rows: Option<u32>,
    #[serde(default)]
    transaction: bool,
    #[serde(default)]
    scratch: Vec<String>,
    steps: Vec<PublishedStatement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PublishedStatement {
    sql: String,
    postgres: Option<String>,
    #[serde(default)]
    fill: Vec<Fill>,
    #[serde(default = "drawn")]
    table: TableChoice,
    #[serde(default = "once")]
    times: u32,
    #[serde(default)]
    text: bool,
    renews: Option<Renewal>,
}

fn query() -> Unit {
    Unit::Query
}

fn drawn() -> TableChoice {
    TableChoice::Drawn
}

fn once() -> u32 {
    1
}

struct PlacedTest {
    test: Test,
    sets: Vec<TestSet>,
    place: usize,
}

static PLACED: LazyLock<Vec<PlacedTest>> = LazyLock::new(|| {
    let micro: Micro = toml::from_str(include_str!("micro.toml")).expect("micro.toml is valid");
    let of_pre = [TestSet::Set42, TestSet::Set47, TestSet::All];
    let mut before: Vec<_> = micro.test.iter().filter_map(|it| Some((it.before?, it))).collect();
    before.sort_by_key(|(place, _)| *place);
    let before = before.into_iter().map(|(_, entry)| PlacedTest {
        test: define(before_writes(entry.definition(&micro))),
        sets: of_pre.to_vec(),
        place: 0,
    });
    let after = micro.test.iter().map(|entry| PlacedTest {
        test: define(entry.definition(&micro)),
        sets: [entry.sets.as_slice(), &[TestSet::All]].concat(),
        place: entry.place,
    });
    before.chain(after).collect()
});

pub fn tests_of(set: TestSet) -> Vec<Test> {
    let mut placed: Vec<&PlacedTest> = PLACED.iter().filter(|it| it.sets.contains(&set)).collect();
    if matches!(set, TestSet::Set27 | TestSet::Set32) {
        placed.sort_by_key(|it| it.place);
    }
    placed.into_iter().map(|it| it.test).collect()
}

pub fn test_by_name(name: &str) -> Option<Test> {
    PLACED.iter().map(|it| it.test).find(|test| test.name == name)
}

/// Finds a test by its name in published tables: `NAME_range=N`, where N is a filler for most tests.
pub fn published_test(name: &str) -> Option<Test> {
    let base = || name.rsplit_once("_range=").map(|(base, _)| base);
    test_by_name(name).or_else(|| test_by_name(base()?))
}

/// The test that a sequential study runs, unreported, after a load; [`WARMS_READS`] runs before `read-only` tests.
pub const WARMS_LOAD: &str = "point-query";
/// The test that a sequential study runs, unreported, before the first read on fresh and on aged data.
pub const WARMS_READS: &str = "scan";

impl PublishedTest {
    fn definition(&self, micro: &Micro) -> Definition {
        let group = |word: &str| {
            let TitledGroup { rank, title } = &micro.groups[word];
            Group { rank: *rank, word: word.to_owned(), title: title.clone() }
        };
        let steps: Vec<Step> = self.steps.iter().map(PublishedStatement::step).collect();
        let steps = if self.transaction { transaction(steps) } else { steps };
        let mut definition = Definition {
            groups: self.groups.iter().map(|(set, word)| (*set, group(word))).collect(),
            unit: self.unit,
            planning: PlanningFacts {
                is_long: self.is_long,
                rows_per_event: self.changes.unwrap_or(0),
                uses_up_rows: self.uses_up_rows,
                as_fast_as: self.as_fast_as.clone(),
                is_timed_as_published: self.is_timed_as_published,
                warms_itself: self.warms_itself,
                judges_tail: false,
            },
            ..read(&self.name, &self.does, group(&self.group), steps)
        };
        if self.changes.is_some() {
            definition.class = Class::Write;
            definition.start_from = if self.is_last { StartFrom::Aged } else { StartFrom::Fresh };
        }
        for role in &mut definition.roles {
            role.script.draw = self.draw.unwrap_or(Distribution::Uniform);
            role.script.rows = self.rows;
            role.script.scratch =
                self.scratch.iter().map(|name| micro.scratch[name].clone()).collect();
        }
        definition
    }
}

impl PublishedStatement {
    fn step(&self) -> Step {
        let listed = self.fill.iter().map(|fill| fill.count()).max().unwrap_or(0);
        Step {
            sql: self.sql.replace("?*", &marks(listed)),
            postgres: self.postgres.clone(),
            table: self.table,
            fill: self.fill.clone(),
            times: self.times,
            text: self.text,
            renews: self.renews,
        }
    }
}

fn before_writes(test: Definition) -> Definition {
    let name = match test.name.split_once("_range=") {
        Some((kind, range)) => format!("{kind}.pre_range={range}"),
        None => format!("{}.pre", test.name),
    };
    let planning = PlanningFacts { warms_itself: false, ..test.planning };
    Definition { name, start_from: StartFrom::Fresh, planning, ..test }
}

#[cfg(test)]
mod tests {
    use assay_model::Pacing;

    use super::*;
    use crate::digest::digest;

    #[test]
    fn sets_have_the_published_sizes() {
        for set in TestSet::PUBLISHED {
            assert_eq!(tests_of(set).len().to_string(), set.word());
        }
    }

    /// Sizes of published tables: 9/5/8/10 of the 32, 11/6/9/6/10 of the 42.
    #[test]
    fn groups_have_the_published_sizes() {
        let count = |set: TestSet, word: &str| {
            tests_of(set).into_iter().filter(|test| test.group(set).word == word).count()
        };
        let of_32 = ["point", "range-1", "range-2", "writes"].map(|it| count(TestSet::Set32, it));
        assert_eq!(of_32, [9, 5, 8, 10]);
        let words = ["point-1", "point-2", "range-1", "range-2", "writes"];
        assert_eq!(words.map(|it| count(TestSet::Set42, it)), [11, 6, 9, 6, 10]);
    }

    #[test]
    fn extra_writes_leave_the_shared_tables_alone() {
        let all = tests_of(TestSet::All).into_iter();
        let extra: Vec<Test> = all.filter(|test| test.group.word == "extra").collect();
        assert!(extra.len() > 10);
        for test in extra.iter().filter(|test| test.class == Class::Write) {
            let mut steps = test.roles.iter().flat_map(|role| &role.script.steps);
            let is_own =
                |step: &Step| matches!(step.table, TableChoice::Scratch | TableChoice::None);
            assert!(steps.all(is_own), "{test}");
        }
    }

    #[test]
    fn names_are_unique_and_found_again() {
        for test in tests_of(TestSet::All) {
            assert_eq!(test_by_name(test.name()), Some(test));
        }
    }

    /// While the work is unchanged, studies of workload version 1 can be resumed. Remove a changed test here; the file
    /// stays as it is.
    #[test]
    fn tests_are_those_of_version_1() {
        let lines = tests_of(TestSet::Set47)
            .into_iter()
            .map(|test| format!("{} {}\n", test.name, test.digest));
        assert_eq!(lines.collect::<String>(), include_str!("version_1.digests"));
    }

    /// The statements, the data and the rate change the digest; the names in tables do not.
    #[test]
    fn a_digest_is_of_the_work_alone() {
        let test = test_by_name("update-index").unwrap().definition();
        let with = |change: fn(&mut Definition)| {
            let mut changed = test.clone();
            change(&mut changed);
            digest(&changed)
        };
        assert_eq!(with(|it| it.does.push('!')), test.digest);
        let changes: [fn(&mut Definition); 5] = [
            |it| it.roles[0].script.steps[0].sql.push(' '),
            |it| it.roles[0].script.draw = Distribution::Special,
            |it| it.roles[0].pacing = Pacing::Rate(10.0),
            |it| it.roles[0].clients = Some(2),
            |it| it.roles[0].script.rows = Some(9),
        ];
        let mut digests: Vec<String> = changes.map(with).to_vec();
        digests.push(test.digest.clone());
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), 6);
    }
}
