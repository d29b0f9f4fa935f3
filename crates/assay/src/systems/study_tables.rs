//! The tables that a study works on: sysbench's, or those of a user's workload.

use anyhow::Result;
use assay_load::{Content, LoadProgress, LoadReport, OwnTables, Tables};
use assay_model::{
    DataSet, Engine, IdKey, OwnData, Product, Study, SystemSpec, counted, thousands,
};
use assay_wire::ConnectOptions;

use crate::workload;

/// The tables of a study on a server of a system.
#[derive(Clone, Copy)]
pub(crate) struct StudyTables {
    pub(crate) product: Product,
    pub(crate) engine: Engine,
    pub(crate) id_key: IdKey,
    pub(crate) data: DataSet,
    pub(crate) seed: u64,
    /// The user's tables, if they are measured.
    pub(crate) own: Option<&'static OwnData>,
}

impl StudyTables {
    pub(crate) fn of(study: &Study, spec: &SystemSpec, data: DataSet) -> Self {
        Self {
            product: spec.product,
            engine: spec.engine,
            id_key: study.id_key,
            data,
            seed: study.seed,
            own: study.own(),
        }
    }

    /// Their names, as SQL takes them.
    pub(crate) fn names(&self) -> Vec<String> {
        match self.own {
            Some(own) => assay_load::own_names(self.product, own),
            None => (1..=self.data.tables).map(|number| format!("sbtest{number}")).collect(),
        }
    }

    /// Rows of all tables, as far as they are known.
    pub(crate) fn rows(&self) -> u64 {
        match self.own {
            Some(own) => own.rows(),
            None => u64::from(self.data.tables) * u64::from(self.data.rows),
        }
    }

    /// Creates and loads the tables in a server that is called `name`, and makes sure that they hold what was sent.
    /// Tables that no load has made are replaced only if the server `is_ours`.
    pub(crate) fn fill(
        &self,
        name: &str,
        options: &ConnectOptions,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        let Self { product, engine, id_key, data, seed, own } = *self;
        if let Some(data) = own {
            let tables = OwnTables { product, data, seed, files: &workload::read_again };
            return Ok(assay_load::fill_own(options, tables, is_ours, progress)?);
        }
        let tables = Tables { product, engine, id_key, data, seed };
        let report = assay_load::fill(options, &tables, progress)?;
        check_content(&format!("`{name}`"), &self.content(options)?, &report)?;
        Ok(report)
    }

    /// What the tables hold.
    pub(crate) fn content(&self, options: &ConnectOptions) -> Result<Content> {
        Ok(match self.own {
            Some(own) => assay_load::own_content(options, self.product, own)?,
            None => assay_load::content(options, self.product, self.data)?,
        })
    }

    /// Makes the server read all of them once, so that they are in its cache.
    pub(crate) fn fill_cache(&self, options: &ConnectOptions) -> Result<()> {
        match self.own {
            Some(own) => assay_load::fill_own_cache(options, self.product, own)?,
            None => assay_load::fill_cache(options, self.product, self.id_key, self.data)?,
        }
        Ok(())
    }
}

/// Checks that the tables of a server hold what was sent.
pub(crate) fn check_content(server: &str, found: &Content, report: &LoadReport) -> Result<()> {
    let sent = &report.content;
    anyhow::ensure!(
        found == sent,
        "{server} does not hold the data that was sent: it has {} with checksum {}, not {} with {}",
        counted(found.rows, "row"),
        found.checksum,
        thousands(sent.rows),
        sent.checksum
    );
    Ok(())
}
