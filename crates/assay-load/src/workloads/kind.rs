//! What a kind of work is: the seam between studies and the tables and clients of their tests.

use assay_model::{DataSet, Dialect, Engine, IdKey, TableForm};
use assay_wire::ConnectOptions;

use crate::actor::ActorMaker;
use crate::content::Content;
use crate::error::Result;
use crate::fill::{LoadProgress, LoadReport};
use crate::restore::OpenUserDump;
use crate::user::ReadUserFile;
use crate::work::Work;

/// The server that the tables of a workload are on, and the form that they have there.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// How to connect.
    pub options: &'a ConnectOptions,
    /// Family of the server.
    pub dialect: Dialect,
    /// Engine of the tables.
    pub engine: Engine,
    /// How rows are identified.
    pub id_key: IdKey,
    /// What users changed in the form of the tables.
    pub form: &'a TableForm,
    /// Number of tables and rows, where the workload does not say that itself.
    pub data: DataSet,
    /// Seed of all generated rows.
    pub seed: u64,
    /// Reads the files that belong to the workload.
    pub files: ReadUserFile<'a>,
    /// Opens the dumps that belong to the workload.
    pub dumps: OpenUserDump<'a>,
}

/// A kind of work.
pub trait Workload: Sync {
    /// What the tables are, for those who look at the cache.
    fn in_words(&self, data: DataSet) -> String;

    /// What decides what the tables hold besides their number, their size and their form. `None` if that is nothing,
    /// and writes may age the data.
    fn content_key(&self) -> Option<String>;

    /// The names of the tables that it has loaded, as SQL takes them.
    fn tables(&self, place: &Place<'_>) -> Result<Vec<String>>;

    /// Rows of all tables, as far as they are known before they are loaded; 0 if there will be no tables.
    fn rows(&self, data: DataSet) -> Option<u64>;

    /// Connections that each client keeps open at most.
    fn connections(&self) -> u32 {
        1
    }

    /// Refuses to load into a database of somebody else that has tables with the same names, unless an earlier load
    /// made them. Returns what a load would replace, in words, if that is worth telling.
    fn claim(&self, place: &Place<'_>) -> Result<Option<String>>;

    /// Creates and loads the tables, and makes sure that they hold what was sent. Tables that no load has made are
    /// replaced only if the server `is_ours`.
    fn fill(
        &self,
        place: &Place<'_>,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport>;

    /// Prepares an instance whose tables are loaded, once, before anything is asked or measured. `clients` is the
    /// largest number that will work on it. Tables that this creates on a server that is not ours are noted as the
    /// workload's, so that a later load may replace them.
    fn begin(&self, place: &Place<'_>, clients: u32, is_ours: bool) -> Result<()> {
        let _ = (place, clients, is_ours);
        Ok(())
    }

    /// Makes sure that the tables meet the conditions that they must meet whenever no transaction is in progress, if
    /// there are any. It is called when clients have ended.
    fn consistent(&self, place: &Place<'_>) -> Result<()> {
        let _ = place;
        Ok(())
    }

    /// Statements with values, for those who ask how a server would carry them out, where clients decide only while
    /// they work what to send: as messages show them, and as they are sent.
    fn examples(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Reads every row of the tables once and sums them up.
    fn content(&self, place: &Place<'_>) -> Result<Content>;

    /// Makes the server read all tables once, so that they are in its cache.
    fn fill_cache(&self, place: &Place<'_>) -> Result<()>;

    /// Makers of what the clients of a test do, by client.
    fn actors(&self, options: &ConnectOptions, work: &Work) -> Result<Vec<ActorMaker>>;
}
