//! Reads studies. The file may come from anywhere, so nothing in it is trusted.

use std::collections::HashMap;

use assay_model::{
    AuditFinding, BlockCell, CellId, DataContent, DataSet, InstanceRecord, PlannedBlock,
    PlannedCell, Slice, SliceOutcome, Study, StudyDocuments, StudyEvent, StudyRecord, StudySummary,
    System, WorkCounters, shortened,
};
use rusqlite::{Connection, Transaction};
use serde::de::DeserializeOwned;

use crate::bounds::{self, CheckBounds};
use crate::counters::{CounterNames, visit_work};
use crate::definitions::TestDefinitions;
use crate::limits::{EVENTS, FINDINGS, REQUEST_BYTES};
use crate::manage::{NamedStudy, names};
use crate::rows::{Fields, rows};
use crate::runs::{self, RunIds};
use crate::{Error, Ledger, Problem};

impl Ledger {
    /// The oldest first.
    pub fn studies(&self) -> Result<Vec<StudySummary>, Error> {
        self.reading(studies)
    }

    pub fn contains(&self, id: &str) -> Result<bool, Error> {
        let sql = "SELECT id FROM study WHERE id = ?";
        self.reading(|connection| {
            let get = |row: &rusqlite::Row<'_>| Fields::new("study", "id", row).get::<String>("id");
            Ok(!rows(connection, sql, [id], get)?.is_empty())
        })
    }

    pub fn latest(&self) -> Result<Option<String>, Error> {
        let sql = "SELECT id FROM study ORDER BY started_ms DESC, rowid DESC LIMIT 1";
        self.reading(|connection| {
            let ids = rows(connection, sql, [], |row| Fields::new("study", "id", row).get("id"))?;
            Ok(ids.into_iter().next())
        })
    }

    /// Id of the study with this id or name, or of the only study with this prefix.
    pub fn find(&self, name: &str) -> Result<String, Error> {
        self.reading(|connection| find(names(connection)?, name))
    }

    /// The studies whose plan has this part, the oldest first. A generated column has the JSON of a null as text.
    pub fn parts<P: CheckBounds + DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Vec<(String, P)>, Error> {
        let sql = format!(
            "SELECT id, {name} FROM study WHERE {name} <> 'null' ORDER BY started_ms, rowid"
        );
        self.reading(|connection| {
            rows(connection, &sql, [], |row| {
                let fields = Fields::new("study", "id", row);
                let part: P = fields.json(name)?;
                Ok((fields.get("id")?, fields.checked(part)?))
            })
        })
    }

    /// A study as of one moment, in the order in which it was written, without series, attachments and settings.
    pub fn read(&self, study: &str) -> Result<StudyRecord, Error> {
        self.reading(|connection| read(connection, study))
    }
}

const LISTED_MAX: usize = 5;

/// A full id takes precedence over a full name, because a study may have been added after another one got its id as a
/// name. Both take precedence over prefixes.
fn find(studies: Vec<NamedStudy>, text: &str) -> Result<String, Problem> {
    let of_id = studies.iter().find(|it| it.id == text);
    let of_name = || studies.iter().find(|it| it.name.as_deref() == Some(text));
    if let Some(study) = of_id.or_else(of_name) {
        return Ok(study.id.clone());
    }
    let begins = |it: &String| !text.is_empty() && it.starts_with(text);
    let fits = |it: &NamedStudy| begins(&it.id) || it.name.as_ref().is_some_and(begins);
    let mut fitting: Vec<NamedStudy> = studies.into_iter().filter(fits).collect();
    match fitting.len() {
        0 => Err(Problem::NoSuchStudy(text.to_owned())),
        1 => Ok(fitting.swap_remove(0).id),
        _ => {
            // The user's own studies come first, so that foreign ones never push them off the list.
            fitting.sort_by_key(|it| it.is_foreign);
            let shown = |it: NamedStudy| {
                if it.is_foreign { format!("{} (foreign)", it.id) } else { it.id }
            };
            let studies = fitting.into_iter().take(LISTED_MAX).map(shown).collect();
            Err(Problem::Ambiguous { prefix: text.to_owned(), studies })
        }
    }
}

