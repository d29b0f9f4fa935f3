//! Study files: what `compare` can say, and more, as TOML.
//!
//! The file is walked by hand, so that every mistake is shown at the very word that is wrong.

mod diagnostic;
mod value;
mod write;

use std::ops::Range;

use assay_model::{CpuPlacement, IdKey, Preset, StatementMode, TestSet};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use self::diagnostic::{Source, nearest};
use self::value::Reader;
use crate::{Request, SetupRequest, SystemRequest, parse_system, select_tests};

pub use self::diagnostic::StudyFileError;
pub use self::write::write_study;

type Value<'a> = Spanned<DeValue<'a>>;
type Result<T> = std::result::Result<T, StudyFileError>;

/// Reads a study file; `name` is what mistakes call it.
///
/// # Errors
/// The first mistake in the file, with its place.
pub fn read_study(name: &str, text: &str) -> Result<Request> {
    let source = Source { name, text };
    let table = DeTable::parse(text).map_err(|error| {
        source.error(error.span().unwrap_or(0..0), error.message().to_owned(), None)
    })?;
    File { reader: Reader { source } }.read(table.get_ref())
}

/// Keys at the top of a study file.
const KEYS: [&str; 18] = [
    "compare",
    "system",
    "setup",
    "preset",
    "set",
    "tests",
    "budget",
    "threshold",
    "twin",
    "placement",
    "statements",
    "id-key",
    "seed",
    "slice",
    "write-slice",
    "blocks",
    "rounds",
    "description",
];

/// Keys of a `[system.NAME]` table.
const SYSTEM_KEYS: [&str; 2] = ["is", "options"];

/// Keys of a `[[setup]]` table.
const SETUP_KEYS: [&str; 3] = ["clients", "tables", "rows"];

const PRESETS: [(&str, Preset); 4] = [
    ("smoke", Preset::Smoke),
    ("quick", Preset::Quick),
    ("standard", Preset::Standard),
    ("published", Preset::Published),
];

const SETS: [(u64, TestSet); 4] =
    [(27, TestSet::Set27), (32, TestSet::Set32), (42, TestSet::Set42), (47, TestSet::Set47)];

const PLACEMENTS: [(&str, CpuPlacement); 3] = [
    ("one-cpu", CpuPlacement::OneCpu),
    ("connections-on-one-cpu", CpuPlacement::ConnectionsOnOneCpu),
    ("free", CpuPlacement::Free),
];

const STATEMENTS: [(&str, StatementMode); 2] =
    [("prepared", StatementMode::Prepared), ("text", StatementMode::Text)];

const ID_KEYS: [(&str, IdKey); 2] = [("primary", IdKey::Primary), ("secondary", IdKey::Secondary)];

struct File<'s> {
    reader: Reader<'s>,
}

/// A `[system.NAME]` table.
struct Named {
    name: String,
    request: SystemRequest,
    span: Range<usize>,
}

