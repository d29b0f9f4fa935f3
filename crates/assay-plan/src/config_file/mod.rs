//! Reads the options from the config file of a server, `my.cnf` or `postgresql.conf`.
//!
//! Assay reads the file instead of the server. Its options are then like any others: they are kept in the ledger and
//! audited, and none reaches into directories outside the study's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_model::{Dialect, Hint, Origin, Product, SystemSpec, may_be_secret, refusal};
use assay_terms::{adds_up, variable};

use crate::common_option::CommonOption;
use crate::request::SystemRequest;
use crate::system_name::{parse_system, server_option};

/// A line of a config file that asks for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigLine {
    /// An option of the server and its value.
    Option(String, String),
    /// An option that assay sets for each server, or keeps out of the ledger: its name.
    LeftOut(String),
    /// Another file to be read in its place, as written.
    Include {
        /// The file, relative to the one it stands in.
        path: PathBuf,
        /// Whether it may be missing.
        optional: bool,
    },
    /// All files of a directory whose names have an extension, in order of their names.
    IncludeDir {
        /// The directory, relative to the file it stands in.
        path: PathBuf,
        /// Without the dot.
        extension: &'static str,
    },
}

/// A line of a config file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the config file cannot be read: {why}")]
pub struct ConfigFault {
    /// From 1.
    pub line: usize,
    /// The reason.
    pub why: &'static str,
}

impl Hint for ConfigFault {
    fn hints(&self) -> Vec<String> {
        vec![
            "a `my.cnf` has groups such as `[mysqld]` with lines `option = value`; a `postgresql.conf` has only such \
             lines"
                .to_owned(),
        ]
    }
}

/// A line, and the release series that it is for; `None` if it is for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopedLine {
    /// The series, such as `8.0`.
    pub series: Option<String>,
    /// The line.
    pub line: ConfigLine,
    /// Its number in the file, from 1.
    pub number: usize,
}

/// Reads the lines of a config file, in order; a later line overrides an earlier one.
///
/// In a `my.cnf`, only the groups count that this server reads.
pub fn config_lines(spec: &SystemSpec, text: &str) -> Result<Vec<ConfigLine>, ConfigFault> {
    Ok(lines_for(spec, &scoped_lines(spec.product, text)?))
}

/// Those of the lines of a product that one of its servers reads.
#[must_use]
pub fn lines_for(spec: &SystemSpec, lines: &[ScopedLine]) -> Vec<ConfigLine> {
    let is_read = |it: &&ScopedLine| it.series.as_ref().is_none_or(|it| is_of_series(spec, it));
    lines.iter().filter(is_read).map(|it| it.line.clone()).collect()
}

/// Reads the lines of a config file that servers of a product read, in order.
pub fn scoped_lines(product: Product, text: &str) -> Result<Vec<ScopedLine>, ConfigFault> {
    let mut found = Vec::new();
    let dialect = product.dialect();
    // The series that the group of the present line is for; `None` where no server reads the group.
    let mut group_of = (dialect == Dialect::Postgres).then_some(None);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let read = match dialect {
            Dialect::Postgres => postgres(product, line),
            Dialect::MySql => match group(line) {
                Some(group) => {
                    group_of = group.and_then(|group| series_of_group(product, group));
                    group.map(|_| None).ok_or("a group is written `[name]`")
                }
                None => mysql(product, line),
            },
        };
        let number = index + 1;
        let read = read.map_err(|why| ConfigFault { line: number, why })?;
        let Some(line) = read else { continue };
        match (&line, &group_of) {
            // Other files may have groups of their own.
            (ConfigLine::Include { .. } | ConfigLine::IncludeDir { .. }, _) => {
                found.push(ScopedLine { series: None, line, number });
            }
            (_, Some(series)) => found.push(ScopedLine { series: series.clone(), line, number }),
            (_, None) => {}
        }
    }
    Ok(found)
}

/// The options of lines whose includes have all been replaced. Of several with the same name, the last one counts,
/// unless they add up.
pub(crate) fn config_options(lines: &[ConfigLine]) -> Vec<(String, String)> {
    let mut options: Vec<(String, String)> = Vec::new();
    for line in lines {
        if let ConfigLine::Option(name, value) = line {
            options.retain(|(other, _)| plain(other) != plain(name) || adds_up(name));
            options.push((name.clone(), value.clone()));
        }
    }
    options
}

/// Those options of the config files that a system reads.
fn read_by<'a>(
    all: &'a [CommonOption],
    spec: &'a SystemSpec,
) -> impl Iterator<Item = &'a CommonOption> {
    all.iter().filter(|it| {
        it.product == spec.product
            && it.series.as_ref().is_none_or(|series| is_of_series(spec, series))
    })
}

/// The variables that config files set for a system, and where, as far as it is known.
#[must_use]
pub fn places_of(all: &[CommonOption], spec: &SystemSpec) -> BTreeMap<String, Option<String>> {
    read_by(all, spec).map(|it| (variable(&it.name), it.place.clone())).collect()
}

