//! Reads options from a server's config file, `my.cnf` or `postgresql.conf`.
//!
//! assay reads the file instead of the server. Its options are then like any others: kept in the ledger and audited,
//! and none reaches into directories outside the study's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_model::{Dialect, Hint, Origin, Product, SystemSpec, may_be_secret, refusal};
use assay_terms::{adds_up, variable};

use crate::common_option::CommonOption;
use crate::request::SystemRequest;
use crate::system_name::{parse_system, server_option};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigLine {
    Option(String, String),
    /// Name of an option that assay sets for each server, or keeps out of the ledger.
    LeftOut(String),
    /// A file to include, as written.
    Include {
        /// Relative to the including file.
        path: PathBuf,
        optional: bool,
    },
    /// All files of a directory with this extension, in order of their names.
    IncludeDir {
        path: PathBuf,
        /// Without the dot.
        extension: &'static str,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the config file cannot be read: {why}")]
pub struct ConfigFault {
    pub line: usize,
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

/// A line with its release series; `None` for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopedLine {
    pub series: Option<String>,
    pub line: ConfigLine,
    pub number: usize,
}

/// Lines of a config file, in order; a later line overrides an earlier one. In a `my.cnf`, only groups read by this
/// server count.
pub fn config_lines(spec: &SystemSpec, text: &str) -> Result<Vec<ConfigLine>, ConfigFault> {
    Ok(lines_for(spec, &scoped_lines(spec.product, text)?))
}

pub fn lines_for(spec: &SystemSpec, lines: &[ScopedLine]) -> Vec<ConfigLine> {
    let is_read = |it: &&ScopedLine| it.series.as_ref().is_none_or(|it| is_of_series(spec, it));
    lines.iter().filter(is_read).map(|it| it.line.clone()).collect()
}

pub fn scoped_lines(product: Product, text: &str) -> Result<Vec<ScopedLine>, ConfigFault> {
    lines_with(product, text, option)
}

/// Like [`scoped_lines`], but nothing is left out: for files that are compared, not passed to a server.
pub fn written_lines(product: Product, text: &str) -> Result<Vec<ScopedLine>, ConfigFault> {
    lines_with(product, text, |_, name, value| {
        let (name, value) = server_option(name, value).ok_or(MALFORMED)?;
        Ok(Some(ConfigLine::Option(name, value)))
    })
}

/// The product whose servers read the groups of a `my.cnf`: MySQL if several products read all of them. `None` if no
/// server reads any.
pub fn product_of_groups(text: &str) -> Option<Product> {
    let groups = text.lines().filter_map(|line| group(line.trim()).flatten());
    let groups: Vec<&str> = groups.collect();
    let reads = |product: Product, name: &str| series_of_group(product, name).is_some();
    let usual = Product::of_dialect(Dialect::MySql);
    let alone =
        |product: &Product| groups.iter().any(|it| reads(*product, it) && !reads(usual, it));
    let found = Product::ALL.into_iter().find(alone);
    found.or_else(|| groups.iter().any(|it| reads(usual, it)).then_some(usual))
}

type OptionReader = fn(Product, &str, &str) -> LineResult;

fn lines_with(
    product: Product,
    text: &str,
    read_option: OptionReader,
) -> Result<Vec<ScopedLine>, ConfigFault> {
    let mut found = Vec::new();
    let dialect = product.dialect();
    // Series of the current group; `None` where no server reads the group.
    let mut group_of = (dialect == Dialect::Postgres).then_some(None);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let read = match dialect {
            Dialect::Postgres => postgres(product, line, read_option),
            Dialect::MySql => match group(line) {
                Some(group) => {
                    group_of = group.and_then(|group| series_of_group(product, group));
                    group.map(|_| None).ok_or("a group is written `[name]`")
                }
                // Another program reads it, and may have other rules.
                None if group_of.is_none() && !line.starts_with('!') => Ok(None),
                None => mysql(product, line, read_option),
            },
        };
        let number = index + 1;
        let read = read.map_err(|why| ConfigFault { line: number, why })?;
        let Some(line) = read else { continue };
        match (&line, &group_of) {
            // Other files may have their own groups.
            (ConfigLine::Include { .. } | ConfigLine::IncludeDir { .. }, _) => {
                found.push(ScopedLine { series: None, line, number });
            }
            (_, Some(series)) => found.push(ScopedLine { series: series.clone(), line, number }),
            (_, None) => {}
        }
    }
    Ok(found)
}

/// Options of lines with all includes replaced. The last of several with the same name counts, unless they accumulate.
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

fn read_by<'a>(
    all: &'a [CommonOption],
    spec: &'a SystemSpec,
) -> impl Iterator<Item = &'a CommonOption> {
    all.iter().filter(|it| {
        it.product == spec.product
            && it.series.as_ref().is_none_or(|series| is_of_series(spec, series))
    })
}

