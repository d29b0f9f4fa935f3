//! Things to fix and to look at before an upgrade to a system, each counted once, even if several tests, answers and
//! events show it, and the outcomes of a user's captured statements. The head of a report counts what its body lists.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    AnswerPart, DumpFinding, DumpFindingKind, EventKind, Severity, StudyRecord, System, Verdict,
    counted,
};
use assay_verdict::{CellJudgement, ChangeCause, JudgedFigure};

use super::answers::{
    self, AnswersByStatement, ByStatement, FindingList, NAMED, about, differences, in_tests,
    restored, shown,
};
use super::cpu;
use super::startup;
use super::study::JudgedStudy;
use crate::document::{Block, Wish};
use crate::ratio::narrow;
use crate::words::{listed, shortened};

#[derive(Default)]
pub(super) struct ToDo<'a> {
    statements: AnswersByStatement<'a>,
    /// Tests that fail on the system only, by their first cells, without those covered by its answers.
    failing: Vec<&'a CellJudgement>,
    /// Settings of sessions that the system refuses and the base accepts.
    settings: Vec<String>,
    query_cache: Option<QueryCache>,
    /// Options of the config file that the system refuses and the base accepts, and those that are deprecated on the
    /// system only.
    options: [usize; 2],
    /// Plugins of the dump's users that the system lacks and the base has.
    logins: usize,
    /// Statements of the dump that the system refuses and the base accepts.
    of_dump: u64,
    /// Tests with a statement that the system refuses and the base accepts, with its errors.
    refused: BTreeMap<&'a str, Vec<&'a str>>,
}

/// Whether the study measures statements of a log, or compared those of a workload and found something.
fn is_of_statements(study: &JudgedStudy) -> bool {
    let roles = study.record.study.cells.iter().flat_map(|cell| &cell.id.test.definition().roles);
    let mut kinds = roles.flat_map(|role| &role.script.mix);
    kinds.any(|kind| kind.captured.is_some() || kind.logged.is_some())
        || study.record.events.iter().any(|event| {
            matches!(event.what, EventKind::AnswerDiffers(_) | EventKind::SettingRefused { .. })
        })
}

impl<'a> ToDo<'a> {
    /// Empty for a study of other statements.
    pub(super) fn for_system(study: &JudgedStudy<'a>, system: usize) -> Self {
        if !is_of_statements(study) {
            return Self::default();
        }
        let record = study.record;
        let mut refused: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let errors = differences(record)
            .filter(|(index, it)| *index == system && it.what == AnswerPart::Error);
        errors.for_each(|(_, it)| refused.entry(&it.test).or_default().push(&it.here));
        let options = [Severity::MustFix, Severity::LookAt].map(|wanted| {
            startup::options(record)
                .filter(|(index, _, it)| (*index, *it) == (system, wanted))
                .count()
        });
        Self {
            statements: AnswersByStatement::for_system(record, system),
            failing: failing(study, system, &refused),
            settings: answers::refused_settings(study, system),
            query_cache: query_cache(study, system),
            options,
            logins: startup::logins(record, study.base, system).len(),
            of_dump: refused_of_dump(record, study.base, system),
            refused,
        }
    }

    pub(super) fn tells(&self, test: &str, failure: Option<&str>) -> bool {
        let is_same = |message: Option<&str>| match (message, failure) {
            (Some(message), Some(failure)) => is_same_error(message, failure),
            (message, failure) => message == failure,
        };
        let mut refused = self.refused.get(test).into_iter().flatten();
        let mut failing = self.failing.iter().filter(|cell| cell.cell.test.name() == test);
        refused.any(|error| is_same(Some(error)))
            || failing.any(|it| is_same(it.failure.as_deref()))
    }

