//! Statistics, stop rule and diagnosis of a study's slices. Pure and seeded.
//!
//! [`judge`] works on finished and unfinished studies alike; the same record gives the same judgement.

mod account;
mod active;
mod asked;
mod assumed;
mod beside;
mod bound;
mod cause;
mod cell;
mod change;
mod claim;
mod commits;
mod count;
mod count_why;
mod counted;
mod counted_modules;
mod counters;
mod crossover;
mod discoveries;
mod effect;
mod evidence;
mod figures;
mod gate;
mod group;
mod instruction_sets;
mod judge;
mod looks;
mod moderate;
mod node_test;
mod nodes;
mod over_tests;
mod part;
mod phrases;
mod plan_change;
mod plans;
mod processor;
mod profile;
mod ranking;
mod reads;
mod robust;
mod rules;
mod sample;
mod samples;
mod soak;
mod special;
mod statements;
mod step;
mod steps;
mod student;
mod sums;
mod threads;
mod totals;
mod trend;
mod uneven;
mod waits;
mod weighted;
mod why;
mod work;

use assay_model::{CellId, Conclusion, Estimate, Group, Setup, StudyRecord, Verdict};

pub use account::Latency;
pub use active::{ActiveSecond, active_seconds};
pub use asked::can_act;
pub use assumed::BLOCK_SD;
pub use beside::{Agreement, GroupBeside, Judged, PairBeside, TestBeside, beside};
pub use cause::Cause;
pub use cell::QUIET_SHARE;
pub use change::{Changed, Term, TimeChange};
pub use claim::{CheckedStatement, ClaimFigure, ClaimScope, ClaimSource, ClaimStatus, check_claim};
pub use count::{
    COUNT_LOOKS, CountJudgement, CountTotal, count_threshold, counted_pair, is_count_open,
};
pub use count_why::moved;
pub use counted::{CountChange, FunctionCounts, Instructions, Kind, Rest, compare_counts};
pub use counted_modules::Counted;
pub use counters::CounterChange;
pub use crossover::Crossover;
pub use discoveries::benjamini_hochberg;
pub use figures::{Figure, LATENCIES, METRICS, Metric, PER_OP, PerOp, Place};
pub use gate::{GateCell, GateJudgement, GateVerdict};
pub use instruction_sets::{InstructionSets, instruction_sets};
pub use judge::judge;
pub use looks::{ALPHA, KEPT_BACK, last_level};
pub use moderate::{Prior, fit_prior};
pub use nodes::{NodeRate, NodeSummary, Nodes};
pub use plans::PlanFindings;
pub use processor::ProcessorChange;
pub use profile::{
    FunctionChange, FunctionKey, Modules, ProfileChange, are_comparable, dispersion,
};
pub use ranking::{RANKED_MIN, RankedPair, Ranking, Rankings};
pub use robust::{TRIM, median};
pub use rules::{REPEATS_MIN, SMOKE_GROSS, threshold};
pub use sample::{Fitness, Sample};
pub use samples::{Samples, Standing};
pub use soak::{SOAK_INTERVALS_S, SOAK_STALL, SoakJudgement, SoakStalls, soak, soak_rounds};
pub use statements::{StatementChange, statement_changes};
pub use step::StepSummary;
pub use steps::{LineSummary, MainStep, Step};
pub use threads::{SHORT_LIVED_NS, waits_for_turns};
pub use trend::{
    Shift, TREND_DOUBT, TREND_VALUES_MAX, TrendLine, TrendPoint, TrendTerms, comparable, trend,
};
pub use waits::Wait;
pub use weighted::{WeightedTotal, weighted_totals};

/// The results of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// One per cell and system: cells in the study's order, within a cell the systems in theirs.
    pub cells: Vec<CellJudgement>,
    /// One per setup, group and system other than the base, in this order.
    pub groups: Vec<GroupSummary>,
    /// One per system other than the base.
    pub systems: Vec<SystemSummary>,
    /// One per cell and step of a line of versions, in this order. A line that has no step but that from the base to
    /// another system is left out, because the cells compare these two.
    pub steps: Vec<Step>,
    /// One per cell and line of three or more versions, in this order.
    pub lines: Vec<LineSummary>,
    /// The client counts between which a system changes from faster to slower, or back; by test.
    pub crossovers: Vec<Crossover>,
    /// What the gate says; `None` if the study is no gate.
    pub gate: Option<GateJudgement>,
    /// The machines that measured its shards; `None` if one machine measured all.
    pub nodes: Option<Nodes>,
    /// Which systems are the fastest; `None` of fewer than three, and where no rate was measured.
    pub rankings: Option<Rankings>,
}