fn studies(connection: &Connection) -> Result<Vec<StudySummary>, Problem> {
    let snapshot = connection.unchecked_transaction()?;
    let sql = r#"SELECT id, started_ms, preset, test_set, finished, is_foreign, name.name AS name,
            (SELECT count(*) FROM cell WHERE cell.study = study.id) AS cells,
            (SELECT count(*) FROM slice WHERE slice.study = study.id) AS slices,
            (SELECT count(*) FROM document WHERE document.study = study.id AND document.name = 'count') AS counts,
            EXISTS (SELECT 1 FROM system WHERE system.study = study.id
                AND system.artifact LIKE '{"kind":"reported"%') AS is_reported
         FROM study LEFT JOIN name ON name.study = study.id ORDER BY started_ms, study.rowid"#;
    rows(&snapshot, sql, [], |row| {
        let fields = Fields::new("study", "id", row);
        let id: String = fields.get("id")?;
        fields.checked(StudySummary {
            name: fields.get("name")?,
            started_ms: fields.get("started_ms")?,
            preset: fields.word("preset")?,
            set: fields.word("test_set")?,
            systems: system_names(&snapshot, &id)?,
            cells: fields.number("cells")?,
            slices: fields.number("slices")?,
            counts: fields.number("counts")?,
            finished: fields.get("finished")?,
            elapsed_s: runs::elapsed_s(&snapshot, &id)?,
            is_reported: fields.get("is_reported")?,
            foreign: fields.get("is_foreign")?,
            id,
        })
    })
}

fn system_names(connection: &Connection, study: &str) -> Result<Vec<String>, Problem> {
    let sql = "SELECT number, name FROM system WHERE study = ? ORDER BY number";
    rows(connection, sql, [study], |row| Fields::new("system", "number", row).get("name"))
}

fn read(connection: &Connection, id: &str) -> Result<StudyRecord, Problem> {
    // One transaction, for a consistent snapshot of a study being measured.
    read_within(&connection.unchecked_transaction()?, id)
}

pub(crate) fn read_within(snapshot: &Transaction<'_>, id: &str) -> Result<StudyRecord, Problem> {
    let (study, State { finished, foreign }) = read_study(snapshot, id)?;
    let systems = read_systems(snapshot, id)?;
    let count = systems.len();
    let tests = TestDefinitions::load(snapshot, id)?;
    let run_ids = RunIds::load(snapshot, id)?;
    let slices = read_slices(snapshot, &study, &tests, count, &run_ids)?;
    Ok(StudyRecord {
        data: read_content(snapshot, id, count)?,
        runs: runs::read(snapshot, id)?,
        blocks: read_blocks(snapshot, &study, &run_ids)?,
        instances: read_instances(snapshot, id, count, &run_ids)?,
        events: read_events(snapshot, id, count)?,
        audit: read_audit(snapshot, id, count)?,
        study,
        systems,
        slices,
        series: Vec::new(),
        profiles: Vec::new(),
        counts: Vec::new(),
        documents: StudyDocuments::default(),
        finished,
        running: false,
        foreign,
    })
}

pub(crate) struct State {
    finished: bool,
    foreign: bool,
}

pub(crate) fn read_study(connection: &Connection, id: &str) -> Result<(Study, State), Problem> {
    let sql = "SELECT id, started_ms, request, plan, finished, is_foreign FROM study WHERE id = ?";
    let mut found = rows(connection, sql, [id], |row| {
        let fields = Fields::new("study", "id", row);
        let study = Study {
            id: fields.get("id")?,
            started_ms: fields.get("started_ms")?,
            cells: read_cells(connection, id, &TestDefinitions::load(connection, id)?)?,
            request: fields.short_json("request", REQUEST_BYTES)?,
            ..fields.json("plan")?
        };
        let state = State { finished: fields.get("finished")?, foreign: fields.get("is_foreign")? };
        Ok((fields.checked(study)?, state))
    })?;
    found.pop().ok_or_else(|| Problem::NoSuchStudy(id.to_owned()))
}

