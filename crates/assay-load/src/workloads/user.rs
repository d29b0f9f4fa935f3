//! A user's workload, whose file defines the tables.

use assay_model::{DataSet, UserData};
use assay_wire::ConnectOptions;

use super::{Workload, sql};
use crate::actor::{ActorMaker, ClientWork};
use crate::content::TableContent;
use crate::error::Result;
use crate::fill::{LoadProgress, LoadReport, LoadTarget};
use crate::user::{UserTables, fill_user_data, fill_user_data_cache, table_names, user_content};

impl Workload for UserData {
    fn in_words(&self, _: DataSet) -> String {
        format!("the tables of {}", self.name)
    }

    fn content_key(&self) -> Option<String> {
        Some(serde_json::to_string(self).expect("it has only texts, numbers and lists"))
    }

    fn tables(&self, target: &LoadTarget<'_>) -> Result<Vec<String>> {
        table_names(target.options, self)
    }

    fn rows(&self, _: DataSet) -> Option<u64> {
        // The rows of a dump are unknown beforehand.
        if self.dump.is_some() { None } else { Some(self.rows()) }
    }

    fn fill(
        &self,
        target: &LoadTarget<'_>,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        let LoadTarget { options, dialect, seed, files, dumps, .. } = *target;
        let tables = UserTables { dialect, data: self, seed, files, dumps };
        fill_user_data(options, tables, is_ours, progress)
    }

    fn content(&self, target: &LoadTarget<'_>) -> Result<TableContent> {
        user_content(target.options, self)
    }

    fn fill_cache(&self, target: &LoadTarget<'_>) -> Result<()> {
        fill_user_data_cache(target.options, self)
    }

    fn actors(&self, options: &ConnectOptions, work: &ClientWork) -> Result<Vec<ActorMaker>> {
        sql::actors(options, work)
    }
}
