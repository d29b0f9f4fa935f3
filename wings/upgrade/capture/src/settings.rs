//! Session settings at the time of each statement.

use std::collections::{BTreeMap, HashMap};

use assay_model::{Dialect, SessionSetting, SettingError};

use crate::sql::kind::StatementEffect;
use crate::sql::set::{ModeList, SetScope, SettingChange};

const SESSIONS: usize = 200_000;

const SETS: usize = 10_000;

const SHOWN: usize = 3;

/// Settings that affect neither results nor execution, or that assay sets itself.
const WITHOUT_EFFECT: [&str; 44] = [
    "application_name",
    "autocommit",
    "backend_flush_after",
    "bulk_insert_buffer_size",
    "character_set_client",
    "character_set_results",
    "check_function_bodies",
    "client_encoding",
    "client_min_messages",
    "commit_delay",
    "commit_siblings",
    "debug_print_plan",
    "default_tablespace",
    "escape_string_warning",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "information_schema_stats_expiry",
    "interactive_timeout",
    "log_duration",
    "log_min_duration_statement",
    "log_min_messages",
    "log_statement",
    "long_query_time",
    "max_allowed_packet",
    "net_buffer_length",
    "net_read_timeout",
    "net_retry_count",
    "net_write_timeout",
    "profiling",
    "profiling_history_size",
    "session_track_schema",
    "session_track_state_change",
    "session_track_system_variables",
    "session_track_transaction_info",
    "sql_notes",
    "sql_quote_show_create",
    "sql_warnings",
    "tcp_keepalives_idle",
    "timestamp",
    "transaction_read_only",
    "tx_read_only",
    "wait_timeout",
    "xmlbinary",
    "xmloption",
];

type SettingValues = BTreeMap<String, SessionSetting>;