/// The options of these that a system gets: those that nothing more particular sets.
#[must_use]
pub fn common_options(all: &[CommonOption], spec: &SystemSpec) -> Vec<(String, String)> {
    let line = |it: &CommonOption| ConfigLine::Option(it.name.clone(), it.value.clone());
    let lines: Vec<ConfigLine> = read_by(all, spec).map(line).collect();
    let mut options = config_options(&lines);
    options.retain(|(name, _)| {
        let mut own = spec.overrides.iter();
        adds_up(name) || !own.any(|(other, _)| variable(other) == variable(name))
    });
    options
}

impl SystemRequest {
    /// The system with the options of its config file, which come before those in its words and in the study.
    #[must_use]
    pub fn started_from(self, lines: &[ConfigLine]) -> Self {
        let in_words = parse_system(&self.words).map(|spec| spec.overrides).unwrap_or_default();
        let mut options = config_options(lines);
        options.retain(|(name, _)| !self.leaves_out(name));
        for (asked, _) in in_words.iter().chain(&self.options) {
            options.retain(|(name, _)| plain(name) != plain(asked) || adds_up(name));
        }
        let of_file = options.iter().map(|(name, _)| name.clone()).collect();
        options.extend(self.options);
        Self { options, config: None, without: Vec::new(), of_file, ..self }
    }

    /// Whether it leaves this option of its config file out.
    fn leaves_out(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.without.iter().any(|it| plain(&it.to_ascii_lowercase()) == plain(&name))
    }

    /// The options that it leaves out of its config file, and which the file does not have.
    #[must_use]
    pub fn left_out_in_vain(&self, lines: &[ConfigLine]) -> Vec<&str> {
        let options = config_options(lines);
        let is_there = |name: &str| {
            options.iter().any(|(it, _)| plain(&it.to_ascii_lowercase()) == plain(name))
        };
        self.without
            .iter()
            .map(String::as_str)
            .filter(|name| !is_there(&name.to_ascii_lowercase()))
            .collect()
    }
}

/// The value that a system sets for an option, whose name is written with `_` and without prefixes such as `loose`.
pub(crate) fn asked<'a>(spec: &'a SystemSpec, option: &str) -> Option<&'a str> {
    let is_it = |name: &str| plain(&name.to_ascii_lowercase()) == option;
    spec.overrides.iter().rev().find(|(name, _)| is_it(name)).map(|(_, value)| value.as_str())
}

/// A name without prefixes such as `loose`, which only say how the option is given.
fn plain(name: &str) -> &str {
    let name = name.strip_prefix("loose_").unwrap_or(name);
    name.strip_prefix("skip_").unwrap_or(name)
}

/// What becomes of options that several of these lines give: those of which only the last line counts, as in the
/// server. One text for each, in the order of their names.
#[must_use]
pub fn repeated_options(lines: &[ConfigLine]) -> Vec<String> {
    let mut given: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in lines {
        if let ConfigLine::Option(name, value) = line
            && !adds_up(name)
        {
            given.entry(plain(name)).or_default().push(value);
        }
    }
    let told = given.into_iter().filter_map(|(name, values)| match values.as_slice() {
        [earlier @ .., last] if earlier.iter().any(|value| value != last) => {
            Some(format!("`{name}` is given {} times; the last one counts: `{last}`", values.len()))
        }
        _ => None,
    });
    told.collect()
}

/// The group that a line begins; `Some(None)` if its bracket is not closed.
fn group(line: &str) -> Option<Option<&str>> {
    let rest = line.strip_prefix('[')?;
    Some(rest.split_once(']').map(|(name, _)| name.trim()))
}

/// The series of the servers that read a group, which may be all; `None` if no server reads it. Sources: the manuals'
/// chapters on option files.
fn series_of_group(product: Product, group: &str) -> Option<Option<String>> {
    let names = product.facts().config_groups;
    if names.contains(&group) {
        return Some(None);
    }
    // `mysqld-8.0` is only for that series.
    let of_name = |name: &&str| group.strip_prefix(*name).and_then(|rest| rest.strip_prefix('-'));
    let series = names.iter().find_map(of_name)?;
    Some(Some(series.to_owned()))
}

fn is_of_series(spec: &SystemSpec, series: &str) -> bool {
    let Origin::Version(version) = &spec.origin else { return false };
    version.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

type Read = Result<Option<ConfigLine>, &'static str>;

fn mysql(product: Product, line: &str) -> Read {
    if let Some(words) = line.strip_prefix('!') {
        let (word, path) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let path = PathBuf::from(path.trim());
        return match word {
            _ if path.as_os_str().is_empty() => {
                Err("`!` must be followed by `include` or `includedir` and a path")
            }
            "include" => Ok(Some(ConfigLine::Include { path, optional: false })),
            "includedir" => Ok(Some(ConfigLine::IncludeDir { path, extension: "cnf" })),
            _ => Err("`!` must be followed by `include` or `includedir` and a path"),
        };
    }
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Ok(None);
    }
    let line = without_comment(line);
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name, mysql_value(value.trim())),
        None if plain(&line.replace('-', "_")) == "log_bin" => (line, "binlog".to_owned()),
        // Any other option without a value is a switch.
        None => (line, "1".to_owned()),
    };
    option(product, name.trim(), &value)
}

