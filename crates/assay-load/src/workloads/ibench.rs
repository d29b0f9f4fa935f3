//! The Insert Benchmark, whose first step creates the tables and whose clients have their own session type.

use assay_model::{DataSet, IbenchStep};
use assay_wire::ConnectOptions;

use super::kind::{Place, Workload};
use crate::actor::ActorMaker;
use crate::content::Content;
use crate::error::{Error, Result};
use crate::fill::{LoadProgress, LoadReport};
use crate::ibench::IBENCH_CONNECTIONS;
use crate::work::Work;

impl Workload for IbenchStep {
    fn in_words(&self, _: DataSet) -> String {
        "an empty database".to_owned()
    }

    fn content_key(&self) -> Option<String> {
        Some("no tables".to_owned())
    }

    fn tables(&self, place: &Place<'_>) -> Result<Vec<String>> {
        Ok((1..=place.data.tables).map(|number| format!("pi{number}")).collect())
    }

    fn rows(&self, _: DataSet) -> Option<u64> {
        Some(0)
    }

    fn connections(&self) -> u32 {
        IBENCH_CONNECTIONS
    }

    fn claim(&self, _: &Place<'_>) -> Result<Option<String>> {
        Ok(None)
    }

    fn fill(&self, _: &Place<'_>, _: bool, _: &mut dyn FnMut(LoadProgress)) -> Result<LoadReport> {
        Ok(LoadReport::default())
    }

    fn content(&self, _: &Place<'_>) -> Result<Content> {
        Ok(Content::default())
    }

    fn fill_cache(&self, _: &Place<'_>) -> Result<()> {
        Ok(())
    }

    /// Its clients run whole steps: [`crate::IbenchSession`].
    fn actors(&self, _: &ConnectOptions, work: &Work) -> Result<Vec<ActorMaker>> {
        Err(Error::Roles(work.test.name()))
    }
}
