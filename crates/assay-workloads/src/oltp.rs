//! sysbench's scripts as tests, and their options: names, statements and their order are those of sysbench 1.1.

use std::sync::LazyLock;

use assay_model::limits::oltp::{DELETE_INSERTS, DELTA, LISTED, RANGE, TIMES};
use assay_model::limits::user::{PARETO_H, ZIPF_S};
use assay_model::{
    Definition, Distribution, Fill, Group, PlanningFacts, RandType, Scratch, StartFrom, Step,
    TableChoice, TableForm, Test,
};
use assay_options::{count, fraction, on_off, word};
use clap::ArgAction::Set;
use clap::{Args, Command, FromArgMatches as _};
use serde::{Deserialize, Serialize};

use crate::steps::{
    below, between, changes_of_a_row, define, delete, group, insert_numbered, insert_unused, marks,
    point, read, step, transaction, update_c, update_k, write,
};

/// Rows per statement of `bulk_insert`: about as many as sysbench sends at once, which is 512 KiB.
const BULK_ROWS: u32 = 25_000;

pub fn oltp_tests(options: &OltpOptions) -> Vec<Test> {
    let mut all = reads(options);
    all.extend(writes(options));
    // Options may leave a script without statements.
    let sends = |it: &Definition| {
        it.roles.iter().any(|role| role.script.steps.iter().any(|step| step.times > 0))
    };
    all.retain(sends);
    for definition in &mut all {
        for role in &mut definition.roles {
            role.script.draw = options.distribution();
        }
        definition.start_from = StartFrom::Fresh;
        definition.planning.judges_tail = true;
    }
    all.into_iter().map(define).collect()
}

pub const OLTP_SCRIPTS: [&str; 11] = [
    "oltp_point_select",
    "oltp_read_only",
    "select_random_points",
    "select_random_ranges",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "oltp_read_write",
    "oltp_delete",
    "oltp_insert",
    "bulk_insert",
];

/// Microbenchmarks whose events take about as long as those of a script with the default options.
const LIKE: [(&str, &str); 6] = [
    ("oltp_update_index", "update-index"),
    ("oltp_update_non_index", "update-nonindex"),
    ("oltp_write_only", "write-only"),
    ("oltp_read_write", "read-write_range=100"),
    ("oltp_delete", "update-nonindex"),
    ("oltp_insert", "update-nonindex"),
];

fn reads(options: &OltpOptions) -> Vec<Definition> {
    let points = options.random_points;
    let in_list = format!("SELECT id, k, c, pad FROM sbtest WHERE k IN ({})", marks(points));
    // The first table, whatever number of tables exists.
    let first = |sql: &str, fill: Vec<Fill>| Step { table: TableChoice::None, ..step(sql, &fill) };
    let ranges = options.number_of_ranges;
    let any_range = vec!["k BETWEEN ? AND ?"; ranges as usize].join(" OR ");
    let ends = [Fill::InPart(1), Fill::Plus(options.delta)].repeat(ranges as usize);
    vec![
        read("oltp_point_select", "select one row by id", reading(), vec![point()]),
        read(
            "oltp_read_only",
            &format!("{}rows by id, ranges of {} ids", of_transaction(options), options.range_size),
            reading(),
            in_transaction(options, selects(options)),
        ),
        read(
            "select_random_points",
            &format!("select the rows of {points} values of k in the client's part of sbtest1"),
            reading(),
            vec![first(&in_list, vec![Fill::InPart(points)])],
        ),
        read(
            "select_random_ranges",
            &format!("COUNT over {ranges} ranges of k in the client's part of sbtest1"),
            reading(),
            vec![first(&format!("SELECT count(k) FROM sbtest WHERE {any_range}"), ends)],
        ),
    ]
}