    fn counts(&self) -> [(u64, String); 2] {
        let AnswersByStatement { must_fix, look_at, of_connection, .. } = &self.statements;
        let several = |count: u64, one: &str| (count, counted(count, one));
        let total = |parts: Vec<(u64, String)>| {
            let parts: Vec<_> = parts.into_iter().filter(|(count, _)| *count > 0).collect();
            let words: Vec<String> = parts.iter().map(|(_, words)| words.clone()).collect();
            (parts.iter().map(|(count, _)| count).sum(), words.join(", "))
        };
        let [refused, deprecated] = self.options.map(|it| it as u64);
        let (failing, settings) = (self.failing.len() as u64, self.settings.len() as u64);
        let fix = total(vec![
            (refused, format!("{} of the config file", counted(refused, "option"))),
            several(self.logins as u64, "login plugin"),
            (must_fix.len() as u64, in_tests(must_fix)),
            (failing, format!("{} failing on it only", counted(failing, "test"))),
            several(settings, "session setting"),
            (self.of_dump, format!("{} of the dump", counted(self.of_dump, "statement"))),
        ]);
        let look = total(vec![
            (look_at.len() as u64, in_tests(look_at)),
            several(of_connection.len() as u64, "connection collation"),
            (u64::from(self.query_cache.is_some()), "the query cache".to_owned()),
            several(deprecated, "deprecated option"),
        ]);
        [fix, look]
    }
}

/// Number of statements of the dump that the system refuses and the base accepts.
fn refused_of_dump(record: &StudyRecord, base: usize, system: usize) -> u64 {
    let place = |it: &DumpFinding| (it.file.clone(), it.line, it.statement.clone());
    let refused = |wanted: usize| {
        let all = restored(record).filter(move |(index, _)| *index == wanted);
        all.map(|(_, it)| it).filter(|it| it.what == DumpFindingKind::Error)
    };
    let of_base: BTreeSet<_> = refused(base).map(place).collect();
    refused(system).filter(|it| !of_base.contains(&place(it))).map(|it| it.count).sum()
}

/// Whether two failures are the same error of a server. Answers and tests format its code differently, and its words
/// may have other values.
fn is_same_error(one: &str, other: &str) -> bool {
    let both = code_and_words(one).zip(code_and_words(other));
    let is_same = both.is_some_and(|((code, words), (other_code, other_words))| {
        code == other_code && (words.starts_with(other_words) || other_words.starts_with(words))
    });
    one == other || is_same
}

/// The code of a server's error, and its words up to the first name or value: those of `error 1054: Unknown column 'a'`
/// and of ``query `SELECT 5` failed: server error 1054 (`42S22`): Unknown column 'a'``.
fn code_and_words(text: &str) -> Option<(&str, &str)> {
    let after = text.split_once("server error ").map(|(_, after)| after);
    let (code, words) = after.or_else(|| text.strip_prefix("error "))?.split_once(": ")?;
    let code = code.split(' ').next().unwrap_or_default().trim_matches('`');
    let is_end = |it: char| it.is_ascii_digit() || matches!(it, '\'' | '"' | '`' | '…');
    Some((code, words.split(is_end).next().unwrap_or_default()))
}

/// For readers who read no further, the query cache first: it makes times meaningless.
pub(super) fn warnings(study: &JudgedStudy) -> Vec<String> {
    let all: Vec<_> = study.compared.iter().map(|it| (*it, ToDo::for_system(study, *it))).collect();
    let caches = cache_warnings(study, all.iter().filter_map(|(_, it)| it.query_cache.as_ref()));
    let counts = all.iter().filter_map(|(system, it)| {
        let [(fix, to_fix), (look, to_look_at)] = it.counts();
        let part = |count: u64, what: &str, words: &str| match count {
            0 => format!("nothing to {what}"),
            _ => format!("{} to {what}: {words}", counted(count, "thing")),
        };
        let names = [study.label(*system), study.label(study.base)];
        let [fixed, looked] = [part(fix, "fix", &to_fix), part(look, "look at", &to_look_at)];
        (fix + look > 0).then(|| format!("{} after {}: {fixed}; {looked}", names[0], names[1]))
    });
    caches.into_iter().chain(counts).collect()
}

