//! A study of published results: a record like that of a measured study, without the parts that were never measured.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    Artifact, CellId, Class, Definition, EventKind, Group, Host, Origin, Product, ReportedServer,
    Schema, Setup, Slice, StartFrom, Study, StudyEvent, StudyRecord, System, SystemSpec, Test,
    Unit, WorkCounters, test_name,
};

use crate::dbms::{Dbms, dbms};
use crate::metrics::Metrics;
use crate::qps::{QpsKind, QpsTable, nearest_set};
use assay_workloads::statementless;

#[derive(Debug, Clone, PartialEq)]
pub struct ImportFacts {
    /// The file or address of the publication.
    pub reported_in: String,
    pub id: String,
    /// Milliseconds since the Unix epoch.
    pub imported_ms: i64,
    pub setup: Setup,
    pub assay_version: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PublishedStudy {
    pub record: StudyRecord,
    /// Repeated results of a server in a test; the first one counts.
    pub repeated: Vec<String>,
    /// Runs that could not be read, with the reason.
    pub left_out: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoStudy {
    /// Its numbers are ratios, from which no rates follow.
    Relative,
    /// Without names of servers, like a csv file.
    NoServers,
    NoTests,
}

/// From a table of queries per second and, if given, metrics of the same runs. Each value is the only slice of its
/// cell.
pub fn study_of(
    table: &QpsTable,
    metrics: Option<&Metrics>,
    about: &ImportFacts,
) -> Result<StudyRecord, NoStudy> {
    if table.kind != QpsKind::Absolute {
        return Err(NoStudy::Relative);
    }
    if table.servers.is_empty() {
        return Err(NoStudy::NoServers);
    }
    if table.rows.is_empty() {
        return Err(NoStudy::NoTests);
    }
    let tests = tests(table);
    let cell = |&test: &Test| CellId { test, setup: about.setup };
    let mut record = empty(&table.servers, tests.iter().map(cell).collect(), about);
    for (row, &test) in table.rows.iter().zip(&tests) {
        let cell = CellId { test, setup: about.setup };
        for (system, (server, rate)) in table.servers.iter().zip(&row.values).enumerate() {
            let Some(rate) = rate.filter(|rate| *rate > 0.0) else { continue };
            let of_run = metrics.and_then(|metrics| metrics.of_run(&row.test, server));
            let published = of_run.unwrap_or_default();
            record.slices.push(Slice { published, ..slice(cell, system, rate, about) });
        }
    }
    Ok(record)
}

/// Tests by published name: microbenchmarks, or tests known only by name.
#[derive(Default)]
pub(crate) struct PublishedTests {
    by_name: BTreeMap<String, Test>,
    taken: BTreeSet<String>,
}

impl PublishedTests {
    /// Tests of different names are different.
    pub(crate) fn get(&mut self, published: &str) -> Test {
        if let Some(test) = self.by_name.get(published) {
            return *test;
        }
        // `insert_range=10` and `insert_range=100` may both occur.
        let known = assay_workloads::published_test(published);
        let known = known.filter(|test| self.taken.insert(test.name().to_owned()));
        let test = known.unwrap_or_else(|| {
            let name = test_name(published);
            let numbered = (2..).map(|number| format!("{name}:{number}"));
            let mut names = std::iter::once(name.clone()).chain(numbered);
            let free = names.find(|name| self.taken.insert(name.clone()));
            unknown_test(&free.unwrap_or(name))
        });
        self.by_name.insert(published.to_owned(), test);
        test
    }
}

/// A repeated test becomes two tests.
fn tests(table: &QpsTable) -> Vec<Test> {
    let mut tests = PublishedTests::default();
    let mut seen = BTreeSet::new();
    let mut test = |name: &str| {
        let mut name = name.to_owned();
        while !seen.insert(name.clone()) {
            name += "'";
        }
        tests.get(&name)
    };
    table.rows.iter().map(|row| test(&row.test)).collect()
}

pub(crate) fn unknown_test(name: &str) -> Test {
    let word = "other".to_owned();
    let group = Group { rank: u8::MAX.into(), title: word.clone(), word };
    Test::intern(Definition {
        class: Class::Read,
        start_from: StartFrom::Fresh,
        digest: "unknown".to_owned(),
        ..statementless(&test_name(name), "unknown", group, Schema::default())
    })
}

/// Placeholder if the name of a server does not give the product.
const UNKNOWN: Product = Product::MySql;

fn systems(servers: &[String], reported_in: &str) -> Vec<System> {
    let known: Vec<Option<Dbms>> = servers.iter().map(|name| dbms(name)).collect();
    let names = names(servers, &known);
    let system =
        |(number, ((published, known), name)): (usize, ((&String, Option<Dbms>), String))| {
            let mut notes = vec![format!("published as `{published}`")];
            let (told, engine, version) = match known {
                Some(Dbms { product, engine, version, has_primary_key, .. }) => {
                    let keyless = has_primary_key == Some(false);
                    notes.extend(keyless.then(|| "tables without primary key".to_owned()));
                    (Some(product), engine, version)
                }
                None => {
                    notes.push("the name does not tell product and version".to_owned());
                    (None, UNKNOWN.default_engine(), published.clone())
                }
            };
            let product = told.unwrap_or(UNKNOWN);
            let origin = Origin::Version(version.clone());
            let reported_in = reported_in.to_owned();
            System {
                name,
                spec: SystemSpec { engine, ..SystemSpec::new(product, origin) },
                artifact: Artifact::Reported(ReportedServer {
                    reported_in,
                    product: told,
                    version,
                    notes,
                }),
                is_base: number == 0,
                is_twin: false,
                options: Vec::new(),
            }
        };
    servers.iter().zip(known).zip(names).enumerate().map(system).collect()
}

/// Names like those of measured systems, `mariadb@10.11.16`, if they are distinct; else those of the table.
fn names(servers: &[String], known: &[Option<Dbms>]) -> Vec<String> {
    let short = |it: &Option<Dbms>| {
        let Dbms { product, version, engine, .. } = it.as_ref()?;
        let is_usual = *engine == product.default_engine();
        let engine = if is_usual { String::new() } else { format!("/{}", engine.word()) };
        Some(format!("{product}@{version}{engine}"))
    };
    let names: Option<Vec<String>> = known.iter().map(short).collect();
    let are_different =
        |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    if let Some(names) = names.filter(are_different) {
        return names;
    }
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    let numbered = servers.iter().map(|name| {
        let time = times.entry(name).or_default();
        *time += 1;
        if *time == 1 { name.clone() } else { format!("{name} #{time}") }
    });
    numbered.collect()
}

/// Index of a name, which is added if it is new.
pub(crate) fn place_of(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

pub(crate) fn empty(servers: &[String], cells: Vec<CellId>, about: &ImportFacts) -> StudyRecord {
    let systems = systems(servers, &about.reported_in);
    let mut record = StudyRecord::new(study(&cells, about), Host::default(), systems);
    record.finished = true;
    record
}

fn study(cells: &[CellId], about: &ImportFacts) -> Study {
    let tests: BTreeSet<Test> = cells.iter().map(|cell| cell.test).collect();
    let assay_version = about.assay_version.clone();
    let study = Study::published(about.id.clone(), about.imported_ms, cells);
    Study { set: nearest_set(&tests), assay_version, ..study }
}

/// Seconds after which a time is exact to twelve digits.
const LONG_S: f64 = 1000.0;

const SECOND_NS: f64 = 1e9;

/// A rate as a slice with only the operations counted. It is long, so that the rate is exact.
fn slice(cell: CellId, system: usize, rate: f64, about: &ImportFacts) -> Slice {
    let work = match cell.test.unit {
        // Thousands of rows per second: enough scans for the time to be exact.
        Unit::ThousandRows => {
            let of_scan = f64::from(cell.setup.rows) / 1000.0;
            let scans = (LONG_S * rate / of_scan).ceil().max(1.0);
            let event_ns_sum = (scans * of_scan / rate * SECOND_NS) as u64;
            WorkCounters { events: scans as u64, event_ns_sum, ..WorkCounters::default() }
        }
        Unit::Query | Unit::InsertedRow | Unit::IndexedRow => WorkCounters {
            read: (LONG_S * rate).round() as u64,
            elapsed_ns: (LONG_S * SECOND_NS) as u64,
            ..WorkCounters::default()
        },
    };
    reported(cell, system, work, about)
}

pub(crate) fn reservation(what: String, about: &ImportFacts) -> StudyEvent {
    let what = EventKind::Reservation { what };
    StudyEvent { when_ms: about.imported_ms, system: None, what }
}

/// The only slice of a cell, with nothing but its work.
pub(crate) fn reported(
    cell: CellId,
    system: usize,
    work: WorkCounters,
    about: &ImportFacts,
) -> Slice {
    let position = system as u32;
    Slice { position, started_ms: about.imported_ms, work, ..Slice::new(system, cell) }
}

#[cfg(test)]
mod tests {
    use assay_model::Counters;

    use super::*;
    use crate::qps::QpsRow;

    impl ImportFacts {
        pub(crate) fn of_tests(setup: Setup) -> Self {
            let (reported_in, id, assay_version) =
                ("file".to_owned(), "id".to_owned(), String::new());
            Self { reported_in, id, imported_ms: 0, setup, assay_version }
        }
    }

    const SETUP: Setup = Setup { clients: 1, tables: 1, rows: 1 };

    fn table(servers: [&str; 2], test: &str, values: [Option<f64>; 2]) -> QpsTable {
        QpsTable {
            kind: QpsKind::Absolute,
            servers: servers.map(str::to_owned).to_vec(),
            rows: vec![QpsRow { test: test.to_owned(), values: values.to_vec() }],
        }
    }

    fn record(table: &QpsTable) -> StudyRecord {
        study_of(table, None, &ImportFacts::of_tests(SETUP)).unwrap()
    }

    #[test]
    fn rates_are_exact_and_what_is_missing_has_no_slice() {
        for test in ["hot-points_range=100", "scan_range=100", "their-own-test"] {
            let servers = ["x.ma100230_rel.z12a.pk1", "x.ma100244_rel.z12a.pk1"];
            let record = record(&table(servers, test, [Some(3882.0), None]));
            let [slice] = record.slices.as_slice() else { panic!("{:?}", record.slices) };
            let rate = slice.ops_per_second().unwrap();
            assert!((rate - 3882.0).abs() < 1e-6, "{test}: {rate}");
            assert_eq!(slice.counters, Counters::default());
        }
    }

    #[test]
    fn small_rates_keep_their_ratio_and_zero_is_no_rate() {
        let rates = |values: [f64; 2], test| {
            let record = record(&table(["a", "b"], test, values.map(Some)));
            record.slices.iter().map(|it| it.ops_per_second().unwrap()).collect::<Vec<_>>()
        };
        for test in ["insert", "scan"] {
            let [one, other] = rates([1.5, 2.5], test).try_into().unwrap();
            assert!((other / one - 2.5 / 1.5).abs() < 1e-9, "{test}: {one} and {other}");
            assert_eq!(rates([0.0, 7.0], test).len(), 1);
        }
        let mut twice = table(["a", "b"], "insert_range=10", [Some(1.0), Some(2.0)]);
        twice.rows.push(QpsRow { test: "insert_range=100".to_owned(), ..twice.rows[0].clone() });
        let names = record(&twice).study.cells.into_iter().map(|it| it.id.test.name());
        assert_eq!(names.collect::<Vec<_>>(), ["insert", "insert_range=100"]);
    }

    #[test]
    fn systems_have_short_names_where_these_differ() {
        let names = |servers| {
            let systems = record(&table(servers, "insert", [Some(1.0), Some(2.0)])).systems;
            systems.into_iter().map(|it| it.name).collect::<Vec<_>>()
        };
        assert_eq!(names(["x.my5651_rel.z1.pk1", "pg162"]), ["mysql@5.6.51", "postgres@16.2"]);
        let alike = ["x.my5651_rel.z1.pk1", "x.my5651_rel.z2.pk1"];
        assert_eq!(names(alike), alike);
        assert_eq!(names(["main", "main"]), ["main", "main #2"]);
        assert_eq!(names(["rx80", "my8022"]), ["mysql@8.0/rocksdb", "mysql@8.0.22"]);
        assert_eq!(names(["main", "x.my5651_rel.z1.pk1"]), ["main", "x.my5651_rel.z1.pk1"]);
    }

    #[test]
    fn ratios_and_tables_without_names_are_no_studies() {
        let refused = |change: fn(&mut QpsTable)| {
            let mut table = table(["a", "b"], "insert", [Some(1.0), Some(2.0)]);
            change(&mut table);
            study_of(&table, None, &ImportFacts::of_tests(SETUP)).err()
        };
        assert_eq!(
            refused(|it| it.kind = QpsKind::RelativeTo("a".to_owned())),
            Some(NoStudy::Relative)
        );
        assert_eq!(refused(|it| it.servers.clear()), Some(NoStudy::NoServers));
        assert_eq!(refused(|it| it.rows.clear()), Some(NoStudy::NoTests));
    }
}
