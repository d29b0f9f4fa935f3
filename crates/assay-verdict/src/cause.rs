//! Cause of a change: the first applicable rule of a list.

use assay_model::Verdict;

use crate::{TimeChange, TimeTerm};

/// Share of a change from which a term alone is its cause.
const MOST: f64 = 0.6;

/// Share of a change that terms must explain together.
const EXPLAINED: f64 = 0.8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeCause {
    Stalls,
    Commit,
    Plan,
    Threads,
    ServerCpu,
    ClientCpu,
    CpuWait,
    DiskWait,
    OtherWait,
    Several,
    Work,
    Unknown,
}

impl ChangeCause {
    pub fn key(self) -> &'static str {
        match self {
            Self::Stalls => "stalls",
            Self::Commit => "commit",
            Self::Plan => "plan",
            Self::Threads => "threads",
            Self::ServerCpu => "server-cpu",
            Self::ClientCpu => "client-cpu",
            Self::CpuWait => "cpu-wait",
            Self::DiskWait => "disk-wait",
            Self::OtherWait => "other-wait",
            Self::Several => "several",
            Self::Work => "work",
            Self::Unknown => "unknown",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Stalls => "because one of the systems stalls",
            Self::Commit => "mostly because of commits",
            Self::Plan => "with another plan",
            Self::Threads => "with threads that statements start",
            Self::ServerCpu => "mostly because of CPU in serving threads",
            Self::ClientCpu => "mostly because of CPU in clients",
            Self::CpuWait => "mostly because of waiting for a CPU",
            Self::DiskWait => "mostly because of waiting for the disk",
            Self::OtherWait => "mostly because of waiting",
            Self::Several => "for more than one cause",
            Self::Work => "with other work per operation",
            Self::Unknown => "not explained by counters",
        }
    }
}

pub(crate) struct CauseFacts<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) has_other_commits: bool,
    pub(crate) has_other_plan: bool,
    pub(crate) has_other_threads: bool,
    pub(crate) has_other_work: bool,
    pub(crate) change: Option<&'a TimeChange>,
}

impl CauseFacts<'_> {
    /// Share of a term in the whole change, if both changed significantly.
    fn share(&self, term: TimeTerm) -> f64 {
        let shares = self.change.map(TimeChange::shares).unwrap_or_default();
        shares.into_iter().find(|(it, _)| *it == term).map_or(0.0, |(_, share)| share)
    }

    fn is_mostly(&self, term: TimeTerm) -> bool {
        let shares = self.change.map(TimeChange::shares).unwrap_or_default();
        let largest = shares.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
        largest.is_some_and(|(it, share)| it == term && share >= MOST)
    }

    fn is_explained(&self) -> bool {
        let terms = [
            TimeTerm::ServerCpu,
            TimeTerm::ClientCpu,
            TimeTerm::CpuWait,
            TimeTerm::DiskWait,
            TimeTerm::OtherWait,
        ];
        terms.into_iter().map(|term| self.share(term)).sum::<f64>() >= EXPLAINED
    }
}