/// Most entries of a list in a short report.
const SHORT: usize = 10;

/// Lists of findings about a user's statements.
pub(super) fn findings(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let to_do: BTreeMap<usize, ToDo> =
        study.compared.iter().map(|system| (*system, ToDo::for_system(study, *system))).collect();
    let is_told = |system: usize, test: &str, failure: &str| {
        to_do.get(&system).is_some_and(|of_system| of_system.tells(test, Some(failure)))
    };
    let lists =
        [lists(study), answers::session_lists(study, is_told), answers::lists(study)].concat();
    let blocks = lists.into_iter().flat_map(|FindingList { title, note, mut facts }| {
        let most = wish.at_most(SHORT);
        let more = facts.len().saturating_sub(most);
        facts.truncate(most);
        if more > 0 {
            facts.push((format!("{more} more"), "`--verbose` shows all".to_owned()));
        }
        let heading = Block::Heading(1, wish.heading(title).into());
        [heading, Block::Lines(vec![wish.sentence(note)]), Block::facts(facts)]
    });
    let heading = wish.heading("answers and the dump");
    Block::place("findings", "Answers", heading, blocks.collect())
}

fn lists(study: &JudgedStudy) -> Vec<FindingList> {
    let facts = study.compared.iter().flat_map(|system| {
        ToDo::for_system(study, *system).failing.into_iter().map(|cell| {
            let why = shown(cell.failure.as_deref().unwrap_or("it was not measured"));
            (about(study, *system, &study.cell_name(cell.cell)), why)
        })
    });
    let facts: Vec<(String, String)> = facts.collect();
    let list = FindingList {
        title: "tests that fail on this system only",
        note: "the base carries them out; their answers were not compared, or do not show it",
        facts,
    };
    Some(list).into_iter().filter(|list| !list.facts.is_empty()).collect()
}

/// Tests that fail on a system and not on the base, by their first cells. A mix fails with its parts.
fn failing<'a>(
    study: &JudgedStudy<'a>,
    system: usize,
    refused: &BTreeMap<&str, Vec<&str>>,
) -> Vec<&'a CellJudgement> {
    let is_one = |cell: &&CellJudgement| {
        let roles = cell.cell.test.definition().roles.iter();
        roles.flat_map(|role| &role.script.mix).count() == 1
    };
    // The base may not have run either: all systems are tried before a cell is given up.
    let base_ran = |cell: &&CellJudgement| {
        let of_base = study.cell(cell.cell, study.base);
        of_base.is_some_and(|base| base.failure.is_none() && base.silence.is_none())
    };
    let of_system = study.judgement.cells.iter().filter(|cell| cell.system == system);
    let failed = of_system.filter(|cell| cell.verdict == Verdict::Failed);
    let mut seen: BTreeSet<&str> = refused.keys().copied().collect();
    let is_new = |cell: &&CellJudgement| seen.insert(cell.cell.test.name());
    failed.filter(is_one).filter(base_ran).filter(is_new).collect()
}

/// The setting that switches the cache on, and its size, without which it holds nothing.
const TYPE: &str = "query_cache_type";
const SIZE: &str = "query_cache_size";

/// Systems of which one answers reads from its query cache.
struct QueryCache {
    who: String,
    /// Indices of the systems with and without the cache.
    on: usize,
    off: usize,
}

/// `None` unless exactly one of the base and the system has its query cache on.
fn query_cache(study: &JudgedStudy, system: usize) -> Option<QueryCache> {
    let record = study.record;
    let (on, off) = match (is_on(record, study.base), is_on(record, system)) {
        (true, false) => (study.base, system),
        (false, true) => (system, study.base),
        _ => return None,
    };
    let value = value(record, on, TYPE).unwrap_or_default();
    let without = without(record, &[off]);
    let who = format!(
        "{} has it on (`{TYPE} = {value}`), and {} {without}",
        study.label(on),
        study.label(off)
    );
    Some(QueryCache { who, on, off })
}

