//! Claims, and the systems, tests and client counts that they are about.

use std::collections::BTreeMap;

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
    pub(crate) fn pairs(
        &self,
        systems: &ClaimSystems<'_>,
    ) -> Result<Vec<(usize, Option<usize>)>, &str> {
        let others = match &self.than {
            _ if !self.statement.quantity.is_ratio() => vec![],
            ClaimReference::Base => vec![systems.base()],
            ClaimReference::Previous => vec![],
            ClaimReference::Systems(words) => systems.named(words)?,
        };
        let mut measured = systems.named(&self.systems)?;
        if measured.is_empty() {
            measured = systems.all();
            measured.retain(|index| !others.contains(index));
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
    pub(crate) fn cells(&self, record: &StudyRecord) -> Vec<CellId> {
        let study = &record.study;
        let is_meant = |cell: &CellId| {
            self.has_clients(cell.setup.clients)
                && self.has_test(cell.test.name(), &cell.test.group(study.set).word)
        };
        study.cells.iter().map(|cell| cell.id).filter(is_meant).collect()
    }

    pub(crate) fn unknown_test(&self, record: &StudyRecord) -> Option<&str> {
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

    pub(crate) fn extremes(&self, systems: &ClaimSystems<'_>) -> Result<Vec<usize>, &str> {
        let words = self.extreme.as_ref();
        words.map_or(Ok(Vec::new()), |it| systems.named(std::slice::from_ref(it)))
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

/// The systems of a study, and those of a post that they answer for.
pub(crate) struct ClaimSystems<'a> {
    pub(crate) systems: &'a [System],
    /// The name of a system of the study by the name of one of the post; empty if claims name the study's.
    pub(crate) counterparts: &'a BTreeMap<String, String>,
}

impl ClaimSystems<'_> {
    fn base(&self) -> usize {
        self.systems.iter().position(|it| it.is_base).unwrap_or(0)
    }

    /// Without twins, and without systems that answer for none.
    fn all(&self) -> Vec<usize> {
        let answers = |system: &System| {
            self.counterparts.is_empty() || self.counterparts.values().any(|it| *it == system.name)
        };
        let systems = self.systems.iter().enumerate();
        let all = systems.filter(|(_, system)| !system.is_twin && answers(system));
        all.map(|(index, _)| index).collect()
    }

    /// Fails with words that name none.
    fn named<'w>(&self, words: &'w [SystemWords]) -> Result<Vec<usize>, &'w str> {
        let is_named = |words: &SystemWords, system: &System| match self.counterparts.is_empty() {
            true => words.name(system),
            false => {
                let mut answered = self.counterparts.iter();
                answered.any(|(name, here)| *here == system.name && words.name_as(name))
            }
        };
        for it in words {
            if !self.systems.iter().any(|system| is_named(it, system)) {
                return Err(&it.words);
            }
        }
        let systems = self.systems.iter().enumerate();
        let named = systems.filter(|(_, system)| words.iter().any(|it| is_named(it, system)));
        Ok(named.map(|(index, _)| index).collect())
    }
}

impl SystemWords {
    /// Whether the words name this system: `8.0`, `mysql@8.0` and `mysql` name MySQL 8.0.36. A product's name matches
    /// no published server of unknown product.
    fn name(&self, system: &System) -> bool {
        let product = system.artifact.product().map(|it| it.word());
        let version = system.artifact.version();
        self.is_name(&system.name) || !system.is_twin && self.is_version(product, version)
    }

    /// The same of a system that is known by its name only, such as `mysql@8.0.36`.
    fn name_as(&self, name: &str) -> bool {
        let (product, version) = match name.split_once('@') {
            Some((product, version)) => (Some(product), version),
            None => (None, ""),
        };
        let version = version.split(['+', '/', '#']).next().unwrap_or_default();
        self.is_name(name) || self.is_version(product, version)
    }

    fn is_name(&self, name: &str) -> bool {
        self.words == name || self.pattern.as_ref().is_some_and(|it| it.is_match(name))
    }

    fn is_version(&self, product: Option<&str>, version: &str) -> bool {
        let words = self.words.as_str();
        let wanted = match words.split_once('@') {
            _ if product == Some(words) => return true,
            Some((wanted_product, wanted)) if product == Some(wanted_product) => wanted,
            Some(_) => return false,
            None => words,
        };
        let rest = version.strip_prefix(wanted);
        let is_part = |rest: &str| rest.is_empty() || rest.starts_with(['.', '-']);
        !wanted.is_empty() && rest.is_some_and(is_part)
    }
}
