//! The statements of the Insert Benchmark as events of one client, for counts of their instructions. The rates and the
//! threads of the steps do not matter to these, so one connection sends everything, on tables that are loaded before.

use std::ops::ControlFlow;
use std::time::Instant;

use assay_model::IbenchStep;
use assay_wire::{Connection, WireError};
use assay_workloads::{IbenchKeys, IbenchQueryText, IbenchRows, IbenchTable, RandomText};

use super::roles::single_number;
use crate::actor::{Actor, ClientWork, EventError, EventNumber, EventWire};
use crate::content::TableContent;
use crate::control::{connect_control, execute, run};
use crate::error::{LoadError, Result};
use crate::fill::{LoadProgress, LoadReport, LoadTarget};
use crate::policy::USUAL_OWN;
use crate::share::for_whole_tables;

/// Date and time of all rows: those of the clock would differ between systems.
const MOMENT: &str = "2026-05-01 12:00:00";

/// Rows per statement while loading.
const LOADED_ROWS: u32 = 100;

/// Number of the table that is loaded and has the secondary indexes, and of an empty one without them.
const LOADED: u32 = 1;
const EMPTY: u32 = 2;

pub(crate) fn counted_tables(target: &LoadTarget<'_>) -> [IbenchTable; 2] {
    [LOADED, EMPTY].map(|number| IbenchTable::new(target.dialect, number))
}

/// Creates and loads the tables of a server that assay has started.
pub(crate) fn fill_counted(
    step: &IbenchStep,
    target: &LoadTarget<'_>,
    is_ours: bool,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport> {
    if !is_ours {
        return Err(LoadError::OnlyOwnServers);
    }
    let start = Instant::now();
    let mut control = connect_control(&for_whole_tables(target.options), 0)?;
    let tables = counted_tables(target);
    for table in &tables {
        let create = table.create(target.engine, &step.tables);
        [table.drop()].iter().chain(&create).try_for_each(|sql| run(&mut control, sql))?;
    }
    let [loaded, _] = &tables;
    let rows = IbenchRows::new(loaded, target.seed, "load", 0, RandomText::new(target.seed));
    let mut text = Vec::new();
    let mut done = 0;
    while done < target.data.rows {
        let count = LOADED_ROWS.min(target.data.rows - done);
        rows.write((done / LOADED_ROWS).into(), count, MOMENT, &mut text);
        execute(&mut control, &text)?;
        done += count;
        let rows_total = target.data.rows.into();
        progress(LoadProgress { rows: done.into(), rows_total, is_dump: false });
    }
    let indexes = loaded.create_indexes(target.engine, step.tables.indexes);
    indexes.iter().try_for_each(|sql| run(&mut control, sql))?;
    let content = counted_content(target)?;
    Ok(LoadReport {
        tables: tables.len() as u32,
        rows: content.rows,
        content,
        elapsed: start.elapsed(),
        ..LoadReport::default()
    })
}

/// The rows of the loaded table, and the sum of their values.
pub(crate) fn counted_content(target: &LoadTarget<'_>) -> Result<TableContent> {
    let mut control = connect_control(&for_whole_tables(target.options), 0)?;
    let [loaded, _] = counted_tables(target);
    let name = loaded.name();
    let rows = single_number(&mut control, &format!("SELECT count(*) FROM {name}"))?;
    let values = "cashregisterid + customerid + productid + price + length(data)";
    let sum = single_number(&mut control, &format!("SELECT sum({values}) FROM {name}"))?;
    Ok(TableContent { rows, checksum: format!("sum:{sum}") })
}

pub(crate) fn fill_counted_cache(step: &IbenchStep, target: &LoadTarget<'_>) -> Result<()> {
    let mut control = connect_control(&for_whole_tables(target.options), 0)?;
    let [loaded, _] = counted_tables(target);
    loaded.read_all(step.tables.indexes).iter().try_for_each(|sql| run(&mut control, sql))
}

/// A client whose event is a query, or an insert and, in a step that deletes, a delete of as many rows.
pub(crate) struct CountedIbenchClient {
    step: IbenchStep,
    table: IbenchTable,
    rows: IbenchRows,
    queries: Option<IbenchQueryText>,
    keys: IbenchKeys,
    text: Vec<u8>,
}

impl CountedIbenchClient {
    pub(crate) fn new(step: IbenchStep, work: &ClientWork) -> Self {
        let ClientWork { dialect, test, seed, .. } = *work;
        let is_queue = step.deletes || step.queries.is_some();
        let table = IbenchTable::new(dialect, if is_queue { LOADED } else { EMPTY });
        let text = RandomText::new(seed);
        let place = (seed, test.name(), 0);
        let of_queries =
            |queries| IbenchQueryText::new(&table, step.tables.indexes, queries, place);
        Self {
            queries: step.queries.map(of_queries),
            rows: IbenchRows::new(&table, seed, test.name(), 0, text),
            step,
            table,
            keys: IbenchKeys::default(),
            text: Vec::new(),
        }
    }

    fn send(&self, line: &mut EventWire<'_>) -> Result<(), EventError> {
        let failed = |source| EventError::Statement { sql: self.text.clone(), source };
        line.execute_text(&self.text).map(drop).map_err(failed)
    }
}

impl Actor for CountedIbenchClient {
    fn prepare(&mut self, wire: &mut Connection) -> Result<()> {
        for sql in self.queries.iter().flat_map(IbenchQueryText::prepare) {
            run(wire, sql)?;
        }
        self.keys.lowest = single_number(wire, &self.table.lowest())?;
        self.keys.highest = single_number(wire, &self.table.highest())?;
        Ok(())
    }

    fn event(
        &mut self,
        number: EventNumber,
        line: &mut EventWire<'_>,
    ) -> Result<ControlFlow<()>, EventError> {
        if let Some(queries) = &self.queries {
            queries.write(number.sequence, self.keys, &mut self.text);
            self.send(line)?;
            return Ok(ControlFlow::Continue(()));
        }
        let rows = self.step.rows_per_statement();
        self.rows.write(number.sequence, rows, MOMENT, &mut self.text);
        self.send(line)?;
        if self.step.deletes {
            self.table.delete(self.keys.lowest, rows, &mut self.text);
            self.send(line)?;
            self.keys.lowest += u64::from(rows);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn give_up(&mut self, wire: &mut Connection) -> Result<(), WireError> {
        wire.execute_text(b"ROLLBACK").map(drop)
    }

    fn retried(&self) -> &'static [u32] {
        &USUAL_OWN
    }
}