type CauseCondition = fn(&CauseFacts<'_>) -> bool;

const RULES: [(ChangeCause, CauseCondition); 12] = [
    (ChangeCause::Stalls, |it| it.verdict == Verdict::Uneven),
    (ChangeCause::Commit, |it| it.has_other_commits),
    (ChangeCause::Plan, |it| it.has_other_plan),
    (ChangeCause::Threads, |it| it.has_other_threads),
    (ChangeCause::ServerCpu, |it| it.is_mostly(TimeTerm::ServerCpu)),
    (ChangeCause::ClientCpu, |it| it.is_mostly(TimeTerm::ClientCpu)),
    (ChangeCause::CpuWait, |it| it.is_mostly(TimeTerm::CpuWait)),
    (ChangeCause::DiskWait, |it| it.is_mostly(TimeTerm::DiskWait)),
    (ChangeCause::OtherWait, |it| it.is_mostly(TimeTerm::OtherWait)),
    (ChangeCause::Several, |it| it.is_explained()),
    (ChangeCause::Work, |it| it.has_other_work),
    (ChangeCause::Unknown, |_| true),
];

pub(crate) fn cause(facts: &CauseFacts<'_>) -> Option<ChangeCause> {
    let is_change = matches!(facts.verdict, Verdict::Faster | Verdict::Slower | Verdict::Uneven);
    let found = RULES.iter().find(|(_, applies)| applies(facts));
    found.filter(|_| is_change).map(|(cause, _)| *cause)
}

#[cfg(test)]
mod tests {
    use assay_model::Estimate;

    use super::*;
    use crate::QuantityChange;

    fn change(terms: &[(TimeTerm, f64)]) -> TimeChange {
        let changed = |value: f64| QuantityChange {
            before: 10.0,
            after: 10.0 + value,
            by: Estimate { value, low: value - 0.01, high: value + 0.01 },
        };
        TimeChange {
            time: changed(terms.iter().map(|(_, value)| value).sum()),
            terms: terms.iter().map(|(term, value)| (*term, changed(*value))).collect(),
            background_cpu: None,
            kernel_cpu: None,
            instructions: None,
        }
    }

    fn facts(verdict: Verdict) -> CauseFacts<'static> {
        CauseFacts {
            verdict,
            has_other_commits: false,
            has_other_plan: false,
            has_other_threads: false,
            has_other_work: false,
            change: None,
        }
    }

    fn cause_of(
        verdict: Verdict,
        has_other_plan: bool,
        terms: &[(TimeTerm, f64)],
    ) -> Option<ChangeCause> {
        let change = change(terms);
        cause(&CauseFacts { has_other_plan, change: Some(&change), ..facts(verdict) })
    }

    #[test]
    fn the_first_rule_that_applies_is_the_cause() {
        use Verdict::{Faster, Same, Slower, Uneven};
        let cpu = [(TimeTerm::ServerCpu, 8.0), (TimeTerm::OtherWait, 2.0)];
        assert_eq!(cause_of(Slower, false, &cpu), Some(ChangeCause::ServerCpu));
        assert_eq!(cause_of(Slower, true, &cpu), Some(ChangeCause::Plan));
        assert_eq!(cause_of(Uneven, true, &cpu), Some(ChangeCause::Stalls));
        assert_eq!(cause_of(Same, true, &cpu), None);
        let less = [(TimeTerm::ServerCpu, 0.5), (TimeTerm::DiskWait, -4.0)];
        assert_eq!(cause_of(Faster, false, &less), Some(ChangeCause::DiskWait));
        // Shares may exceed 1 where other terms decreased.
        let more =
            [(TimeTerm::ServerCpu, 6.5), (TimeTerm::OtherWait, 9.5), (TimeTerm::ClientCpu, -6.0)];
        assert_eq!(cause_of(Slower, false, &more), Some(ChangeCause::OtherWait));
        let both = [(TimeTerm::ServerCpu, 5.0), (TimeTerm::OtherWait, 5.0)];
        assert_eq!(cause_of(Slower, false, &both), Some(ChangeCause::Several));
        let unknown = [(TimeTerm::ServerCpu, 1.0), (TimeTerm::Unknown, 9.0)];
        assert_eq!(cause_of(Slower, false, &unknown), Some(ChangeCause::Unknown));
    }

    #[test]
    fn a_change_without_terms_is_explained_by_work_or_not_at_all() {
        let cause_with_work =
            |has_other_work| cause(&CauseFacts { has_other_work, ..facts(Verdict::Slower) });
        assert_eq!(
            [cause_with_work(false), cause_with_work(true)],
            [Some(ChangeCause::Unknown), Some(ChangeCause::Work)]
        );
    }

    #[test]
    fn commits_come_before_plans_and_threads_before_waiting_for_a_cpu() {
        let change = change(&[(TimeTerm::CpuWait, 7.0), (TimeTerm::ServerCpu, 3.0)]);
        let slower = || CauseFacts { change: Some(&change), ..facts(Verdict::Slower) };
        assert_eq!(cause(&slower()), Some(ChangeCause::CpuWait));
        assert_eq!(
            cause(&CauseFacts { has_other_threads: true, ..slower() }),
            Some(ChangeCause::Threads)
        );
        let both = CauseFacts { has_other_commits: true, has_other_plan: true, ..slower() };
        assert_eq!(cause(&both), Some(ChangeCause::Commit));
    }
}
