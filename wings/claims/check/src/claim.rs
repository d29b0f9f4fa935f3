//! Claims, and the systems, tests and client counts that they are about.

use assay_model::{CellId, StudyRecord, System};
use regex_lite::Regex;

use crate::statement::Statement;

#[derive(Debug, Clone)]
pub struct ClaimFile {
    pub claims: Vec<PublishedClaim>,
}

#[derive(Debug, Clone)]
pub struct PublishedClaim {
    pub text: String,
    pub source: String,
    /// Interpretation of its words, where not obvious.
    pub reading: Option<String>,
    /// All of them must hold.
    pub parts: Vec<ClaimPart>,
}

#[derive(Debug, Clone)]
pub struct ClaimPart {
    pub(crate) systems: Vec<SystemWords>,
    pub(crate) than: ClaimReference,
    pub(crate) tests: Vec<TestWords>,
    pub(crate) clients: Vec<(u32, u32)>,
    pub(crate) extreme: Option<SystemWords>,
    pub statement: Statement,
}

#[derive(Debug, Clone)]
pub(crate) enum ClaimReference {
    Base,
    Previous,
    Systems(Vec<SystemWords>),
}

/// Words for systems: a name or a pattern for names, or a version with or without its product.
#[derive(Debug, Clone)]
pub(crate) struct SystemWords {
    pub(crate) words: String,
    pub(crate) pattern: Option<Regex>,
}

/// Words for tests: a group, or a pattern for names.
#[derive(Debug, Clone)]
pub(crate) struct TestWords {
    pub(crate) words: String,
    pub(crate) pattern: Regex,
    pub(crate) is_excluded: bool,
}

impl ClaimPart {
    /// Systems, each with the one it is compared with; `None` for a figure without comparison.
    pub fn pairs(&self, systems: &[System]) -> Result<Vec<(usize, Option<usize>)>, &str> {
        let others = match &self.than {
            _ if !self.statement.quantity.is_ratio() => vec![],
            ClaimReference::Base => vec![systems.iter().position(|it| it.is_base).unwrap_or(0)],
            ClaimReference::Previous => vec![],
            ClaimReference::Systems(words) => named(words, systems)?,
        };
        let mut measured = named(&self.systems, systems)?;
        if measured.is_empty() {
            let is_other = |index: &usize| !others.contains(index);
            let all = (0..systems.len()).filter(|&index| !systems[index].is_twin);
            measured = all.filter(is_other).collect();
        }
        if !self.statement.quantity.is_ratio() {
            return Ok(measured.into_iter().map(|system| (system, None)).collect());
        }
        if matches!(self.than, ClaimReference::Previous) {
            let previous = |it: usize| Some((it, Some(it.checked_sub(1)?)));
            return Ok(measured.into_iter().filter_map(previous).collect());
        }
        let pairs = measured.iter().flat_map(|&it| others.iter().map(move |&other| (it, other)));
        Ok(pairs.filter(|(it, other)| it != other).map(|(it, other)| (it, Some(other))).collect())
    }

    /// In the order of the study.
    pub fn cells(&self, record: &StudyRecord) -> Vec<CellId> {
        let study = &record.study;
        let is_meant = |cell: &CellId| {
            self.has_clients(cell.setup.clients)
                && self.has_test(cell.test.name(), &cell.test.group(study.set).word)
        };
        study.cells.iter().map(|cell| cell.id).filter(is_meant).collect()
    }

    pub fn unknown_test(&self, record: &StudyRecord) -> Option<&str> {
        let study = &record.study;
        let names = |words: &TestWords| {
            let mut cells = study.cells.iter().map(|cell| cell.id.test);
            cells.any(|test| {
                words.words == test.group(study.set).word || words.pattern.is_match(test.name())
            })
        };
        self.tests.iter().find(|words| !names(words)).map(|words| words.words.as_str())
    }

    fn has_clients(&self, clients: u32) -> bool {
        let has = |&(least, most): &(u32, u32)| (least..=most).contains(&clients);
        self.clients.is_empty() || self.clients.iter().any(has)
    }

    /// Without words other than exclusions, all tests are meant except excluded ones.
    fn has_test(&self, name: &str, group: &str) -> bool {
        let is_named = |excluded: bool| {
            let mut words = self.tests.iter().filter(|it| it.is_excluded == excluded);
            words.any(|it| it.words == group || it.pattern.is_match(name))
        };
        let names_any = self.tests.iter().any(|it| !it.is_excluded);
        (!names_any || is_named(false)) && !is_named(true)
    }

    pub fn extremes(&self, systems: &[System]) -> Result<Vec<usize>, &str> {
        self.extreme.as_ref().map_or(Ok(Vec::new()), |it| named(std::slice::from_ref(it), systems))
    }

    /// Words for its systems, tests and client counts; empty if it is about all.
    pub fn scope(&self) -> String {
        let systems = listed(&self.systems);
        let pairs = match &self.than {
            ClaimReference::Previous => Some("each version / the one before it".to_owned()),
            ClaimReference::Systems(than) if self.statement.quantity.is_ratio() => {
                let systems = if systems.is_empty() { "others" } else { &systems };
                Some(format!("{systems} / {}", listed(than)))
            }
            ClaimReference::Base | ClaimReference::Systems(_) => {
                Some(systems).filter(|it| !it.is_empty())
            }
        };
        let tests = self.tests.iter().map(|test| {
            if test.is_excluded { format!("not {}", test.words) } else { test.words.clone() }
        });
        let clients = self.clients.iter().map(|&(least, most)| match most {
            u32::MAX => format!("{least}+ clients"),
            1 => "1 client".to_owned(),
            _ if least == most => format!("{least} clients"),
            _ => format!("{least}-{most} clients"),
        });
        pairs.into_iter().chain(tests).chain(clients).collect::<Vec<_>>().join(", ")
    }
}

fn listed(words: &[SystemWords]) -> String {
    words.iter().map(|it| it.words.as_str()).collect::<Vec<_>>().join(" and ")
}

fn named<'w>(words: &'w [SystemWords], systems: &[System]) -> Result<Vec<usize>, &'w str> {
    for it in words {
        if !systems.iter().any(|system| it.name(system)) {
            return Err(&it.words);
        }
    }
    let is_named = |system: &System| words.iter().any(|it| it.name(system));
    let named = systems.iter().enumerate().filter(|(_, system)| is_named(system));
    Ok(named.map(|(index, _)| index).collect())
}

impl SystemWords {
    /// Whether the words name this system: `8.0`, `mysql@8.0` and `mysql` name MySQL 8.0.36. A product's name matches
    /// no published server of unknown product.
    fn name(&self, system: &System) -> bool {
        let words = self.words.as_str();
        if words == system.name || self.pattern.as_ref().is_some_and(|it| it.is_match(&system.name))
        {
            return true;
        }
        let product = system.artifact.product().map(|it| it.word());
        let version = match words.split_once('@') {
            _ if product == Some(words) => return !system.is_twin,
            Some((of, version)) if product == Some(of) => version,
            Some(_) => return false,
            None => words,
        };
        let rest = system.artifact.version().strip_prefix(version);
        let is_part = |rest: &str| rest.is_empty() || rest.starts_with(['.', '-']);
        !system.is_twin && !version.is_empty() && rest.is_some_and(is_part)
    }
}
