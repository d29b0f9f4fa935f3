//! Session settings: `SET` statements that a client sends before its work, as far as the work depends on them.
//!
//! The list of names is closed: settings that change a statement's result or execution, and none that writes, loads
//! code or reaches beyond its session. A value has a restricted alphabet, so that it can be rendered as SQL.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Dialect;

const VALUE_MAX: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingForm {
    /// `SET NAMES`: a character set, optionally with `COLLATE` and a collation.
    Names,
    CharacterSet,
    Isolation,
    /// Comma-separated words. Words with `+` or `-` modify the server's own list.
    Modes,
    Word,
    /// Switches such as `mrr=on,mrr_cost_based=off`.
    Switches,
    Text,
    /// Comma-separated schema names, quoted where needed.
    Path,
}

#[derive(Debug, Clone, Copy)]
struct KnownSetting {
    name: &'static str,
    /// `None` for both dialects.
    dialect: Option<Dialect>,
    form: SettingForm,
}

/// Settings of special form, in the order in which they are set: some replace others.
const SPECIAL: [KnownSetting; 11] = [
    KnownSetting { name: "names", dialect: Some(Dialect::MySql), form: SettingForm::Names },
    KnownSetting {
        name: "character_set",
        dialect: Some(Dialect::MySql),
        form: SettingForm::CharacterSet,
    },
    KnownSetting {
        name: "collation_connection",
        dialect: Some(Dialect::MySql),
        form: SettingForm::Word,
    },
    KnownSetting { name: "sql_mode", dialect: Some(Dialect::MySql), form: SettingForm::Modes },
    KnownSetting { name: "time_zone", dialect: Some(Dialect::MySql), form: SettingForm::Text },
    KnownSetting { name: "lc_time_names", dialect: Some(Dialect::MySql), form: SettingForm::Word },
    KnownSetting {
        name: "optimizer_switch",
        dialect: Some(Dialect::MySql),
        form: SettingForm::Switches,
    },
    KnownSetting { name: "isolation", dialect: None, form: SettingForm::Isolation },
    KnownSetting { name: "search_path", dialect: Some(Dialect::Postgres), form: SettingForm::Path },
    KnownSetting { name: "timezone", dialect: Some(Dialect::Postgres), form: SettingForm::Text },
    KnownSetting { name: "datestyle", dialect: Some(Dialect::Postgres), form: SettingForm::Text },
];

/// Settings of MySQL and MariaDB whose value is a number or a word.
const MYSQL: [&str; 49] = [
    "auto_increment_increment",
    "auto_increment_offset",
    "cte_max_recursion_depth",
    "default_week_format",
    "div_precision_increment",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "in_predicate_conversion_threshold",
    "innodb_lock_wait_timeout",
    "innodb_strict_mode",
    "innodb_table_locks",
    "join_buffer_size",
    "join_cache_level",
    "lock_wait_timeout",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_points_in_geometry",
    "max_recursive_iterations",
    "max_seeks_for_key",
    "max_sort_length",
    "max_statement_time",
    "mrr_buffer_size",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_selectivity_sampling_limit",
    "optimizer_use_condition_selectivity",
    "preload_buffer_size",
    "query_alloc_block_size",
    "query_cache_type",
    "query_prealloc_size",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_safe_updates",
    "sql_select_limit",
    "tmp_table_size",
    "transaction_isolation",
    "tx_isolation",
    "unique_checks",
    "windowing_use_high_precision",
];