#[derive(Debug, Default, Clone)]
struct SessionState {
    values: SettingValues,
    /// Those that end with the transaction.
    local: SettingValues,
    /// Settings when the transaction began; `None` outside of one.
    at_begin: Option<SettingValues>,
    /// Statements begin transactions implicitly.
    begins_by_itself: bool,
    set: u32,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct LostSettings {
    pub(crate) count: u64,
    /// The first distinct ones, with the reason if known.
    pub(crate) first: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct SettingsTracker {
    open: HashMap<u64, SessionState>,
    sets: Vec<Vec<SessionSetting>>,
    numbers: HashMap<Vec<SessionSetting>, u32>,
    pub(crate) not_carried: LostSettings,
    pub(crate) begun_before: u64,
    pub(crate) calls_of_begun_before: u64,
}

impl Default for SettingsTracker {
    fn default() -> Self {
        Self {
            open: HashMap::new(),
            sets: vec![Vec::new()],
            numbers: HashMap::from([(Vec::new(), 0)]),
            not_carried: LostSettings::default(),
            begun_before: 0,
            calls_of_begun_before: 0,
        }
    }
}

impl SettingsTracker {
    pub(crate) fn begin(&mut self, id: u64) {
        self.make_room(id);
        self.open.insert(id, SessionState::default());
    }

    pub(crate) fn forget(&mut self, id: u64) {
        self.open.remove(&id);
    }

    /// Clears all sessions on a server restart.
    pub(crate) fn forget_all(&mut self) {
        self.open.clear();
    }

    /// Number of a session's current set of settings; `None` if there are too many sets.
    pub(crate) fn set_of(&mut self, id: Option<u64>, calls: u64) -> Option<u32> {
        let Some(id) = id else { return Some(0) };
        if !self.open.contains_key(&id) {
            self.make_room(id);
            self.open.insert(id, SessionState::default());
            self.begun_before += 1;
            self.calls_of_begun_before = self.calls_of_begun_before.saturating_add(calls);
        }
        let session = self.open.get_mut(&id)?;
        let set = session.set;
        // Settings for the next transaction end with a statement that is one.
        if session.at_begin.is_none() && !session.begins_by_itself && !session.local.is_empty() {
            session.local.clear();
            self.number(id);
        }
        Some(set).filter(|set| *set != u32::MAX)
    }

    pub(crate) fn into_sets(self) -> Vec<Vec<SessionSetting>> {
        self.sets
    }

    pub(crate) fn control(&mut self, id: u64, does: StatementEffect) {
        let Some(session) = self.open.get_mut(&id) else { return };
        match does {
            StatementEffect::Begin => session.at_begin = Some(session.values.clone()),
            StatementEffect::Autocommit(is_on) => session.begins_by_itself = !is_on,
            StatementEffect::Commit | StatementEffect::Rollback | StatementEffect::Definition => {
                let before = session.at_begin.take().filter(|_| does == StatementEffect::Rollback);
                let had_local = !session.local.is_empty();
                session.local.clear();
                let is_changed = before.as_ref().is_some_and(|it| *it != session.values);
                session.values = before.unwrap_or_else(|| std::mem::take(&mut session.values));
                if had_local || is_changed {
                    self.number(id);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn change(
        &mut self,
        id: Option<u64>,
        changes: Vec<SettingChange>,
        dialect: Dialect,
    ) {
        if changes.is_empty() {
            return;
        }
        let Some(id) = id else {
            changes
                .iter()
                .filter(|it| !is_without_effect(it))
                .for_each(|it| self.lose(&described(it), "the log does not tell sessions"));
            return;
        };
        if !self.open.contains_key(&id) {
            self.begin(id);
        }
        for change in changes {
            self.apply(id, change, dialect);
        }
        self.number(id);
    }

    fn apply(&mut self, id: u64, change: SettingChange, dialect: Dialect) {
        let Some(session) = self.open.get_mut(&id) else { return };
        match change {
            SettingChange::Set { name, value, scope } => {
                if WITHOUT_EFFECT.binary_search(&name.as_str()).is_ok() {
                    return;
                }
                let (known, lost) = without_unsafe_modes(&name, &value);
                let setting = SessionSetting::new(&name, &known);
                let values = match scope {
                    SetScope::Session => &mut session.values,
                    // Outside of a transaction, Postgres drops it at once.
                    SetScope::Transaction
                        if dialect == Dialect::Postgres && session.at_begin.is_none() =>
                    {
                        return;
                    }
                    SetScope::Transaction => &mut session.local,
                };
                values.remove(&name);
                let replaced: &[&str] = match name.as_str() {
                    "names" => &["character_set", "collation_connection"],
                    "character_set" => &["names", "collation_connection"],
                    _ => &[],
                };
                replaced.iter().for_each(|it| drop(values.remove(*it)));
                let text = format!("{name} = '{value}'");
                match setting {
                    Ok(setting) if setting.is_of(dialect) => {
                        values.insert(name, setting);
                        if lost {
                            self.lose(&text, "assay writes texts with backslashes");
                        }
                    }
                    Ok(_) | Err(SettingError::Unknown) => self.lose(&text, ""),
                    Err(SettingError::Value(_)) => self.lose(&text, "its value is not known"),
                }
            }
            SettingChange::Modes { name, list, changes } => {
                let before = session.values.remove(&name);
                let before = before.filter(|_| list == ModeList::Session);
                let value = changed(before.as_ref().map(SessionSetting::value), &changes);
                let Some(value) = value else { return };
                match SessionSetting::new(&name, &value) {
                    Ok(setting) => drop(session.values.insert(name, setting)),
                    Err(_) => self.lose(&format!("{name} = '{value}'"), "its value is not known"),
                }
            }
            SettingChange::Default { name, scope: SetScope::Session } => {
                session.values.remove(&name);
                session.local.remove(&name);
            }
            SettingChange::Default { name, scope: SetScope::Transaction } => {
                drop(session.local.remove(&name))
            }
            SettingChange::DefaultAll => {
                session.values.clear();
                session.local.clear();
            }
            SettingChange::Other(text) => self.lose(&text, ""),
        }
    }

    fn lose(&mut self, text: &str, why: &str) {
        let LostSettings { count, first } = &mut self.not_carried;
        *count += 1;
        let text: String = text.chars().take(80).collect();
        let message = if why.is_empty() { text } else { format!("{text} ({why})") };
        if first.len() < SHOWN && !first.contains(&message) {
            first.push(message);
        }
    }

    fn number(&mut self, id: u64) {
        let Some(session) = self.open.get_mut(&id) else { return };
        let mut all = session.values.clone();
        all.extend(session.local.iter().map(|(name, it)| (name.clone(), it.clone())));
        let mut set: Vec<SessionSetting> = all.into_values().collect();
        set.sort();
        session.set = match self.numbers.get(&set) {
            Some(number) => *number,
            None if self.sets.len() >= SETS => u32::MAX,
            None => {
                let number = self.sets.len() as u32;
                self.sets.push(set.clone());
                self.numbers.insert(set, number);
                number
            }
        };
    }

    fn make_room(&mut self, id: u64) {
        if self.open.len() >= SESSIONS && !self.open.contains_key(&id) {
            self.open.clear();
        }
    }
}

/// The mode without backslash escapes. A workload's texts are sent with backslashes.
const NO_BACKSLASHES: &str = "NO_BACKSLASH_ESCAPES";

/// Removes the unsupported mode from a value; true if it was there.
fn without_unsafe_modes(name: &str, value: &str) -> (String, bool) {
    let modes: Vec<&str> = value.split(',').map(str::trim).collect();
    let is_lost = |mode: &&str| mode.eq_ignore_ascii_case(NO_BACKSLASHES);
    if name != "sql_mode" || !modes.iter().any(is_lost) {
        return (value.to_owned(), false);
    }
    let rest: Vec<&str> = modes.into_iter().filter(|it| !is_lost(it)).collect();
    (rest.join(","), true)
}

/// Applies changes to a list of modes: the result is a list if `before` was one, otherwise changes of the server's own
/// list; `None` without any.
fn changed(before: Option<&str>, changes: &[(bool, String)]) -> Option<String> {
    let is_list = before.is_some_and(|it| !it.starts_with(['+', '-']));
    let before = before.unwrap_or_default();
    let mut modes: Vec<String> =
        before.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    for (is_added, mode) in changes.iter().filter(|(_, mode)| mode != NO_BACKSLASHES) {
        modes.retain(|it| it.trim_start_matches(['+', '-']) != mode);
        match (is_list, is_added) {
            (true, true) => modes.push(mode.clone()),
            (true, false) => {}
            (false, true) => modes.push(format!("+{mode}")),
            (false, false) => modes.push(format!("-{mode}")),
        }
    }
    (is_list || !modes.is_empty()).then(|| modes.join(","))
}

/// Whether a change affects no statement.
fn is_without_effect(change: &SettingChange) -> bool {
    match change {
        SettingChange::Set { name, .. } | SettingChange::Default { name, .. } => {
            WITHOUT_EFFECT.binary_search(&name.as_str()).is_ok()
        }
        SettingChange::DefaultAll => true,
        SettingChange::Modes { .. } | SettingChange::Other(_) => false,
    }
}

fn described(change: &SettingChange) -> String {
    match change {
        SettingChange::Set { name, value, .. } => format!("{name} = '{value}'"),
        SettingChange::Modes { name, .. } | SettingChange::Default { name, .. } => name.clone(),
        SettingChange::DefaultAll => "DISCARD ALL".to_owned(),
        SettingChange::Other(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::set::changes;
    use crate::sql::token::tokenize;

    fn send(settings: &mut SettingsTracker, id: u64, sql: &str, dialect: Dialect) {
        let mut tokens = Vec::new();
        tokenize(sql.as_bytes(), dialect, &mut tokens);
        let does = crate::sql::kind::does(sql.as_bytes(), &tokens, dialect);
        settings.control(id, does);
        settings.change(Some(id), changes(sql.as_bytes(), &tokens, dialect, &[]), dialect);
    }

    fn shown(settings: &mut SettingsTracker, id: u64) -> String {
        let set = settings.set_of(Some(id), 1).unwrap() as usize;
        let set: Vec<String> = settings.sets[set].iter().map(ToString::to_string).collect();
        set.join(", ")
    }

    #[test]
    fn lists_are_sorted() {
        assert!(WITHOUT_EFFECT.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_session_keeps_what_it_sets() {
        let mut settings = SettingsTracker::default();
        for (sql, expected) in [
            (
                "SET NAMES utf8mb4, SESSION sql_mode = 'ANSI_QUOTES'",
                "names = 'utf8mb4', sql_mode = 'ANSI_QUOTES'",
            ),
            (
                "SET sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')",
                "names = 'utf8mb4', sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES'",
            ),
            (
                "SET wait_timeout = 5",
                "names = 'utf8mb4', sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES'",
            ),
            (
                "SET CHARACTER SET latin1",
                "character_set = 'latin1', sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES'",
            ),
            ("SET sql_mode = @@GLOBAL.sql_mode", "character_set = 'latin1'"),
            ("SET sql_mode = (SELECT @@sql_mode)", "character_set = 'latin1'"),
            (
                "SET sql_mode = REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', '')",
                "character_set = 'latin1'",
            ),
            ("SET sql_mode = ''", "character_set = 'latin1', sql_mode = ''"),
            (
                "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')",
                "character_set = 'latin1', sql_mode = 'ANSI_QUOTES'",
            ),
            ("SET sql_mode = DEFAULT", "character_set = 'latin1'"),
            (
                "SET sql_mode = (SELECT REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY', ''))",
                "character_set = 'latin1', sql_mode = '-ONLY_FULL_GROUP_BY'",
            ),
        ] {
            send(&mut settings, 1, sql, Dialect::MySql);
            assert_eq!(shown(&mut settings, 1), expected, "{sql}");
        }
        assert_eq!(shown(&mut settings, 2), "");
        assert_eq!((settings.begun_before, settings.not_carried.count), (1, 0));
        for sql in ["SET GLOBAL sql_mode = ''", "SET sql_log_bin = 0", "SET @a = 1", "SET @b = 1"] {
            send(&mut settings, 1, sql, Dialect::MySql);
        }
        send(&mut settings, 1, "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI'", Dialect::MySql);
        assert_eq!(shown(&mut settings, 1), "character_set = 'latin1', sql_mode = 'ANSI'");
        assert_eq!(settings.not_carried.count, 5);
        assert_eq!(
            settings.not_carried.first,
            ["SET GLOBAL sql_mode = ''", "sql_log_bin = '0'", "SET @a = 1"]
        );
    }

    #[test]
    fn what_is_set_for_the_next_transaction_ends_with_a_statement_that_is_one() {
        let mut settings = SettingsTracker::default();
        for sql in ["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "BEGIN"] {
            send(&mut settings, 1, sql, Dialect::MySql);
        }
        assert_eq!(shown(&mut settings, 1), "isolation = 'SERIALIZABLE'");
        assert_eq!(shown(&mut settings, 1), "isolation = 'SERIALIZABLE'");
        send(&mut settings, 1, "COMMIT", Dialect::MySql);
        send(&mut settings, 1, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", Dialect::MySql);
        assert_eq!(shown(&mut settings, 1), "isolation = 'READ COMMITTED'");
        assert_eq!(shown(&mut settings, 1), "");
    }

    #[test]
    fn what_is_set_in_a_transaction_ends_with_it() {
        let mut settings = SettingsTracker::default();
        for (sql, expected) in [
            ("SET search_path TO tenant_1", "search_path = 'tenant_1'"),
            ("SET LOCAL work_mem = '1MB'", "search_path = 'tenant_1'"),
            ("BEGIN", "search_path = 'tenant_1'"),
            ("SET LOCAL work_mem = '1MB'", "search_path = 'tenant_1', work_mem = '1MB'"),
            (
                "SELECT set_config('search_path', 'tenant_2', true)",
                "search_path = 'tenant_2', work_mem = '1MB'",
            ),
            ("COMMIT", "search_path = 'tenant_1'"),
            (
                "BEGIN ISOLATION LEVEL SERIALIZABLE",
                "isolation = 'SERIALIZABLE', search_path = 'tenant_1'",
            ),
            ("SET search_path TO tenant_3", "isolation = 'SERIALIZABLE', search_path = 'tenant_3'"),
            ("ROLLBACK", "search_path = 'tenant_1'"),
            ("DISCARD ALL", ""),
        ] {
            send(&mut settings, 1, sql, Dialect::Postgres);
            assert_eq!(shown(&mut settings, 1), expected, "{sql}");
        }
    }
}
