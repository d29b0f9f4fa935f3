//! Common part of planning every kind of study.

use assay_model::{Experiment, Study, WORKLOAD_VERSION};

use crate::document::FileError;
use crate::request::{Request, usual_threshold};
use crate::study_file::{read_study, write_study};

pub(crate) fn study_of(request: &Request) -> Study {
    Study {
        id: String::new(),
        started_ms: 0,
        preset: request.preset,
        set: request.set,
        seed: request.seed,
        threshold: request.threshold.unwrap_or_else(|| usual_threshold(request.count)),
        budget_s: 0.0,
        blocks: 0,
        rounds: 0,
        cells: Vec::new(),
        setups: Vec::new(),
        experiment: Experiment::Interleaved,
        id_key: request.id_key,
        table_form: request.oltp.table_form(),
        statements: request.statements,
        terms: Some(request.terms.clone()),
        gate: None,
        bisect: None,
        watch: None,
        recipe: write_study(request),
        workload_version: WORKLOAD_VERSION,
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Request of a study in a ledger. Studies of published results have none.
pub fn request_of(study: &Study) -> Result<Request, FileError> {
    read_study(&format!("the recipe of study {}", study.id), &study.recipe)
}
