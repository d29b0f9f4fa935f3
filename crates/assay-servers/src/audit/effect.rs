//! Requested options without effect, or with another one. Pure: a specification and the server's answers in, reasons
//! out.

use std::collections::BTreeMap;

use assay_model::{Dialect, Product, SystemSpec, may_be_secret};
use assay_terms::{adds_up, variable};

use crate::audit::facts::{ANSWER, JIT, NO_JIT, ServerSettings};
use crate::products::OF_DATA;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IneffectiveOption {
    /// The name of its variable.
    pub option: String,
    pub why: String,
}

/// The requested options that the server's answers do not confirm. A server without an answer about an option accepted
/// it when it started.
pub fn ineffective(spec: &SystemSpec, settings: &ServerSettings) -> Vec<IneffectiveOption> {
    let mut found: Vec<IneffectiveOption> = Vec::new();
    for (at, (name, asked)) in spec.overrides.iter().enumerate() {
        let later: Vec<&str> = spec.overrides[at + 1..]
            .iter()
            .filter(|(other, _)| variable(other) == variable(name))
            .map(|(_, value)| value.as_str())
            .collect();
        if !later.is_empty() && !adds_up(name) {
            // Only the last one was passed to the server.
            continue;
        }
        let option = RequestedOption { product: spec.product, name, value: asked, later: &later };
        if let Some(why) = option.why(settings) {
            found.push(IneffectiveOption { option: option.variable(settings), why });
        }
    }
    found
}

/// Whether an option with this value does nothing, because another setting or the build does not permit it.
pub(super) fn is_void(
    product: Product,
    (name, value): (&str, &str),
    settings: &ServerSettings,
) -> bool {
    unmet(product, &variable(name), value, settings).is_some()
}

/// One warning per reason, with all options that it applies to.
pub fn warnings(found: &[IneffectiveOption]) -> Vec<String> {
    let mut by_why: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for IneffectiveOption { option, why } in found {
        by_why.entry(why).or_default().push(format!("`{option}`"));
    }
    by_why.into_iter().map(|(why, options)| format!("{}: {why}", options.join(", "))).collect()
}

struct RequestedOption<'a> {
    product: Product,
    /// As written.
    name: &'a str,
    value: &'a str,
    /// Values of later occurrences, if the option adds up.
    later: &'a [&'a str],
}