fn read_cells(
    connection: &Connection,
    study: &str,
    tests: &TestDefinitions,
) -> Result<Vec<PlannedCell>, Problem> {
    let sql = "SELECT number, test, clients, tables, rows, warm_ms, warm_us, turn_ms, slice_ms,
        events, placement, priority
        FROM cell WHERE study = ? ORDER BY number";
    rows(connection, sql, [study], |row| {
        let fields = Fields::new("cell", "number", row);
        let is_calibrated = fields.get::<Option<i64>>("events")?.is_some();
        fields.checked(PlannedCell {
            id: fields.cell(tests)?,
            warm_ms: fields.get("warm_ms")?,
            warm_us: fields.get("warm_us")?,
            turn_ms: fields.get("turn_ms")?,
            slice_ms: fields.get("slice_ms")?,
            events: is_calibrated.then(|| fields.number("events")).transpose()?,
            placement: fields.word("placement")?,
            priority: fields.word("priority")?,
        })
    })
}

pub(crate) fn read_systems(connection: &Connection, study: &str) -> Result<Vec<System>, Problem> {
    let sql = "SELECT number, name, is_base, is_twin, spec, artifact, options
        FROM system WHERE study = ? ORDER BY number";
    let numbered = rows(connection, sql, [study], |row| {
        let fields = Fields::new("system", "number", row);
        let system = System {
            name: fields.get("name")?,
            spec: fields.json("spec")?,
            artifact: fields.json("artifact")?,
            is_base: fields.get("is_base")?,
            is_twin: fields.get("is_twin")?,
            options: fields.json("options")?,
        };
        Ok((fields.number("number")?, system))
    })?;
    let wrong = |number: u64, what| Problem::Row { table: "system", row: number.to_string(), what };
    // All other tables refer to systems by number.
    let gap = (0..).zip(&numbered).find(|(expected, (number, _))| number != expected);
    let missing = gap.map(|(expected, _)| expected).or(numbered.is_empty().then_some(0));
    if let Some(number) = missing {
        return Err(wrong(number, "is missing".to_owned()));
    }
    let systems: Vec<System> = numbered.into_iter().map(|(_, system)| system).collect();
    let count = "SELECT count(*) FROM cell WHERE study = ?";
    let cells: i64 = connection.query_row(count, [study], |row| row.get(0))?;
    let cells = usize::try_from(cells).unwrap_or(usize::MAX);
    bounds::systems(&systems, cells).map_err(|what| wrong(0, what))?;
    Ok(systems)
}

fn read_content(
    connection: &Connection,
    study: &str,
    systems: usize,
) -> Result<Vec<DataContent>, Problem> {
    let sql = "SELECT rowid, system, tables, rows, start_from, counted, checksum
        FROM content WHERE study = ? ORDER BY rowid";
    rows(connection, sql, [study], |row| {
        let fields = Fields::new("content", "rowid", row);
        let data = DataSet { tables: fields.get("tables")?, rows: fields.get("rows")? };
        Ok(DataContent {
            system: fields.index("system", systems)?,
            data: fields.checked(data)?,
            start_from: fields.word("start_from")?,
            rows: fields.number("counted")?,
            checksum: checksum(&fields)?,
        })
    })
}

/// Hexadecimal digits, and for a user's tables the method and a colon.
fn checksum(fields: &Fields<'_>) -> Result<String, Problem> {
    let text: String = fields.get("checksum")?;
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b':';
    match text.len() <= 64 && text.bytes().all(is_known) {
        true => Ok(text),
        false => Err(fields.wrong(format!("`checksum` is `{}`", shortened(&text)))),
    }
}