/// Consequences of the query cache and the remedy: a sentence for each of these systems.
fn cache_warnings<'a>(
    study: &JudgedStudy,
    found: impl Iterator<Item = &'a QueryCache>,
) -> Vec<String> {
    let record = study.record;
    let mut all: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    found.for_each(|it| all.entry(it.on).or_default().push(it.off));
    let message = all.into_iter().map(|(on, off)| {
        let value = value(record, on, TYPE).unwrap_or_default();
        let name = record.systems.get(on).map(|it| it.spec.without_options().to_string());
        let others: Vec<&str> = off.iter().map(|it| study.label(*it)).collect();
        format!(
            "{} answers repeated reads from its query cache (`{TYPE} = {value}`) without carrying them out, and {} \
             {}; to measure without it, append `+{TYPE}=OFF` to the name of `{}`",
            study.label(on),
            listed(&others),
            without(record, &off),
            name.unwrap_or_default()
        )
    });
    message.collect()
}

/// `has no such cache`, in singular or plural.
fn without(record: &StudyRecord, systems: &[usize]) -> &'static str {
    let lacks = |it: &usize| value_of_audit(record, *it, TYPE) == Some(None);
    match (systems.len(), systems.iter().filter(|it| lacks(it)).count()) {
        (1, 1) => "has no such cache",
        (1, _) => "has it off",
        (all, lacking) if all == lacking => "have no such cache",
        (_, 0) => "have it off",
        _ => "have no such cache or have it off",
    }
}

fn is_on(record: &StudyRecord, system: usize) -> bool {
    let is_switched_on = value(record, system, TYPE)
        .is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("on"));
    let is_empty = match value(record, system, SIZE) {
        Some(size) => {
            let number = size.trim_end_matches(|it: char| it.is_ascii_alphabetic());
            number.parse::<u64>() == Ok(0)
        }
        None => is_empty_by_default(record, system),
    };
    is_switched_on && !is_empty
}

/// Whether the cache has no size by default: MySQL before 5.6.8, MariaDB before 10.1.7. Needed because an audit lacks
/// sizes that all systems share.
fn is_empty_by_default(record: &StudyRecord, system: usize) -> bool {
    let Some(artifact) = record.systems.get(system).map(|it| &it.artifact) else { return false };
    let numbers = artifact.version().split(|it: char| !it.is_ascii_digit());
    let numbers: Vec<u32> = numbers.take(3).filter_map(|it| it.parse().ok()).collect();
    // No version of MySQL with the cache is as high as 10.
    let first_with_size = if numbers.first() >= Some(&10) { [10, 1, 7] } else { [5, 6, 8] };
    !numbers.is_empty() && numbers.as_slice() < first_with_size.as_slice()
}

fn value(record: &StudyRecord, system: usize, name: &str) -> Option<String> {
    match value_of_audit(record, system, name) {
        Some(value) => value.map(str::to_owned),
        None => asked(record.systems.get(system)?, name),
    }
}

/// `None` if the audit found no difference, `Some(None)` if the system lacks the setting.
fn value_of_audit<'a>(
    record: &'a StudyRecord,
    system: usize,
    name: &str,
) -> Option<Option<&'a str>> {
    let finding = record.audit.iter().find(|it| it.setting == name)?;
    Some(finding.values.get(system)?.as_deref())
}

fn asked(system: &System, name: &str) -> Option<String> {
    let plain = |option: &str| option.replace('-', "_").to_ascii_lowercase();
    let is_it = |option: &str| plain(option).trim_start_matches("loose_") == name;
    let mut options = system.spec.overrides.iter().rev();
    options.find(|(option, _)| is_it(option)).map(|(_, value)| value.clone())
}

