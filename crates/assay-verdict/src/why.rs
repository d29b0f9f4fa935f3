//! Explains a change in one sentence.

use assay_model::{AuditFinding, Class, EventKind, SettingsTrial, StudyRecord, Verdict};

use crate::cause::{CauseFacts, ChangeCause, cause};
use crate::commits::CommitTime;
use crate::count_why;
use crate::evidence::{NO_EVIDENCE, evidence};
use crate::options::{is_leftover, requested};
use crate::phrases::{NEAR_LEAST, per_operation, percent, ratio, relative, signed, times};
use crate::plan_change::PlanChange;
use crate::threads::started_threads;
use crate::work::more_than_time;
use crate::{
    CellJudgement, CounterChange, FunctionChange, PerOp, PlanFindings, ProcessorChange,
    ProfileChange, QuantityChange, TimeChange, TimeTerm,
};

const CHANGED: f64 = 0.10;

/// Terms with a smaller share of the change are not named.
const SHARE_MIN: f64 = 0.1;

/// A server that reads less than this from block devices per operation, KiB, has its data cached.
const CACHED_KB: f64 = 0.1;

/// One that reads more than this does not.
const READ_KB: f64 = 1.0;

/// Explains every faster, slower or uneven cell, and adds the evidence of instructions to all. A cell has all systems,
/// in order.
pub(crate) fn explain(record: &StudyRecord, cells: &mut [CellJudgement], base: usize) {
    let plans = PlanFindings::new(&record.audit);
    let specs = || record.systems.iter().map(|system| &system.spec);
    let settings = record.audit.iter().filter(|finding| !is_leftover(specs(), finding));
    let settings: Vec<AuditFinding> = settings.cloned().collect();
    let known = WhyContext { record, plans: &plans, settings: &settings, base };
    for index in 0..cells.len() {
        let one = &cells[index];
        let count = one.count.as_ref();
        let instructions = count.and_then(|it| count_why::sentence(one.verdict, one.rqps, it));
        let of_base = &cells[index + base - one.system];
        let (cause, why) = explained(one, of_base, &known).unwrap_or_default();
        let lost = lost(one, of_base);
        let tried = settings_tried(record, one).map(SettingsTrial::finding);
        let moved = count.and_then(count_why::moved);
        let parts = tried.into_iter().chain(instructions).chain(moved).chain(why).chain(lost);
        let parts: Vec<String> = parts.collect();
        cells[index].cause = cause;
        cells[index].why = (!parts.is_empty()).then(|| parts.join("; "));
    }
}

/// The share of a change that settings of the base undo, if that was tried. The verdict may have changed since, if the
/// study was extended.
fn settings_tried<'a>(record: &'a StudyRecord, one: &CellJudgement) -> Option<&'a SettingsTrial> {
    let changed =
        |is_slower| one.verdict == if is_slower { Verdict::Slower } else { Verdict::Faster };
    record.events.iter().rev().find_map(|event| match &event.what {
        EventKind::SettingsTried(tried)
            if event.system == Some(one.system)
                && changed(tried.is_slower)
                && (tried.setup, &tried.test) == (one.cell.setup, &one.cell.test.name) =>
        {
            Some(tried)
        }
        _ => None,
    })
}

fn lost(one: &CellJudgement, of_base: &CellJudgement) -> Option<String> {
    let is_lost = one.verdict == Verdict::Failed && one.failure.is_none();
    of_base.failure.as_ref().filter(|_| is_lost).map(|why| format!("the base failed: {why}"))
}

struct WhyContext<'a> {
    record: &'a StudyRecord,
    plans: &'a PlanFindings<'a>,
    settings: &'a [AuditFinding],
    base: usize,
}

