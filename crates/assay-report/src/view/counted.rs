//! The answer of a study that only counts instructions.

use assay_model::{CountVerdict, CountedBy, Estimate, Verdict, counted};
use assay_verdict::{CellJudgement, CountJudgement, SystemSummary, count_threshold, median, moved};

use super::answer::SystemAnswer;
use super::counts::{as_time, lines};
use super::study::JudgedStudy;
use crate::number::{duration, share};
use crate::words::sentence;

pub(super) fn answers<'a>(study: &'a JudgedStudy<'a>) -> Vec<SystemAnswer<'a>> {
    study.judgement.systems.iter().map(|summary| answer(study, summary)).collect()
}

/// Counts tests with more or fewer instructions than the base.
fn answer<'a>(study: &'a JudgedStudy<'a>, summary: &SystemSummary) -> SystemAnswer<'a> {
    let of_system = |cell: &&CellJudgement| cell.system == summary.system;
    let cells: Vec<&CellJudgement> = study.judgement.cells.iter().filter(of_system).collect();
    let counts: Vec<&CountJudgement> = cells.iter().filter_map(|it| it.count.as_ref()).collect();
    let count = |verdict| counts.iter().filter(|it| it.verdict == Some(verdict)).count();
    let (more, fewer) = (count(CountVerdict::More), count(CountVerdict::Fewer));
    let others = [
        (count(CountVerdict::Same), Said::Same),
        (count(CountVerdict::Undecided), Said::Undecided),
        (cells.iter().filter(|it| it.verdict == Verdict::Failed).count(), Said::Failed),
    ];
    let [same, undecided, failed] = others;
    let order = if fewer > more {
        [(fewer, Said::Fewer), (more, Said::More), same, undecided, failed]
    } else {
        [(more, Said::More), (fewer, Said::Fewer), same, undecided, failed]
    };
    let mut found = order.into_iter().filter(|(number, _)| *number > 0);
    let ratios: Vec<f64> = counts.iter().filter_map(|it| Some(it.ratio?.value)).collect();
    let median = median(&ratios)
        .filter(|_| ratios.len() > 1)
        .map_or_else(String::new, |median| format!(" (median over tests: {})", percent(median)));
    let (name, base) = (study.titled(summary.system), study.titled(study.base));
    let (name, base) = (name.as_str(), base.as_str());
    let tests = counted(cells.len() as u64, "test");
    let said = match found.next() {
        None => "is not counted yet".to_owned(),
        Some((number, first)) => {
            let rest = found.map(|(number, it)| format!(", {} {number}", it.short()));
            let rest: String = rest.collect();
            format!("{} in {number} of {tests}{rest}{median}", first.against(base))
        }
    };
    SystemAnswer {
        system: study.label(summary.system),
        sentence: format!("{name} {said}"),
        sentence_below_name: sentence(&said),
        reasons: with_background(&counts).into_iter().collect(),
        tendency: match more.cmp(&fewer) {
            std::cmp::Ordering::Greater => Verdict::Slower,
            std::cmp::Ordering::Less => Verdict::Faster,
            std::cmp::Ordering::Equal => Verdict::Same,
        },
        counts: Vec::new(),
        tests: Vec::new(),
        largest: Vec::new(),
    }
}

/// Tests in which background threads change the verdict: `With background threads: more instructions in 1 test, fewer
/// in 3`. `None` without any.
fn with_background(counts: &[&CountJudgement]) -> Option<String> {
    counts.iter().find_map(|count| moved(count))?;
    let count = |verdict| {
        let totals = counts.iter().filter_map(|count| count.total?.verdict);
        totals.filter(|it| *it == verdict).count() as u64
    };
    let [more, fewer, same, undecided] =
        [CountVerdict::More, CountVerdict::Fewer, CountVerdict::Same, CountVerdict::Undecided]
            .map(|verdict| counted(count(verdict), "test"));
    Some(format!(
        "With background threads: more instructions in {more}, fewer in {fewer}, as many in {same}, undecided in \
         {undecided}."
    ))
}

#[derive(Debug, Clone, Copy)]
enum Said {
    More,
    Fewer,
    Same,
    Undecided,
    Failed,
}

impl Said {
    fn against(self, base: &str) -> String {
        match self {
            Self::More => format!("executes more instructions than {base}"),
            Self::Fewer => format!("executes fewer instructions than {base}"),
            Self::Same => format!("executes as many instructions as {base}"),
            Self::Undecided => format!("is undecided against {base}"),
            Self::Failed => "could not be counted".to_owned(),
        }
    }

    fn short(self) -> &'static str {
        match self {
            Self::More => "more in",
            Self::Fewer => "fewer in",
            Self::Same => "as many in",
            Self::Undecided => "undecided in",
            Self::Failed => "not counted in",
        }
    }
}

/// How the counts behind the answer were taken.
pub(super) fn basis(study: &JudgedStudy) -> String {
    let record = study.record;
    let count = record.counts.first().map(|it| &it.count);
    let by = count.map_or(CountedBy::default(), |count| count.by).word();
    let instances = || record.counts.iter().map(|it| it.count.instances.len() as u64);
    let (least, most) = (instances().min().unwrap_or(0), instances().max().unwrap_or(0));
    let servers = match least == most {
        true => counted(most, "fresh server"),
        false => format!("{least} to {}", counted(most, "fresh server")),
    };
    format!(
        "counted by {by} on {servers} of each system, {}; changes below {} are ignored",
        duration(record.elapsed_s()),
        share(count_threshold(&record.study)),
    )
}

/// Threads whose instructions changed, where that matters, and the functions that make up most of a change.
pub(super) fn causes(cell: &CellJudgement) -> Option<String> {
    let parts: Vec<String> =
        moved(cell.count.as_ref()?).into_iter().chain(largest_functions(cell)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn largest_functions(cell: &CellJudgement) -> Option<String> {
    let functions = cell.count.as_ref()?.functions.as_ref()?;
    let (shown, _) = lines(functions, NAMED);
    let named = shown.iter().map(|line| format!("{} {:+.0}", line.name, line.change));
    let named: Vec<String> = named.map(|it| it.replace('-', "−")).collect();
    (!named.is_empty()).then(|| format!("instructions per operation: {}", named.join(", ")))
}

/// Translates more or fewer instructions to slower or faster. `None` if neither was found, with background threads or
/// without.
pub(super) fn called(cell: &CellJudgement) -> Option<Verdict> {
    let count = cell.count.as_ref()?;
    let with_background = count.total.and_then(|total| total.verdict);
    let verdicts = [count.verdict?, with_background.unwrap_or_default()].map(as_time);
    verdicts.into_iter().find(|it| matches!(it, Verdict::Slower | Verdict::Faster))
}

const NAMED: usize = 3;

/// With the interval, to 0.01%: counts are that exact.
pub(super) fn change(Estimate { value, low, high }: Estimate) -> String {
    format!("{} [{}, {}]", percent(value), percent(low), percent(high))
}

fn percent(ratio: f64) -> String {
    format!("{:+.2}%", 100.0 * (ratio - 1.0)).replace('-', "−")
}
