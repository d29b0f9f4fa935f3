//! Effort of each preset, with the user's changes.

use assay_model::limits::{SLICE_MS, TURNS};
use assay_model::{Counting, Experiment, Preset};

use crate::error::{PlanError, PlanResult};
use crate::limits::{BLOCKS, CLIENTS, ROUNDS, in_range};
use crate::request::Request;
use crate::suites::suite_facts;
use assay_options::duration_text;

pub(crate) struct Effort {
    pub(crate) clients: Vec<u32>,
    pub(crate) tables: u32,
    pub(crate) rows: u32,
    pub(crate) budget_s: f64,
    pub(crate) blocks: u32,
    pub(crate) rounds: u32,
    pub(crate) slice_ms: u32,
    /// Target time of a write slice, which is bounded by events.
    pub(crate) write_slice_ms: u32,
    pub(crate) turn_ms: u32,
    pub(crate) write_turn_ms: u32,
    pub(crate) warm_ms: u32,
    /// Whether turn length and warm part are chosen by measurement.
    pub(crate) times_turns: bool,
    pub(crate) twin: bool,
    pub(crate) experiment: Experiment,
}

pub(crate) fn effort(request: &Request, cpus: u32) -> PlanResult<Effort> {
    let suite = suite_facts(request.suite);
    let mut preset = preset_effort(request.preset, cpus);
    if suite.sweeps_clients {
        preset.clients = sweep(cpus);
    }
    if preset.experiment == Experiment::Interleaved {
        preset.write_slice_ms *= suite.write_factor;
        preset.write_turn_ms *= suite.write_factor;
    }
    refuse_longer(request, f64::from(SLICE_MS) / 1000.0, "a slice lasts at most a day")?;
    if request.count == Counting::Only && preset.experiment == Experiment::Interleaved {
        let experiment = Experiment::Counted;
        let once = Effort { clients: vec![1], budget_s: 0.0, blocks: 1, rounds: 1, ..preset };
        return Ok(Effort { twin: false, experiment, ..once });
    }
    if preset.experiment == Experiment::Interleaved {
        refuse_turns(request)?;
        let longest_s = request.budget_s.unwrap_or(preset.budget_s).max(SLICE_S_FREE);
        refuse_longer(request, longest_s, "it is longer than the budget of the whole study")?;
    }
    if preset.experiment == Experiment::Sequential {
        let repeated = [
            ("blocks =", request.blocks.map(|blocks| blocks.to_string())),
            ("rounds =", request.rounds.map(|rounds| rounds.to_string())),
            ("--budget", request.budget_s.map(duration_text)),
        ];
        if let Some((option, value)) = repeated.into_iter().find_map(|(o, v)| Some((o, v?))) {
            let why = "preset published runs each test once, however long it takes";
            return Err(PlanError::out_of_range(option, value, why));
        }
        return Ok(preset);
    }
    Ok(Effort {
        blocks: in_range("blocks =", request.blocks.unwrap_or(preset.blocks), &BLOCKS)?,
        rounds: in_range("rounds =", request.rounds.unwrap_or(preset.rounds), &ROUNDS)?,
        ..preset
    })
}

/// Client counts of a sweep: powers of two, up to about twice the number of CPUs.
fn sweep(cpus: u32) -> Vec<u32> {
    let counts = std::iter::successors(Some(1_u32), |count| count.checked_mul(2));
    counts.take_while(|count| *count <= cpus.saturating_mul(2).min(*CLIENTS.end())).collect()
}

/// Slices up to this may be longer than the budget, seconds.
const SLICE_S_FREE: f64 = 60.0;

fn refuse_turns(request: &Request) -> PlanResult<()> {
    let Some(turn_s) = request.turn_s else { return Ok(()) };
    let refused = |why: String| Err(PlanError::out_of_range("turn =", duration_text(turn_s), why));
    for slice_s in [request.slice_s, request.write_slice_s].into_iter().flatten() {
        let slice = duration_text(slice_s);
        if turn_s > slice_s {
            return refused(format!("it is longer than a slice of {slice}"));
        }
        if slice_s / turn_s.max(0.001) > f64::from(TURNS) {
            return refused(format!("a slice of {slice} has at most {TURNS} turns"));
        }
    }
    Ok(())
}

fn refuse_longer(request: &Request, longest_s: f64, why: &str) -> PlanResult<()> {
    let Request { slice_s, write_slice_s, turn_s, .. } = *request;
    let given = [("slice =", slice_s), ("write-slice =", write_slice_s), ("turn =", turn_s)];
    let is_longer = |seconds: &f64| *seconds > longest_s;
    let longer =
        given.into_iter().find_map(|(key, seconds)| Some((key, seconds.filter(is_longer)?)));
    let refused = |(key, seconds)| Err(PlanError::out_of_range(key, duration_text(seconds), why));
    longer.map_or(Ok(()), refused)
}

/// Rows of each table if the request names none.
pub(crate) fn usual_rows(preset: Preset) -> u32 {
    preset_effort(preset, 1).rows
}

fn preset_effort(preset: Preset, cpus: u32) -> Effort {
    let quick = Effort {
        clients: vec![1],
        tables: 1,
        rows: 100_000,
        budget_s: 300.0,
        blocks: 40,
        rounds: 400,
        slice_ms: 50,
        write_slice_ms: 50,
        turn_ms: 1,
        write_turn_ms: 4,
        warm_ms: 10,
        times_turns: true,
        twin: false,
        experiment: Experiment::Interleaved,
    };
    match preset {
        Preset::Smoke => Effort {
            rows: 10_000,
            budget_s: 60.0,
            blocks: 2,
            rounds: 2,
            write_slice_ms: 100,
            turn_ms: 5,
            write_turn_ms: 10,
            times_turns: false,
            ..quick
        },
        Preset::Quick => quick,
        Preset::Standard => Effort {
            clients: if cpus > 1 { vec![1, cpus] } else { vec![1] },
            tables: 8,
            rows: 1_000_000,
            budget_s: 3600.0,
            slice_ms: 100,
            write_slice_ms: 100,
            warm_ms: 20,
            twin: true,
            ..quick
        },
        Preset::Published => Effort {
            rows: 50_000_000,
            // Unused: every test runs once, however long it takes.
            budget_s: 0.0,
            blocks: 1,
            rounds: 1,
            slice_ms: 600_000,
            write_slice_ms: 1_800_000,
            turn_ms: u32::MAX,
            write_turn_ms: u32::MAX,
            warm_ms: 5000,
            times_turns: false,
            experiment: Experiment::Sequential,
            ..quick
        },
    }
}