fn explained(
    one: &CellJudgement,
    of_base: &CellJudgement,
    known: &WhyContext<'_>,
) -> Option<(Option<ChangeCause>, Vec<String>)> {
    let pair = of_base.per_op.zip(one.per_op);
    let work = pair.map_or_else(Vec::new, |(before, after)| {
        let counters = one.counters.as_deref().unwrap_or_default();
        more_than_time(counters, [before.time_us(), after.time_us()])
    });
    let why = match one.verdict {
        Verdict::Uneven => stalls(one),
        Verdict::Faster | Verdict::Slower => {
            pair.and_then(|(before, after)| sentence([&before, &after], of_base, one, &work))
        }
        Verdict::Same | Verdict::Undecided | Verdict::Failed => return None,
    };
    let systems = [known.base, one.system];
    let change = one.change.as_ref().filter(|change| agrees(change, one.verdict));
    let commits = CommitTime::for_cell(known.record, one.cell, systems);
    let commits = commits.filter(|commits| commits.is_most_of(one.verdict));
    // Plans do not make statements wait for the log or for locks.
    let is_of_plan = !work.is_empty() || !is_of_writing(one, change);
    let tried = settings_tried(known.record, one);
    let plan = PlanChange::find(known.record, known.plans, one.cell, systems, one.verdict, tried);
    let plan = plan.filter(|_| is_of_plan);
    let threads = pair.and_then(|(before, after)| {
        started_threads([&before, &after], one.verdict, known.settings, systems)
    });
    let facts = CauseFacts {
        verdict: one.verdict,
        has_other_commits: commits.is_some(),
        has_other_plan: plan.as_ref().is_some_and(|plan| plan.is_most),
        has_other_threads: threads.is_some(),
        has_other_work: !work.is_empty(),
        change,
    };
    let cause = cause(&facts).filter(|_| one.per_op.is_some());
    let named = plan.as_ref().map(|plan| plan.options.as_slice()).unwrap_or_default();
    let requested = requested(known.settings, one.cell.test.class, systems, named);
    // Nothing outside the change explains it.
    let has_rest = commits.is_none_or(|commits| commits.rest() >= SHARE_MIN);
    let plan = plan.filter(|_| has_rest).map(|plan| plan.sentence);
    let commits = commits.map(|commits| commits.sentence());
    let parts = [commits, plan, requested, threads, why];
    Some((cause, parts.into_iter().flatten().collect()))
}

/// Whether a change of a write test is mostly waiting, which plans do not cause: its statements wait for the log or for
/// locks.
fn is_of_writing(one: &CellJudgement, change: Option<&TimeChange>) -> bool {
    let shares = change.map(TimeChange::shares).unwrap_or_default();
    let waiting =
        shares.iter().filter(|(term, _)| matches!(term, TimeTerm::DiskWait | TimeTerm::OtherWait));
    one.cell.test.class == Class::Write && waiting.map(|(_, share)| share).sum::<f64>() >= MOSTLY
}

const MOSTLY: f64 = 0.6;

fn stalls(cell: &CellJudgement) -> Option<String> {
    let (usual, total) = cell.rqps.zip(cell.total)?;
    let which = if total.value < usual.value { "this system" } else { "the base" };
    let [usual, value, low, high] = [usual.value, total.value, total.low, total.high].map(relative);
    Some(format!(
        "{which} stalls at times: usual turns have a relative QPS of {usual}, all work by all time one of {value} \
         [{low}, {high}]"
    ))
}

