//! A user's workload, whose file defines the tables.

use assay_model::{DataSet, UserData};
use assay_wire::ConnectOptions;

use super::kind::{Place, Workload};
use super::sql;
use crate::actor::ActorMaker;
use crate::content::Content;
use crate::error::Result;
use crate::fill::{LoadProgress, LoadReport};
use crate::user::{
    UserTables, fill_user_data, fill_user_data_cache, refuse_others_tables, table_names,
    user_content,
};
use crate::work::Work;

impl Workload for UserData {
    fn in_words(&self, _: DataSet) -> String {
        format!("the tables of {}", self.name)
    }

    fn content_key(&self) -> Option<String> {
        // It has only texts, numbers and lists, which always serialize to JSON.
        Some(serde_json::to_string(self).unwrap_or_default())
    }

    fn tables(&self, place: &Place<'_>) -> Result<Vec<String>> {
        table_names(place.options, place.dialect, self)
    }

    fn rows(&self, _: DataSet) -> Option<u64> {
        // The rows of a dump are unknown beforehand.
        if self.dump.is_some() { None } else { Some(self.rows()) }
    }

    fn claim(&self, place: &Place<'_>) -> Result<Option<String>> {
        refuse_others_tables(place.options, place.dialect, self)?;
        Ok(None)
    }

    fn fill(
        &self,
        place: &Place<'_>,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        let Place { options, dialect, seed, files, dumps, .. } = *place;
        let tables = UserTables { dialect, data: self, seed, files, dumps };
        fill_user_data(options, tables, is_ours, progress)
    }

    fn content(&self, place: &Place<'_>) -> Result<Content> {
        user_content(place.options, place.dialect, self)
    }

    fn fill_cache(&self, place: &Place<'_>) -> Result<()> {
        fill_user_data_cache(place.options, place.dialect, self)
    }

    fn actors(&self, options: &ConnectOptions, work: &Work) -> Result<Vec<ActorMaker>> {
        sql::actors(options, work)
    }
}
