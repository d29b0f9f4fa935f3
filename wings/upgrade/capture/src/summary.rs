//! Summary of a capture for the terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use assay_model::{Dialect, SessionSetting, counted, thousands};

use crate::capture::CapturedLogs;
use crate::fingerprints::Fingerprint;
use crate::plan::{CapturePlan, CapturedWork, TestContent};
use crate::reader::Skip;
use crate::render::shown;
use crate::settings::LostSettings;
use crate::time;

const ROWS: usize = 20;

const SETS: usize = 5;

const NAME: usize = 40;

/// Lines have at most `width` columns.
pub fn summary(captured: &CapturedLogs, plan: &CapturePlan, width: usize) -> String {
    let mut text = String::new();
    read(captured, &mut text);
    left_out(captured, plan, &mut text);
    tests(captured, plan, width, &mut text);
    text
}

fn read(captured: &CapturedLogs, text: &mut String) {
    let counts = &captured.counts;
    let _ = write!(text, "read       {}", counted(counts.statements, "statement"));
    if captured.sessions > 0 {
        let _ = write!(text, " of {}", counted(captured.sessions, "session"));
    }
    if let Some((first, last)) = counts.span_us.filter(|(first, last)| first < last) {
        let _ = write!(text, ", {} to {} UTC", time::shown(first), time::shown(last));
        let _ = write!(text, " ({})", duration((last - first) as f64));
    }
    text.push('\n');
    for file in &counts.files {
        let _ = writeln!(
            text,
            "file       {} ({}, {})",
            file.name,
            file.format,
            counted(file.lines, "line")
        );
    }
    for file in counts.files.iter().filter(|it| it.is_cut) {
        let _ = writeln!(
            text,
            "note       {} is cut off: the end of its compressed content is missing",
            file.name
        );
    }
    let transactions = captured.transactions;
    if transactions.ended > 0 {
        let shapes = counted(captured.shapes.len() as u64, "kind");
        let _ = writeln!(
            text,
            "found      {} with several statements, of {shapes}",
            counted(transactions.ended, "transaction")
        );
    }
}

fn skipped(text: &mut String, count: u64, one: &str, which: &str) {
    let _ = writeln!(text, "skipped    {} {which}", counted(count, one));
}

fn left_out(captured: &CapturedLogs, plan: &CapturePlan, text: &mut String) {
    for (why, count) in
        Skip::ALL.iter().filter_map(|why| captured.counts.skipped.get_key_value(why))
    {
        let (one, which) = why.what();
        skipped(text, *count, one, which);
    }
    let (left, transactions) = (&plan.left_out, captured.transactions);
    let of_statements = [
        (left.writes, "call", "of statements that write; `--writes` keeps them"),
        (
            left.following,
            "call",
            "of statements that ask about the one before them, such as FOUND_ROWS() and LAST_INSERT_ID(): alone they \
             mean nothing",
        ),
        (
            left.transactions,
            "transaction",
            "with such statements; their queries are kept one by one",
        ),
    ];
    for (count, one, which) in of_statements.into_iter().filter(|(count, ..)| *count > 0) {
        skipped(text, count, one, which);
    }
    for (name, calls) in &left.databases {
        skipped(text, *calls, "call", &format!("in database {name}; `--database {name}` keeps it"));
    }
    if left.dialect > 0 {
        skipped(text, left.dialect, "call", "in the other dialect");
    }
    if left.unknown > 0 {
        let calls = counted(left.unknown_calls, "call");
        let which =
            format!("without known values ({calls}); the workload file has them as comments");
        skipped(text, left.unknown as u64, "statement", &which);
    }
    if left.beyond > 0 {
        let share = match plan.time_us {
            Some(all) if all > 0.0 => format!(", {} of the time", percent(left.beyond_us / all)),
            _ => String::new(),
        };
        let calls = counted(left.beyond_calls, "call");
        let which = format!("beyond the limit ({calls}{share}); `--limit` keeps more");
        skipped(text, left.beyond as u64, "test", &which);
    }
    let of_transactions = [
        (transactions.long, "with more than 50 statements or 1,000 values"),
        (transactions.unfinished, "without an end in the log, or in which something failed"),
        (
            transactions.changing,
            "that change settings of the session between statements; their statements are kept one by one",
        ),
    ];
    for (count, which) in of_transactions.into_iter().filter(|(count, _)| *count > 0) {
        skipped(text, count, "transaction", which);
    }
    if left.settings > 0 {
        let sets = counted(left.settings as u64, "set of settings");
        let which = format!("with {sets} beyond the limit of 16");
        skipped(text, left.settings_calls, "call", &which);
    }
    settings(captured, plan, text);
    troubles(captured, text);
}

fn troubles(captured: &CapturedLogs, text: &mut String) {
    let counts = &captured.counts;
    if counts.clock_changes > 0 {
        let what = counted(counts.clock_changes, "time");
        let _ = writeln!(text, "note       the clock of the log goes back {what}");
    }
    if counts.unreadable > 0 {
        let lines = counted(counts.unreadable, "line");
        let _ = writeln!(text, "unreadable {lines}; the first:");
        for it in &counts.first_unreadable {
            let _ = writeln!(text, "           {}:{}: {}", it.file, it.line, it.text);
        }
    }
}