fn writes(options: &OltpOptions) -> Vec<Definition> {
    let &OltpOptions { index_updates, non_index_updates, .. } = options;
    let changed = index_updates + non_index_updates + options.delete_inserts;
    let repeated = |step: Step, times| Step { times, ..step };
    let mut all = vec![
        write(
            "oltp_update_index",
            &format!("{index_updates} × update the indexed column k of one row by id"),
            index_updates,
            [repeated(update_k(), index_updates)],
        ),
        write(
            "oltp_update_non_index",
            &format!("{non_index_updates} × update the unindexed column c of one row by id"),
            non_index_updates,
            [repeated(update_c(), non_index_updates)],
        ),
        write(
            "oltp_write_only",
            &format!(
                "{}update rows, then delete rows and insert them again",
                of_transaction(options)
            ),
            changed,
            in_transaction(options, changes(options)),
        ),
        write(
            "oltp_read_write",
            &format!(
                "{}reads of oltp_read_only, writes of oltp_write_only",
                of_transaction(options)
            ),
            changed,
            in_transaction(options, [selects(options), changes(options)].concat()),
        ),
        write("oltp_delete", "delete one row by id, if it is still there", 1, [delete()]),
        insert_one(options),
        bulk_insert(),
    ];
    for definition in &mut all {
        definition.group = writing();
        definition.planning.uses_up_rows = definition.name == "oltp_delete";
        let like = LIKE.iter().find(|(name, _)| *name == definition.name);
        definition.planning.as_fast_as = like.map(|(_, test)| (*test).to_owned());
    }
    all
}

/// The client numbers the row if the server does not.
fn insert_one(options: &OltpOptions) -> Definition {
    let (id, insert) = match options.auto_inc {
        true => ("an id from the server", insert_numbered()),
        false => ("an unused id", insert_unused()),
    };
    write("oltp_insert", &format!("insert one row, with {id}"), 1, [insert])
}

/// Each client fills its own table. An event is a statement of many rows; in sysbench it is a row.
fn bulk_insert() -> Definition {
    let insert = Step {
        table: TableChoice::Scratch,
        text: true,
        ..step("INSERT INTO bulk_sbtest (id, k) VALUES ?", &[Fill::Rows(BULK_ROWS)])
    };
    let does = format!("insert {BULK_ROWS} rows in one statement, into the client's own table");
    let mut bulk = write("bulk_insert", &does, BULK_ROWS, [insert]);
    let column = |name: &str, sql: &str| (name.to_owned(), sql.to_owned());
    for role in &mut bulk.roles {
        role.script.scratch = vec![Scratch {
            name: "bulk_sbtest".to_owned(),
            columns: vec![
                column("id", "INTEGER NOT NULL PRIMARY KEY"),
                column("k", "INTEGER DEFAULT '0' NOT NULL"),
            ],
            rows: None,
            then: Vec::new(),
        }];
    }
    Definition { planning: PlanningFacts { is_long: true, ..bulk.planning }, ..bulk }
}

fn selects(options: &OltpOptions) -> Vec<Step> {
    let span = below(options.range_size);
    let range = |columns, tail, times| Step { times, ..between(columns, "id", span, tail) };
    let mut all = vec![Step { times: options.point_selects, ..point() }];
    if options.range_selects {
        all.push(range("c", "", options.simple_ranges));
        all.push(range("SUM(k)", "", options.sum_ranges));
        all.push(range("c", " ORDER BY c", options.order_ranges));
        all.push(range("DISTINCT c", " ORDER BY c", options.distinct_ranges));
    }
    all.retain(|step| step.times > 0);
    all
}

/// The changes of a transaction. All rows that are deleted and reinserted are in the same table.
fn changes(options: &OltpOptions) -> Vec<Step> {
    let mut all = vec![
        Step { times: options.index_updates, ..update_k() },
        Step { times: options.non_index_updates, ..update_c() },
    ];
    all.retain(|step| step.times > 0);
    for number in 0..options.delete_inserts {
        let [mut delete, insert] = changes_of_a_row();
        if number > 0 {
            delete.table = TableChoice::Same;
        }
        all.extend([delete, insert]);
    }
    all
}

