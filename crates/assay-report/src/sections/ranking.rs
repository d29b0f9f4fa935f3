//! The ranking of systems, in words and as tables.

use assay_model::{Verdict, counted};
use assay_verdict::{RankedPair, Ranking};

use super::shades::{ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::document::{Block, Fold, Wish};
use crate::number::share;
use crate::ratio::Ratio;
use crate::text::Text;
use crate::words::listed;

/// Ranking over all tests in one line, fastest first; `None` without one.
pub(super) fn headline(study: &JudgedStudy) -> Option<String> {
    let overall = study.judgement.rankings.as_ref()?.overall.as_ref()?;
    Some(RankingWords { study, has_versions: true }.headline(overall))
}

/// The ranking over all tests and, unless the report is short, in each of them.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let Some(rankings) = &study.judgement.rankings else { return Vec::new() };
    let words = RankingWords { study, has_versions: true };
    let of_tests = RankingWords { study, has_versions: false };
    let table = rankings.overall.iter().map(|overall| {
        let table = words.table(overall);
        if wish.is_page() { Block::Table(table.table().untitled()) } else { table.block(wish) }
    });
    let mut blocks: Vec<Block> = table.collect();
    let is_single = study.record.study.cells.len() == 1;
    let test =
        |ranking: &Ranking| Some((study.cell_name(ranking.cell?), of_tests.order(ranking).into()));
    let tests: Vec<(String, Text)> =
        rankings.tests.iter().filter(|_| !is_single).filter_map(test).collect();
    if !tests.is_empty() && !wish.is_short() {
        let heading = wish.heading("fastest in each test");
        blocks.extend(Block::folded(heading, Fold::Closed, vec![Block::Facts(tests)]));
    }
    if wish.is_page() {
        return Block::place("ranking", "Ranking", "Which is the fastest", blocks);
    }
    blocks
}

struct RankingWords<'a> {
    study: &'a JudgedStudy<'a>,
    has_versions: bool,
}

impl RankingWords<'_> {
    fn names(&self, systems: &[usize]) -> String {
        let name = |system: usize| match self.has_versions {
            true => self.study.titled(system),
            false => self.study.label(system).to_owned(),
        };
        listed(&systems.iter().map(|&system| name(system)).collect::<Vec<_>>())
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
        share(self.study.threshold())
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
            ShadedRow::plain(self.study.label(system), texts)
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
