//! The ranking of systems, in words and as tables.

use assay_model::{Verdict, counted};
use assay_verdict::{RankedPair, Ranking, threshold};

use super::shaded::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::number::share;
use crate::ratio::Ratio;

pub(crate) struct RankingSection {
    /// Ranking over all tests in one line, fastest first; `None` without one.
    pub(crate) headline: Option<String>,
    pub(crate) overall: Option<ShadedTable>,
    /// A line for each test: its name and the order of the systems. Empty for a single test.
    pub(crate) tests: Vec<(String, String)>,
}

/// `None` without rankings.
pub(super) fn section(study: &JudgedStudy) -> Option<RankingSection> {
    let rankings = study.judgement.rankings.as_ref()?;
    let words = Words { study, has_versions: true };
    let of_tests = Words { study, has_versions: false };
    let test = |ranking: &Ranking| Some((study.cell_name(ranking.cell?), of_tests.order(ranking)));
    let is_single = study.record.study.cells.len() == 1;
    Some(RankingSection {
        headline: rankings.overall.as_ref().map(|it| words.headline(it)),
        overall: rankings.overall.as_ref().map(|it| words.table(it)),
        tests: rankings.tests.iter().filter(|_| !is_single).filter_map(test).collect(),
    })
}

struct Words<'a> {
    study: &'a JudgedStudy<'a>,
    has_versions: bool,
}

impl Words<'_> {
    fn names(&self, systems: &[usize]) -> String {
        let name = |system: usize| match self.has_versions {
            true => self.study.titled(system),
            false => self.study.label(system).to_owned(),
        };
        let names: Vec<String> = systems.iter().map(|&it| name(it)).collect();
        match names.as_slice() {
            [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            names => names.concat(),
        }
    }

    /// `fastest over 5 tests: a and b, which cannot be told apart; then c`.
    fn headline(&self, ranking: &Ranking) -> String {
        let over = match ranking.tests {
            1 => String::new(),
            tests => format!(" over {}", counted(tests, "test")),
        };
        let mut line = match ranking.groups.as_slice() {
            [all] => format!("none is the fastest for certain{over}: {}", self.group(ranking, all)),
            _ => format!("fastest{over}: {}", self.groups(ranking)),
        };
        if !ranking.unranked.is_empty() {
            line += &format!("; not ranked: {}", self.names(&ranking.unranked));
        }
        line
    }

    /// `a and b, which cannot be told apart; then c`.
    fn order(&self, ranking: &Ranking) -> String {
        match ranking.groups.as_slice() {
            [all] => self.group(ranking, all),
            _ => self.groups(ranking),
        }
    }

    fn groups(&self, ranking: &Ranking) -> String {
        let mut before: Vec<usize> = Vec::new();
        let mut groups: Vec<String> = Vec::with_capacity(ranking.groups.len());
        for group in &ranking.groups {
            let open: Vec<usize> = (before.iter().copied())
                .filter(|&earlier| group.iter().any(|&it| !ranking.tells_apart(earlier, it)))
                .collect();
            let not_from = match open.as_slice() {
                [] => String::new(),
                open => format!(" (not told apart from {})", self.names(open)),
            };
            groups.push(self.group(ranking, group) + &not_from);
            before.extend(group);
        }
        groups.join("; then ")
    }

    /// Indistinguishable systems: `a and b, which cannot be told apart`.
    fn group(&self, ranking: &Ranking, group: &[usize]) -> String {
        let names = self.names(group);
        if group.len() < 2 {
            return names;
        }
        let is_within = |it: &&RankedPair| group.contains(&it.above) && group.contains(&it.below);
        let mut within = ranking.pairs.iter().filter(is_within);
        if within.all(|pair| pair.verdict == Verdict::Same) {
            return format!("{names}, which are the same within {}", self.threshold());
        }
        format!("{names}, which cannot be told apart")
    }

    fn threshold(&self) -> String {
        share(threshold(&self.study.record.study))
    }

    fn table(&self, ranking: &Ranking) -> ShadedTable {
        let first = ranking.systems().next();
        let rows = ranking.systems().map(|system| {
            let ratio = match first.and_then(|first| ranking.pair(first, system)) {
                Some(pair) => Ratio(Some(pair.ratio)).value_with_interval(),
                None => "1".to_owned(),
            };
            let group = ranking.groups.iter().position(|group| group.contains(&system));
            let group = group.map_or_else(String::new, |it| (it + 1).to_string());
            let texts = [ranking.rank(system).to_string(), group, ratio];
            let cells = texts.map(|text| ShadedCell { text, shade: Shade::None });
            ShadedRow { name: self.study.label(system).to_owned(), cells: cells.into() }
        });
        let columns = ["rank", "group", "QPS relative to the first"];
        ShadedTable {
            title: "ranking".to_owned(),
            note: self.note(ranking),
            corner: "system",
            columns: columns.map(str::to_owned).into(),
            rows: rows.collect(),
        }
    }

    fn note(&self, ranking: &Ranking) -> String {
        let over = match ranking.tests {
            1 => String::new(),
            tests => format!("geometric mean over {}", counted(tests, "test")),
        };
        let left_out = match ranking.left_out {
            0 => String::new(),
            tests => format!("without {} that not all of them completed", counted(tests, "test")),
        };
        let pairs = counted(ranking.pairs.len() as u64, "pair");
        let rule = format!(
            "every system against every other from the same rounds; the intervals of all {pairs} hold at once with 95% \
             confidence; systems are told apart where theirs excludes 1 and they differ by more than {}; a rank is 1 \
             more than the number of systems that are faster for certain, and those of a group cannot be told apart",
            self.threshold()
        );
        let parts = [over, left_out, rule];
        parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ")
    }
}