fn tests(captured: &CapturedLogs, plan: &CapturePlan, width: usize, text: &mut String) {
    if let Some(name) = &plan.database {
        let _ = writeln!(text, "database   {name}");
    }
    // The same statement with other session settings has separate fingerprints and tests.
    let different: BTreeSet<_> = captured.fingerprints.iter().map(of_fingerprint).collect();
    let _ = writeln!(
        text,
        "tests      {}, from {} of the log{}",
        plan.works.len(),
        counted(different.len() as u64, "different statement"),
        because(captured, plan)
    );
    if plan.works.is_empty() {
        return;
    }
    let shown = &plan.works[..plan.works.len().min(ROWS)];
    let longest = shown.iter().map(|it| it.name.len()).max().unwrap_or(0).clamp(4, NAME);
    let _ = writeln!(
        text,
        "\n  # {:longest$} {:>10} {:>6} {:>8} {:>8}  statement",
        "test", "calls", "share", "mean", "slowest"
    );
    for (number, work) in (1..).zip(shown) {
        let (mean, slowest) = times(captured, plan, work);
        let name: String = work.name.chars().take(NAME).collect();
        let line = format!(
            "{number:>3} {name:longest$} {:>10} {:>6} {mean:>8} {slowest:>8}  {}",
            thousands(work.calls),
            percent(plan.share(work)),
            statement(captured, work)
        );
        let cut: String = line.chars().take(width).collect();
        let _ = writeln!(text, "{}", cut.trim_end());
    }
    if let Some(more) = plan.works.len().checked_sub(ROWS).filter(|more| *more > 0) {
        let _ = writeln!(text, "    and {more} more");
    }
}

/// Identifies a statement regardless of its session settings.
fn of_fingerprint(it: &Fingerprint) -> (&[u8], bool, Option<u32>) {
    (&it.text, it.dialect == Dialect::Postgres, it.database)
}

/// Settings that split a statement into several tests, as text; empty if none do.
fn because(captured: &CapturedLogs, plan: &CapturePlan) -> String {
    let mut sets: BTreeMap<Vec<_>, Vec<&[SessionSetting]>> = BTreeMap::new();
    for work in &plan.works {
        let sent = captured.sent(work.what).into_iter().map(of_fingerprint).collect();
        sets.entry(sent).or_default().push(captured.settings_of(work.what));
    }
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for sets in sets.values() {
        let mut values: BTreeMap<&str, (usize, BTreeSet<&str>)> = BTreeMap::new();
        for setting in sets.iter().flat_map(|set| set.iter()) {
            let (count, of_name) = values.entry(setting.name()).or_default();
            *count += 1;
            of_name.insert(setting.value());
        }
        // A session without the setting has the server's value.
        let differs =
            |(count, values): &(usize, BTreeSet<&str>)| values.len() > 1 || *count < sets.len();
        names.extend(values.iter().filter(|(_, it)| differs(it)).map(|(name, _)| name));
    }
    match names.is_empty() {
        true => String::new(),
        false => {
            let names: Vec<&str> = names.into_iter().collect();
            format!(", because sessions set {} differently", names.join(", "))
        }
    }
}

/// Session settings, unsupported changes, and sessions that may have set more.
fn settings(captured: &CapturedLogs, plan: &CapturePlan, text: &mut String) {
    let mut sets: Vec<(&[SessionSetting], u64)> = Vec::new();
    for work in &plan.works {
        let set = captured.settings_of(work.what);
        match sets.iter_mut().find(|(other, _)| *other == set) {
            Some((_, calls)) => *calls += work.calls,
            None => sets.push((set, work.calls)),
        }
    }
    sets.retain(|(set, _)| !set.is_empty());
    sets.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
    for (set, calls) in sets.iter().take(SETS) {
        let set: Vec<String> = set.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "session    {}: {}", set.join(", "), counted(*calls, "call"));
    }
    if let Some(more) = sets.len().checked_sub(SETS).filter(|it| *it > 0) {
        let _ = writeln!(text, "session    {}", counted(more as u64, "more set of settings"));
    }
    let LostSettings { count, first } = &captured.not_carried;
    if *count > 0 {
        let what = counted(*count, "change");
        let _ = writeln!(
            text,
            "note       {what} of settings cannot be carried, so statements run without: {}{}",
            first.join(", "),
            if *count > first.len() as u64 { ", ..." } else { "" }
        );
    }
    let (before, _) = captured.begun_before;
    if before > 0 {
        let _ = writeln!(
            text,
            "note       the logs do not show the beginning of {}: what they set before is not known",
            counted(before, "session")
        );
    }
}

fn times(captured: &CapturedLogs, plan: &CapturePlan, work: &CapturedWork) -> (String, String) {
    if plan.time_us.is_none() {
        return ("-".to_owned(), "-".to_owned());
    }
    let mean = duration(work.time_us / work.calls.max(1) as f64);
    let slowest = match work.what {
        TestContent::Statement(number) => duration(captured.fingerprints[number].slowest_us),
        TestContent::Transaction(_) => "-".to_owned(),
    };
    (mean, slowest)
}

fn statement(captured: &CapturedLogs, work: &CapturedWork) -> String {
    let texts = captured.sent(work.what).into_iter().map(|statement| shown(&statement.text));
    texts.collect::<Vec<_>>().join("; ")
}

/// A share such as `35%`, with a decimal below 10%.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 9.95 { format!("{percent:.0}%") } else { format!("{percent:.1}%") }
}

pub(crate) fn duration(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 1e3 => (us, "µs"),
        us if us < 1e6 => (us / 1e3, "ms"),
        us if us < 120e6 => (us / 1e6, "s"),
        us if us < 7200e6 => (us / 60e6, "min"),
        us => (us / 3600e6, "h"),
    };
    if value >= 9.95 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_shares_are_short() {
        assert_eq!(duration(0.4), "0.4 µs");
        assert_eq!(duration(1234.0), "1.2 ms");
        assert_eq!(duration(90e6), "90 s");
        assert_eq!(duration(36e8), "60 min");
        assert_eq!(percent(0.35), "35%");
        assert_eq!(percent(0.051), "5.1%");
    }
}