impl RequestedOption<'_> {
    /// The name in the form of a variable.
    fn plain(&self) -> String {
        let name = self.name.replace('-', "_").to_ascii_lowercase();
        name.strip_prefix("loose_").unwrap_or(&name).to_owned()
    }

    /// The variable that shows it: `skip_x` has its own variable, or is the opposite of `x`.
    fn variable(&self, settings: &ServerSettings) -> String {
        let plain = self.plain();
        let name = if settings.contains_key(&plain) { plain } else { variable(&plain) };
        match OTHER_NAMES.iter().find(|(of, _)| *of == name && !settings.contains_key(*of)) {
            Some((_, other)) if settings.contains_key(*other) => (*other).to_owned(),
            _ => name,
        }
    }

    /// `None` if it has the requested effect, or if that is unknown.
    fn why(&self, settings: &ServerSettings) -> Option<String> {
        let asked = if may_be_secret(self.name) { "..." } else { self.value };
        let variable = self.variable(settings);
        if let Some(unmet) = unmet(self.product, &variable, self.value, settings) {
            return Some(format!("no effect, because {unmet}"));
        }
        if self.product.dialect() == Dialect::Postgres {
            return self.why_of_postgres(&variable, asked, settings);
        }
        if variable == "performance_schema_instrument" {
            return self.why_of_instruments(settings);
        }
        if ["plugin_load", "plugin_load_add"].contains(&variable.as_str()) {
            return self.why_of_plugins(settings);
        }
        let Some(answer) = settings.get(&variable) else {
            let log = settings.get(&format!("{ANSWER}log.{variable}"));
            let is_loose = self.name.to_ascii_lowercase().starts_with("loose");
            return match log {
                Some(line) => Some(format!("no effect; the server's log says: {line}")),
                None if is_loose => {
                    let names = settings.keys().filter(|it| !it.starts_with(ANSWER));
                    let meant = nearest(&variable, names.cloned());
                    let meant =
                        meant.map_or_else(String::new, |it| format!("; did you mean `{it}`?"));
                    Some(format!(
                        "no effect: the server has no variable of this name, and `loose` makes it ignore options that \
                         it does not know (`{asked}` was requested){meant}"
                    ))
                }
                None => None,
            };
        };
        let is_opposite = self.plain().strip_prefix("skip_") == Some(variable.as_str());
        let is_taken = match (is_opposite, switch(self.value)) {
            (true, Some(is_on)) => switch(answer).is_none_or(|it| it != is_on),
            (true, None) => true,
            (false, _) => is_same(&variable, self.value, self.later, answer),
        };
        let shown = if may_be_secret(&variable) { "..." } else { answer };
        (!is_taken).then(|| format!("`{asked}` was requested, but `{shown}` is in effect"))
    }

    /// Postgres refuses values that it cannot use, so a value accepted from its command line is in effect.
    fn why_of_postgres(
        &self,
        variable: &str,
        asked: &str,
        settings: &ServerSettings,
    ) -> Option<String> {
        let Some(answer) = settings.get(variable) else {
            return variable.contains('.').then(|| {
                format!(
                    "no effect: no extension that is loaded has a setting of this name (`{asked}` was requested)"
                )
            });
        };
        if OF_DATA.contains(&variable) {
            let is_taken = is_same(variable, self.value, &[], answer);
            return (!is_taken)
                .then(|| format!("`{asked}` was requested, but `{answer}` is in effect"));
        }
        let source = settings.get(&format!("{ANSWER}source.{variable}"))?;
        (source != "command line").then(|| {
            format!(
                "`{asked}` was requested, but `{answer}` is in effect, which comes from: {source}"
            )
        })
    }

    fn why_of_instruments(&self, settings: &ServerSettings) -> Option<String> {
        let (pattern, state) = self.value.split_once('=').unwrap_or((self.value, "ON"));
        let answer = settings.get(&format!("{ANSWER}instruments.{}", pattern.trim()))?;
        let mut numbers = answer.split(' ').map(|it| it.parse::<u64>().unwrap_or(0));
        let (all, on) = (numbers.next()?, numbers.next()?);
        let is_off = switch(state.trim()) == Some(false);
        match (all, on) {
            (0, _) => Some(format!("no effect: no instrument has the name `{}`", pattern.trim())),
            (all, on) if is_off && on == all || !is_off && on == 0 => Some(format!(
                "`{}` was requested, but {on} of {all} such instruments are on",
                self.value
            )),
            _ => None,
        }
    }

    fn why_of_plugins(&self, settings: &ServerSettings) -> Option<String> {
        let loaded = settings.get(&format!("{ANSWER}plugins"))?;
        let is_loaded = |library: &str| {
            let stem = library.trim_end_matches(".so");
            loaded.split(',').any(|it| it.trim_end_matches(".so").eq_ignore_ascii_case(stem))
        };
        let libraries = self.value.split(';').filter(|it| !it.is_empty());
        let libraries = libraries.map(|it| it.rsplit_once('=').map_or(it, |(_, file)| file));
        let missing: Vec<&str> = libraries.filter(|library| !is_loaded(library)).collect();
        (!missing.is_empty())
            .then(|| format!("the server has not loaded `{}`", missing.join("`, `")))
    }
}

const OTHER_NAMES: &[(&str, &str)] = &[
    ("default_time_zone", "time_zone"),
    ("memlock", "locked_in_memory"),
    ("transaction_isolation", "tx_isolation"),
    ("transaction_read_only", "tx_read_only"),
];

/// Options (names, or prefixes of names that end with `_`), the variable that permits them, and the consequence if that
/// is off.
type Need = (&'static [&'static str], &'static str, &'static str);

