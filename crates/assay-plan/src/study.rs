//! Common part of planning every kind of study.

use assay_model::{Experiment, Study, WORKLOAD_VERSION};
use assay_workloads::{OltpOptions, TpccOptions};

use serde::{Deserialize, Serialize};

use crate::counting::count_command;
use crate::document::FileError;
use crate::limits::{FEWER_SYSTEMS, SYSTEMS, at_most};
use crate::request::{
    InsertBenchRequest, LimitsRequest, Request, SetupRequest, SystemRequest, usual_threshold,
};
use crate::study_file::{read_study, write_study};
use crate::url::parse_url;

/// The study of a request, without logins: it is recorded and shown.
pub(crate) fn study_of(request: &Request) -> Study {
    let systems = request.systems.iter().map(without_password).collect();
    let request = &Request { systems, ..request.clone() };
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
        segments: 0,
        cpus: request.cpu_lists(),
        table_form: request.oltp.table_form(),
        statements: request.statements,
        terms: Some(request.terms.clone()),
        limits: None,
        judge: request.judge,
        is_noisy: false,
        search: None,
        followed: None,
        request: request.to_json(),
        recipe: write_study(request),
        count_command: count_command(request),
        workload_version: WORKLOAD_VERSION,
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// The system as it may be stored and shown: a URL without its password.
fn without_password(system: &SystemRequest) -> SystemRequest {
    let clean = |_| assay_model::address_without_login(&system.words);
    let words = parse_url(&system.words).map_or_else(clean, |url| url.to_string());
    SystemRequest { words, ..system.clone() }
}

/// A request as a ledger keeps it: the parts that are tables of a study file, beside the options.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRequest {
    options: Request,
    systems: Vec<SystemRequest>,
    setups: Vec<SetupRequest>,
    #[serde(rename = "gate")]
    limits: Option<LimitsRequest>,
    insert_bench: Option<InsertBenchRequest>,
    oltp: OltpOptions,
    tpcc: TpccOptions,
}

impl Request {
    /// The value that a ledger keeps.
    fn to_json(&self) -> serde_json::Value {
        let options = self.clone();
        let Self { systems, setups, limits, insert_bench, oltp, tpcc, .. } = self.clone();
        let stored = StoredRequest { options, systems, setups, limits, insert_bench, oltp, tpcc };
        serde_json::to_value(stored).expect("numbers, texts and lists of them are JSON")
    }
}

/// The request of a study that a ledger keeps. Studies of published results have none.
///
/// Its values are checked as those of a study file are: the ledger may come from anywhere.
pub fn request_of(study: &Study) -> Result<Request, FileError> {
    let name = format!("the request of study {}", study.id);
    let StoredRequest { options, systems, setups, limits, insert_bench, oltp, tpcc } =
        StoredRequest::deserialize(&study.request)
            .map_err(|error| FileError::without_place(&name, &error))?;
    at_most("systems", systems.len(), SYSTEMS, FEWER_SYSTEMS)
        .map_err(|error| FileError::without_place(&name, &error))?;
    let request = Request { systems, setups, limits, insert_bench, oltp, tpcc, ..options };
    read_study(&name, &write_study(&request))?;
    Ok(request)
}
