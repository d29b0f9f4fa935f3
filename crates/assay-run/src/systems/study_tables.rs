//! The tables of a study on one of its systems.

use anyhow::Result;
use assay_load::{LoadProgress, LoadReport, LoadTarget, TableContent, Workload, workload_of};
use assay_model::{DataSet, Dialect, Engine, Study, SystemSpec, TableForm};
use assay_wire::ConnectOptions;

use crate::workload::{self, open_dump};

#[derive(Clone, Copy)]
pub struct StudyTables<'a> {
    workload: &'static dyn Workload,
    dialect: Dialect,
    engine: Engine,
    form: &'a TableForm,
    data: DataSet,
    clients: u32,
    seed: u64,
}

/// Proof that a server has read all tables once. Plans depend on what is cached, so plans are only requested with
/// caches as in measurements.
#[derive(Debug)]
pub struct Warm(());

impl Warm {
    /// For tables without rows: there is nothing to read.
    pub fn without_rows() -> Self {
        Self(())
    }
}

impl<'a> StudyTables<'a> {
    pub fn new(study: &'a Study, spec: &SystemSpec, data: DataSet) -> Self {
        let setups = study.setups.iter().filter(|setup| setup.data() == data);
        let clients = setups.map(|setup| setup.clients).max();
        Self {
            workload: workload_of(study.schema()),
            dialect: spec.product.dialect(),
            engine: spec.engine,
            form: &study.table_form,
            data,
            clients: clients.unwrap_or(1),
            seed: study.seed,
        }
    }

    fn at<'o>(&self, options: &'o ConnectOptions) -> LoadTarget<'o>
    where
        'a: 'o,
    {
        let Self { dialect, engine, form, data, seed, .. } = *self;
        let (files, dumps) = (&workload::read_again, &open_dump);
        LoadTarget { options, dialect, engine, form, data, seed, files, dumps }
    }

    /// Whether instances for later tests start from data aged by writes.
    pub fn age(&self) -> bool {
        self.content_key().is_none()
    }

    /// Digest input for their content besides number and size; `None` if only the aging tests affect it.
    pub fn content_key(&self) -> Option<String> {
        self.workload.content_key()
    }

    pub fn in_words(&self) -> String {
        self.workload.in_words(self.data)
    }

    /// Names as SQL accepts them.
    pub fn names(&self, options: &ConnectOptions) -> Result<Vec<String>> {
        Ok(self.workload.tables(&self.at(options))?)
    }

    /// Rows of all tables, as far as known before loading; 0 if there will be no tables.
    pub fn rows(&self) -> Option<u64> {
        self.workload.rows(self.data)
    }

    /// Creates and loads the tables, and verifies their content. Settings are changed for the load only if the server
    /// `is_ours`.
    pub fn fill(
        &self,
        options: &ConnectOptions,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        Ok(self.workload.fill(&self.at(options), is_ours, progress)?)
    }

    pub fn consistent(&self, options: &ConnectOptions) -> Result<()> {
        Ok(self.workload.consistent(&self.at(options))?)
    }

    pub fn content(&self, options: &ConnectOptions) -> Result<TableContent> {
        Ok(self.workload.content(&self.at(options))?)
    }

    /// Does the once-per-instance work of the workload, before anything is measured.
    pub fn begin(&self, options: &ConnectOptions) -> Result<()> {
        Ok(self.workload.begin(&self.at(options), self.clients)?)
    }

    pub fn fill_cache(&self, options: &ConnectOptions) -> Result<()> {
        Ok(self.workload.fill_cache(&self.at(options))?)
    }

    pub fn warm(&self, options: &ConnectOptions) -> Result<Warm> {
        self.begin(options)?;
        self.fill_cache(options)?;
        Ok(Warm(()))
    }
}
