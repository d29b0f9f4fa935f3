//! Statistics, stop rule and diagnosis of a study's slices. Pure and seeded.
//!
//! [`judge`] works on finished and unfinished studies alike; the same record gives the same judgement.

mod account;
mod active;
mod beside;
mod bound;
mod cause;
mod cell;
mod change;
mod commits;
mod comparable;
mod count;
mod count_change;
mod count_why;
mod counters;
mod crossover;
mod discoveries;
mod effect;
mod evidence;
mod figures;
mod group;
mod ibench_step;
mod instruction_sets;
mod judge;
mod judged_figure;
mod looks;
mod moderate;
mod module_counts;
mod node_test;
mod nodes;
mod options;
mod phrases;
mod plan_change;
mod plans;
mod prior_variance;
mod processor;
mod profile;
mod ranking;
mod reads;
mod regression_limits;
mod robust;
mod rules;
mod sample;
mod samples;
mod slice_totals;
mod special;
mod statements;
mod steps;
mod student;
mod threads;
mod uneven;
mod waits;
mod weighted_total;
mod why;
mod work;

use assay_model::{CellId, Conclusion, Estimate, Group, Setup, StudyRecord, Verdict};

pub use account::Latency;
pub use active::{ActiveSecond, active_seconds};
pub use beside::{
    BesideStudy, GroupBeside, PairBeside, StudyAgreement, TestBeside, beside, correlation,
};
pub use cause::ChangeCause;
pub use cell::QUIET_SHARE;
pub use change::{QuantityChange, TimeChange, TimeTerm};
pub use comparable::{ComparableLine, ComparablePoint, ComparableTerms, comparable};
pub use count::{
    COUNT_LOOKS, CountJudgement, CountTotal, batches_agree, count_threshold, counted_pair,
    is_count_open,
};
pub use count_change::{CountChange, FunctionCounts, Instructions, Kind, Rest, compare_counts};
pub use count_why::moved;
pub use counters::CounterChange;
pub use crossover::Crossover;
pub use discoveries::benjamini_hochberg;
pub use figures::{CellFigure, FigurePlace, LATENCIES, METRICS, PER_OP, PerOp, PublishedMetric};
pub use ibench_step::StepSummary;
pub use instruction_sets::{InstructionSets, instruction_sets};
pub use judge::{JudgedRates, judge};
pub use judged_figure::{CpuJudgement, CpuSummary, JudgedFigure};
pub use looks::{ALPHA, KEPT_BACK, last_level};
pub use moderate::{Prior, fit_prior};
pub use module_counts::SystemCounts;
pub use nodes::{NodeRate, NodeSummary, Nodes};
pub use options::can_act;
pub use plans::PlanFindings;
pub use prior_variance::BLOCK_SD;
pub use processor::ProcessorChange;
pub use profile::{
    FunctionChange, FunctionKey, Modules, ProfileChange, are_comparable, dispersion,
};
pub use ranking::{RANKED_MIN, RankedPair, Ranking, Rankings};
pub use regression_limits::{LimitVerdict, LimitedCell, LimitsJudgement};
pub use robust::{TRIM, mean, median, variance};
pub use rules::{REPEATS_MIN, SMOKE_GROSS, threshold};
pub use sample::{Fitness, SliceSample};
pub use samples::{CellStanding, Samples};
pub use special::{Z, log_error};
pub use statements::{StatementChange, statement_changes};
pub use steps::{LineStep, LineSummary, MainStep};
pub use student::upper_quantile;
pub use threads::{SHORT_LIVED_NS, waits_for_turns};
pub use waits::Wait;
pub use weighted_total::{WeightedTotal, weighted_totals};