fn in_transaction(options: &OltpOptions, steps: Vec<Step>) -> Vec<Step> {
    if options.skip_trx || steps.is_empty() { steps } else { transaction(steps) }
}

fn of_transaction(options: &OltpOptions) -> &'static str {
    if options.skip_trx { "" } else { "transaction: " }
}

fn reading() -> Group {
    group(0, "reads", "reads")
}

fn writing() -> Group {
    group(1, "writes", "writes")
}

pub const OLTP_HEADING: &str = "Scripts of sysbench";

/// The options of sysbench's scripts, with sysbench's names and defaults. A script ignores options that do not
/// apply to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct OltpOptions {
    /// Rows in a range
    #[arg(long, value_name = "N", value_parser = count(RANGE), default_value_t = 100)]
    pub range_size: u32,

    /// Point selects per transaction
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 10)]
    pub point_selects: u32,

    /// Whether transactions select ranges
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "on")]
    #[arg(action = Set, num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    pub range_selects: bool,

    /// Simple range selects per transaction
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    pub simple_ranges: u32,

    /// SUM range selects per transaction
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    pub sum_ranges: u32,

    /// ORDER BY range selects per transaction
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    pub order_ranges: u32,

    /// DISTINCT range selects per transaction
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    pub distinct_ranges: u32,

    /// Updates of the indexed column per event
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    pub index_updates: u32,

    /// Updates of an unindexed column per event
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    pub non_index_updates: u32,

    /// Rows deleted and inserted again per event
    #[arg(long, value_name = "N", value_parser = count(DELETE_INSERTS), default_value_t = 1)]
    pub delete_inserts: u32,

    /// Whether the server numbers the rows; otherwise the client sends their ids, and `oltp_insert` first deletes the
    /// rows with negative ids, which an earlier run inserted
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "on")]
    #[arg(action = Set, num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    pub auto_inc: bool,

    /// Whether the tables have an index on `k`
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "on")]
    #[arg(action = Set, num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    pub create_secondary: bool,

    /// Text that follows the columns in `CREATE TABLE`, such as `ROW_FORMAT=COMPRESSED`
    #[arg(long, value_name = "SQL", value_parser = table_options)]
    #[arg(default_value = "", hide_default_value = true)]
    pub create_table_options: String,

    /// Leave out BEGIN and COMMIT
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "off", hide_default_value = true)]
    #[arg(action = Set, num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    pub skip_trx: bool,

    /// Values in the list of `select_random_points`
    #[arg(long, value_name = "N", value_parser = count(LISTED), default_value_t = 10)]
    pub random_points: u32,

    /// Ranges in a statement of `select_random_ranges`
    #[arg(long, value_name = "N", value_parser = count(LISTED), default_value_t = 10)]
    pub number_of_ranges: u32,

    /// Difference between the ends of each range of `select_random_ranges`
    #[arg(long, value_name = "N", value_parser = count(DELTA), default_value_t = 5)]
    pub delta: u32,

    /// Random distribution of rows
    #[arg(long, value_name = "NAME", value_parser = word::<RandType>(), default_value = RandType::default().word())]
    pub rand_type: RandType,

    /// Shape of the distribution `pareto`
    #[arg(long, value_name = "H", value_parser = fraction(PARETO_H), default_value_t = 0.2)]
    pub rand_pareto_h: f64,

    /// Exponent of the distribution `zipfian`
    #[arg(long, value_name = "S", value_parser = fraction(ZIPF_S), default_value_t = 0.8)]
    pub rand_zipfian_exp: f64,
}

fn table_options(text: &str) -> Result<String, &'static str> {
    TableForm::check_options(text).map(|()| text.to_owned())
}