/// Settings of Postgres whose value is a text. Planner settings that begin with `enable_` are allowed too.
const POSTGRES: [&str; 48] = [
    "array_nulls",
    "bytea_output",
    "constraint_exclusion",
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "cpu_tuple_cost",
    "cursor_tuple_fraction",
    "debug_parallel_query",
    "default_text_search_config",
    "default_transaction_deferrable",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "effective_cache_size",
    "effective_io_concurrency",
    "extra_float_digits",
    "force_parallel_mode",
    "from_collapse_limit",
    "geqo",
    "geqo_effort",
    "geqo_threshold",
    "gin_fuzzy_search_limit",
    "hash_mem_multiplier",
    "intervalstyle",
    "jit",
    "jit_above_cost",
    "jit_inline_above_cost",
    "jit_optimize_above_cost",
    "join_collapse_limit",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "lock_timeout",
    "maintenance_work_mem",
    "max_parallel_workers_per_gather",
    "min_parallel_index_scan_size",
    "min_parallel_table_scan_size",
    "parallel_leader_participation",
    "parallel_setup_cost",
    "parallel_tuple_cost",
    "plan_cache_mode",
    "random_page_cost",
    "row_security",
    "seq_page_cost",
    "statement_timeout",
    "synchronous_commit",
    "temp_buffers",
    "transform_null_equals",
    "work_mem",
];

const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "SettingFields", into = "SettingFields")]
pub struct SessionSetting {
    rank: usize,
    name: String,
    value: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingFields {
    name: String,
    value: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingError {
    Unknown,
    /// The value has the wrong form. The text describes the right one.
    Value(&'static str),
}

impl SessionSetting {
    /// Checks the value. Names are case-insensitive.
    pub fn new(name: &str, value: &str) -> Result<Self, SettingError> {
        let name = name.to_ascii_lowercase();
        let (rank, known) = known(&name).ok_or(SettingError::Unknown)?;
        let value = value.trim();
        if value.len() > VALUE_MAX {
            return Err(SettingError::Value("at most 1,000 bytes"));
        }
        Ok(Self { rank, value: canonical(known.form, value)?, name })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn value(&self) -> &str {
        &self.value
    }

    pub fn form(&self) -> SettingForm {
        known(&self.name).map_or(SettingForm::Word, |(_, it)| it.form)
    }

    pub fn is_of(&self, dialect: Dialect) -> bool {
        known(&self.name).is_some_and(|(_, it)| it.dialect.is_none_or(|own| own == dialect))
    }

    /// Sorted names of all settings of a dialect.
    pub fn names(dialect: Dialect) -> Vec<&'static str> {
        let special = SPECIAL.iter().filter(|it| it.dialect.is_none_or(|own| own == dialect));
        let others: &[&str] = match dialect {
            Dialect::MySql => &MYSQL,
            Dialect::Postgres => &POSTGRES,
        };
        let mut names: Vec<&str> =
            special.map(|it| it.name).chain(others.iter().copied()).collect();
        names.sort_unstable();
        names
    }
}

impl fmt::Display for SessionSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = '{}'", self.name, self.value)
    }
}

impl From<SessionSetting> for SettingFields {
    fn from(SessionSetting { name, value, .. }: SessionSetting) -> Self {
        Self { name, value }
    }
}

impl TryFrom<SettingFields> for SessionSetting {
    type Error = String;

