//! Sentences on the share of instructions in a change of QPS.

use assay_model::{CountVerdict, Estimate, Verdict, thousands};

use crate::CountJudgement;

const REST: &str = "(client, kernel, waits, caches)";

/// `6% slower; 4.8% more instructions, the rest is not instructions (client, kernel, waits, caches)`, or `undecided in
/// QPS, but 2.1% more instructions`. `None` where the count adds nothing to the verdict.
pub(crate) fn sentence(
    verdict: Verdict,
    rqps: Option<Estimate>,
    count: &CountJudgement,
) -> Option<String> {
    let (ratio, called) = (count.ratio?, count.verdict?);
    let instructions = instructions(ratio.value);
    let rqps = match verdict {
        Verdict::Slower | Verdict::Faster => rqps.filter(|it| it.has_interval() && it.low > 0.0)?,
        Verdict::Undecided | Verdict::Same if is_change(called) => {
            let qps = if verdict == Verdict::Same { "the same" } else { "undecided" };
            return Some(format!("{qps} in QPS, but {instructions}"));
        }
        _ => return None,
    };
    let is_slower = verdict == Verdict::Slower;
    let speed = if is_slower { slower(rqps.value) } else { faster(rqps.value) };
    let agrees = (called == CountVerdict::More) == is_slower;
    Some(match called {
        CountVerdict::Undecided => return None,
        CountVerdict::Same => {
            format!("{speed} with as many instructions: the change is not in instructions {REST}")
        }
        _ if !agrees => {
            format!("{speed} despite {instructions}: the change is not in instructions {REST}")
        }
        _ => match UnexplainedRest::from_ratios(rqps, ratio) {
            UnexplainedRest::Small => format!("{speed}; {instructions}, about in proportion"),
            UnexplainedRest::Unknown => {
                format!("{speed}; {instructions}; whether anything else changed too is uncertain")
            }
            UnexplainedRest::Known(rest) if (rest > 0.0) == is_slower => {
                format!("{speed}; {instructions}, the rest is not instructions {REST}")
            }
            UnexplainedRest::Known(_) => {
                let changed = if is_slower { "grew" } else { "shrank" };
                format!("{speed}; {instructions}; the rest of an operation {changed} less {REST}")
            }
        },
    })
}

/// The threads whose instructions changed, if the verdict with background threads differs from that of the serving
/// thread: `43% more instructions in the serving thread, but 10% fewer instructions with background threads, whose
/// instructions per operation went from 50,847 to 3,939`. `None` if both verdicts are equal, or one is missing.
pub fn moved(count: &CountJudgement) -> Option<String> {
    let (serving, total) = (count.verdict?, count.total.as_ref()?);
    let with_background = total.verdict?;
    if serving == with_background || !(is_change(serving) || is_change(with_background)) {
        return None;
    }
    let words = |verdict, ratio: Option<Estimate>| {
        Some(match verdict {
            CountVerdict::More | CountVerdict::Fewer => instructions(ratio?.value),
            CountVerdict::Same => "as many instructions".to_owned(),
            CountVerdict::Undecided => "no certain change of instructions".to_owned(),
        })
    };
    let (own, all) = (words(serving, count.ratio)?, words(with_background, total.ratio)?);
    let [before, after] =
        [total.base_background?, count.background?].map(|it| thousands(it.round() as u64));
    Some(format!(
        "{own} in the serving thread, but {all} with background threads, whose instructions per operation went from \
         {before} to {after}"
    ))
}

fn is_change(verdict: CountVerdict) -> bool {
    matches!(verdict, CountVerdict::More | CountVerdict::Fewer)
}

/// The part of a change of QPS not due to instructions: log ratio of times minus that of instructions.
enum UnexplainedRest {
    /// Its interval excludes zero.
    Known(f64),
    Small,
    Unknown,
}

/// A rest is small if its whole interval is below this share of the change.
const SMALL: f64 = 0.25;

impl UnexplainedRest {
    fn from_ratios(rqps: Estimate, count: Estimate) -> Self {
        let half = |it: Estimate| 0.5 * (it.high / it.low).ln();
        let change = -rqps.value.ln();
        let rest = change - count.value.ln();
        let error = half(rqps).hypot(half(count));
        match rest.abs() {
            size if size > error => Self::Known(rest),
            size if size + error <= SMALL * change.abs() => Self::Small,
            _ => Self::Unknown,
        }
    }
}

/// `4.8% more instructions`, `2.6 times as many instructions`, `12 times fewer instructions`.
fn instructions(ratio: f64) -> String {
    match ratio {
        factor if factor >= 2.0 => format!("{} times as many instructions", factor_text(factor)),
        more if more >= 1.0 => format!("{} more instructions", percent(more - 1.0)),
        fewer if fewer >= 0.1 => format!("{} fewer instructions", percent(1.0 - fewer)),
        part => format!("{} times fewer instructions", factor_text(1.0 / part)),
    }
}

fn slower(rqps: f64) -> String {
    match rqps {
        part if part < 0.5 => format!("{} times slower", factor_text(1.0 / part)),
        part => format!("{} slower", percent(1.0 - part)),
    }
}

fn faster(rqps: f64) -> String {
    match rqps {
        factor if factor >= 2.0 => format!("{} times faster", factor_text(factor)),
        part => format!("{} faster", percent(part - 1.0)),
    }
}

/// `2.6`, `13`, `2,600`: a factor of at least two.
fn factor_text(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1}") } else { thousands(factor.round() as u64) }
}