/// The result for one system in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellJudgement {
    /// The cell: test, clients, tables and rows.
    pub cell: CellId,
    /// The published group of the test in the study's set.
    pub group: &'static Group,
    /// Index into the record's systems.
    pub system: usize,
    /// Operations per second.
    pub qps: Option<Estimate>,
    /// Events per second: all events of the slices that the verdict uses, divided by the total time of these slices.
    pub tps: Option<f64>,
    /// Operations per second divided by those of the base; `None` for the base.
    pub rqps: Option<Estimate>,
    /// Verdict on `rqps`. The base is `same` as itself.
    pub verdict: Verdict,
    /// Confidence that the change exceeds the threshold in the direction of the estimate, from 0 to 1; `None` for the
    /// base and without the blocks that a verdict needs.
    pub beyond_threshold: Option<f64>,
    /// The largest relative change, either way, that the interval at the level of the last look contains; `None` for
    /// the base and without the blocks that a verdict needs.
    pub bound: Option<f64>,
    /// Relative QPS of the totals: all operations by all the time, stalls included. `rqps` is that of usual turns.
    pub total: Option<Estimate>,
    /// Server CPU per operation, background threads included, divided by that of the base.
    pub cpu_ratio: Option<Estimate>,
    /// Verdict on `cpu_ratio`: `slower` means more CPU per operation.
    pub cpu_verdict: Option<Verdict>,
    /// Slices of this system that the verdict uses.
    pub slices: u32,
    /// Slices in machine trouble. The verdict uses them only if the cell is disturbed.
    pub troubled: u32,
    /// The same slices by kind of trouble.
    pub troubled_by: TroubledBy,
    /// Whether too few slices were free of machine trouble, so that the verdict uses those in trouble too.
    pub is_disturbed: bool,
    /// Blocks with at least one slice that the verdict uses.
    pub blocks: u32,
    /// Operations in the slices that the verdict uses.
    pub ops: f64,
    /// Retried errors in all slices.
    pub errors: u64,
    /// Why a slice was cut off, if one was.
    pub failure: Option<String>,
    /// An event that took too long, here or on the base: `rqps` is then a bound.
    pub silence: Option<Silence>,
    /// Figures that were published with the rate, by their published names; empty for what assay measured.
    pub published: Vec<(String, f64)>,
    /// What the clients did, if the test is a step of the Insert Benchmark.
    pub step: Option<StepSummary>,
    /// Latency of events over all slices that the verdict uses.
    pub latency: Option<Latency>,
    /// Time and hardware per operation.
    pub per_op: Option<PerOp>,
    /// KiB that the server fetched from block devices per operation, in the median of the slices; `None` if never
    /// measured.
    pub usual_read_kb: Option<f64>,
    /// Whether the server goes on reading pages from block devices that it has read before.
    pub rereads: bool,
    /// How its time per operation differs from that of the base, term by term; `None` for the base.
    pub change: Option<TimeChange>,
    /// Counters of the server's own status that changed for certain against the base, the largest change first; `None`
    /// for the base, and if they were not read.
    pub counters: Option<Vec<CounterChange>>,
    /// Its instructions per operation; `None` if they were not counted.
    pub count: Option<CountJudgement>,
    /// Where the change of its CPU time comes from, function by function; `None` for the base, and without profiles.
    pub profile: Option<ProfileChange>,
    /// The smallest relative change for which 4 of 5 studies like this one would call this cell, if its other cells
    /// stayed as they are. `None` if too few blocks were measured for any call.
    pub detectable: Option<f64>,
    /// The reason why an undecided cell is undecided.
    pub doubt: Option<Doubt>,
    /// What most of a change comes from; `None` without a change.
    pub cause: Option<Cause>,
    /// One sentence on the cause of a change.
    pub why: Option<String>,
}

impl CellJudgement {
    /// Whether only a bound of its relative QPS is known.
    #[must_use]
    pub fn has_bound(&self) -> bool {
        self.rqps.is_some_and(Estimate::is_bound)
    }

    /// A figure that was published with the rate.
    #[must_use]
    pub fn published(&self, name: &str) -> Option<f64> {
        self.published.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Whether its operations and errors were counted. A published rate becomes a slice of which only the rate is true.
    #[must_use]
    pub fn is_counted(&self, record: &StudyRecord) -> bool {
        !record.is_reported() || self.tps.is_some()
    }
}

/// Slices in machine trouble by its kind. One slice may be in several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TroubledBy {
    /// The hypervisor took CPU time.
    pub steal: u32,
    /// Other processes used CPU time.
    pub other_process: u32,
    /// The clock jumped.
    pub clock_jump: u32,
    /// Threads of real-time priority had to wait.
    pub throttled: u32,
}