/// Empty unless statements came from logs or answers were compared.
pub(super) fn outcomes(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if !is_of_statements(study) {
        return Vec::new();
    }
    let facts = study.compared.iter().flat_map(|system| {
        of_system(study, *system).into_iter().map(|(name, message)| {
            let name = match study.compared.len() {
                1 => name.to_owned(),
                _ => format!("{}: {name}", study.label(*system)),
            };
            (wish.heading(&name), message)
        })
    });
    let facts: Vec<(String, String)> = facts.collect();
    let blocks = if facts.is_empty() { Vec::new() } else { vec![Block::facts(facts)] };
    Block::place("outcomes", "Statements", wish.heading("what happens to the statements"), blocks)
}

fn to_do_facts(study: &JudgedStudy, to_do: &ToDo<'_>) -> Vec<(&'static str, String)> {
    let ToDo { statements, failing, settings, query_cache, .. } = to_do;
    let AnswersByStatement { must_fix, look_at, not_compared, of_connection, compared } =
        statements;
    let mut facts = Vec::new();
    let fact = |name, list| named(list).map(|message| (name, message));
    facts.extend(fact("must be fixed: refused, or other rows", must_fix));
    if !failing.is_empty() {
        let names: Vec<String> = failing.iter().map(|cell| study.cell_name(cell.cell)).collect();
        facts.push(("must be fixed: fails on this system only", counted_names(&names, "test")));
    }
    if !settings.is_empty() {
        facts.push(("must be fixed: settings of sessions", settings.join(", ")));
    }
    facts.extend(query_cache.iter().map(|it| ("must be looked at: query cache", it.who.clone())));
    facts.extend(fact("must be looked at: other order, types, names or warnings", look_at));
    let collations = of_connection.iter().filter_map(|(why, statements)| {
        let message = format!("{why}; {}", named(statements)?);
        Some(("must be looked at: collation of connections", message))
    });
    facts.extend(collations);
    facts.extend(compared.map(|compared| ("the same answers", compared.same_in_words())));
    facts.extend(fact("answers not compared", not_compared));
    facts
}

/// Answers first, then speed: the verdicts of all tests, as the answer of the report counts them.
fn of_system(study: &JudgedStudy, system: usize) -> Vec<(&'static str, String)> {
    let to_do_here = ToDo::for_system(study, system);
    let mut facts = to_do_facts(study, &to_do_here);
    let cells = study.judgement.cells.iter().filter(|cell| cell.system == system);
    let cells: Vec<&CellJudgement> = cells.collect();
    let figure = study.figure();
    let is_timed = figure == JudgedFigure::Time;
    let verdicts = [
        (Verdict::Slower, if is_timed { "slower" } else { "more CPU" }),
        (Verdict::Uneven, "uneven"),
        (Verdict::Undecided, "undecided"),
        (Verdict::Same, if is_timed { "same speed" } else { "same CPU" }),
        (Verdict::Faster, if is_timed { "faster" } else { "less CPU" }),
        (Verdict::Failed, "failed: could not be tested"),
    ];
    for (verdict, words) in verdicts {
        let mut of_verdict: Vec<&CellJudgement> =
            cells.iter().copied().filter(|cell| cell.verdict_by(figure) == verdict).collect();
        if verdict == Verdict::Slower {
            let ratio =
                |cell: &CellJudgement| cell.ratio_by(figure).map_or(1.0, |ratio| ratio.value);
            let speed = |cell: &CellJudgement| if is_timed { ratio(cell) } else { -ratio(cell) };
            of_verdict.sort_by(|a, b| speed(a).total_cmp(&speed(b)));
        }
        let count = of_verdict.len();
        let is_told = |cell: &CellJudgement| {
            let test = cell.cell.test.name();
            verdict == Verdict::Failed && to_do_here.tells(test, cell.failure.as_deref())
        };
        of_verdict.retain(|cell| !is_told(cell));
        let message = (count > of_verdict.len())
            .then(|| format!("{} that must be fixed", count - of_verdict.len()));
        let names = message.into_iter().chain(of_verdict.iter().map(|cell| outcome(study, cell)));
        let names: Vec<String> = names.collect();
        let counted = counted(count as u64, "test");
        facts.extend(
            (count > 0).then(|| (words, format!("{counted}: {}", shortened(&names, NAMED)))),
        );
    }
    facts
}