/// `4.8%`, `6%`, `12%`: a decimal only where it matters.
fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    let decimals = usize::from(percent < 9.95);
    let text = format!("{percent:.decimals$}");
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use assay_model::CountSource;

    use super::*;

    fn within(value: f64, half: f64) -> Estimate {
        Estimate { value, low: value - half, high: value + half }
    }

    fn said(verdict: Verdict, rqps: f64, count: f64, called: CountVerdict) -> Option<String> {
        let judged = CountJudgement {
            left_out: 0,
            total: None,
            by: CountSource::Callgrind,
            instructions: within(1000.0, 1.0),
            background: None,
            kernel: None,
            ratio: Some(within(count, 0.001)),
            verdict: Some(called),
            functions: None,
        };
        sentence(verdict, Some(within(rqps, 0.01)), &judged)
    }

    #[test]
    fn a_change_is_instructions_and_the_rest() {
        use CountVerdict::{Fewer, More, Same, Undecided};
        let message = |verdict, rqps, count, called| said(verdict, rqps, count, called).unwrap();
        let slower = |rqps, count, called| message(Verdict::Slower, rqps, count, called);
        assert_eq!(
            slower(0.90, 1.048, More),
            "10% slower; 4.8% more instructions, the rest is not instructions (client, kernel, waits, caches)"
        );
        assert_eq!(
            slower(0.87, 1.15, More),
            "13% slower; 15% more instructions, about in proportion"
        );
        // The interval of QPS leaves room for a rest of a third of the change.
        assert_eq!(
            slower(0.97, 1.03, More),
            "3% slower; 3% more instructions; whether anything else changed too is uncertain"
        );
        assert_eq!(
            slower(0.94, 1.3, More),
            "6% slower; 30% more instructions; the rest of an operation grew less (client, kernel, waits, caches)"
        );
        assert_eq!(
            slower(0.94, 0.97, Fewer),
            "6% slower despite 3% fewer instructions: the change is not in instructions (client, kernel, waits, caches)"
        );
        assert_eq!(
            slower(0.4, 1.001, Same),
            "2.5 times slower with as many instructions: the change is not in instructions (client, kernel, waits, \
             caches)"
        );
        assert_eq!(
            message(Verdict::Faster, 1.25, 0.9, Fewer),
            "25% faster; 10% fewer instructions, the rest is not instructions (client, kernel, waits, caches)"
        );
        assert_eq!(
            message(Verdict::Faster, 1.1, 0.7, Fewer),
            "10% faster; 30% fewer instructions; the rest of an operation shrank less (client, kernel, waits, caches)"
        );
        assert_eq!(said(Verdict::Slower, 0.9, 1.01, Undecided), None);
    }

    #[test]
    fn a_count_speaks_where_qps_say_nothing() {
        use CountVerdict::{Fewer, More, Same};
        let message = |verdict, count, called| said(verdict, 0.99, count, called);
        let undecided = message(Verdict::Undecided, 1.021, More);
        assert_eq!(undecided.as_deref(), Some("undecided in QPS, but 2.1% more instructions"));
        let same = message(Verdict::Same, 0.992, Fewer);
        assert_eq!(same.as_deref(), Some("the same in QPS, but 0.8% fewer instructions"));
        let many = message(Verdict::Undecided, 2.62, More);
        assert_eq!(many.as_deref(), Some("undecided in QPS, but 2.6 times as many instructions"));
        let few = message(Verdict::Undecided, 0.0796, Fewer);
        assert_eq!(few.as_deref(), Some("undecided in QPS, but 13 times fewer instructions"));
        assert_eq!(message(Verdict::Undecided, 1.0, Same), None);
        assert_eq!(message(Verdict::Failed, 1.2, More), None);
        assert_eq!(message(Verdict::Uneven, 1.2, More), None);
    }

    #[test]
    fn what_moved_between_threads_is_said() {
        let judged = |called, (ratio, verdict): (f64, CountVerdict)| CountJudgement {
            left_out: 0,
            by: CountSource::Callgrind,
            instructions: within(57_200.0, 1.0),
            background: Some(3_939.0),
            kernel: None,
            ratio: Some(within(1.43, 0.001)),
            verdict: Some(called),
            total: Some(crate::CountTotal {
                instructions: within(61_139.0, 1.0),
                ratio: Some(within(ratio, 0.001)),
                verdict: Some(verdict),
                base_background: Some(50_847.0),
            }),
            functions: None,
        };
        let found = moved(&judged(CountVerdict::More, (0.9, CountVerdict::Fewer))).unwrap();
        assert_eq!(
            found,
            "43% more instructions in the serving thread, but 10% fewer instructions with background threads, whose \
             instructions per operation went from 50,847 to 3,939"
        );
        let open = moved(&judged(CountVerdict::More, (1.2, CountVerdict::Undecided))).unwrap();
        assert!(open.contains("but no certain change of instructions with"), "{open}");
        assert_eq!(moved(&judged(CountVerdict::More, (1.2, CountVerdict::More))), None);
        assert_eq!(moved(&judged(CountVerdict::Same, (1.0, CountVerdict::Undecided))), None);
    }

    #[test]
    fn a_change_without_an_interval_is_not_divided() {
        let judged = CountJudgement {
            left_out: 0,
            total: None,
            by: CountSource::Callgrind,
            instructions: within(1000.0, 1.0),
            background: None,
            kernel: None,
            ratio: Some(within(1.1, 0.001)),
            verdict: Some(CountVerdict::More),
            functions: None,
        };
        for rqps in [None, Some(Estimate::at_most(0.01)), Some(Estimate::without_interval(0.9))] {
            assert_eq!(sentence(Verdict::Slower, rqps, &judged), None);
        }
    }
}
