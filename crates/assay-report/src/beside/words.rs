//! Texts and table cells of a study beside another one.

use assay_verdict::{Agreement, GroupBeside, TestBeside};

use crate::ratio::{Quotient, Ratio, short};
use crate::view::beside::{Beside, Pair};

pub(super) fn prose(beside: &Beside) -> Vec<String> {
    let answers = beside.pairs.iter().map(|pair| pair.answer.clone());
    answers.chain(beside.differences.iter().map(|line| format!("note: {line}"))).collect()
}

pub(super) fn sign(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "= agrees",
        Agreement::Differs => "≠ differs",
        Agreement::TooWide => "? too wide",
        Agreement::Unknown => "? unknown",
    }
}

pub(super) fn word(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "agrees",
        Agreement::Differs => "differs",
        Agreement::TooWide => "too-wide",
        Agreement::Unknown => "unknown",
    }
}

pub(super) fn cells(test: &TestBeside, several: bool) -> [String; 5] {
    let setup = if several { format!(" at {}", test.cell.setup) } else { String::new() };
    [
        format!("{}{setup}", test.cell.test.name()),
        Ratio(Some(test.ours)).value_with_interval(),
        Ratio(Some(test.theirs)).value_with_interval(),
        Quotient(Some(test.quotient)).value_with_interval(),
        sign(test.agreement).to_owned(),
    ]
}

pub(super) const HEADINGS: [&str; 4] = ["here", "there", "here / there", ""];

pub(super) fn has_several(beside: &Beside) -> bool {
    beside.ours.study.setups.len() > 1
}

pub(super) fn heading(pair: &Pair) -> String {
    let [base, other] = &pair.names;
    let [their_base, their_other] = pair.their_names;
    format!(
        "QPS of {other} relative to {base} here, of {their_other} relative to {their_base} there"
    )
}

pub(super) const GROUP_HEADINGS: [&str; 6] =
    ["n", "median here", "there", "here / there", "range here", "range there"];

pub(super) fn group_cells(group: &GroupBeside, several: bool) -> [String; 7] {
    let setup = if several { format!(" at {}", group.setup) } else { String::new() };
    let range = |[least, most]: [f64; 2]| format!("{} to {}", short(least), short(most));
    [
        format!("{}{setup}", group.group.word),
        group.tests.to_string(),
        short(group.ours),
        short(group.theirs),
        short(group.ours / group.theirs),
        range(group.our_range),
        range(group.their_range),
    ]
}