impl File<'_> {
    fn read(&self, table: &DeTable) -> Result<Request> {
        let reader = self.reader;
        let mut request = Request::of_systems(&[]);
        let mut compare = None;
        let mut named = Vec::new();
        let mut tests: Option<&Value> = None;
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "compare" => compare = Some(value),
                "system" => named = self.named_systems(value)?,
                "setup" => request.setups = self.setups(value)?,
                "preset" => request.preset = reader.word(value, &PRESETS)?,
                "set" => request.set = self.set(value)?,
                "tests" => tests = Some(value),
                "budget" => request.budget_s = Some(reader.duration_s(value)?),
                "threshold" => request.threshold = Some(reader.percent(value)?),
                "twin" => request.twin = Some(reader.boolean(value)?),
                "placement" => request.placement = Some(reader.word(value, &PLACEMENTS)?),
                "statements" => request.statements = reader.word(value, &STATEMENTS)?,
                "id-key" => request.id_key = reader.word(value, &ID_KEYS)?,
                "seed" => request.seed = reader.integer(value, 0, u64::MAX)?,
                "slice" => request.slice_s = Some(reader.duration_s(value)?),
                "write-slice" => request.write_slice_s = Some(reader.duration_s(value)?),
                "blocks" => request.blocks = Some(reader.number(value, 1, 1000)?),
                "rounds" => request.rounds = Some(reader.number(value, 2, 10_000)?),
                "description" => drop(reader.string(value)?),
                _ => return Err(reader.unknown_key(key, &KEYS)),
            }
        }
        if let Some(tests) = tests {
            request.tests = self.tests(tests, request.set)?;
        }
        let Some(compare) = compare else {
            let hint = "for example `compare = [\"mariadb@10.11\", \"mariadb@11.8\"]`".to_owned();
            let message = "`compare` is missing: the systems, the base first";
            return Err(reader.source.error(0..0, message, Some(hint)));
        };
        request.systems = self.systems(compare, named, request.twin == Some(true))?;
        Ok(request)
    }

    fn set(&self, value: &Value) -> Result<TestSet> {
        let size = self.reader.integer(value, 0, u64::MAX)?;
        SETS.iter().find(|(known, _)| *known == size).map(|(_, set)| *set).ok_or_else(|| {
            let message = format!("there is no set of {size} tests");
            let hint = "one of 27, 32, 42, 47".to_owned();
            self.reader.source.error(value.span(), message, Some(hint))
        })
    }

    fn tests(&self, value: &Value, set: TestSet) -> Result<Vec<String>> {
        let mut globs = Vec::new();
        for item in self.reader.list(value)? {
            let glob = self.reader.string(item)?.to_owned();
            select_tests(set, std::slice::from_ref(&glob))
                .map_err(|error| self.reader.wrong(item, &error))?;
            globs.push(glob);
        }
        Ok(globs)
    }

    fn named_systems(&self, value: &Value) -> Result<Vec<Named>> {
        let mut named = Vec::new();
        for (key, value) in in_order(self.reader.table(value)?) {
            let mut request =
                SystemRequest { name: Some(key.get_ref().to_string()), ..SystemRequest::default() };
            let mut is = None;
            for (inner, value) in in_order(self.reader.table(value)?) {
                match inner.get_ref().as_ref() {
                    "is" => is = Some(self.system_words(value)?),
                    "options" => request.options = self.options(value)?,
                    _ => return Err(self.reader.unknown_key(inner, &SYSTEM_KEYS)),
                }
            }
            let Some(words) = is else {
                let message = format!("`is` is missing in `[system.{}]`", key.get_ref());
                let hint = "for example `is = \"mariadb@11.8\"`".to_owned();
                return Err(self.reader.source.error(key.span(), message, Some(hint)));
            };
            request.words = words;
            named.push(Named { name: key.get_ref().to_string(), request, span: key.span() });
        }
        Ok(named)
    }

    fn system_words(&self, value: &Value) -> Result<String> {
        let words = self.reader.string(value)?;
        parse_system(words).map_err(|error| self.reader.wrong(value, &error))?;
        Ok(words.to_owned())
    }

    fn options(&self, value: &Value) -> Result<Vec<(String, String)>> {
        let mut options = Vec::new();
        for (key, value) in in_order(self.reader.table(value)?) {
            options.push((key.get_ref().to_string(), self.reader.option_value(value)?));
        }
        Ok(options)
    }

    /// The systems that are compared: names of `[system.NAME]` tables, or systems as on the command line.
    fn systems(
        &self,
        compare: &Value,
        named: Vec<Named>,
        has_twin: bool,
    ) -> Result<Vec<SystemRequest>> {
        let mut systems = Vec::new();
        let mut used = Vec::new();
        for item in self.reader.list(compare)? {
            let words = self.reader.string(item)?;
            let Some(found) = named.iter().find(|system| system.name == words) else {
                if !words.contains('@') {
                    let names = named.iter().map(|system| system.name.as_str());
                    let hint = nearest(words, names).or_else(|| {
                        Some("a system is written `product@version`, or named by a `[system.NAME]` table".to_owned())
                    });
                    let message = format!("`{words}` is no system");
                    return Err(self.reader.source.error(item.span(), message, hint));
                }
                systems.push(SystemRequest::of(&self.system_words(item)?));
                continue;
            };
            used.push(words);
            systems.push(found.request.clone());
        }
        if let Some(unused) = named.iter().find(|system| !used.contains(&system.name.as_str())) {
            let message = format!("`[system.{}]` is not compared with anything", unused.name);
            let hint = format!("add `\"{}\"` to `compare`, or remove the table", unused.name);
            return Err(self.reader.source.error(unused.span.clone(), message, Some(hint)));
        }
        if systems.len() < if has_twin { 1 } else { 2 } {
            let message = "a comparison needs a base and at least one other system";
            return Err(self.reader.source.error(compare.span(), message, None));
        }
        Ok(systems)
    }

    fn setups(&self, value: &Value) -> Result<Vec<SetupRequest>> {
        let mut setups: Vec<SetupRequest> = Vec::new();
        for item in self.reader.list(value)? {
            let mut setup = SetupRequest::default();
            for (key, value) in in_order(self.reader.table(item)?) {
                match key.get_ref().as_ref() {
                    "clients" => setup.clients = Some(self.reader.numbers(value, 1, 1024)?),
                    "tables" => setup.tables = Some(self.reader.number(value, 1, 1000)?),
                    "rows" => setup.rows = Some(self.reader.number(value, 1000, 2_000_000_000)?),
                    _ => return Err(self.reader.unknown_key(key, &SETUP_KEYS)),
                }
            }
            if setups.contains(&setup) {
                let message = "the same setup a second time";
                return Err(self.reader.source.error(item.span(), message, None));
            }
            setups.push(setup);
        }
        if setups.is_empty() {
            let message = "at least one setup is needed";
            return Err(self.reader.source.error(value.span(), message, None));
        }
        Ok(setups)
    }
}

/// The entries of a table as they stand in the file, so that the first mistake is the first one shown.
fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(&'t Spanned<toml::de::DeString<'i>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

#[cfg(test)]
mod tests;
