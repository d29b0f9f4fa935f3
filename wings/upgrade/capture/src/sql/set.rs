//! Session changes by `SET`, `RESET`, `DISCARD` and `set_config()`.

use assay_model::Dialect;

use super::kind::executed;
use super::token::{SqlToken, TokenKind, TokenView};
use super::value::Literal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetScope {
    Session,
    /// Until the end of the current transaction, or of the next one.
    Transaction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingChange {
    Set {
        name: String,
        value: String,
        scope: SetScope,
    },
    /// Modes are added to a list (true) and removed from it (false).
    Modes {
        name: String,
        list: ModeList,
        changes: Vec<(bool, String)>,
    },
    Default {
        name: String,
        scope: SetScope,
    },
    DefaultAll,
    /// A change that is no setting, or has an unknown value, as text.
    Other(String),
}

/// A list of modes from which others are derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModeList {
    Session,
    /// The server's list, with which sessions begin.
    Server,
}

struct Set<'s> {
    view: TokenView<'s>,
    dialect: Dialect,
    parameters: &'s [Option<Vec<u8>>],
}

pub(crate) fn changes(
    text: &[u8],
    tokens: &[SqlToken],
    dialect: Dialect,
    parameters: &[Option<Vec<u8>>],
) -> Vec<SettingChange> {
    let mut tokens = executed(text, tokens).unwrap_or_else(|| tokens.to_vec());
    tokens.retain(|token| token.kind != TokenKind::Hint);
    let set = Set { view: TokenView { text, tokens: &tokens }, dialect, parameters };
    match (set.view.upper(0).as_str(), dialect) {
        ("SET", Dialect::MySql) => set.of_mysql(),
        ("SET", Dialect::Postgres) => set.of_postgres(),
        ("RESET", Dialect::Postgres) => set.reset(),
        ("DISCARD", Dialect::Postgres) if set.view.is(1, "ALL") => vec![SettingChange::DefaultAll],
        ("SELECT", Dialect::Postgres) => set.set_config(),
        ("BEGIN" | "START", Dialect::Postgres) => {
            let level = set.isolation(1, set.view.tokens.len(), SetScope::Transaction);
            level.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

impl Set<'_> {
    fn is_assignment(&self, at: usize) -> bool {
        matches!(self.view.bytes(at), b"=" | b":=")
    }

    fn name(&self, at: usize) -> String {
        String::from_utf8_lossy(self.view.name(at)).into_owned()
    }

    /// The source text of a part, for messages.
    fn written(&self, from: usize, to: usize) -> String {
        let begin = self.view.tokens.get(from).map_or(0, |it| it.start);
        let end =
            to.checked_sub(1).and_then(|at| self.view.tokens.get(at)).map_or(begin, |it| it.end);
        let text = String::from_utf8_lossy(self.view.text.get(begin..end).unwrap_or_default());
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(80).collect()
    }

    fn value(&self, from: usize, to: usize) -> Option<String> {
        let is_negative = self.view.bytes(from) == b"-";
        let from = if is_negative || self.view.bytes(from) == b"+" { from + 1 } else { from };
        let token = self.view.tokens.get(from).filter(|_| to == from + 1)?;
        let literal = Literal::new(token, self.view.text, is_negative);
        match token.kind {
            TokenKind::Word => {
                let word = String::from_utf8_lossy(self.view.bytes(from)).into_owned();
                (!word.starts_with('@')).then_some(word)
            }
            TokenKind::Name => Some(self.name(from)),
            TokenKind::Number => {
                let sign = if is_negative { "-" } else { "" };
                Some(format!("{sign}{}", String::from_utf8_lossy(self.view.bytes(from))))
            }
            TokenKind::Mark if literal.is_unknown(self.parameters) => None,
            _ => literal.text(self.dialect, self.parameters),
        }
    }

    /// The ends of the comma-separated parts, from a token on.
    fn parts(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let (mut parts, mut begin, mut depth) = (Vec::new(), from, 0_u32);
        for at in from..to {
            match self.view.bytes(at) {
                b"(" => depth += 1,
                b")" => depth = depth.saturating_sub(1),
                b"," if depth == 0 => {
                    parts.push((begin, at));
                    begin = at + 1;
                }
                _ => {}
            }
        }
        parts.push((begin, to));
        parts
    }

    fn of_mysql(&self) -> Vec<SettingChange> {
        let end = self.view.tokens.len();
        let parts = self.parts(1, end);
        parts.into_iter().map(|(from, to)| self.mysql_part(from, to)).collect()
    }

    fn mysql_part(&self, from: usize, to: usize) -> SettingChange {
        let other = || SettingChange::Other(format!("SET {}", self.written(from, to)));
        let is_default = self.view.is(to.saturating_sub(1), "DEFAULT");
        let default =
            |name: &str| SettingChange::Default { name: name.to_owned(), scope: SetScope::Session };
        if self.view.is(from, "NAMES") {
            let set = self.value(from + 1, from + 2);
            let collation =
                self.value(from + 3, from + 4).filter(|_| self.view.is(from + 2, "COLLATE"));
            return match (set, collation) {
                _ if is_default => default("names"),
                (Some(set), None) if to == from + 2 => session("names", set),
                (Some(set), Some(collation)) if to == from + 4 => {
                    session("names", format!("{set} COLLATE {collation}"))
                }
                _ => other(),
            };
        }
        let is_set = self.view.is(from, "CHARACTER") && self.view.is(from + 1, "SET");
        if is_set || self.view.is(from, "CHARSET") {
            let at = if is_set { from + 2 } else { from + 1 };
            return match self.value(at, to) {
                _ if is_default => default("names"),
                Some(set) => session("character_set", set),
                None => other(),
            };
        }
        let (at, scope) = match self.view.upper(from).as_str() {
            "SESSION" | "LOCAL" => (from + 1, SetScope::Session),
            "TRANSACTION" => (from, SetScope::Transaction),
            "GLOBAL" | "PERSIST" | "PERSIST_ONLY" => return other(),
            _ => (from, SetScope::Session),
        };
        if self.view.is(at, "TRANSACTION") {
            return self.isolation(at + 1, to, scope).unwrap_or_else(other);
        }
        let name = self.name(at);
        let lower = name.to_ascii_lowercase();
        let prefixes = ["@@session.", "@@local.", "@@"];
        let bare = prefixes.iter().find_map(|prefix| lower.strip_prefix(prefix));
        let bare = bare.unwrap_or(&lower);
        if bare.starts_with('@') || bare.contains('.') || !self.is_assignment(at + 1) {
            return other();
        }
        if is_default && to == at + 3 {
            return default(bare);
        }
        match self.value(at + 2, to) {
            Some(value) => session(bare, value),
            None if bare == "sql_mode" => match self.modes(at + 2, to, 0) {
                Some(Modes { list: Some(list), changes, .. }) => {
                    SettingChange::Modes { name: bare.to_owned(), list, changes }
                }
                Some(Modes { texts, .. }) => session(bare, texts.join(",")),
                None => other(),
            },
            None => other(),
        }
    }

    /// `ISOLATION LEVEL READ COMMITTED`. Whether a transaction may write changes none of its statements.
    fn isolation(&self, from: usize, to: usize, scope: SetScope) -> Option<SettingChange> {
        let at = (from..to).find(|at| self.view.is(*at, "LEVEL"));
        let Some(at) = at else {
            let is_access = self.view.is_any(from, &["READ", "NOT", "DEFERRABLE"]);
            return is_access.then(|| SettingChange::Set {
                name: "transaction_read_only".to_owned(),
                value: self.written(from, to),
                scope,
            });
        };
        let words: Vec<String> = match self.view.upper(at + 1).as_str() {
            "SERIALIZABLE" => vec![self.view.upper(at + 1)],
            _ => vec![self.view.upper(at + 1), self.view.upper(at + 2)],
        };
        Some(SettingChange::Set { name: "isolation".to_owned(), value: words.join(" "), scope })
    }

    fn of_postgres(&self) -> Vec<SettingChange> {
        let end = self.view.tokens.len();
        let (at, scope) = match self.view.upper(1).as_str() {
            "LOCAL" => (2, SetScope::Transaction),
            "SESSION" => (2, SetScope::Session),
            _ => (1, SetScope::Session),
        };
        let other = || vec![SettingChange::Other(self.written(0, end))];
        let one = |name: &str, value: Option<String>| match value {
            Some(value) => {
                vec![SettingChange::Set { name: name.to_ascii_lowercase(), value, scope }]
            }
            None => other(),
        };
        let default =
            |name: &str| vec![SettingChange::Default { name: name.to_ascii_lowercase(), scope }];
        match self.view.upper(at).as_str() {
            "TIME" if self.view.is(at + 1, "ZONE") => {
                let is_default = self.view.is_any(at + 2, &["DEFAULT", "LOCAL"]);
                if is_default {
                    default("timezone")
                } else {
                    one("timezone", self.value(at + 2, end))
                }
            }
            "SCHEMA" => one("search_path", self.schema(at + 1, end)),
            "NAMES" => one("client_encoding", self.value(at + 1, end)),
            "TRANSACTION" => {
                self.isolation(at + 1, end, SetScope::Transaction).map_or_else(other, |it| vec![it])
            }
            "CHARACTERISTICS" => {
                self.isolation(at + 3, end, SetScope::Session).map_or_else(other, |it| vec![it])
            }
            "ROLE" | "AUTHORIZATION" | "XML" | "CONSTRAINTS" | "SEED" => other(),
            _ if self.is_assignment(at + 1) || self.view.is(at + 1, "TO") => {
                let name = self.name(at);
                if self.view.is(at + 2, "DEFAULT") && end == at + 3 {
                    return default(&name);
                }
                let parts = self.parts(at + 2, end);
                let is_path = name.eq_ignore_ascii_case("search_path");
                let values: Option<Vec<String>> = parts
                    .into_iter()
                    .map(
                        |(from, to)| {
                            if is_path { self.schema(from, to) } else { self.value(from, to) }
                        },
                    )
                    .collect();
                one(&name, values.map(|it| it.join(", ")))
            }
            _ => other(),
        }
    }

    /// A schema as part of a search path: a text names one schema, whatever it contains.
    fn schema(&self, from: usize, to: usize) -> Option<String> {
        let value = self.value(from, to)?;
        let is_word = self.view.tokens.get(from).is_some_and(|it| it.kind == TokenKind::Word);
        let is_plain = !value.is_empty()
            && value.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_')
            && !value.starts_with(|it: char| it.is_ascii_digit());
        Some(if is_word || is_plain { value } else { format!("\"{value}\"") })
    }

    fn reset(&self) -> Vec<SettingChange> {
        let scope = SetScope::Session;
        match self.view.upper(1).as_str() {
            "ALL" => vec![SettingChange::DefaultAll],
            "TIME" => vec![SettingChange::Default { name: "timezone".to_owned(), scope }],
            "ROLE" | "SESSION" => Vec::new(),
            _ => vec![SettingChange::Default { name: self.name(1).to_ascii_lowercase(), scope }],
        }
    }

    /// `SELECT set_config('search_path', 'a', false), ...`, and nothing else.
    fn set_config(&self) -> Vec<SettingChange> {
        let parts = self.parts(1, self.view.tokens.len());
        let call = |(from, to): (usize, usize)| {
            let at = if self.view.bytes(from + 1) == b"." { from + 2 } else { from };
            let is_call =
                self.name(at).eq_ignore_ascii_case("set_config") && self.view.bytes(at + 1) == b"(";
            let close =
                (at..to).rev().find(|it| self.view.bytes(*it) == b")").filter(|_| is_call)?;
            let arguments = self.parts(at + 2, close);
            let [name, value, local] = arguments.as_slice() else { return None };
            let name = self.value(name.0, name.1)?.to_ascii_lowercase();
            let is_local = self.value(local.0, local.1)?;
            let is_local =
                ["true", "t", "1", "on"].contains(&is_local.to_ascii_lowercase().as_str());
            let scope = if is_local { SetScope::Transaction } else { SetScope::Session };
            Some(match self.value(value.0, value.1) {
                Some(value) => SettingChange::Set { name, value, scope },
                None => SettingChange::Other(self.written(from, to)),
            })
        };
        let found: Option<Vec<SettingChange>> = parts.into_iter().map(call).collect();
        found.unwrap_or_default()
    }
}

fn session(name: &str, value: String) -> SettingChange {
    SettingChange::Set { name: name.to_owned(), value, scope: SetScope::Session }
}

/// The value of an expression that derives modes from others.
#[derive(Debug, Default)]
struct Modes {
    list: Option<ModeList>,
    /// Added (true) and removed modes.
    changes: Vec<(bool, String)>,
    /// Its texts, if it begins with no list.
    texts: Vec<String>,
}

const NESTED: u32 = 32;

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_ascii_uppercase)
}