static USUAL: LazyLock<OltpOptions> = LazyLock::new(|| {
    let command = OltpOptions::augment_args(Command::new("scripts"));
    let found = command.get_matches_from([""]);
    OltpOptions::from_arg_matches(&found).expect("every option has a default")
});

impl Default for OltpOptions {
    fn default() -> Self {
        USUAL.clone()
    }
}

impl OltpOptions {
    pub fn table_form(&self) -> TableForm {
        TableForm {
            auto_inc: self.auto_inc,
            create_secondary: self.create_secondary,
            create_table_options: self.create_table_options.clone(),
        }
    }

    pub fn distribution(&self) -> Distribution {
        match self.rand_type {
            RandType::Uniform => Distribution::Uniform,
            RandType::Gaussian => Distribution::Gaussian,
            RandType::Special => Distribution::Special,
            RandType::Pareto => Distribution::Pareto { h: self.rand_pareto_h },
            RandType::Zipfian => Distribution::Zipfian { s: self.rand_zipfian_exp },
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Class;

    use super::*;

    #[test]
    fn scripts_have_the_names_and_the_order_of_the_list() {
        let tests = oltp_tests(&OltpOptions::default());
        let names: Vec<_> = tests.iter().map(|test| test.name()).collect();
        assert_eq!(names, OLTP_SCRIPTS);
        let first_write = tests.iter().position(|test| test.class == Class::Write).unwrap();
        assert!(tests[first_write..].iter().all(|test| test.class == Class::Write));
        assert!(tests.iter().all(|test| test.roles[0].script.draw == Distribution::Uniform));
    }

    /// With sysbench's defaults, eight scripts do the work of a microbenchmark.
    #[test]
    fn statements_are_those_of_the_corresponding_microbenchmarks() {
        let tests = oltp_tests(&OltpOptions::default());
        for (script, test) in [
            ("oltp_point_select", "point-query"),
            ("oltp_read_only", "read-only_range=100"),
            ("oltp_read_write", "read-write_range=100"),
            ("oltp_write_only", "write-only"),
            ("oltp_update_index", "update-index"),
            ("oltp_update_non_index", "update-nonindex"),
            ("oltp_delete", "delete"),
            ("oltp_insert", "insert"),
        ] {
            let script = tests.iter().find(|it| it.name == script).unwrap();
            let test = crate::test_by_name(test).unwrap();
            assert_eq!(script.roles, test.roles, "{script}");
        }
    }

    #[test]
    fn options_change_the_statements() {
        let options = OltpOptions {
            skip_trx: true,
            point_selects: 2,
            range_selects: false,
            index_updates: 0,
            delete_inserts: 2,
            ..OltpOptions::default()
        };
        let tests = oltp_tests(&options);
        let steps = |name: &str| {
            let test = tests.iter().find(|it| it.name == name).unwrap();
            let steps = test.roles[0].script.steps.iter();
            steps.map(|it| (it.sql[..6].to_owned(), it.times, it.table)).collect::<Vec<_>>()
        };
        let step = |sql: &str, times, table| (sql.to_owned(), times, table);
        assert_eq!(steps("oltp_read_only"), [step("SELECT", 2, TableChoice::Drawn)]);
        assert_eq!(
            steps("oltp_write_only"),
            [
                step("UPDATE", 1, TableChoice::Drawn),
                step("DELETE", 1, TableChoice::Drawn),
                step("INSERT", 1, TableChoice::Same),
                step("DELETE", 1, TableChoice::Same),
                step("INSERT", 1, TableChoice::Same),
            ]
        );
        let usual = oltp_tests(&OltpOptions::default());
        let digest = |tests: &[Test], name: &str| {
            tests.iter().find(|it| it.name == name).unwrap().digest.clone()
        };
        assert_ne!(digest(&tests, "oltp_read_only"), digest(&usual, "oltp_read_only"));
        assert_eq!(digest(&tests, "oltp_delete"), digest(&usual, "oltp_delete"));
    }
}