fn read_blocks(
    connection: &Connection,
    study: &Study,
    runs: &RunIds,
) -> Result<Vec<PlannedBlock>, Problem> {
    let sql = "SELECT number, run, cells, cell_rounds, expected FROM block WHERE study = ? ORDER BY number";
    rows(connection, sql, [&study.id], |row| {
        let fields = Fields::new("block", "number", row);
        let numbers: Vec<usize> = fields.json("cells")?;
        let rounds: Vec<u32> = fields.json("cell_rounds")?;
        if rounds.len() != numbers.len() {
            return Err(fields.wrong("`cells` and `cell_rounds` are not equally many"));
        }
        let cell = |(number, rounds): (&usize, u32)| {
            study.cells.get(*number).map(|cell| BlockCell { id: cell.id, rounds })
        };
        let cells: Option<Vec<_>> = numbers.iter().zip(rounds).map(cell).collect();
        fields.checked(PlannedBlock {
            number: fields.get("number")?,
            run: fields.run(runs)?,
            left: fields.get("expected")?,
            cells: cells.ok_or_else(|| fields.wrong("`cells` has one that is not planned"))?,
        })
    })
}

fn read_instances(
    connection: &Connection,
    study: &str,
    systems: usize,
    runs: &RunIds,
) -> Result<Vec<InstanceRecord>, Problem> {
    let sql = "SELECT id, system, run, block, start_from, started_ms, start_took_ms, tables, rows
        FROM instance WHERE study = ? ORDER BY id";
    rows(connection, sql, [study], |row| {
        let fields = Fields::new("instance", "id", row);
        fields.checked(InstanceRecord {
            system: fields.index("system", systems)?,
            run: fields.run(runs)?,
            block: fields.get("block")?,
            data: DataSet { tables: fields.get("tables")?, rows: fields.get("rows")? },
            start_from: fields.word("start_from")?,
            started_ms: fields.get("started_ms")?,
            start_took_ms: fields.number("start_took_ms")?,
        })
    })
}

fn read_slices(
    connection: &Connection,
    study: &Study,
    tests: &TestDefinitions,
    systems: usize,
    runs: &RunIds,
) -> Result<Vec<Slice>, Problem> {
    let cells: HashMap<CellId, usize> =
        study.cells.iter().enumerate().map(|(number, cell)| (cell.id, number)).collect();
    let names = CounterNames::load(connection, &study.id)?;
    let mut seen = HashMap::new();
    rows(connection, "SELECT * FROM slice WHERE study = ? ORDER BY id", [&study.id], |row| {
        let fields = Fields::new("slice", "id", row);
        let slice = fields.checked(read_slice(&fields, tests, systems, runs, &names)?)?;
        bounds::moment("written_ms", fields.get("written_ms")?).map_err(|it| fields.wrong(it))?;
        let Some(cell) = cells.get(&slice.cell) else {
            return Err(fields.wrong("measures a cell that is not in the plan"));
        };
        // The unique index that prevents this may itself be damaged.
        let second = fields.get("id")?;
        match seen.insert((slice.system, *cell, slice.block, slice.round), second) {
            Some(first) => Err(Problem::SliceTwice { first, second }),
            None => Ok(slice),
        }
    })
}

fn read_slice(
    fields: &Fields<'_>,
    tests: &TestDefinitions,
    systems: usize,
    runs: &RunIds,
    names: &CounterNames,
) -> Result<Slice, Problem> {
    let mut slice = Slice {
        system: fields.index("system", systems)?,
        cell: fields.cell(tests)?,
        run: fields.run(runs)?,
        block: fields.get("block")?,
        round: fields.get("round")?,
        position: fields.get("position")?,
        started_ms: fields.get("started_ms")?,
        outcome: read_outcome(fields)?,
        trouble: fields.json("trouble")?,
        work: WorkCounters {
            errors: fields.json("errors")?,
            latency_hdr: fields.get("latency_hdr")?,
            ..WorkCounters::default()
        },
        turns: fields.json("turns")?,
        step: fields.has("step")?.then(|| fields.json("step")).transpose()?,
        published: match fields.has("published")? {
            true => fields.json("published")?,
            false => Vec::new(),
        },
        counters: names.read(fields)?,
    };
    let mut problem = None;
    visit_work(&mut slice.work, |column, place| match fields.number(column) {
        Ok(number) => *place = number,
        Err(error) => problem = Some(error),
    });
    problem.map_or(Ok(slice), Err)
}

