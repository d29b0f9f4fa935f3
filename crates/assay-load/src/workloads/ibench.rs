//! The Insert Benchmark, whose first step creates the tables and whose clients have their own session type.

use assay_model::{DataSet, IbenchStep};
use assay_wire::ConnectOptions;

use super::Workload;
use crate::actor::{ActorMaker, ClientWork};
use crate::content::TableContent;
use crate::error::{LoadError, Result};
use crate::fill::{LoadProgress, LoadReport, LoadTarget};
use crate::ibench::IBENCH_CONNECTIONS;

impl Workload for IbenchStep {
    fn in_words(&self, _: DataSet) -> String {
        "an empty database".to_owned()
    }

    fn content_key(&self) -> Option<String> {
        Some("no tables".to_owned())
    }

    fn tables(&self, target: &LoadTarget<'_>) -> Result<Vec<String>> {
        Ok((1..=target.data.tables).map(|number| format!("pi{number}")).collect())
    }

    fn rows(&self, _: DataSet) -> Option<u64> {
        Some(0)
    }

    fn connections(&self) -> u32 {
        IBENCH_CONNECTIONS
    }

    fn claim(&self, _: &LoadTarget<'_>) -> Result<Option<String>> {
        Ok(None)
    }

    fn fill(
        &self,
        _: &LoadTarget<'_>,
        _: bool,
        _: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        Ok(LoadReport::default())
    }

    fn content(&self, _: &LoadTarget<'_>) -> Result<TableContent> {
        Ok(TableContent::default())
    }

    fn fill_cache(&self, _: &LoadTarget<'_>) -> Result<()> {
        Ok(())
    }

    /// Its clients run whole steps: [`crate::IbenchSession`].
    fn actors(&self, _: &ConnectOptions, work: &ClientWork) -> Result<Vec<ActorMaker>> {
        Err(LoadError::Roles(work.test.name()))
    }
}
