//! Studies whose shards are measured by several simulated nodes.

use std::collections::BTreeMap;

use assay_model::{PlannedBlock, ShardRun, StudyRecord};
use assay_study::{Driver, Executor as _, Shard, StudyEnd, carry_out};

use crate::{NoiseSource, Scenario, SimMachine, Strike};

#[derive(Debug)]
pub struct CollectedShards {
    pub record: StudyRecord,
    pub used_s: Vec<f64>,
}

/// Measures `count` shards, each on its own node, and collects them. Systems' log rates differ between nodes with
/// standard deviation `node_sd`.
pub fn on_nodes(scenario: &Scenario, count: u32, node_sd: f64) -> Result<CollectedShards, String> {
    let systems = scenario.record.systems.len();
    let mut parts = Vec::new();
    let mut used_s = Vec::new();
    for number in 1..=count {
        let planned = assay_plan::shard(scenario.record.study.clone(), systems, number, count);
        let (study, part) = planned.map_err(|error| error.to_string())?;
        let shard = Shard::new(part.first, part.step).ok_or("there is no such shard")?;
        let seed = scenario.seed.wrapping_mul(1009).wrapping_add(u64::from(number));
        let mut noise = NoiseSource::new(seed ^ 0x0de5);
        let mut truth = scenario.truth.clone();
        truth.changes = (1..systems)
            .map(|system| {
                let changes = truth.changes.get(system - 1);
                let change =
                    |cell| changes.and_then(|changes| changes.get(cell)).copied().unwrap_or(0.0);
                part.cells.clone().map(|cell| change(cell) + node_sd * noise.normal()).collect()
            })
            .collect();
        let mut record = StudyRecord { study, ..scenario.record.clone() };
        for run in &mut record.runs {
            run.shard = Some(ShardRun {
                study: "whole".to_owned(),
                number,
                of: count,
                first: part.first,
                step: part.step,
                attempt: String::new(),
                node: format!("n{number:04}"),
                secret: String::new(),
            });
        }
        let mut machine =
            SimMachine::new(Scenario { seed, record, truth, ..scenario.clone() }, shard);
        let mut driver = Driver::new(machine.record(), shard);
        let ended: Result<StudyEnd, Strike> = carry_out(&mut driver, &mut machine);
        if !matches!(ended, Ok(StudyEnd::Complete)) {
            return Err(format!("shard {number} ended with {ended:?}"));
        }
        used_s.push(machine.used_s());
        parts.push(machine.into_record());
    }
    Ok(CollectedShards { record: together(&scenario.record, parts), used_s })
}

fn together(whole: &StudyRecord, parts: Vec<StudyRecord>) -> StudyRecord {
    let mut all = StudyRecord { runs: Vec::new(), finished: true, ..whole.clone() };
    all.study.id = "whole".to_owned();
    let mut blocks: BTreeMap<u32, PlannedBlock> = BTreeMap::new();
    for part in parts {
        let earlier = all.runs.len();
        all.study.blocks = all.study.blocks.max(part.study.blocks);
        all.runs.extend(part.runs);
        for block in part.blocks {
            let run = block.run + earlier;
            let known = blocks.entry(block.number);
            let known = known.or_insert(PlannedBlock { run, cells: Vec::new(), ..block });
            known.cells.extend(block.cells);
        }
        let slices = part.slices.into_iter();
        all.slices
            .extend(slices.map(|slice| assay_model::Slice { run: slice.run + earlier, ..slice }));
        all.events.extend(part.events);
    }
    let count = blocks.len() as u32;
    let blocks = (0..).zip(blocks.into_values());
    all.blocks = blocks.map(|(at, block)| PlannedBlock { left: count - at, ..block }).collect();
    all
}
