//! The figures by which a cell is judged: time, and CPU time per operation.

use assay_model::{CpuVerdict, Estimate, JudgedFigures, Verdict};

use crate::effect::Effect;
use crate::rules::Decision;
use crate::{CellJudgement, VerdictDoubt};

/// The figure that decides a study: its answer, its limits, and when it has measured enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedFigure {
    /// Operations per second.
    Time,
    /// CPU time per operation of the threads that serve connections.
    Cpu,
}

impl From<JudgedFigures> for JudgedFigure {
    fn from(figures: JudgedFigures) -> Self {
        match figures {
            JudgedFigures::Both | JudgedFigures::Time => Self::Time,
            JudgedFigures::Cpu => Self::Cpu,
        }
    }
}

/// CPU time per operation against the base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuJudgement {
    /// Divided by that of the base: more than 1 is more CPU time.
    pub ratio: Estimate,
    pub verdict: CpuVerdict,
    /// Why it is undecided; `None` if it is decided, and for the CPU time of all threads.
    pub doubt: Option<VerdictDoubt>,
}

/// Tests by verdict on the CPU time of serving threads. Tests without this figure are in none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuSummary {
    pub more: u32,
    pub less: u32,
    pub same: u32,
    pub undecided: u32,
}

impl CpuJudgement {
    /// `None` without an estimate, and for a test that failed.
    pub(crate) fn new(effect: Option<&Effect>, decision: &Decision) -> Option<Self> {
        let verdict = cpu_verdict(cost_verdict(decision.verdict))?;
        let doubt = decision.doubt.filter(|_| verdict == CpuVerdict::Undecided);
        Some(Self { ratio: effect?.shown(), verdict, doubt })
    }
}

impl CpuSummary {
    pub(crate) fn new<'a>(cells: impl Iterator<Item = &'a CellJudgement>) -> Option<Self> {
        let judged: Vec<CpuVerdict> = cells.filter_map(|cell| Some(cell.cpu?.verdict)).collect();
        let count = |verdict| judged.iter().filter(|known| **known == verdict).count() as u32;
        (!judged.is_empty()).then(|| Self {
            more: count(CpuVerdict::More),
            less: count(CpuVerdict::Less),
            same: count(CpuVerdict::Same),
            undecided: count(CpuVerdict::Undecided),
        })
    }

    pub fn cells(&self) -> u32 {
        self.more + self.less + self.same + self.undecided
    }
}

impl CellJudgement {
    /// Verdict by a figure. By CPU, `Slower` means more CPU time per operation.
    pub fn verdict_by(&self, figure: JudgedFigure) -> Verdict {
        match (figure, self.cpu) {
            (JudgedFigure::Time, _) => self.verdict,
            _ if self.verdict == Verdict::Failed => Verdict::Failed,
            (JudgedFigure::Cpu, Some(cpu)) => match cpu.verdict {
                CpuVerdict::More => Verdict::Slower,
                CpuVerdict::Less => Verdict::Faster,
                CpuVerdict::Same => Verdict::Same,
                CpuVerdict::Undecided => Verdict::Undecided,
            },
            (JudgedFigure::Cpu, None) => Verdict::Undecided,
        }
    }

    /// By time, the relative QPS; by CPU, the CPU time per operation divided by that of the base. `None` for the base.
    pub fn ratio_by(&self, figure: JudgedFigure) -> Option<Estimate> {
        match figure {
            JudgedFigure::Time => self.rqps,
            JudgedFigure::Cpu => self.cpu.map(|cpu| cpu.ratio),
        }
    }

    /// Why the verdict by a figure is undecided; `None` if it is decided.
    pub fn doubt_by(&self, figure: JudgedFigure) -> Option<VerdictDoubt> {
        match (figure, self.cpu, self.doubt) {
            (JudgedFigure::Time, _, doubt) => doubt,
            (JudgedFigure::Cpu, Some(cpu), _) => cpu.doubt,
            // Nothing was measured, or too little for any interval.
            (_, _, doubt @ Some(VerdictDoubt::Unmeasured | VerdictDoubt::SinglePair)) => doubt,
            _ => (self.verdict != Verdict::Failed).then_some(VerdictDoubt::NoCpu),
        }
    }

    /// CPU time per operation of all threads of the server, those in the background included.
    pub fn cpu_total(&self) -> Option<CpuJudgement> {
        let verdict = cpu_verdict(self.cpu_verdict?)?;
        Some(CpuJudgement { ratio: self.cpu_ratio?, verdict, doubt: None })
    }
}

/// Verdict on a ratio for which less is better, from one for which more is.
pub(crate) fn cost_verdict(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Faster => Verdict::Slower,
        Verdict::Slower => Verdict::Faster,
        other => other,
    }
}

fn cpu_verdict(verdict: Verdict) -> Option<CpuVerdict> {
    match verdict {
        Verdict::Slower => Some(CpuVerdict::More),
        Verdict::Faster => Some(CpuVerdict::Less),
        Verdict::Same => Some(CpuVerdict::Same),
        Verdict::Uneven | Verdict::Undecided => Some(CpuVerdict::Undecided),
        Verdict::Failed => None,
    }
}