#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// One per cell and system: by cell in the study's order, then by system.
    pub cells: Vec<CellJudgement>,
    /// One per setup, group and system other than the base, in this order.
    pub groups: Vec<GroupSummary>,
    /// The same of further pairs, where a study has several lines of versions: the versions of each other line relative
    /// to the first of that line, and the last versions of the lines relative to each other.
    pub group_pairs: Vec<GroupSummary>,
    pub systems: Vec<SystemSummary>,
    /// One per cell and step of a line of versions, in this order. Excludes lines whose only step leads from the base,
    /// because cells compare these two.
    pub steps: Vec<LineStep>,
    /// One per cell and line of three or more versions, in this order.
    pub lines: Vec<LineSummary>,
    pub crossovers: Vec<Crossover>,
    /// `None` without limits.
    pub limits: Option<LimitsJudgement>,
    /// `None` if one machine measured all.
    pub nodes: Option<Nodes>,
    /// `None` for fewer than three systems, and without measured rates.
    pub rankings: Option<Rankings>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CellJudgement {
    pub cell: CellId,
    pub group: &'static Group,
    pub system: usize,
    pub qps: Option<Estimate>,
    /// Events per second of the slices used by the verdict: all events divided by total time.
    pub tps: Option<f64>,
    /// Operations per second relative to the base; `None` for the base.
    pub rqps: Option<Estimate>,
    pub verdict: Verdict,
    /// Confidence that the change exceeds the threshold in the direction of the estimate, 0 to 1; `None` for the base
    /// and without the blocks that a verdict needs.
    pub beyond_threshold: Option<f64>,
    /// Largest relative change, in either direction, within the interval at the level of the last look; `None` for the
    /// base and without the blocks that a verdict needs.
    pub bound: Option<f64>,
    /// Relative QPS of totals: all operations by all the time, stalls included. `rqps` is that of usual turns.
    pub total: Option<Estimate>,
    /// Server CPU per operation, background threads included, relative to the base. Of published results, it is the CPU
    /// of the machine.
    pub cpu_ratio: Option<Estimate>,
    /// Verdict on `cpu_ratio`: `slower` means more CPU per operation.
    pub cpu_verdict: Option<Verdict>,
    /// CPU per operation of the threads that serve connections; `None` for the base, if it was not measured, and if the
    /// test failed.
    pub cpu: Option<CpuJudgement>,
    /// The 99th percentile of latencies, and its ratio to the median, each relative to the base. `None` for the base,
    /// where tails are not judged, and if the test failed.
    pub p99: Option<CpuJudgement>,
    pub dispersion: Option<CpuJudgement>,
    pub slices: u32,
    /// Slices in machine trouble, used by the verdict only if the cell is disturbed.
    pub troubled: u32,
    pub troubled_by: TroubleCounts,
    /// Whether too few slices were free of machine trouble, so that the verdict uses those in trouble too.
    pub is_disturbed: bool,
    pub blocks: u32,
    pub ops: f64,
    pub errors: u64,
    pub failure: Option<String>,
    /// An event that took too long, here or on the base: `rqps` is then a bound.
    pub silence: Option<Silence>,
    pub published: Vec<(String, f64)>,
    pub step: Option<StepSummary>,
    /// Over all slices used by the verdict.
    pub latency: Option<Latency>,
    pub per_op: Option<PerOp>,
    /// KiB fetched from block devices per operation, median of the slices; `None` if never measured.
    pub usual_read_kb: Option<f64>,
    pub rereads: bool,
    pub change: Option<TimeChange>,
    /// Server status counters that changed significantly against the base, the largest change first; `None` for the
    /// base, and if they were not read.
    pub counters: Option<Vec<CounterChange>>,
    /// `None` if not counted.
    pub count: Option<CountJudgement>,
    pub profile: Option<ProfileChange>,
    /// Smallest relative change that 4 of 5 such studies would call in this cell, other cells unchanged. `None` if too
    /// few blocks were measured for any call.
    pub detectable: Option<f64>,
    pub doubt: Option<VerdictDoubt>,
    pub cause: Option<ChangeCause>,
    pub why: Option<String>,
}

impl CellJudgement {
    pub fn has_bound(&self) -> bool {
        self.rqps.is_some_and(Estimate::is_bound)
    }

