//! The firm figure of a search: what versions are compared by if the user chose nothing.

use anyhow::{Context as _, Result};
use assay_model::{CountVerdict, Profiling, SearchMeasure, Verdict};
use assay_plan::{Request, SetupRequest, SystemRequest};
use assay_run::study::afterwards;
use assay_run::systems::{Environment, check_counting, machine_facts, on_disk};
use assay_run::workload;
use assay_verdict::{CellJudgement, JudgedFigure};

use super::range::SearchRange;
use super::request::timed;

/// Counted instructions, which repeat almost exactly, where this machine can count the test and a count answers the
/// question; else CPU time per operation, which a busy machine hardly changes.
pub(super) fn firm_measure(
    request: &Request,
    ranges: &[SearchRange],
    env: &Environment<'_>,
) -> Result<SearchMeasure> {
    let why = if let Some(why) = asks_for_time(request) {
        why.to_owned()
    } else {
        let range = ranges.first().context("a search has a range")?;
        let counted = timed(request.clone(), SearchMeasure::Instructions);
        match can_count(&counted, range, env) {
            Ok(()) => {
                env.progress.note("comparing by counted instructions; `--by qps` compares by time");
                return Ok(SearchMeasure::Instructions);
            }
            Err(error) => {
                env.interrupt.check()?;
                // A request that cannot be planned at all is a mistake.
                check_plan(&timed(request.clone(), SearchMeasure::Cpu), range, env)?;
                format!("instructions cannot be counted: {error:#}")
            }
        }
    };
    env.progress.note(&format!("comparing by CPU time per operation, because {why}"));
    Ok(SearchMeasure::Cpu)
}

/// Why a count with one client would not answer a request.
fn asks_for_time(request: &Request) -> Option<&'static str> {
    let has_several = |setup: &SetupRequest| setup.clients.as_ref().is_some_and(|it| *it != [1]);
    if request.setups.iter().any(has_several) {
        return Some("a count has one client");
    }
    (request.profile != Profiling::None).then_some("profiles show CPU time")
}

/// Whether this machine can count as a request asks on the ends of a range. Fetches valgrind if the processor does not
/// count.
pub fn can_count(request: &Request, range: &SearchRange, env: &Environment<'_>) -> Result<()> {
    check_plan(request, range, env)?;
    check_counting(env)
}

/// Whether a request can be planned for the ends of a range.
fn check_plan(request: &Request, range: &SearchRange, env: &Environment<'_>) -> Result<()> {
    let ends = range.ends.each_ref().map(|end| range.version(end));
    let systems = ends.iter().map(|end| SystemRequest::parse(&end.words)).collect();
    let request = Request { systems, ..request.clone() };
    let suite = workload::suite(&request)?;
    let plan = afterwards::plan_of(&request, machine_facts(&env.cache_dir)?, suite);
    plan.map(drop).map_err(|error| on_disk(error, &env.cache_dir))
}

/// The measure of a search for a change that a study shows by time, if a firmer one does not show it.
pub(super) fn shown_by(cell: &CellJudgement) -> Option<SearchMeasure> {
    let is_called = |verdict| matches!(verdict, Verdict::Slower | Verdict::Faster);
    let by_cpu = cell.verdict_by(JudgedFigure::Cpu);
    let is_counted_same =
        cell.count.as_ref().is_some_and(|count| count.verdict == Some(CountVerdict::Same));
    let is_unseen = by_cpu == Verdict::Same || is_counted_same;
    let measure = if is_called(by_cpu) { SearchMeasure::Cpu } else { SearchMeasure::Qps };
    (is_called(cell.verdict) && is_unseen).then_some(measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_count_with_one_client_does_not_answer_is_compared_by_time() {
        let with_clients = |clients: Option<Vec<u32>>| Request {
            setups: vec![SetupRequest { clients, ..SetupRequest::default() }],
            ..Request::default()
        };
        assert_eq!(asks_for_time(&with_clients(None)), None);
        assert_eq!(asks_for_time(&with_clients(Some(vec![1]))), None);
        assert!(asks_for_time(&with_clients(Some(vec![8]))).is_some());
        assert!(asks_for_time(&with_clients(Some(vec![1, 2]))).is_some());
        let profiled = Request { profile: Profiling::Changed, ..with_clients(None) };
        assert!(asks_for_time(&profiled).is_some());
    }
}
