//! What instructions say of a change of QPS, or where QPS tell none, in words.

use assay_model::{CountVerdict, Estimate, Verdict};

use crate::CountJudgement;

/// What makes instructions take longer.
const PACE: &str = "(caches, waits, the kernel)";

/// `6% slower; 4.8% more instructions, the rest is time per instruction (caches, waits, the kernel)`, or
/// `undecided in QPS, but 2.1% more instructions`. `None` where the count adds nothing to the verdict.
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
    let (speed, pace) = match is_slower {
        true => (slower(rqps.value), "more"),
        false => (faster(rqps.value), "less"),
    };
    let agrees = (called == CountVerdict::More) == is_slower;
    Some(match called {
        CountVerdict::Undecided => return None,
        CountVerdict::Same => {
            format!("{speed} with as many instructions, each of which takes {pace} time {PACE}")
        }
        _ if !agrees => {
            format!("{speed} despite {instructions}, because each takes {pace} time {PACE}")
        }
        _ => match rest(rqps, ratio) {
            None => format!("{speed}; {instructions}, which account for it"),
            Some(rest) if (rest > 0.0) == is_slower => {
                format!("{speed}; {instructions}, the rest is time per instruction {PACE}")
            }
            Some(_) => {
                let other = if is_slower { "less" } else { "more" };
                format!("{speed}; {instructions}, each of which takes {other} time {PACE}")
            }
        },
    })
}

fn is_change(verdict: CountVerdict) -> bool {
    matches!(verdict, CountVerdict::More | CountVerdict::Fewer)
}

/// The part of the change that instructions do not explain: the logarithm of the ratio of times per instruction. `None`
/// if it may be none.
fn rest(rqps: Estimate, count: Estimate) -> Option<f64> {
    let half = |it: Estimate| 0.5 * (it.high / it.low).ln();
    let rest = -rqps.value.ln() - count.value.ln();
    let error = half(rqps).hypot(half(count));
    (rest.abs() > error).then_some(rest)
}

/// `4.8% more instructions`, `2.6 times as many instructions`.
fn instructions(ratio: f64) -> String {
    match ratio {
        factor if !(0.1..2.0).contains(&factor) => {
            format!("{factor:.1} times as many instructions")
        }
        more if more >= 1.0 => format!("{} more instructions", percent(more - 1.0)),
        fewer => format!("{} fewer instructions", percent(1.0 - fewer)),
    }
}

fn slower(rqps: f64) -> String {
    match rqps {
        factor if factor < 0.5 => format!("{:.1} times slower", 1.0 / factor),
        part => format!("{} slower", percent(1.0 - part)),
    }
}

fn faster(rqps: f64) -> String {
    match rqps {
        factor if factor >= 2.0 => format!("{factor:.1} times faster"),
        part => format!("{} faster", percent(part - 1.0)),
    }
}

/// `4.8%`, `6%`, `12%`: a decimal where it says something.
fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    let decimals = usize::from(percent < 9.95);
    let text = format!("{percent:.decimals$}");
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use assay_model::CountedBy;

    use super::*;

    fn within(value: f64, half: f64) -> Estimate {
        Estimate { value, low: value - half, high: value + half }
    }

    fn said(verdict: Verdict, rqps: f64, count: f64, called: CountVerdict) -> Option<String> {
        let judged = CountJudgement {
            left_out: 0,
            by: CountedBy::Callgrind,
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
        let told = |verdict, rqps, count, called| said(verdict, rqps, count, called).unwrap();
        let slower = |rqps, count, called| told(Verdict::Slower, rqps, count, called);
        assert_eq!(
            slower(0.90, 1.048, More),
            "10% slower; 4.8% more instructions, the rest is time per instruction (caches, waits, the kernel)"
        );
        // The interval of QPS is too wide for a rest.
        assert_eq!(
            slower(0.94, 1.06, More),
            "6% slower; 6% more instructions, which account for it"
        );
        assert_eq!(
            slower(0.94, 1.3, More),
            "6% slower; 30% more instructions, each of which takes less time (caches, waits, the kernel)"
        );
        assert_eq!(
            slower(0.94, 0.97, Fewer),
            "6% slower despite 3% fewer instructions, because each takes more time (caches, waits, the kernel)"
        );
        assert_eq!(
            slower(0.4, 1.001, Same),
            "2.5 times slower with as many instructions, each of which takes more time (caches, waits, the kernel)"
        );
        assert_eq!(
            told(Verdict::Faster, 1.25, 0.9, Fewer),
            "25% faster; 10% fewer instructions, the rest is time per instruction (caches, waits, the kernel)"
        );
        assert_eq!(
            told(Verdict::Faster, 1.1, 0.7, Fewer),
            "10% faster; 30% fewer instructions, each of which takes more time (caches, waits, the kernel)"
        );
        assert_eq!(said(Verdict::Slower, 0.9, 1.01, Undecided), None);
    }

    #[test]
    fn a_count_speaks_where_qps_say_nothing() {
        use CountVerdict::{Fewer, More, Same};
        let told = |verdict, count, called| said(verdict, 0.99, count, called);
        let undecided = told(Verdict::Undecided, 1.021, More);
        assert_eq!(undecided.as_deref(), Some("undecided in QPS, but 2.1% more instructions"));
        let same = told(Verdict::Same, 0.992, Fewer);
        assert_eq!(same.as_deref(), Some("the same in QPS, but 0.8% fewer instructions"));
        let many = told(Verdict::Undecided, 2.62, More);
        assert_eq!(many.as_deref(), Some("undecided in QPS, but 2.6 times as many instructions"));
        assert_eq!(told(Verdict::Undecided, 1.0, Same), None);
        assert_eq!(told(Verdict::Failed, 1.2, More), None);
        assert_eq!(told(Verdict::Uneven, 1.2, More), None);
    }

    #[test]
    fn a_change_without_an_interval_is_not_divided() {
        let judged = CountJudgement {
            left_out: 0,
            by: CountedBy::Callgrind,
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
