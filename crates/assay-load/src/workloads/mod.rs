//! Kinds of work, as studies load and drive them: tables, their content, and clients that work on them.

mod ibench;
mod lua;
mod sbtest;
mod sql;
mod tpcc;
mod user;

use assay_model::{DataSet, Sbtest, Schema};
use assay_wire::ConnectOptions;

use crate::actor::{ActorMaker, ClientWork};
use crate::content::TableContent;
use crate::error::Result;
use crate::fill::{LoadProgress, LoadReport, LoadTarget};

pub fn workload_of(schema: &Schema) -> &dyn Workload {
    match schema {
        Schema::Sbtest => &Sbtest,
        Schema::User(data) => data,
        Schema::Ibench(step) => step,
        Schema::Lua(script) => script,
        Schema::Tpcc(tpcc) => tpcc,
    }
}

pub trait Workload: Sync {
    /// Description of the tables, for messages about the cache.
    fn in_words(&self, data: DataSet) -> String;

    /// Identifies the tables' content beyond their number, size and form. `None` if these decide it, and writes may age
    /// the data.
    fn content_key(&self) -> Option<String>;

    /// The names of its loaded tables, as SQL takes them.
    fn tables(&self, target: &LoadTarget<'_>) -> Result<Vec<String>>;

    /// Rows of all tables; `None` if unknown before they are loaded, 0 if there will be no tables.
    fn rows(&self, data: DataSet) -> Option<u64>;

    /// Maximum connections per client.
    fn connections(&self) -> u32 {
        1
    }

    /// Creates and loads the tables, and checks their content. In a study, none of them exists. Tables that no load
    /// created are replaced, and settings changed for the load, only if the server `is_ours`.
    fn fill(
        &self,
        target: &LoadTarget<'_>,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport>;

    /// Prepares an instance whose tables are loaded, once, before any query or measurement. `clients` is the maximum
    /// that will work on it.
    fn begin(&self, _: &LoadTarget<'_>, _clients: u32) -> Result<()> {
        Ok(())
    }

    /// Checks the conditions that hold whenever no transaction is in progress, if any. Called when clients have ended.
    fn consistent(&self, _: &LoadTarget<'_>) -> Result<()> {
        Ok(())
    }

    /// Sample statements with values, for `EXPLAIN`, where clients choose their statements at run time: as messages
    /// show them, and as they are sent.
    fn examples(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn content(&self, target: &LoadTarget<'_>) -> Result<TableContent>;

    /// Makes the server read all tables once, to fill its cache.
    fn fill_cache(&self, target: &LoadTarget<'_>) -> Result<()>;

    fn actors(&self, options: &ConnectOptions, work: &ClientWork) -> Result<Vec<ActorMaker>>;
}