/// Evidence of counters for a change: terms of the time per operation, work that changed by more than the time, cache,
/// CPU and context switches.
fn sentence(
    [before, after]: [&PerOp; 2],
    base: &CellJudgement,
    cell: &CellJudgement,
    work: &[(&str, &CounterChange)],
) -> Option<String> {
    let counters = cell.counters.as_deref();
    let change = cell.change.as_ref().filter(|change| agrees(change, cell.verdict));
    let profile = cell.profile.as_ref();
    let terms = change.and_then(|change| terms(change, counters, profile, !work.is_empty()));
    let parts = [terms, work_done(work), reads(base, cell), resources(before, after, cell)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `rows read without an index (Handler_read_rnd_next) per operation 0 → 11,842`.
fn work_done(work: &[(&str, &CounterChange)]) -> Option<String> {
    let part = |(words, CounterChange { name, changed, .. }): &(&str, &CounterChange)| {
        let [before, after] = [changed.before, changed.after].map(per_operation);
        format!("{words} ({name}) per operation {before} → {after}")
    };
    (!work.is_empty()).then(|| work.iter().map(part).collect::<Vec<_>>().join(", "))
}

/// Whether the time account agrees in direction with a verdict. It includes warm parts of turns and trimmed values, so
/// it may differ.
fn agrees(change: &TimeChange, verdict: Verdict) -> bool {
    (change.time.by.value > 0.0) == (verdict == Verdict::Slower)
}

/// `server CPU per operation +9% [+5%, +13%], instructions +7.8%, context switches unchanged`. Counters do not show
/// what the CPU was used for.
fn resources(before: &PerOp, after: &PerOp, cell: &CellJudgement) -> Option<String> {
    let (old, new) = (before.get("cs")?, after.get("cs")?);
    let cpu = match cell.cpu_ratio {
        Some(ratio) if ratio.has_interval() => {
            format!("{} [{}, {}]", percent(ratio.value), percent(ratio.low), percent(ratio.high))
        }
        Some(ratio) => percent(ratio.value),
        None => return None,
    };
    let switches = match ratio(old, new) {
        None => "context switches unknown".to_owned(),
        Some(ratio) if (ratio - 1.0).abs() > CHANGED => {
            let is_near = (NEAR_LEAST..10.0).contains(&ratio);
            let by = if is_near { format!("×{ratio:.1}") } else { times(ratio) };
            format!("context switches {by}")
        }
        Some(_) => "context switches unchanged".to_owned(),
    };
    let code = cell.change.as_ref().and_then(|change| change.instructions.as_ref());
    let code = code.and_then(instructions).map_or_else(String::new, |it| format!(", {it}"));
    Some(format!("server CPU per operation {cpu}{code}, {switches}"))
}

/// `instructions +4.8%`. `None` for too few blocks.
fn instructions(changed: &QuantityChange) -> Option<String> {
    if !changed.is_certain() {
        let words = "whether instructions changed is uncertain";
        return changed.by.has_interval().then(|| words.to_owned());
    }
    Some(match ratio(changed.before, changed.after)? {
        same if (same - 1.0).abs() < 0.0005 => "instructions unchanged".to_owned(),
        near @ 0.5..2.0 => format!("instructions {:+.1}%", 100.0 * (near - 1.0)).replace('-', "−"),
        far => format!("instructions {}", times(far)),
    })
}

/// Whether the server's reads from block devices begin or cease to matter, in most slices.
fn reads(base: &CellJudgement, cell: &CellJudgement) -> Option<String> {
    let kb = [base.usual_read_kb?, cell.usual_read_kb?];
    let change = cell.change.as_ref().filter(|change| agrees(change, cell.verdict))?;
    let wait = if change.tells_disk() { TimeTerm::DiskWait } else { TimeTerm::OtherWait };
    let share = change.shares().into_iter().find(|(term, _)| *term == wait).map(|(_, share)| share);
    cached(kb, [base.rereads, cell.rereads], share?)
}

/// Whether data ceased to be cached, or became so: KiB read per operation, rereads of pages, and the share of disk
/// waits in the change. A fresh server reads each page once, whatever its cache holds.
fn cached([before, after]: [f64; 2], rereads: [bool; 2], share: f64) -> Option<String> {
    let [was_reading, is_reading] = rereads;
    let words = if share < SHARE_MIN {
        return None;
    } else if before < CACHED_KB && after > READ_KB && is_reading {
        "not all data is cached any more"
    } else if before > READ_KB && after < CACHED_KB && was_reading {
        "the data is now cached"
    } else {
        return None;
    };
    let [before, after] = [before, after].map(per_operation);
    Some(format!("KiB read from disk per operation {before} → {after}: {words}"))
}

/// The terms of the change in time per operation: `time per operation +12.6 µs, of which 79% is CPU of serving threads
/// and 21% other waiting`. `None` unless time and a term changed significantly. Waiting terms include the evidence of
/// server counters.
fn terms(
    change: &TimeChange,
    counters: Option<&[CounterChange]>,
    profile: Option<&ProfileChange>,
    has_work: bool,
) -> Option<String> {
    let tells_disk = change.tells_disk();
    let by = change.time.by.value;
    let shares = change.shares();
    let named = shares.iter().filter(|(_, share)| share.abs() >= SHARE_MIN);
    let of_named = named.clone().map(|(_, share)| share).sum::<f64>();
    // A part is no more than the whole. Where a term exceeds it, another one fell, so all are given with their sign.
    let are_parts = named.clone().all(|(_, share)| (0.0..=1.0 + ROUNDED).contains(share));
    let mut named: Vec<String> = named
        .enumerate()
        .map(|(at, (term, share))| {
            let evidence = match term {
                TimeTerm::ServerCpu => profile.map(causes).unwrap_or_default(),
                _ => evidence(*term, tells_disk, share * by, counters, profile),
            };
            let evidence =
                if has_work && evidence == NO_EVIDENCE { String::new() } else { evidence };
            let word = term.word(tells_disk);
            if !are_parts {
                return format!("{} {word}{evidence}", signed(share * by));
            }
            let is = if at == 0 { " is" } else { "" };
            format!("{:.0}%{is} {word}{evidence}", 100.0 * share.min(1.0))
        })
        .collect();
    if named.is_empty() {
        return None;
    }
    let rest = (1.0 - of_named) * by;
    if !are_parts && rest.abs() >= LEAST_US {
        named.push(format!("{} everything else", signed(rest)));
    }
    let (last, rest) = named.split_last()?;
    let named = match rest {
        [] => last.clone(),
        rest => format!("{} and {last}", rest.join(", ")),
    };
    let which = if are_parts { "of which" } else { "the sum of" };
    Some(format!("time per operation {}, {which} {named}", signed(by)))
}

const ROUNDED: f64 = 0.005;

/// Smaller values are not shown beside other terms, µs.
const LEAST_US: f64 = 0.05;

const FUNCTIONS: usize = 2;

/// Instances differ by this, though intervals within one instance may be narrower.
const WORTH_TELLING: f64 = 0.02;

/// Functions whose CPU time changed most, and whether there are more or slower instructions: ` (row_search_mvcc +3.1
/// µs, ...; instructions per operation +12%, cycles per instruction +1%)`. Empty without profiles.
fn causes(profile: &ProfileChange) -> String {
    let cause = |it: &FunctionChange| {
        let name = match &it.function {
            Some(function) if it.changed.before == 0.0 => format!("new `{function}`"),
            Some(function) => format!("`{function}`"),
            None => format!("functions of `{}` without a name", it.module),
        };
        let by = format!("{:+.1}", it.changed.by.value).replace('-', "−");
        format!("{name} {by} µs")
    };
    let named: Vec<String> = profile.causes().take(FUNCTIONS).map(cause).collect();
    let processor = profile.processor.as_ref().map(|ProcessorChange { instructions, cycles }| {
        let [code, pace] = [instructions, cycles].map(|it| match it.after / it.before {
            ratio if it.is_certain() && (ratio - 1.0).abs() >= WORTH_TELLING => percent(ratio),
            _ => "without a certain change".to_owned(),
        });
        format!("instructions per operation {code}, cycles per instruction {pace}")
    });
    let named = Some(named.join(", ")).filter(|named| !named.is_empty());
    let message: Vec<String> = [named, processor].into_iter().flatten().collect();
    if message.is_empty() { String::new() } else { format!(" ({})", message.join("; ")) }
}

#[cfg(test)]
mod tests {
    use assay_model::Estimate;

    use super::*;
    use crate::Wait;

    fn changed(before: f64, after: f64, half: f64) -> QuantityChange {
        let value = after - before;
        QuantityChange {
            before,
            after,
            by: Estimate { value, low: value - half, high: value + half },
        }
    }

    fn change(time: f64, terms: &[(TimeTerm, f64)]) -> TimeChange {
        let term = |(term, by): &(TimeTerm, f64)| (*term, changed(10.0, 10.0 + by, 0.1));
        TimeChange {
            time: changed(50.0, 50.0 + time, 0.2),
            terms: terms.iter().map(term).collect(),
            background_cpu: None,
            kernel_cpu: None,
            instructions: None,
        }
    }

    fn counter(name: &str, before: f64, after: f64) -> CounterChange {
        CounterChange {
            name: name.to_owned(),
            changed: changed(before, after, 0.001),
            is_usual: true,
        }
    }

    #[test]
    fn terms_are_named_with_their_shares_the_largest_first() {
        let found = change(
            10.0,
            &[(TimeTerm::ClientCpu, 0.5), (TimeTerm::ServerCpu, 2.5), (TimeTerm::OtherWait, 7.0)],
        );
        let counters =
            [counter("Innodb_os_log_fsyncs", 0.0002, 1.0), counter("Innodb_rows_read", 1.0, 2.0)];
        assert_eq!(
            terms(&found, Some(&counters), None, false).as_deref(),
            Some(
                "time per operation +10.0 µs, of which 70% is waiting, disk included (flushes of the log per \
                 operation 0 → 1.00) and 25% CPU of serving threads"
            )
        );
        let without = terms(&found, Some(&[]), None, false).unwrap_or_default();
        assert!(without.contains("(no counter of the server tells why)"), "{without}");
        assert!(!terms(&found, None, None, false).unwrap_or_default().contains("counter"));
    }

    #[test]
    fn terms_that_exceed_the_whole_are_told_with_their_sign() {
        let found = change(121.0, &[(TimeTerm::CpuWait, -31.0), (TimeTerm::OtherWait, 142.0)]);
        let message = terms(&found, Some(&[]), None, true).unwrap_or_default();
        assert_eq!(
            message,
            "time per operation +121.0 µs, the sum of +142.0 µs waiting, disk included, −31.0 µs waiting for a CPU and \
             +10.0 µs everything else"
        );
        let hidden = change(10.0, &[(TimeTerm::ServerCpu, 13.0)]);
        let message = terms(&hidden, None, None, false).unwrap_or_default();
        assert!(
            message.ends_with("+13.0 µs CPU of serving threads and −3.0 µs everything else"),
            "{message}"
        );
        let rounded = change(10.0, &[(TimeTerm::ServerCpu, 10.04)]);
        let message = terms(&rounded, None, None, false).unwrap_or_default();
        assert!(message.contains("of which 100% is"), "{message}");
    }

    #[test]
    fn work_that_changed_more_than_the_time_is_the_reason() {
        let found = change(10.0, &[(TimeTerm::OtherWait, 7.0)]);
        let message = terms(&found, Some(&[]), None, true).unwrap_or_default();
        assert!(!message.contains("no counter"), "{message}");
        let rows = counter("Handler_read_rnd_next", 0.0, 11_842.0);
        assert_eq!(
            work_done(&[("rows read without an index", &rows)]).as_deref(),
            Some("rows read without an index (Handler_read_rnd_next) per operation 0 → 11,842")
        );
    }

    #[test]
    fn a_counter_of_a_few_slices_is_no_evidence() {
        let found = change(10.0, &[(TimeTerm::OtherWait, 9.0)]);
        let rare = CounterChange { is_usual: false, ..counter("Innodb_log_waits", 0.0, 1.0) };
        let message = terms(&found, Some(&[rare]), None, false).unwrap_or_default();
        assert!(message.contains("no counter of the server tells why"), "{message}");
    }

    #[test]
    fn waiting_that_was_sampled_supports_what_no_counter_tells() {
        let found = change(200.0, &[(TimeTerm::ServerCpu, 100.0), (TimeTerm::Unknown, 100.0)]);
        let waits = vec![
            (Wait::Client, changed(1.0, 300.0, 0.0)),
            (Wait::Flush, changed(0.0, 142.0, 0.0)),
            (Wait::Lock, changed(0.0, 10.0, 0.0)),
        ];
        let profile = ProfileChange {
            serving: Vec::new(),
            background: Vec::new(),
            adds_up: true,
            processor: None,
            waits: Some(waits),
        };
        let message = terms(&found, Some(&[]), Some(&profile), false).unwrap_or_default();
        assert!(
            message.ends_with("(sampled threads wait for a flush to the disk 0 → 142 µs)"),
            "{message}"
        );
    }

    #[test]
    fn instructions_are_told_where_their_change_is_certain() {
        let message = |before, after, half| instructions(&changed(before, after, half));
        assert_eq!(message(50_000.0, 52_400.0, 100.0).as_deref(), Some("instructions +4.8%"));
        assert_eq!(message(50_000.0, 49_000.0, 100.0).as_deref(), Some("instructions −2.0%"));
        assert_eq!(message(50_000.0, 150_000.0, 100.0).as_deref(), Some("instructions ×3.0"));
        let same = message(50_000.0, 50_010.0, 100.0);
        assert_eq!(same.as_deref(), Some("whether instructions changed is uncertain"));
        let by = Estimate::without_interval(500.0);
        let few = QuantityChange { before: 50_000.0, after: 50_500.0, by };
        assert_eq!(instructions(&few), None);
    }

    #[test]
    fn evidence_must_point_the_same_way() {
        let less = change(-10.0, &[(TimeTerm::OtherWait, -9.0)]);
        let counters = [counter("Innodb_row_lock_waits", 0.1, 0.5)];
        let found = terms(&less, Some(&counters), None, false).unwrap_or_default();
        assert!(found.starts_with("time per operation −10.0 µs, of which 90% is"), "{found}");
        assert!(!found.contains("row locks"), "{found}");
    }

    #[test]
    fn time_that_the_server_measured_comes_before_counts() {
        let found = change(200.0, &[(TimeTerm::OtherWait, 180.0)]);
        let waits = counter("Innodb_row_lock_waits", 0.0, 0.9);
        // The counter is in milliseconds.
        let message = |time: f64| {
            let counters = [waits.clone(), counter("Innodb_row_lock_time", 0.01, time)];
            terms(&found, Some(&counters), None, false).unwrap_or_default()
        };
        let long = message(0.15);
        assert!(long.contains("(waiting for row locks 10 → 150 µs per operation)"), "{long}");
        let short = message(0.05);
        assert!(short.contains("(waits for row locks per operation 0 → 0.90)"), "{short}");
    }

    #[test]
    fn caches_are_a_cause_only_where_reads_go_on_and_are_waited_for() {
        let misses = cached([0.0, 9.5], [false, true], 0.4);
        assert_eq!(
            misses.as_deref(),
            Some("KiB read from disk per operation 0 → 9.50: not all data is cached any more")
        );
        let hits = cached([26.0, 0.0], [true, false], 0.4).unwrap();
        assert!(hits.ends_with("26 → 0: the data is now cached"), "{hits}");
        // A fresh server reads each page once, shared by few operations.
        assert_eq!(cached([26.0, 0.0], [false, true], 0.4), None);
        assert_eq!(cached([0.0, 9.5], [true, false], 0.4), None);
        // Data in the kernel's cache cause no waits.
        assert_eq!(cached([0.0, 9.5], [false, true], 0.01), None);
        assert_eq!(cached([20.0, 26.0], [true, true], 0.4), None);
    }

    #[test]
    fn nothing_is_said_of_a_change_that_may_be_none() {
        let mut found = change(0.1, &[(TimeTerm::ServerCpu, 3.0), (TimeTerm::OtherWait, -2.9)]);
        assert_eq!(terms(&found, None, None, false), None);
        found.time.by = Estimate::without_interval(5.0);
        assert_eq!(terms(&found, None, None, false), None);
    }
}