    fn try_from(SettingFields { name, value }: SettingFields) -> Result<Self, String> {
        Self::new(&name, &value).map_err(|error| match error {
            SettingError::Unknown => "a setting of a session that assay does not carry".to_owned(),
            SettingError::Value(takes) => format!("a setting of a session takes {takes}"),
        })
    }
}

/// A known setting and its position in the setting order.
fn known(name: &str) -> Option<(usize, KnownSetting)> {
    if let Some((rank, found)) = SPECIAL.iter().enumerate().find(|(_, it)| it.name == name) {
        return Some((rank, *found));
    }
    let setting = |dialect, form| {
        Some((SPECIAL.len(), KnownSetting { name: "", dialect: Some(dialect), form }))
    };
    let is_switch = name.strip_prefix("enable_").is_some_and(|rest| {
        (1..=40).contains(&rest.len())
            && rest.bytes().all(|it| it.is_ascii_lowercase() || it == b'_')
    });
    if MYSQL.binary_search(&name).is_ok() {
        setting(Dialect::MySql, SettingForm::Word)
    } else if is_switch || POSTGRES.binary_search(&name).is_ok() {
        setting(Dialect::Postgres, SettingForm::Text)
    } else {
        None
    }
}

/// Checks a value and returns its stored form.
fn canonical(form: SettingForm, value: &str) -> Result<String, SettingError> {
    let error = |takes| Err(SettingError::Value(takes));
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
    };
    match form {
        SettingForm::Names => {
            let parts: Vec<&str> = value.split_ascii_whitespace().collect();
            match parts.as_slice() {
                [set] if is_word(set) => Ok(set.to_ascii_lowercase()),
                [set, collate, collation]
                    if is_word(set)
                        && collate.eq_ignore_ascii_case("COLLATE")
                        && is_word(collation) =>
                {
                    let (set, collation) =
                        (set.to_ascii_lowercase(), collation.to_ascii_lowercase());
                    Ok(format!("{set} COLLATE {collation}"))
                }
                _ => error("a character set such as `utf8mb4`, or `utf8mb4 COLLATE utf8mb4_bin`"),
            }
        }
        SettingForm::CharacterSet if is_word(value) => Ok(value.to_ascii_lowercase()),
        SettingForm::CharacterSet => error("a character set such as `utf8mb4`"),
        SettingForm::Isolation => {
            let level = value.replace('-', " ").to_ascii_uppercase();
            let is_level = LEVELS.contains(&level.as_str());
            if is_level { Ok(level) } else { error("an isolation level such as `READ COMMITTED`") }
        }
        SettingForm::Modes => modes(value),
        SettingForm::Switches => {
            let switch = |part: &str| {
                let (name, state) = part.trim().split_once('=').unwrap_or((part.trim(), "default"));
                let is_state =
                    ["on", "off", "default"].contains(&state.to_ascii_lowercase().as_str());
                let is_known = is_word(name) && is_state;
                let text = if part.contains('=') {
                    format!("{}={}", name.to_ascii_lowercase(), state.to_ascii_lowercase())
                } else {
                    name.to_ascii_lowercase()
                };
                is_known.then_some(text)
            };
            let all: Option<Vec<String>> = value.split(',').map(switch).collect();
            let all =
                all.ok_or(SettingError::Value("switches such as `mrr=on,mrr_cost_based=off`"))?;
            Ok(all.join(","))
        }
        SettingForm::Word => {
            let body = value.strip_prefix('-').unwrap_or(value);
            let is_usual =
                body.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-.".contains(&it));
            if body.is_empty() || !is_usual {
                return error("a number, or a word such as `ON`");
            }
            Ok(value.to_owned())
        }
        SettingForm::Text => {
            let is_usual =
                value.bytes().all(|it| it.is_ascii_alphanumeric() || b" _.,+-/:%".contains(&it));
            if !is_usual {
                return error("letters, digits, blanks and the marks `_.,+-/:%`");
            }
            Ok(value.to_owned())
        }
        SettingForm::Path => path(value),
    }
}

/// Mode words in capitals, or modifications of the server's own list.
fn modes(value: &str) -> Result<String, SettingError> {
    const TAKES: SettingError = SettingError::Value(
        "modes such as `ANSI_QUOTES,STRICT_ALL_TABLES`, or changes such as `+ANSI_QUOTES,-ONLY_FULL_GROUP_BY`",
    );
    let parts: Vec<&str> = value.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    let change = |part: &&str| part.starts_with(['+', '-']);
    if parts.iter().any(change) && !parts.iter().all(change) {
        return Err(TAKES);
    }
    let word = |part: &&str| {
        let word = part.trim_start_matches(['+', '-']).to_ascii_uppercase();
        let is_mode = !word.is_empty()
            && part.len() <= word.len() + 1
            && word.bytes().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b'_');
        let sign = part.get(..part.len().saturating_sub(word.len())).unwrap_or_default();
        is_mode.then(|| format!("{sign}{word}"))
    };
    let all: Option<Vec<String>> = parts.iter().map(word).collect();
    Ok(all.ok_or(TAKES)?.join(","))
}

