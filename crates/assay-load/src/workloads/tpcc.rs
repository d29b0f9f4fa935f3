//! The TPC-C-like workload, whose clients decide after each reply what to send next.

use assay_model::{DataSet, Tpcc};
use assay_wire::ConnectOptions;
use assay_workloads::{TPCC_TABLES, tpcc_data, tpcc_example};

use super::kind::{Place, Workload};
use crate::actor::ActorMaker;
use crate::content::Content;
use crate::error::Result;
use crate::fill::{LoadProgress, LoadReport};
use crate::tpcc::{TpccActor, TpccTables, check_conditions, fill_tpcc};
use crate::user::{fill_user_data_cache, refuse_others_tables, user_content};
use crate::work::Work;

impl Workload for Tpcc {
    fn in_words(&self, _: DataSet) -> String {
        Self::in_words(self)
    }

    fn content_key(&self) -> Option<String> {
        // Pauses of clients change no data.
        let Self { warehouses, procedures, .. } = self;
        Some(format!("tpcc {warehouses} {procedures}"))
    }

    fn tables(&self, _: &Place<'_>) -> Result<Vec<String>> {
        Ok(TPCC_TABLES.iter().map(|table| table.name.to_owned()).collect())
    }

    fn rows(&self, _: DataSet) -> Option<u64> {
        Some(Self::rows(self))
    }

    fn claim(&self, place: &Place<'_>) -> Result<Option<String>> {
        refuse_others_tables(place.options, place.dialect, &tpcc_data(self))?;
        Ok(None)
    }

    fn fill(
        &self,
        place: &Place<'_>,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        let Place { options, dialect, engine, seed, .. } = *place;
        let tables = TpccTables { dialect, engine, tpcc: self, seed };
        let report = fill_tpcc(options, &tables, is_ours, progress)?;
        self.consistent(place)?;
        Ok(report)
    }

    fn consistent(&self, place: &Place<'_>) -> Result<()> {
        check_conditions(place.options)
    }

    fn examples(&self) -> Vec<(String, String)> {
        // Servers do not explain procedure calls.
        if self.procedures { Vec::new() } else { tpcc_example() }
    }

    fn content(&self, place: &Place<'_>) -> Result<Content> {
        user_content(place.options, place.dialect, &tpcc_data(self))
    }

    fn fill_cache(&self, place: &Place<'_>) -> Result<()> {
        fill_user_data_cache(place.options, place.dialect, &tpcc_data(self))
    }

    fn actors(&self, _: &ConnectOptions, work: &Work) -> Result<Vec<ActorMaker>> {
        let (tpcc, work) = (*self, *work);
        let maker = |number| -> ActorMaker {
            Box::new(move |_| Box::new(TpccActor::new(tpcc, &work, number)))
        };
        Ok((0..work.setup.clients.max(1)).map(maker).collect())
    }
}
