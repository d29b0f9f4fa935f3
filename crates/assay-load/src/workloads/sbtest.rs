//! sysbench's tests and the microbenchmarks, which share tables.

use assay_model::{DataSet, Sbtest};
use assay_wire::ConnectOptions;

use super::{Workload, sql};
use crate::actor::{ActorMaker, ClientWork};
use crate::content::{TableContent, content, fill_cache};
use crate::error::Result;
use crate::fill::{LoadProgress, LoadReport, LoadTarget, Tables, fill};

impl Workload for Sbtest {
    fn in_words(&self, data: DataSet) -> String {
        format!("{data} rows")
    }

    fn content_key(&self) -> Option<String> {
        None
    }

    fn tables(&self, target: &LoadTarget<'_>) -> Result<Vec<String>> {
        Ok((1..=target.data.tables).map(|number| format!("sbtest{number}")).collect())
    }

    fn rows(&self, data: DataSet) -> Option<u64> {
        Some(u64::from(data.tables) * u64::from(data.rows))
    }

    fn fill(
        &self,
        target: &LoadTarget<'_>,
        _: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        let LoadTarget { options, dialect, engine, form, data, seed, .. } = *target;
        let tables = Tables { dialect, engine, form: form.clone(), data, seed };
        let report = fill(options, &tables, progress)?;
        self.content(target)?.check(&report.content)?;
        Ok(report)
    }

    fn content(&self, target: &LoadTarget<'_>) -> Result<TableContent> {
        content(target.options, target.dialect, target.data)
    }

    fn fill_cache(&self, target: &LoadTarget<'_>) -> Result<()> {
        let LoadTarget { options, dialect, form, data, .. } = *target;
        fill_cache(options, dialect, form, data)
    }

    fn actors(&self, options: &ConnectOptions, work: &ClientWork) -> Result<Vec<ActorMaker>> {
        sql::actors(options, work)
    }
}