/// A line up to the `#` outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in line.char_indices() {
        match (c, quote) {
            _ if is_escaped => is_escaped = false,
            ('\\', _) => is_escaped = true,
            ('#', None) => return line[..at].trim_end(),
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    line
}

/// A value without its quotes, its escapes resolved.
fn mysql_value(text: &str) -> String {
    let quoted = ['\'', '"']
        .iter()
        .find_map(|&quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)));
    let mut value = String::new();
    let mut chars = quoted.unwrap_or(text).chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('t') => value.push('\t'),
                Some('n') => value.push('\n'),
                Some('r') => value.push('\r'),
                Some('b') => value.push('\u{8}'),
                Some('s') => value.push(' '),
                Some(other @ ('\\' | '"' | '\'')) => value.push(other),
                Some(other) => value.extend(['\\', other]),
                None => value.push('\\'),
            },
            c => value.push(c),
        }
    }
    value
}

fn postgres(product: Product, line: &str) -> Read {
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line.find(|c: char| c == '=' || c.is_whitespace()).ok_or("an option has a value")?;
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let value = postgres_value(rest.strip_prefix('=').unwrap_or(rest).trim_start())?;
    match name {
        "include" => Ok(Some(ConfigLine::Include { path: value.into(), optional: false })),
        "include_if_exists" => Ok(Some(ConfigLine::Include { path: value.into(), optional: true })),
        "include_dir" => Ok(Some(ConfigLine::IncludeDir { path: value.into(), extension: "conf" })),
        _ => option(product, &name.to_ascii_lowercase(), &value),
    }
}

/// A value up to the comment after it: one word, or a quoted text in which quotes are doubled or escaped.
fn postgres_value(text: &str) -> Result<String, &'static str> {
    let Some(quoted) = text.strip_prefix('\'') else {
        let end = text.find(|c: char| c == '#' || c.is_whitespace()).unwrap_or(text.len());
        return match text.split_at(end) {
            ("", _) => Err("an option has a value"),
            (value, rest) => only_comment(rest).map(|()| value.to_owned()),
        };
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            '\'' if chars.next_if(|(_, c)| *c == '\'').is_some() => value.push('\''),
            '\'' => return only_comment(&quoted[at + 1..]).map(|()| value),
            c => value.push(c),
        }
    }
    Err("a quote is not closed")
}

fn only_comment(rest: &str) -> Result<(), &'static str> {
    let rest = rest.trim_start();
    let is_fine = rest.is_empty() || rest.starts_with('#');
    if is_fine { Ok(()) } else { Err("a value of several words needs quotes") }
}

/// Options that belong to the machine of a file and its place in replication. A server alone with them would refuse
/// every write, or wait for others with each.
const OF_MYSQL_MACHINES: &[&str] = &[
    "innodb_force_recovery",
    "innodb_read_only",
    "read_only",
    "rpl_semi_sync_master_enabled",
    "rpl_semi_sync_source_enabled",
    "super_read_only",
    "transaction_read_only",
];

/// The same of Postgres.
const OF_POSTGRES_MACHINES: &[&str] = &[
    "default_transaction_read_only",
    "huge_pages",
    "primary_conninfo",
    "primary_slot_name",
    "synchronous_standby_names",
];

/// Whether a setting of Postgres names a locale that `initdb` found on the machine of the file. Those of the data
/// directory are set on purpose.
fn is_locale(name: &str) -> bool {
    name.starts_with("lc_") && !["lc_collate", "lc_ctype"].contains(&name)
}

/// An option of a config file. It is left out if only assay may set it, if it leads out of the study's directories, may
/// be a secret, or names something of the machine that the file comes from.
fn option(product: Product, name: &str, value: &str) -> Read {
    let (name, value) = server_option(name, value).ok_or(
        "an option's name consists of letters, digits, `_`, `-` and `.`, and its value is on one line",
    )?;
    // The binary log lies next to the data, whatever its name is.
    let value = match (plain(&name), value.rsplit_once('/')) {
        ("log_bin", Some((_, file))) if !file.is_empty() => file.to_owned(),
        _ => value,
    };
    let of_machine = match product.dialect() {
        Dialect::Postgres => OF_POSTGRES_MACHINES,
        Dialect::MySql => OF_MYSQL_MACHINES,
    };
    let is_of_machine = of_machine.contains(&plain(&name))
        || product.dialect() == Dialect::Postgres && is_locale(&name);
    let is_left_out = refusal(product, &name, &value).is_some() || is_of_machine;
    let is_left_out = is_left_out || may_be_secret(&name);
    Ok(Some(if is_left_out { ConfigLine::LeftOut(name) } else { ConfigLine::Option(name, value) }))
}

#[cfg(test)]
mod tests;
