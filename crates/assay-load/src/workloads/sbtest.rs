//! sysbench's tests and the microbenchmarks, which share tables.

use assay_model::DataSet;
use assay_wire::ConnectOptions;

use super::kind::{Place, Workload};
use super::sql;
use crate::actor::ActorMaker;
use crate::content::{Content, content, fill_cache};
use crate::error::{Error, Result};
use crate::fill::{LoadProgress, LoadReport, Tables, fill};
use crate::survey::survey;
use crate::work::Work;

pub(super) struct Sbtest;

impl Workload for Sbtest {
    fn in_words(&self, data: DataSet) -> String {
        format!("{data} rows")
    }

    fn content_key(&self) -> Option<String> {
        None
    }

    fn tables(&self, place: &Place<'_>) -> Result<Vec<String>> {
        Ok((1..=place.data.tables).map(|number| format!("sbtest{number}")).collect())
    }

    fn rows(&self, data: DataSet) -> Option<u64> {
        Some(u64::from(data.tables) * u64::from(data.rows))
    }

    fn claim(&self, place: &Place<'_>) -> Result<Option<String>> {
        let there = survey(place.options, place.dialect, place.data.tables)?;
        there.refuse_foreign()?;
        // The first block creates tables that the second one replaces.
        there.refuse_blindness()?;
        there.refuse_referenced()?;
        Ok(there.listed())
    }

    fn fill(
        &self,
        place: &Place<'_>,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        let Place { options, dialect, engine, form, data, seed, .. } = *place;
        let tables = Tables { dialect, engine, form: form.clone(), data, seed };
        let report = fill(options, &tables, progress)?;
        if !is_ours && !form.create_table_options.is_empty() {
            // The next block replaces them.
            let there = survey(options, dialect, data.tables)?;
            there.refuse_foreign().map_err(|cause| Error::UnknownForm(Box::new(cause)))?;
        }
        self.content(place)?.check(&report.content)?;
        Ok(report)
    }

    fn content(&self, place: &Place<'_>) -> Result<Content> {
        content(place.options, place.dialect, place.data)
    }

    fn fill_cache(&self, place: &Place<'_>) -> Result<()> {
        let Place { options, dialect, form, data, .. } = *place;
        fill_cache(options, dialect, form, data)
    }

    fn actors(&self, options: &ConnectOptions, work: &Work) -> Result<Vec<ActorMaker>> {
        sql::actors(options, work)
    }
}