/// Sources: the descriptions of these variables in the manuals of MySQL and MariaDB.
const OF_MYSQL: &[Need] = &[
    (&["performance_schema_"], "performance_schema", "there is no performance schema"),
    (
        &[
            "binlog_",
            "expire_logs_days",
            "log_bin_",
            "log_replica_updates",
            "log_slave_updates",
            "max_binlog_",
            "sync_binlog",
        ],
        "log_bin",
        "no binary log is written",
    ),
    (
        &["innodb_adaptive_hash_index_"],
        "innodb_adaptive_hash_index",
        "there is no adaptive hash index",
    ),
    (&["innodb_doublewrite_"], "innodb_doublewrite", "pages are written once"),
    (&["innodb_change_buffer_"], "innodb_change_buffering", "changes are not buffered"),
    (
        &[
            "log_queries_not_using_indexes",
            "log_slow_",
            "long_query_time",
            "min_examined_row_limit",
        ],
        "slow_query_log",
        "no slow statements are logged",
    ),
    (&["query_cache_"], "query_cache_type", "there is no query cache"),
];

/// Source: the chapter on server configuration of PostgreSQL's manual.
const OF_POSTGRES: &[Need] = &[
    (&["jit_"], "jit", "no statement is compiled"),
    (&["autovacuum_"], "autovacuum", "there is no autovacuum"),
    (&["archive_"], "archive_mode", "the log is not archived"),
    (
        &["max_parallel_workers_per_gather", "max_parallel_maintenance_workers"],
        "max_parallel_workers",
        "there are no parallel workers",
    ),
    (&["commit_siblings"], "commit_delay", "commits do not wait for each other"),
];

pub(super) fn unmet(
    product: Product,
    option: &str,
    value: &str,
    settings: &ServerSettings,
) -> Option<String> {
    let is_off = switch(value) == Some(false);
    let is_jit = option == "jit" && !is_off || option.starts_with("jit_");
    let dialect = product.dialect();
    if dialect == Dialect::Postgres && is_jit && settings.get(JIT).is_some_and(|it| it == NO_JIT) {
        return Some("this build has no LLVM: pg_jit_available() is false".to_owned());
    }
    let needs = match dialect {
        Dialect::MySql => OF_MYSQL,
        Dialect::Postgres => OF_POSTGRES,
    };
    needs.iter().find_map(|(options, permit, consequence)| {
        let is_it = |it: &&str| option == *it || it.ends_with('_') && option.starts_with(it);
        let applies = option != *permit && options.iter().any(is_it);
        let answer = settings.get(*permit).filter(|_| applies)?;
        // A version without the variable works differently.
        let is_unmet = switch(answer) == Some(false) || answer.eq_ignore_ascii_case("none");
        is_unmet.then(|| format!("{consequence} (`{permit}` is {answer})"))
    })
}

/// Relative tolerance for rounding: servers round to whole blocks and pages.
const ROUNDED: f64 = 0.01;

/// `None` for values that are not those of a switch.
pub(crate) fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Returns whether a variable's answer confirms the value. `later` are the values given after this one, if the option
/// adds up.
pub(super) fn is_same(variable: &str, asked: &str, later: &[&str], answer: &str) -> bool {
    let (asked, answer) = (asked.trim(), answer.trim());
    if asked.eq_ignore_ascii_case(answer) || asked.eq_ignore_ascii_case("default") {
        return true;
    }
    if asked.contains('=') {
        return has_flags(asked, later, answer);
    }
    match (switch(asked), switch(answer)) {
        (Some(one), Some(other)) if one == other => return true,
        // The value of `log_bin` is a name.
        (_, Some(is_on)) if variable == "log_bin" => return is_on,
        _ => {}
    }
    match (number(asked), number(answer)) {
        // The server chooses.
        (Some(-1.0), Some(_)) => true,
        (Some(one), Some(other)) => (one - other).abs() <= ROUNDED * one.abs().max(other.abs()),
        // A number instead of a word of a list.
        (Some(_), None) => switch(answer).is_none(),
        (None, Some(_)) => false,
        (None, None) => words_are_same(asked, answer),
    }
}