/// Variables that config files set for a system, with their places if known.
pub fn places_of(all: &[CommonOption], spec: &SystemSpec) -> BTreeMap<String, Option<String>> {
    read_by(all, spec).map(|it| (variable(&it.name), it.place.clone())).collect()
}

/// Options that a system gets: those without a more specific setting.
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
    /// Adds the options of its config file before those of its specification and of the study.
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

    fn leaves_out(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.without.iter().any(|it| plain(&it.to_ascii_lowercase()) == plain(&name))
    }

    /// Options to leave out that the config file does not have.
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

/// A system's value of an option, whose name is written with `_` and without prefixes such as `loose`.
pub(crate) fn asked<'a>(spec: &'a SystemSpec, option: &str) -> Option<&'a str> {
    let is_it = |name: &str| plain(&name.to_ascii_lowercase()) == option;
    spec.overrides.iter().rev().find(|(name, _)| is_it(name)).map(|(_, value)| value.as_str())
}

/// A name without prefixes such as `loose`, which do not change the option.
fn plain(name: &str) -> &str {
    let name = name.strip_prefix("loose_").unwrap_or(name);
    name.strip_prefix("skip_").unwrap_or(name)
}

/// Overridden options, of which only the last line counts, as in the server: one text each, by name.
pub fn repeated_options(lines: &[ConfigLine]) -> Vec<String> {
    let mut given: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in lines {
        if let ConfigLine::Option(name, value) = line
            && !adds_up(name)
        {
            given.entry(plain(name)).or_default().push(value);
        }
    }
    let message = given.into_iter().filter_map(|(name, values)| match values.as_slice() {
        [earlier @ .., last] if earlier.iter().any(|value| value != last) => {
            Some(format!("`{name}` is given {} times; the last one counts: `{last}`", values.len()))
        }
        _ => None,
    });
    message.collect()
}

/// Group that a line begins; `Some(None)` if its bracket is not closed.
fn group(line: &str) -> Option<Option<&str>> {
    let rest = line.strip_prefix('[')?;
    Some(rest.split_once(']').map(|(name, _)| name.trim()))
}

/// Series of the servers that read a group, or all; `None` if no server reads it. Sources: the manuals' chapters on
/// option files.
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

type LineResult = Result<Option<ConfigLine>, &'static str>;

fn mysql(product: Product, line: &str, read_option: OptionReader) -> LineResult {
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
    read_option(product, name.trim(), &value)
}

/// A line up to an unquoted `#`.
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

/// A value without quotes, with escapes resolved.
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

fn postgres(product: Product, line: &str, read_option: OptionReader) -> LineResult {
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
        _ => read_option(product, &name.to_ascii_lowercase(), &value),
    }
}

/// A value up to its comment: one word, or a quoted text in which quotes are doubled or escaped.
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

/// Options tied to the file's machine and its place in replication. A lone server with them would refuse every write,
/// or wait for others on each.
const OF_MYSQL_MACHINES: &[&str] = &[
    "innodb_force_recovery",
    "innodb_read_only",
    "read_only",
    "rpl_semi_sync_master_enabled",
    "rpl_semi_sync_source_enabled",
    "super_read_only",
    "transaction_read_only",
];

const OF_POSTGRES_MACHINES: &[&str] = &[
    "default_transaction_read_only",
    "huge_pages",
    "primary_conninfo",
    "primary_slot_name",
    "synchronous_standby_names",
];

/// Whether a Postgres setting names a locale that `initdb` found on the file's machine. Those of the data directory are
/// set on purpose.
fn is_locale(name: &str) -> bool {
    name.starts_with("lc_") && !["lc_collate", "lc_ctype"].contains(&name)
}

const MALFORMED: &str =
    "an option's name consists of letters, digits, `_`, `-` and `.`, and its value is on one line";

/// An option of a config file. Left out if only assay may set it, if it leads outside the study's directories, may be a
/// secret, or names something of the file's machine.
fn option(product: Product, name: &str, value: &str) -> LineResult {
    let (name, value) = server_option(name, value).ok_or(MALFORMED)?;
    // The binary log lies next to the data, whatever its name.
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
