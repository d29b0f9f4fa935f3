//! The tables that a study works on, on one of its systems.

use anyhow::Result;
use assay_load::{Content, LoadProgress, LoadReport, Place, Workload, workload_of};
use assay_model::{DataSet, Dialect, Engine, IdKey, Study, SystemSpec, TableForm};
use assay_wire::ConnectOptions;

use crate::dump_file::open_dump;
use crate::workload;

/// The tables of a study on a server of a system.
#[derive(Clone, Copy)]
pub(crate) struct StudyTables<'a> {
    workload: &'static dyn Workload,
    dialect: Dialect,
    engine: Engine,
    id_key: IdKey,
    form: &'a TableForm,
    data: DataSet,
    /// The largest number of clients that work on them.
    clients: u32,
    seed: u64,
}

/// A server has read all tables once. Plans depend on what is cached, so who asks for them has to show that the caches
/// are as they are when it is measured; only [`StudyTables::warm`] makes one.
#[derive(Debug)]
pub(crate) struct Warm(());

impl<'a> StudyTables<'a> {
    pub(crate) fn of(study: &'a Study, spec: &SystemSpec, data: DataSet) -> Self {
        let setups = study.setups.iter().filter(|setup| setup.data() == data);
        let clients = setups.map(|setup| setup.clients).max();
        Self {
            workload: workload_of(study.schema()),
            dialect: spec.product.dialect(),
            engine: spec.engine,
            id_key: study.id_key,
            form: &study.table_form,
            data,
            clients: clients.unwrap_or(1),
            seed: study.seed,
        }
    }

    fn at<'o>(&self, options: &'o ConnectOptions) -> Place<'o>
    where
        'a: 'o,
    {
        let Self { dialect, engine, id_key, form, data, seed, .. } = *self;
        let (files, dumps) = (&workload::read_again, &open_dump);
        Place { options, dialect, engine, id_key, form, data, seed, files, dumps }
    }

    /// Whether instances for later tests start from data that writes have aged.
    pub(crate) fn age(&self) -> bool {
        self.content_key().is_none()
    }

    /// What decides what they hold besides their number and size; `None` if only the aging tests do.
    pub(crate) fn content_key(&self) -> Option<String> {
        self.workload.content_key()
    }

    /// What they are, for those who look at the cache.
    pub(crate) fn in_words(&self) -> String {
        self.workload.in_words(self.data)
    }

    /// Their names, as SQL takes them, in a server that has them.
    pub(crate) fn names(&self, options: &ConnectOptions) -> Result<Vec<String>> {
        Ok(self.workload.tables(&self.at(options))?)
    }

    /// Rows of all tables, as far as they are known before they are loaded; 0 if there will be no tables.
    pub(crate) fn rows(&self) -> Option<u64> {
        self.workload.rows(self.data)
    }

    /// Refuses to load where tables of somebody else are in the way. Returns what a load would replace, if that is
    /// worth telling.
    pub(crate) fn claim(&self, options: &ConnectOptions) -> Result<Option<String>> {
        Ok(self.workload.claim(&self.at(options))?)
    }

    /// Creates and loads the tables in a server, and makes sure that they hold what was sent. Tables that no load has
    /// made are replaced only if the server `is_ours`.
    pub(crate) fn fill(
        &self,
        options: &ConnectOptions,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        Ok(self.workload.fill(&self.at(options), is_ours, progress)?)
    }

    /// Makes sure that they meet the conditions that they must meet once clients have ended, if there are any.
    pub(crate) fn consistent(&self, options: &ConnectOptions) -> Result<()> {
        Ok(self.workload.consistent(&self.at(options))?)
    }

    /// What the tables hold.
    pub(crate) fn content(&self, options: &ConnectOptions) -> Result<Content> {
        Ok(self.workload.content(&self.at(options))?)
    }

    /// Does what the workload does once on each instance, before anything is measured. Tables that this creates on a
    /// server that is not ours are noted as the workload's.
    pub(crate) fn begin(&self, options: &ConnectOptions, is_ours: bool) -> Result<()> {
        Ok(self.workload.begin(&self.at(options), self.clients, is_ours)?)
    }

    /// Makes the server read all of them once, so that they are in its cache.
    pub(crate) fn fill_cache(&self, options: &ConnectOptions) -> Result<()> {
        Ok(self.workload.fill_cache(&self.at(options))?)
    }

    /// Begins, and fills the caches.
    pub(crate) fn warm(&self, options: &ConnectOptions, is_ours: bool) -> Result<Warm> {
        self.begin(options, is_ours)?;
        self.fill_cache(options)?;
        Ok(Warm(()))
    }
}
