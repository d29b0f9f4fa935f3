//! The change of a test's time per operation, term by term.

use std::borrow::Cow;

use assay_model::STATUS_LEVELS;
use assay_verdict::{CellJudgement, QuantityChange, TimeTerm};

use crate::document::{Column, Row, Table};
use crate::number::figure;
use crate::ratio::{is_fraction, short};

pub(super) struct AccountRow {
    pub(super) name: Cow<'static, str>,
    pub(super) by: String,
    pub(super) share: String,
    pub(super) is_certain: bool,
}

/// Certain changes stand out.
pub(super) fn table(lines: &[AccountRow], headings: [&str; 3]) -> Table {
    let row = |line: &AccountRow| Row {
        class: if line.is_certain { "y" } else { "" },
        ..Row::new([line.name.as_ref(), line.by.as_str(), line.share.as_str()])
    };
    Table::new(headings.map(Column::words).to_vec(), lines.iter().map(row))
}

/// Smallest share of a change of server CPU for which the kernel has a line.
const KERNEL_SHARE: f64 = 0.5;

/// Empty if nothing was counted.
pub(super) fn rows(cell: &CellJudgement) -> Vec<AccountRow> {
    let Some(change) = &cell.change else { return Vec::new() };
    let tells_disk = change.tells_disk();
    let share = |changed: &QuantityChange| {
        let share = changed.by.value / change.time.by.value;
        // A share of a change that may be zero is meaningless.
        let is_told = changed.is_certain() && change.time.is_certain();
        // A share is at most the whole. If a term exceeds it, another one fell, as the changes show.
        let is_told = is_told && (0.0..1.005).contains(&share);
        if is_told { format!("{:.0}%", 100.0 * share).replace('-', "−") } else { String::new() }
    };
    let mut rows = Vec::with_capacity(change.terms.len() + 3);
    // Many tests never wait for the disk.
    for (term, changed) in change.terms.iter().filter(|(_, changed)| changed.by.value != 0.0) {
        rows.push(row(term.word(tells_disk), changed, share(changed)));
        let kernel = change.kernel_cpu.as_ref().filter(|_| *term == TimeTerm::ServerCpu);
        // Most changes of server CPU are in user mode, which is the rest.
        let is_worth_it = |it: &&QuantityChange| {
            it.is_certain() && it.by.value / changed.by.value >= KERNEL_SHARE
        };
        let kernel = kernel.filter(is_worth_it);
        rows.extend(kernel.map(|it| row("of which in the kernel", it, String::new())));
    }
    rows.push(row("time per operation", &change.time, String::new()));
    let background = change.background_cpu.as_ref();
    let name = "apart: CPU of other threads";
    rows.extend(background.map(|changed| row(name, changed, String::new())));
    rows
}

const COUNTERS: usize = 12;

pub(super) fn counters(cell: &CellJudgement) -> Vec<(String, [String; 3])> {
    let changes = cell.counters.iter().flatten().take(COUNTERS);
    let texts = |change: &QuantityChange| {
        let by = match change.after / change.before {
            none if none == 0.0 || !none.is_finite() => String::new(),
            fraction if is_fraction(fraction) => format!("÷{}", short(1.0 / fraction)),
            factor => format!("×{}", short(factor)),
        };
        [number(change.before), number(change.after), by]
    };
    let name = |name: &str| match STATUS_LEVELS.contains(&name) {
        true => format!("{name} (mean)"),
        false => name.to_owned(),
    };
    changes.map(|it| (name(&it.name), texts(&it.changed))).collect()
}

/// Shows 0 below one in a thousand operations.
fn number(value: f64) -> String {
    if value < 0.1 { format!("{value:.3}") } else { figure(Some(value)) }
}

pub(super) fn row(
    name: impl Into<Cow<'static, str>>,
    changed: &QuantityChange,
    share: String,
) -> AccountRow {
    row_with_digits(name, changed, share, 2)
}

pub(super) fn row_with_digits(
    name: impl Into<Cow<'static, str>>,
    changed: &QuantityChange,
    share: String,
    digits: usize,
) -> AccountRow {
    let signed = |value: f64| format!("{value:+.digits$}").replace('-', "−");
    let interval = match changed.by.has_interval() {
        true => format!(" [{}, {}]", signed(changed.by.low), signed(changed.by.high)),
        false => " (no interval)".to_owned(),
    };
    AccountRow {
        name: name.into(),
        by: format!("{}{interval}", signed(changed.by.value)),
        share,
        is_certain: changed.is_certain(),
    }
}