fn read_outcome(fields: &Fields<'_>) -> Result<SliceOutcome, Problem> {
    let word: String = fields.get("outcome")?;
    match word.as_str() {
        "good" => Ok(SliceOutcome::Good),
        "troubled" => Ok(SliceOutcome::Troubled),
        "failed" => Ok(SliceOutcome::Failed(fields.get("failure")?)),
        "unanswered" => Ok(SliceOutcome::Unanswered(fields.get("failure")?)),
        _ => Err(fields.wrong(format!("`outcome` is `{}`, an unknown word", shortened(&word)))),
    }
}

/// Refuses more rows of a study than `most`.
pub(crate) fn few(
    connection: &Connection,
    table: &'static str,
    study: &str,
    most: usize,
) -> Result<(), Problem> {
    let sql = format!("SELECT count(*) FROM {table} WHERE study = ?");
    let count: i64 = connection.query_row(&sql, [study], |row| row.get(0))?;
    if usize::try_from(count).is_ok_and(|count| count <= most) {
        return Ok(());
    }
    let what = format!("is one of {count}, more than {most}");
    Err(Problem::Row { table, row: format!("`{study}`"), what })
}

fn read_events(
    connection: &Connection,
    study: &str,
    systems: usize,
) -> Result<Vec<StudyEvent>, Problem> {
    few(connection, "event", study, EVENTS)?;
    let sql = "SELECT id, when_ms, system, what FROM event WHERE study = ? ORDER BY id";
    rows(connection, sql, [study], |row| {
        let fields = Fields::new("event", "id", row);
        let has_system = fields.get::<Option<i64>>("system")?.is_some();
        fields.checked(StudyEvent {
            when_ms: fields.get("when_ms")?,
            system: has_system.then(|| fields.index("system", systems)).transpose()?,
            what: fields.json("what")?,
        })
    })
}

fn read_audit(
    connection: &Connection,
    study: &str,
    systems: usize,
) -> Result<Vec<AuditFinding>, Problem> {
    few(connection, "audit", study, FINDINGS)?;
    let sql = r#"SELECT id, setting, "values", class, why, is_asked, statements FROM audit WHERE study = ?
        ORDER BY id"#;
    rows(connection, sql, [study], |row| {
        let fields = Fields::new("audit", "id", row);
        let finding = AuditFinding {
            setting: fields.get("setting")?,
            values: fields.json("values")?,
            class: fields.word("class")?,
            why: fields.get("why")?,
            is_asked: fields.get("is_asked")?,
            statements: fields.json("statements")?,
        };
        let plans = finding.statements.iter().map(|it| it.plans.len());
        if plans.chain([finding.values.len()]).any(|it| it > systems) {
            return Err(fields.wrong(format!("has more values than the {systems} systems")));
        }
        Ok(finding)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_is_found_by_a_unique_prefix() {
        let found = |name: &str| {
            // A foreign one was named before an own study got that name as its id.
            let ids = [
                ("20261122-12", None, true),
                ("20261121-12", Some("nightly"), false),
                ("20261120-1", Some("20261121-1"), true),
                ("20261121-1", None, false),
                ("20261122-1", None, false),
                ("20261123-1", None, false),
            ];
            let study = |(id, name, is_foreign): (&str, Option<&str>, bool)| NamedStudy {
                id: id.to_owned(),
                name: name.map(str::to_owned),
                is_foreign,
            };
            find(ids.map(study).to_vec(), name).map_err(|problem| problem.to_string())
        };
        assert_eq!(found("20261121-1").as_deref(), Ok("20261121-1"));
        assert_eq!(found("nightly").as_deref(), Ok("20261121-12"));
        assert_eq!(found("night").as_deref(), Ok("20261121-12"));
        assert_eq!(found("20261122-1").as_deref(), Ok("20261122-1"));
        assert_eq!(found("20261123").as_deref(), Ok("20261123-1"));
        let several =
            "several of its studies begin with `20261122`: 20261122-1, 20261122-12 (foreign)";
        assert_eq!(found("20261122").unwrap_err(), several);
        assert!(found("2026112").is_err_and(|message| message.contains("20261121-1, 20261122-1")));
        assert!(found("").is_err() && found("x").is_err());
    }
}
