//! The Insert Benchmark. The first of its steps creates the tables, and the clients of steps have a session type of
//! their own. For counts, its tables are loaded first, and one client sends the statements of a step as events.

use assay_model::{DataSet, IbenchStep, Preparation};
use assay_wire::ConnectOptions;

use super::Workload;
use crate::actor::{ActorMaker, ClientWork};
use crate::content::TableContent;
use crate::error::{LoadError, Result};
use crate::fill::{LoadProgress, LoadReport, LoadTarget};
use crate::ibench::{
    CountedIbenchClient, IBENCH_CONNECTIONS, counted_content, counted_tables, fill_counted,
    fill_counted_cache,
};

fn is_counted(step: &IbenchStep) -> bool {
    step.before == Preparation::Loaded
}

impl Workload for IbenchStep {
    fn in_words(&self, data: DataSet) -> String {
        if is_counted(self) {
            return format!("a table of the Insert Benchmark with {} rows", data.rows);
        }
        "an empty database".to_owned()
    }

    fn content_key(&self) -> Option<String> {
        let tables = if is_counted(self) { "insert benchmark, loaded" } else { "no tables" };
        Some(tables.to_owned())
    }

    fn tables(&self, target: &LoadTarget<'_>) -> Result<Vec<String>> {
        if is_counted(self) {
            return Ok(counted_tables(target).map(|table| table.name().to_owned()).into());
        }
        Ok((1..=target.data.tables).map(|number| format!("pi{number}")).collect())
    }

    fn rows(&self, data: DataSet) -> Option<u64> {
        Some(if is_counted(self) { data.rows.into() } else { 0 })
    }

    fn connections(&self) -> u32 {
        if is_counted(self) { 1 } else { IBENCH_CONNECTIONS }
    }

    fn fill(
        &self,
        target: &LoadTarget<'_>,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        if is_counted(self) {
            return fill_counted(self, target, is_ours, progress);
        }
        Ok(LoadReport::default())
    }

    fn content(&self, target: &LoadTarget<'_>) -> Result<TableContent> {
        if is_counted(self) { counted_content(target) } else { Ok(TableContent::default()) }
    }

    fn fill_cache(&self, target: &LoadTarget<'_>) -> Result<()> {
        if is_counted(self) { fill_counted_cache(self, target) } else { Ok(()) }
    }

    /// The clients of a measured step run it by segments: [`crate::IbenchSession`].
    fn actors(&self, _: &ConnectOptions, work: &ClientWork) -> Result<Vec<ActorMaker>> {
        if !is_counted(self) || work.setup.clients != 1 {
            return Err(LoadError::Roles(work.test.name()));
        }
        let (step, work) = (*self, *work);
        let maker: ActorMaker = Box::new(move |_| Box::new(CountedIbenchClient::new(step, &work)));
        Ok(vec![maker])
    }
}