/// `3 statements: orders (2 statements), top`
fn named(list: &ByStatement<'_>) -> Option<String> {
    let mut by_test: BTreeMap<&str, u64> = BTreeMap::new();
    list.values().flatten().for_each(|test| *by_test.entry(test).or_default() += 1);
    let name = |(test, statements): (&&str, &u64)| match statements {
        1 => (*test).to_owned(),
        several => format!("{test} ({})", counted(*several, "statement")),
    };
    let names: Vec<String> = by_test.iter().map(name).collect();
    let statements = in_tests(list);
    (!list.is_empty()).then(|| format!("{statements}: {}", shortened(&names, NAMED)))
}

fn counted_names(names: &[String], what: &str) -> String {
    format!("{}: {}", counted(names.len() as u64, what), shortened(names, NAMED))
}

/// `orders-by-customer 0.45 with another plan`
fn outcome(study: &JudgedStudy, cell: &CellJudgement) -> String {
    let name = study.cell_name(cell.cell);
    let has_nothing = cell.slices == 0
        && matches!(cell.verdict, Verdict::Undecided | Verdict::Uneven | Verdict::Failed);
    if cell.verdict == Verdict::Failed || has_nothing {
        let failure = |system| study.cell(cell.cell, system).and_then(|it| it.failure.as_deref());
        let of_base = failure(study.base);
        let fails_everywhere = (0..study.record.systems.len()).all(|it| failure(it).is_some());
        let on_all = if fails_everywhere { "on all systems: " } else { "" };
        let unanswered = differences(study.record)
            .find(|(_, it)| it.test == cell.cell.test.name() && it.what == AnswerPart::NoAnswer)
            .map(|(_, it)| it.here.as_str());
        let why = cell.failure.as_deref().or(of_base).or(unanswered);
        return format!("{name} ({on_all}{})", first_words(why.unwrap_or("no time was left")));
    }
    let figure = study.figure();
    let is_called = matches!(cell.verdict_by(figure), Verdict::Slower | Verdict::Faster);
    let Some(ratio) = cell.ratio_by(figure).filter(|_| is_called) else {
        let is_timed = figure == JudgedFigure::Time;
        return match cpu::beside(study, cell).filter(|_| is_timed) {
            Some(words) => format!("{name} ({words})"),
            None => name,
        };
    };
    let plan = if cell.cause == Some(ChangeCause::Plan) { " with another plan" } else { "" };
    format!("{name} {}{plan}", narrow(ratio))
}

fn first_words(why: &str) -> String {
    const SHOWN: usize = 80;
    let line = why.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_the_same_in_other_forms() {
        let message = "error 1054: Unknown column 'rank' in 'field list'";
        let failed = |code, words| format!("query `SELECT 5` failed: server error {code}: {words}");
        assert!(is_same_error(message, &failed("1054 (`42S22`)", "Unknown column 'rank' in 'x'")));
        assert!(!is_same_error(message, &failed("10540 (`42S22`)", "Unknown column 'rank'")));
        assert!(!is_same_error(message, &failed("1054 (`42S22`)", "Lock wait timeout exceeded")));
        assert!(!is_same_error(message, "no answer from `x` within 10 s"));
        let message = "error 42703: column \"rank\" does not exist";
        assert!(is_same_error(message, &failed("`42703`", "column \"rank\" does not exist")));
    }
}
