//! Plans of shards: their name, and what they cannot have.

use anyhow::{Result, bail};
use assay_model::{Priority, Study};
use assay_plan::{MachineFacts, Plan, Request};
use assay_run::advice::Advised;
use assay_run::systems::key;

const NAME: &str = "shards-";
const DIGEST: usize = 12;

/// Name of a study with shards: a digest of the request, with the tests and setups that this machine plans. Shards of
/// machines that plan other tests belong to another study.
pub(crate) fn name(plan: &Plan, of: u32) -> Result<String> {
    let study = &plan.study;
    // Paths differ between machines. The file's content is in the tests.
    let request = assay_plan::request_of(study)?;
    let (workload, offline, accept_expired_index) = (Vec::new(), false, false);
    let config_options = assay_plan::without_places(&request.config_options);
    let request = Request { workload, offline, accept_expired_index, config_options, ..request };
    let recipe = assay_plan::write_study(&request);
    let cells =
        study.cells.iter().map(|cell| (&cell.id.test.name, &cell.id.test.digest, cell.id.setup));
    let cells = serde_json::to_string(&cells.collect::<Vec<_>>())?;
    let version = format!("{} {}", study.assay_version, study.workload_version);
    let digest = key(&[&recipe, &cells, &version, &of.to_string()]);
    Ok(format!("{NAME}{}", digest.get(..DIGEST).unwrap_or(&digest)))
}

/// Refuses options that need the results of the whole study, which no shard has.
pub(crate) fn refuse_longer_look(study: &Study) -> Result<()> {
    if assay_plan::request_of(study)?.soak_s.is_none() {
        return Ok(());
    }
    bail!(Advised::new(
        "`--soak` does not work with shards: which tests changed is known once all shards are collected",
        "leave `soak` out, and then look at a test that changed with `assay compare ... --tests TEST --soak 15m` on \
         one machine"
    ))
}

/// Facts of the machine for the plan of a shard. Nodes may have different permissions, and a study has one priority:
/// real-time priority is used only if the study asks for it, and then every node must permit it.
pub(crate) fn on_a_node(machine: MachineFacts, request: &Request) -> MachineFacts {
    let realtime = machine.realtime.filter(|_| request.priority == Some(Priority::Realtime));
    MachineFacts { realtime, ..machine }
}