/// Returns whether each of these flags, such as `mrr=on`, has this value, unless a later one overrides it.
fn has_flags(asked: &str, later: &[&str], answer: &str) -> bool {
    let flag = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase())
    };
    let is_set_again = |name: &str| {
        let mut flags = later.iter().flat_map(|it| it.split(','));
        flags.any(|it| ["default", name].contains(&flag(it).0.as_str()))
    };
    let answers: Vec<_> = answer.split(',').map(flag).collect();
    asked.split(',').map(flag).all(|(name, value)| {
        let known = answers.iter().find(|(other, _)| *other == name);
        value == "default" || is_set_again(&name) || known.is_some_and(|(_, other)| *other == value)
    })
}

fn number(text: &str) -> Option<f64> {
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40), ('p', 50), ('e', 60)];
    let last = text.chars().next_back()?.to_ascii_lowercase();
    let is_number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.starts_with(|c: char| c.is_ascii_digit())
    };
    match units.iter().find(|(unit, _)| *unit == last) {
        Some((_, power)) => {
            let number = text.get(..text.len() - 1).filter(|it| is_number(it))?;
            Some(number.parse::<f64>().ok()? * 2_f64.powi(*power))
        }
        None => text.parse().ok().filter(|_| is_number(text)),
    }
}

/// Words in any order: a set may also contain what its words imply. Paths match by their ends; `utf8` is also called
/// `utf8mb3`.
fn words_are_same(asked: &str, answer: &str) -> bool {
    let asked = asked.trim_start_matches("./");
    if asked.is_empty() {
        return false;
    }
    let is_path = asked.contains('/') || asked.contains('.');
    if is_path && answer.ends_with(asked) {
        return true;
    }
    let plain = |word: &str| word.trim().to_ascii_lowercase().replace("utf8mb3", "utf8");
    let answers: Vec<String> = answer.split(',').map(plain).collect();
    asked.split(',').map(plain).all(|word| answers.contains(&word))
}

/// Jaro-Winkler similarity above which one name may be a misspelling of the other.
const ALIKE: f64 = 0.85;