    pub fn published(&self, name: &str) -> Option<f64> {
        self.published.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Relative QPS. Where nothing was timed: what it would be if every instruction took as long as the base's.
    pub fn relative_rate(&self, record: &StudyRecord) -> Option<Estimate> {
        self.rqps.or_else(|| {
            let Estimate { value, low, high } = self.relative_instructions(record)?;
            Some(Estimate { value: 1.0 / value, low: 1.0 / high, high: 1.0 / low })
        })
    }

    /// Relative CPU of an operation. Where nothing was timed: its relative instructions.
    pub fn relative_cost(&self, record: &StudyRecord) -> Option<Estimate> {
        self.cpu_ratio.or_else(|| self.relative_instructions(record))
    }

    fn relative_instructions(&self, record: &StudyRecord) -> Option<Estimate> {
        self.count.as_ref().filter(|_| record.counts_only())?.ratio
    }

    /// Whether its operations and errors were counted. A published rate becomes a slice in which only the rate is real.
    pub fn is_counted(&self, record: &StudyRecord) -> bool {
        !record.is_reported() || self.tps.is_some()
    }
}

/// Slices in machine trouble by kind; a slice may count several times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TroubleCounts {
    pub steal: u32,
    pub other_process: u32,
    pub clock_jump: u32,
    pub throttled: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    pub system: usize,
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VerdictDoubt {
    Unmeasured,
    /// Rates were measured, but not the CPU time by which it is judged.
    NoCpu,
    SinglePair,
    /// One side did not answer within the limit, and the other takes about as long.
    AlsoSlow,
    /// Rates were limited, so they do not show the systems' capacity.
    Paced,
    /// The machine was busy, and a single block shows a change that consists of waits for a CPU, without a change in
    /// server CPU per operation.
    OneBusyBlock,
    /// At real-time priority, threads started by its statements shared a CPU with the thread waiting for them. Each
    /// keeps the CPU for a tenth of a second.
    SharedTurns,
    FewBlocks {
        blocks: u32,
        needed: u32,
    },
    /// Preset smoke calls gross changes only, and nothing the same.
    Smoke,
    /// The estimate lies where "same" and a change meet, so more measuring hardly helps.
    AtThreshold,
    /// The totals differ from the usual ratio by more than the threshold, but perhaps by chance.
    PerhapsUneven {
        total: f64,
    },
    Wide {
        /// Approximate factor of measuring that would narrow it enough, if the estimate is right.
        times: f64,
        /// Whether fresh instances differ more than slices do; then only more blocks help.
        is_between_blocks: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct GroupSummary {
    pub group: &'static Group,
    pub setup: Setup,
    pub system: usize,
    /// The system that it is relative to.
    pub than: usize,
    pub n: u32,
    /// Unanswered tests with only a bound, excluded from the other figures.
    pub bounded: u32,
    pub min: f64,
    pub max: f64,
    pub avg: f64,
    pub median: f64,
    /// Sample standard deviation; `None` for a single test.
    pub stddev: Option<f64>,
    /// 95% interval of the median. For a single test, that test's interval; otherwise from a block bootstrap, `None`
    /// with fewer blocks than a verdict needs.
    pub median_interval: Option<Estimate>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SystemSummary {
    pub system: usize,
    pub slower: u32,
    pub faster: u32,
    pub same: u32,
    pub uneven: u32,
    pub undecided: u32,
    pub failed: u32,
    /// Median relative QPS over all cells that did not fail, with an interval as for groups. `None` without any.
    pub median: Option<Estimate>,
    /// Cells with only a bound, excluded from the median.
    pub bounded: u32,
    /// `None` if CPU per operation was not measured in any test.
    pub cpu: Option<CpuSummary>,
    pub detectable: Option<f64>,
}

impl SystemSummary {
    pub fn cells(&self) -> u32 {
        self.slower + self.faster + self.same + self.uneven + self.undecided + self.failed
    }
}

impl Judgement {
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

    pub fn cell(&self, cell: CellId, system: usize) -> Option<&CellJudgement> {
        self.cells.iter().find(|judged| judged.cell == cell && judged.system == system)
    }
}