impl Set<'_> {
    /// The value of `CONCAT(@@sql_mode, ',A')`, `REPLACE(@@sql_mode, 'A', '')`, `(SELECT ...)` of these, and
    /// `sys.list_add(@@sql_mode, 'A')`.
    fn modes(&self, from: usize, to: usize, depth: u32) -> Option<Modes> {
        if depth > NESTED {
            return None;
        }
        if self.view.bytes(from) == b"(" && self.view.bytes(to.checked_sub(1)?) == b")" {
            return self.modes(from + 1, to - 1, depth + 1);
        }
        if self.view.is(from, "SELECT") {
            return self.modes(from + 1, to, depth + 1);
        }
        let lower = String::from_utf8_lossy(self.view.bytes(from)).to_ascii_lowercase();
        let list = match lower.as_str() {
            "@@sql_mode" | "@@session.sql_mode" | "@@local.sql_mode" => Some(ModeList::Session),
            "@@global.sql_mode" => Some(ModeList::Server),
            _ => None,
        };
        if to == from + 1 && list.is_some() {
            return Some(Modes { list, ..Modes::default() });
        }
        if let Some(text) = self.value(from, to) {
            return Some(Modes { texts: words(&text).collect(), ..Modes::default() });
        }
        let at = if self.view.bytes(from + 1) == b"." { from + 2 } else { from };
        if self.view.bytes(at + 1) != b"(" || self.view.bytes(to.checked_sub(1)?) != b")" {
            return None;
        }
        let arguments = self.parts(at + 2, to - 1);
        let argument = |number: usize| {
            let (from, to) = *arguments.get(number)?;
            self.modes(from, to, depth + 1)
        };
        let text = |number: usize| {
            let (from, to) = *arguments.get(number)?;
            self.value(from, to)
        };
        let mut modes = Modes::default();
        match self.view.upper(at).as_str() {
            "CONCAT" | "CONCAT_WS" => {
                let skipped = usize::from(self.view.is(at, "CONCAT_WS"));
                for number in skipped..arguments.len() {
                    let next = argument(number)?;
                    modes.list = modes.list.or(next.list);
                    modes.changes.extend(next.changes);
                    modes.changes.extend(next.texts.iter().map(|it| (true, it.clone())));
                    modes.texts.extend(next.texts);
                }
            }
            "REPLACE" => {
                modes = argument(0)?;
                let (old, new) = (text(1)?, text(2)?);
                let removed = words(&old).map(|it| (false, it));
                modes.changes.extend(removed.chain(words(&new).map(|it| (true, it))));
            }
            name @ ("LIST_ADD" | "LIST_DROP") => {
                modes = argument(0)?;
                modes.changes.extend(words(&text(1)?).map(|it| (name == "LIST_ADD", it)));
            }
            _ => return None,
        }
        modes.list.is_some().then_some(modes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::tokenize;
    use super::*;

    fn shown(text: &str, dialect: Dialect) -> Vec<String> {
        let mut tokens = Vec::new();
        tokenize(text.as_bytes(), dialect, &mut tokens);
        let parameters = [Some(b"tenant_2".to_vec())];
        let shown = |change: SettingChange| match change {
            SettingChange::Set { name, value, scope: SetScope::Session } => {
                format!("{name}={value}")
            }
            SettingChange::Set { name, value, scope: SetScope::Transaction } => {
                format!("local {name}={value}")
            }
            SettingChange::Modes { name, list, changes } => {
                let list = if list == ModeList::Server { " server's" } else { "" };
                let sign = |(is_added, mode): (bool, String)| {
                    format!("{}{mode}", if is_added { "+" } else { "-" })
                };
                format!("{name}:{list} {}", changes.into_iter().map(sign).collect::<String>())
            }
            SettingChange::Default { name, scope: SetScope::Session } => format!("default {name}"),
            SettingChange::Default { name, .. } => format!("local default {name}"),
            SettingChange::DefaultAll => "default".to_owned(),
            SettingChange::Other(text) => format!("? {text}"),
        };
        changes(text.as_bytes(), &tokens, dialect, &parameters).into_iter().map(shown).collect()
    }

    #[test]
    fn settings_of_mysql_are_read() {
        for (text, expected) in [
            ("SET SESSION sql_mode = 'A,B'", "sql_mode=A,B"),
            ("set @@session.sql_mode='', @@sql_auto_is_null = 0", "sql_mode=; sql_auto_is_null=0"),
            ("SET sql_mode = ''", "sql_mode="),
            ("/*!40101 SET NAMES utf8 */", "names=utf8"),
            ("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'", "names=utf8mb4 COLLATE utf8mb4_bin"),
            ("SET NAMES utf8, time_zone = '+02:00'", "names=utf8; time_zone=+02:00"),
            ("SET CHARACTER SET latin1", "character_set=latin1"),
            ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "isolation=READ COMMITTED"),
            ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "local isolation=SERIALIZABLE"),
            ("SET SESSION TRANSACTION READ ONLY", "transaction_read_only=READ ONLY"),
            ("SET `time_zone` := DEFAULT", "default time_zone"),
            ("SET GLOBAL sql_mode = ''", "? SET GLOBAL sql_mode = ''"),
            ("SET @@global.sql_mode = ''", "? SET @@global.sql_mode = ''"),
            ("SET PERSIST sql_mode = ''", "? SET PERSIST sql_mode = ''"),
            ("SET @a = 5", "? SET @a = 5"),
            ("SET sql_mode = @old", "? SET sql_mode = @old"),
            ("SET SESSION sql_mode = CONCAT(@@sql_mode, ',X')", "sql_mode: +X"),
            (
                "SET sql_mode=(SELECT REPLACE(@@sql_mode,'ONLY_FULL_GROUP_BY',''))",
                "sql_mode: -ONLY_FULL_GROUP_BY",
            ),
            (
                "SET sql_mode = CONCAT(REPLACE(@@session.sql_mode, 'A,', ''), ',B')",
                "sql_mode: -A+B",
            ),
            ("SET sql_mode = sys.list_drop(@@sql_mode, 'A')", "sql_mode: -A"),
            ("SET sql_mode = CONCAT(@@GLOBAL.sql_mode, ',A')", "sql_mode: server's +A"),
            ("SET sql_mode = (SELECT @@sql_mode)", "sql_mode: "),
            ("SET sql_mode = LOAD_FILE('/x')", "? SET sql_mode = LOAD_FILE('/x')"),
            ("SET group_concat_max_len = 1024 * 1024", "? SET group_concat_max_len = 1024 * 1024"),
        ] {
            assert_eq!(shown(text, Dialect::MySql).join("; "), expected, "{text}");
        }
    }

    #[test]
    fn settings_of_postgres_are_read() {
        for (text, expected) in [
            ("SET search_path TO tenant_1, public", "search_path=tenant_1, public"),
            ("SET search_path = 'Tenant', \"$user\"", "search_path=\"Tenant\", \"$user\""),
            ("SET SESSION search_path TO \"tenant 1\"", "search_path=\"tenant 1\""),
            ("SET SCHEMA 'a'", "search_path=a"),
            ("SET LOCAL work_mem = '64MB'", "local work_mem=64MB"),
            ("SET TIME ZONE 'UTC'", "timezone=UTC"),
            ("SET TIME ZONE -3", "timezone=-3"),
            ("SET datestyle TO ISO, DMY", "datestyle=ISO, DMY"),
            ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "local isolation=REPEATABLE READ"),
            (
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                "isolation=SERIALIZABLE",
            ),
            ("SET client_encoding TO 'UTF8'", "client_encoding=UTF8"),
            ("SET statement_timeout TO DEFAULT", "default statement_timeout"),
            ("RESET search_path", "default search_path"),
            ("RESET ALL", "default"),
            ("DISCARD ALL", "default"),
            ("DISCARD PLANS", ""),
            ("SET ROLE app", "? SET ROLE app"),
            ("SELECT set_config('search_path', $1, true)", "local search_path=tenant_2"),
            (
                "SELECT pg_catalog.set_config('search_path', 'a', false), set_config('work_mem', '1MB', TRUE) AS x",
                "search_path=a; local work_mem=1MB",
            ),
            ("SELECT set_config('a', 'b', true), x FROM t", ""),
        ] {
            assert_eq!(shown(text, Dialect::Postgres).join("; "), expected, "{text}");
        }
    }
}