/// An event that was ended because it took too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// The system that did not answer.
    pub system: usize,
    /// What it did not answer, and for how long, in words.
    pub what: String,
}

/// Why a cell is undecided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Doubt {
    /// There is no pair of slices to compare.
    Unmeasured,
    /// There is a single pair of slices, whose uncertainty is unknown.
    SinglePair,
    /// One side did not answer within the limit, and the other one takes about as long.
    AlsoSlow,
    /// Rates were limited, so they do not say what systems are able to do.
    Paced,
    /// The machine was busy, and a single block shows a change that consists of waits for a CPU and that the server's
    /// CPU per operation does not show.
    OneBusyBlock,
    /// At real-time priority, threads that its statements started shared a CPU with the thread that waited for them.
    /// Each keeps the CPU for a tenth of a second.
    SharedTurns,
    /// Fewer blocks were measured than a verdict needs.
    FewBlocks {
        /// Measured.
        blocks: u32,
        /// Needed.
        needed: u32,
    },
    /// Preset smoke calls gross changes only, and nothing the same.
    Smoke,
    /// The estimate lies where "same" and a change meet, so that more measuring hardly helps.
    AtThreshold,
    /// The totals differ from the usual ratio by more than the threshold, but that may be chance.
    PerhapsUneven {
        /// Relative QPS of the totals.
        total: f64,
    },
    /// The interval is too wide.
    Wide {
        /// About how many times the measuring would narrow it enough, if the estimate is right.
        times: f64,
        /// Whether fresh instances differ more than slices do; then only more blocks help.
        is_between_blocks: bool,
    },
}

/// Relative QPS over the tests of a group, as in the published tables.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupSummary {
    /// The group.
    pub group: &'static Group,
    /// Clients, tables, rows.
    pub setup: Setup,
    /// Index into the record's systems.
    pub system: usize,
    /// Tests that have a relative QPS.
    pub n: u32,
    /// Tests of which only a bound of it is known, because they were not answered. The other figures leave them out.
    pub bounded: u32,
    /// Smallest relative QPS.
    pub min: f64,
    /// Largest relative QPS.
    pub max: f64,
    /// Arithmetic mean of the relative QPS.
    pub avg: f64,
    /// Median of the relative QPS.
    pub median: f64,
    /// Sample standard deviation; `None` for a single test.
    pub stddev: Option<f64>,
    /// 95% interval of the median. For a single test, it is that test's interval. Otherwise it comes from a block
    /// bootstrap, and is `None` with fewer blocks than a verdict needs.
    pub median_interval: Option<Estimate>,
}

/// A system against the base, over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemSummary {
    /// Index into the record's systems.
    pub system: usize,
    /// Cells with the verdict slower.
    pub slower: u32,
    /// Cells with the verdict faster.
    pub faster: u32,
    /// Cells with the verdict same.
    pub same: u32,
    /// Cells with the verdict uneven.
    pub uneven: u32,
    /// Cells with the verdict undecided.
    pub undecided: u32,
    /// Cells with the verdict failed.
    pub failed: u32,
    /// Median of the relative QPS over all cells that did not fail. Its interval follows the rules for groups. `None`
    /// if no cell has a relative QPS.
    pub median: Option<Estimate>,
    /// Cells of which only a bound of it is known. The median leaves them out.
    pub bounded: u32,
    /// Median over cells of the smallest change that would be called.
    pub detectable: Option<f64>,
}

impl SystemSummary {
    /// The number of cells, whatever their verdict.
    #[must_use]
    pub fn cells(&self) -> u32 {
        self.slower + self.faster + self.same + self.uneven + self.undecided + self.failed
    }
}

impl Judgement {
    /// The verdicts and estimates that a ledger keeps.
    #[must_use]
    pub fn conclusions(&self) -> Vec<Conclusion> {
        let mut cell = 0;
        let mut previous = None;
        let concluded = self.cells.iter().map(|judged| {
            cell += usize::from(previous.is_some_and(|id| id != judged.cell));
            previous = Some(judged.cell);
            Conclusion {
                cell,
                system: judged.system,
                verdict: judged.verdict,
                qps: judged.qps,
                rqps: judged.rqps,
                cpu_verdict: judged.cpu_verdict,
                cpu_ratio: judged.cpu_ratio,
            }
        });
        concluded.collect()
    }

    /// The judgement of one cell and system.
    #[must_use]
    pub fn cell(&self, cell: CellId, system: usize) -> Option<&CellJudgement> {
        self.cells.iter().find(|judged| judged.cell == cell && judged.system == system)
    }
}