fn path(value: &str) -> Result<String, SettingError> {
    const TAKES: SettingError = SettingError::Value(
        "names of schemas with commas between them, such as `tenant_1, public`",
    );
    let mut names = Vec::new();
    let mut rest = value.trim();
    while !rest.is_empty() {
        let (name, after) = match rest.strip_prefix('"') {
            Some(inside) => inside.split_once('"').ok_or(TAKES)?,
            None => {
                let (name, _) = rest.split_once(',').unwrap_or((rest, ""));
                let after = rest.get(name.len()..).unwrap_or_default();
                let name = name.trim();
                let is_plain = name
                    .bytes()
                    .all(|it| it.is_ascii_alphanumeric() || b"_$".contains(&it) || !it.is_ascii());
                if !is_plain || name.is_empty() {
                    return Err(TAKES);
                }
                (name, after)
            }
        };
        if name.contains(|it: char| it.is_control() || it == '\'' || it == '\\') {
            return Err(TAKES);
        }
        let is_quoted = rest.starts_with('"');
        let name = if is_quoted { name.to_owned() } else { name.to_ascii_lowercase() };
        let needs_marks =
            !name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_')
                || name.is_empty()
                || name.starts_with(|it: char| it.is_ascii_digit());
        names.push(if needs_marks { format!("\"{name}\"") } else { name });
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(more) if !more.trim().is_empty() => more.trim_start(),
            Some(_) => return Err(TAKES),
            None if after.is_empty() => "",
            None => return Err(TAKES),
        };
    }
    Ok(names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str, value: &str) -> Option<String> {
        SessionSetting::new(name, value).ok().map(|it| it.value().to_owned())
    }

    #[test]
    fn lists_are_sorted() {
        assert!(MYSQL.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(POSTGRES.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn values_have_the_form_of_their_setting() {
        for (name, given, expected) in [
            (
                "SQL_MODE",
                "no_engine_substitution, ANSI_QUOTES",
                Some("NO_ENGINE_SUBSTITUTION,ANSI_QUOTES"),
            ),
            ("sql_mode", "", Some("")),
            (
                "sql_mode",
                "+STRICT_ALL_TABLES,-ONLY_FULL_GROUP_BY",
                Some("+STRICT_ALL_TABLES,-ONLY_FULL_GROUP_BY"),
            ),
            ("sql_mode", "+A,B", None),
            ("sql_mode", "A'; DROP TABLE t; --", None),
            ("names", "UTF8MB4 collate utf8mb4_bin", Some("utf8mb4 COLLATE utf8mb4_bin")),
            ("names", "utf8 collate x y", None),
            ("isolation", "read-committed", Some("READ COMMITTED")),
            ("isolation", "CHAOS", None),
            ("time_zone", "+02:00", Some("+02:00")),
            ("time_zone", "'a'", None),
            ("optimizer_switch", "MRR=ON, mrr_cost_based=off", Some("mrr=on,mrr_cost_based=off")),
            ("optimizer_switch", "mrr=on;", None),
            ("group_concat_max_len", "4096", Some("4096")),
            ("max_statement_time", "0.5", Some("0.5")),
            ("query_cache_type", "OFF", Some("OFF")),
            ("work_mem", "64MB", Some("64MB")),
            ("enable_seqscan", "off", Some("off")),
            ("search_path", "Tenant_1,public", Some("tenant_1, public")),
            (
                "search_path",
                "\"$user\", \"Tenant 1\", public",
                Some("\"$user\", \"Tenant 1\", public"),
            ),
            ("search_path", "", Some("")),
            ("search_path", "a'; SELECT 1", None),
            ("search_path", "\"a\"b", None),
            ("search_path", "a,", None),
            ("sql_log_bin", "0", None),
            ("session_preload_libraries", "x", None),
            ("local_preload_libraries", "x", None),
            ("enable_", "on", None),
        ] {
            assert_eq!(value(name, given).as_deref(), expected, "{name} = {given}");
        }
    }

    #[test]
    fn a_document_has_no_setting_that_is_not_carried() {
        let read = |name: &str, value: &str| {
            SessionSetting::try_from(SettingFields {
                name: name.to_owned(),
                value: value.to_owned(),
            })
        };
        assert!(read("sql_mode", "ANSI").is_ok());
        assert!(read("sql_log_bin", "0").is_err());
        assert!(read("sql_mode", "'").is_err());
    }
}
