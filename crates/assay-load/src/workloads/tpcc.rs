//! The TPC-C-like workload, whose clients decide after each reply what to send next.

use assay_model::{DataSet, Tpcc};
use assay_wire::ConnectOptions;
use assay_workloads::{TPCC_TABLES, tpcc_data, tpcc_example};

use super::Workload;
use crate::actor::{ActorMaker, ClientWork};
use crate::content::TableContent;
use crate::error::Result;
use crate::fill::{LoadProgress, LoadReport, LoadTarget};
use crate::tpcc::{TpccActor, check_conditions, fill_tpcc};
use crate::user::{fill_user_data_cache, user_content};

impl Workload for Tpcc {
    fn in_words(&self, _: DataSet) -> String {
        Self::in_words(self)
    }

    fn content_key(&self) -> Option<String> {
        // Pauses of clients change no data.
        let Self { warehouses, procedures, .. } = self;
        Some(format!("tpcc {warehouses} {procedures}"))
    }

    fn tables(&self, _: &LoadTarget<'_>) -> Result<Vec<String>> {
        Ok(TPCC_TABLES.iter().map(|table| table.name.to_owned()).collect())
    }

    fn rows(&self, _: DataSet) -> Option<u64> {
        Some(Self::rows(self))
    }

    fn fill(
        &self,
        target: &LoadTarget<'_>,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        let report = fill_tpcc(self, target, is_ours, progress)?;
        self.consistent(target)?;
        Ok(report)
    }

    fn consistent(&self, target: &LoadTarget<'_>) -> Result<()> {
        check_conditions(target.options)
    }

    fn examples(&self) -> Vec<(String, String)> {
        // Servers do not explain procedure calls.
        if self.procedures { Vec::new() } else { tpcc_example() }
    }

    fn content(&self, target: &LoadTarget<'_>) -> Result<TableContent> {
        user_content(target.options, &tpcc_data(self))
    }

    fn fill_cache(&self, target: &LoadTarget<'_>) -> Result<()> {
        fill_user_data_cache(target.options, &tpcc_data(self))
    }

    fn actors(&self, _: &ConnectOptions, work: &ClientWork) -> Result<Vec<ActorMaker>> {
        let (tpcc, work) = (*self, *work);
        let maker = |number| -> ActorMaker {
            Box::new(move |_| Box::new(TpccActor::new(tpcc, &work, number)))
        };
        Ok((0..work.setup.clients.max(1)).map(maker).collect())
    }
}
