//! The seam between studies and the tables and clients of their tests.

use assay_model::{DataSet, Dialect, Engine, TableForm};
use assay_wire::ConnectOptions;

use crate::actor::ActorMaker;
use crate::content::Content;
use crate::error::Result;
use crate::fill::{LoadProgress, LoadReport};
use crate::restore::OpenUserDump;
use crate::user::ReadUserFile;
use crate::work::Work;

/// The server with a workload's tables, and their form there.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub options: &'a ConnectOptions,
    pub dialect: Dialect,
    pub engine: Engine,
    /// What users changed in the form of the tables.
    pub form: &'a TableForm,
    /// Number of tables and rows, unless the workload defines them itself.
    pub data: DataSet,
    pub seed: u64,
    pub files: ReadUserFile<'a>,
    pub dumps: OpenUserDump<'a>,
}

pub trait Workload: Sync {
    /// Description of the tables, for messages about the cache.
    fn in_words(&self, data: DataSet) -> String;

    /// Identifies the tables' content beyond their number, size and form. `None` if these decide it, and writes may age
    /// the data.
    fn content_key(&self) -> Option<String>;

    /// The names of its loaded tables, as SQL takes them.
    fn tables(&self, place: &Place<'_>) -> Result<Vec<String>>;

    /// Rows of all tables; `None` if unknown before they are loaded, 0 if there will be no tables.
    fn rows(&self, data: DataSet) -> Option<u64>;

    /// Maximum connections per client.
    fn connections(&self) -> u32 {
        1
    }

    /// Refuses to load into a user's database that has tables with the same names, unless an earlier load created them.
    /// Returns a description of what a load would replace, if worth reporting.
    fn claim(&self, place: &Place<'_>) -> Result<Option<String>>;

    /// Creates and loads the tables, and checks their content. Tables that no load created are replaced only if the
    /// server `is_ours`.
    fn fill(
        &self,
        place: &Place<'_>,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport>;

    /// Prepares an instance whose tables are loaded, once, before any query or measurement. `clients` is the maximum
    /// that will work on it. Tables that this creates on a server that is not ours are recorded as the workload's, so
    /// that a later load may replace them.
    fn begin(&self, place: &Place<'_>, clients: u32, is_ours: bool) -> Result<()> {
        let _ = (place, clients, is_ours);
        Ok(())
    }

    /// Checks the conditions that hold whenever no transaction is in progress, if any. Called when clients have ended.
    fn consistent(&self, place: &Place<'_>) -> Result<()> {
        let _ = place;
        Ok(())
    }

    /// Sample statements with values, for `EXPLAIN`, where clients choose their statements at run time: as messages
    /// show them, and as they are sent.
    fn examples(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn content(&self, place: &Place<'_>) -> Result<Content>;

    /// Makes the server read all tables once, to fill its cache.
    fn fill_cache(&self, place: &Place<'_>) -> Result<()>;

    fn actors(&self, options: &ConnectOptions, work: &Work) -> Result<Vec<ActorMaker>>;
}