/// The name most similar to `option`; `None` if no name is similar.
pub(crate) fn nearest(option: &str, known: impl IntoIterator<Item = String>) -> Option<String> {
    let option = option.to_ascii_lowercase();
    let likeness = known.into_iter().map(|name| (strsim::jaro_winkler(&name, &option), name));
    let best = likeness.filter(|(likeness, _)| *likeness > ALIKE);
    best.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use assay_model::{BuildFlags, Engine, Origin};

    use super::*;
    use crate::audit::facts::{JIT, NO_JIT};

    fn message(product: Product, asked: &[(&str, &str)], answers: &[(&str, &str)]) -> Vec<String> {
        let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let spec = SystemSpec {
            product,
            origin: Origin::Version("1".to_owned()),
            engine: Engine::InnoDb,
            overrides: owned(asked),
            build: BuildFlags::new(),
        };
        warnings(&ineffective(&spec, &owned(answers).into_iter().collect()))
    }

    #[test]
    fn values_in_any_spelling_are_in_effect() {
        let none: [String; 0] = [];
        for (name, asked, answer) in [
            ("innodb-doublewrite", "0", "OFF"),
            ("innodb_buffer_pool_size", "1G", "1073741824"),
            ("long_query_time", "2", "2.000000"),
            ("sql_mode", "ANSI", "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI"),
            ("optimizer_switch", "mrr=off", "index_merge=on,mrr=off,mrr_cost_based=on"),
            ("character_set_server", "utf8", "utf8mb3"),
            ("log_bin", "binlog", "ON"),
            ("innodb_change_buffering", "0", "none"),
            ("thread_cache_size", "-1", "9"),
            ("default_storage_engine", "innodb", "InnoDB"),
        ] {
            let variable = variable(name);
            assert_eq!(
                message(Product::MySql, &[(name, asked)], &[(&variable, answer)]),
                none,
                "{name}"
            );
        }
        let skipped = [("skip_name_resolve", "1"), ("skip_log_bin", "1")];
        let answers = [("skip_name_resolve", "ON"), ("log_bin", "OFF")];
        assert_eq!(message(Product::MySql, &skipped, &answers), none);
        let flags = [("optimizer_switch", "mrr=off"), ("optimizer_switch", "mrr=on,x=off")];
        assert_eq!(message(Product::MySql, &flags, &[("optimizer_switch", "mrr=on,x=off")]), none);
    }

    #[test]
    fn what_the_server_replaced_is_told() {
        let message =
            |name, asked, answer| message(Product::MySql, &[(name, asked)], &[(name, answer)]);
        assert_eq!(
            message("table_open_cache", "400000", "2000"),
            ["`table_open_cache`: `400000` was requested, but `2000` is in effect"]
        );
        for (name, asked, answer) in [
            ("innodb_doublewrite", "ON", "OFF"),
            ("optimizer_switch", "mrr=on", "mrr=off"),
            ("sql_mode", "TRADITIONAL", ""),
            ("innodb_flush_method", "O_DIRECT", "fsync"),
        ] {
            assert_eq!(message(name, asked, answer).len(), 1, "{name}");
        }
    }

    #[test]
    fn options_that_do_nothing_without_another_one_are_told_together() {
        let asked = [("sync_binlog", "1"), ("binlog_format", "ROW"), ("jit_above_cost", "1")];
        let answers = [("log_bin", "OFF"), ("sync_binlog", "1"), ("binlog_format", "ROW")];
        let found = message(Product::MariaDb, &asked, &answers);
        assert_eq!(
            found,
            [
                "`sync_binlog`, `binlog_format`: no effect, because no binary log is written (`log_bin` is OFF)"
            ]
        );
        let jit = |value, available| {
            let answers = [("jit", value), (JIT, available), ("asked.source.jit", "command line")];
            message(Product::Postgres, &[("jit", "on")], &answers)
        };
        assert_eq!(jit("on", "available"), [""; 0]);
        assert!(
            jit("on", NO_JIT)[0].contains("pg_jit_available() is false"),
            "{:?}",
            jit("on", NO_JIT)
        );
    }

    #[test]
    fn instruments_and_plugins_are_looked_up() {
        let asked = [("performance_schema_instrument", "stage/%=ON")];
        let on = ("performance_schema", "ON");
        let message =
            |answer| message(Product::MySql, &asked, &[on, ("asked.instruments.stage/%", answer)]);
        assert_eq!(message("120 120"), [""; 0]);
        assert!(message("120 0")[0].contains("0 of 120 such instruments are on"));
        assert!(message("0 0")[0].contains("no instrument has the name"));
        let plugins = |loaded| {
            super::tests::message(
                Product::MariaDb,
                &[("plugin_load_add", "ha_blackhole")],
                &[("asked.plugins", loaded)],
            )
        };
        assert_eq!(plugins("binlog,ha_blackhole.so"), [""; 0]);
        assert!(plugins("binlog")[0].contains("not loaded `ha_blackhole`"));
    }

    #[test]
    fn an_option_that_nobody_reads_is_told() {
        let loose =
            |name| message(Product::MySql, &[(name, "1")], &[("sort_buffer_size", "262144")]);
        let nothing = loose("loose_xyz");
        assert!(nothing[0].contains("`loose` makes it ignore"), "{nothing:?}");
        assert!(!nothing[0].contains("did you mean"), "{nothing:?}");
        let misspelt = loose("loose_sort_bufer_size");
        assert!(misspelt[0].ends_with("did you mean `sort_buffer_size`?"), "{misspelt:?}");
        let log =
            [("asked.log.innodb_old", "[Warning] 'innodb-old' was removed. It does nothing now")];
        let removed = message(Product::MariaDb, &[("innodb_old", "1")], &log);
        assert!(removed[0].contains("It does nothing now"), "{removed:?}");
        let extension = message(Product::Postgres, &[("auto_explain.log_min_duration", "0")], &[]);
        assert!(extension[0].contains("no extension that is loaded"), "{extension:?}");
        assert_eq!(message(Product::MySql, &[("bootstrap", "0")], &[]), [""; 0]);
    }
}
