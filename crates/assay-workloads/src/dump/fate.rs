//! Parts of a dump that do not apply to the target: whole servers, other databases, and unknown users.

use assay_model::Dialect;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    Send,
    /// Send it, and ignore a refusal: tables do not need it.
    Try,
    /// Skip it; the reason, if worth reporting.
    Leave(Option<&'static str>),
    /// It names the database of the following statements.
    Database(String),
}

const RIGHTS: &str =
    "rights and users are left out: the tables belong to the login that restores them";
const OWNERS: &str = "owners are left out: the tables belong to the login that restores them";
const WHOLE_SERVER: &str = "settings of the whole server and of its replication are left out";

pub fn fate(sql: &[u8], dialect: Dialect) -> Fate {
    let words = leading_words(sql);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match dialect {
        Dialect::MySql => of_mysql(sql, &words),
        Dialect::Postgres => of_postgres(sql, &words),
    }
}

fn of_mysql(sql: &[u8], words: &[&str]) -> Fate {
    match words {
        ["USE", ..] => Fate::Database(name_after(sql, &["USE"])),
        ["CREATE", "DATABASE" | "SCHEMA", ..] => Fate::Database(name_after(
            sql,
            &["CREATE", "DATABASE", "SCHEMA", "IF", "NOT", "EXISTS"],
        )),
        ["ALTER" | "DROP", "DATABASE" | "SCHEMA", ..] => Fate::Leave(None),
        ["SET", "GLOBAL", ..] => Fate::Leave(Some(WHOLE_SERVER)),
        ["SET", ..] => {
            let text = head(sql).to_ascii_uppercase();
            if text.contains("GTID_PURGED") || text.contains("@@GLOBAL.") {
                Fate::Leave(Some(WHOLE_SERVER))
            } else if text.contains("SQL_LOG_BIN") {
                Fate::Leave(None)
            } else {
                Fate::Send
            }
        }
        ["GRANT" | "REVOKE", ..]
        | ["CREATE" | "ALTER" | "DROP" | "RENAME", "USER" | "ROLE", ..]
        | ["FLUSH", "PRIVILEGES", ..] => Fate::Leave(Some(RIGHTS)),
        ["CHANGE", "MASTER" | "REPLICATION", ..]
        | ["START" | "STOP", "SLAVE" | "REPLICA" | "GROUP_REPLICATION", ..]
        | ["FLUSH", ..]
        | ["INSTALL" | "UNINSTALL", ..]
        | ["CREATE" | "ALTER", "LOGFILE" | "TABLESPACE" | "SERVER", ..] => {
            Fate::Leave(Some(WHOLE_SERVER))
        }
        _ => Fate::Send,
    }
}

fn of_postgres(sql: &[u8], words: &[&str]) -> Fate {
    match words {
        ["CREATE" | "ALTER" | "DROP", "DATABASE", ..] => Fate::Leave(None),
        ["GRANT" | "REVOKE", ..]
        | ["ALTER", "DEFAULT", "PRIVILEGES", ..]
        | ["CREATE" | "ALTER" | "DROP", "ROLE" | "USER" | "GROUP", ..]
        | ["SET", "SESSION", "AUTHORIZATION", ..]
        | ["SECURITY", "LABEL", ..] => Fate::Leave(Some(RIGHTS)),
        ["CREATE" | "ALTER" | "DROP", "PUBLICATION" | "SUBSCRIPTION" | "TABLESPACE", ..] => {
            Fate::Leave(Some(WHOLE_SERVER))
        }
        ["ALTER", ..] if tail(sql).to_ascii_uppercase().contains(" OWNER TO ") => {
            Fate::Leave(Some(OWNERS))
        }
        // Statistics, which are recreated.
        ["SELECT", ..] if head(sql).contains("pg_restore_") => Fate::Try,
        ["CREATE", "EXTENSION", ..]
        | ["COMMENT", "ON", "EXTENSION" | "SCHEMA" | "DATABASE", ..]
        | ["CREATE", "SCHEMA", ..]
        | ["SET", ..] => Fate::Try,
        _ => Fate::Send,
    }
}

/// Whether a statement is a `DROP ... IF EXISTS`, for which a server warns if the object is missing.
pub fn is_drop_if_exists(sql: &[u8]) -> bool {
    let words = leading_words(sql);
    let mut words = words.iter().map(String::as_str);
    words.next() == Some("DROP") && words.any(|word| word == "EXISTS")
}

/// The first words in capitals, including those in comments that MySQL and MariaDB execute.
fn leading_words(sql: &[u8]) -> Vec<String> {
    const WORDS: usize = 5;
    let text = head(sql);
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let is_version = |word: &&str| word.bytes().all(|it| it.is_ascii_digit()) || *word == "M";
    let words = words.filter(|word| !word.is_empty() && !is_version(word));
    words.take(WORDS).map(str::to_ascii_uppercase).collect()
}

/// The beginning of a statement as text, without leading comments.
fn head(sql: &[u8]) -> String {
    const BYTES: usize = 4096;
    let text = String::from_utf8_lossy(sql.get(..sql.len().min(BYTES)).unwrap_or_default());
    text.into_owned()
}

fn tail(sql: &[u8]) -> String {
    const BYTES: usize = 300;
    let from = sql.len().saturating_sub(BYTES);
    String::from_utf8_lossy(sql.get(from..).unwrap_or_default()).into_owned()
}

fn name_after(sql: &[u8], words: &[&str]) -> String {
    let text = head(sql);
    let mut rest = text.as_str();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace());
        // `/*!32312 IF NOT EXISTS*/`, whose words do not matter.
        if rest.starts_with("/*") {
            rest = rest.find("*/").and_then(|end| rest.get(end + 2..)).unwrap_or_default();
            continue;
        }
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        if !words.iter().any(|it| it.eq_ignore_ascii_case(word)) {
            break;
        }
        rest = after;
    }
    name(rest).map_or_else(String::new, |(name, _)| name)
}

/// The name at the beginning of a text, quoted or not, and its length in bytes.
fn name(text: &str) -> Option<(String, usize)> {
    let quote = text.chars().next()?;
    if matches!(quote, '`' | '"' | '\'') {
        let inside = text.get(1..)?;
        let length = inside.find(quote)?;
        return Some((inside.get(..length)?.to_owned(), length + 2));
    }
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '%' | '-');
    let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
    (length > 0).then(|| (text.get(..length).unwrap_or_default().to_owned(), length))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definer {
    pub user: String,
    pub host: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpedLogin {
    pub user: String,
    pub plugin: String,
}

/// The user of a MySQL or MariaDB statement such as `CREATE USER a IDENTIFIED WITH p`, if it names a plugin.
pub fn dumped_login(sql: &[u8]) -> Option<DumpedLogin> {
    let words = leading_words(sql);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = head(sql);
    let upper = text.to_ascii_uppercase();
    let after = match words.as_slice() {
        ["CREATE" | "ALTER", "USER", ..] => upper.find("USER")? + "USER".len(),
        ["GRANT", ..] => upper.find(" TO ")? + " TO ".len(),
        _ => return None,
    };
    let rest = text.get(after..)?.trim_start();
    let has_condition = rest.get(..2).is_some_and(|it| it.eq_ignore_ascii_case("IF"));
    let rest = match has_condition {
        true => {
            rest.get(rest.to_ascii_uppercase().find("EXISTS")? + "EXISTS".len()..)?.trim_start()
        }
        false => rest,
    };
    let (user, _) = name(rest)?;
    let identified = upper.find("IDENTIFIED")? + "IDENTIFIED".len();
    let how = text.get(identified..)?.trim_start();
    let plugin = match leading_words(how.as_bytes()).first()?.as_str() {
        "WITH" => name(how.get("WITH".len()..)?.trim_start())?.0,
        "VIA" => name(how.get("VIA".len()..)?.trim_start())?.0,
        // `IDENTIFIED BY PASSWORD '*...'` has a digest of this plugin.
        "BY" if leading_words(how.as_bytes()).get(1).is_some_and(|it| it == "PASSWORD") => {
            "mysql_native_password".to_owned()
        }
        _ => return None,
    };
    Some(DumpedLogin { user, plugin })
}

/// Removes a `DEFINER` that does not exist. A definer precedes the definition, so only the beginning of the statement
/// is searched.
pub fn without_definer(
    sql: &[u8],
    is_there: &dyn Fn(&Definer) -> bool,
) -> Option<(Vec<u8>, Definer)> {
    let words = leading_words(sql);
    if !matches!(words.first().map(String::as_str), Some("CREATE" | "ALTER")) {
        return None;
    }
    let text = head(sql);
    let upper = text.to_ascii_uppercase();
    let begin = upper.find("DEFINER")?;
    // `SQL SECURITY DEFINER` and the words of a body name no user.
    let before = upper.get(..begin)?;
    if ["VIEW ", "TRIGGER ", "FUNCTION ", "PROCEDURE ", "EVENT ", "'"]
        .iter()
        .any(|it| before.contains(it))
    {
        return None;
    }
    let after = text.get(begin + "DEFINER".len()..)?;
    let rest = after.trim_start().strip_prefix('=')?.trim_start();
    let (user, length) = name(rest)?;
    let rest = rest.get(length..)?.trim_start();
    let rest = rest.strip_prefix('@')?.trim_start();
    let (host, length) = name(rest)?;
    let rest = rest.get(length..)?;
    let definer = Definer { user, host };
    if is_there(&definer) {
        return None;
    }
    // Everything up to here must be UTF-8, or the lossy text would have another length.
    let end = text.len() - rest.len();
    let (kept, left) = (sql.get(..begin)?, sql.get(end..)?);
    std::str::from_utf8(sql.get(..end)?).ok()?;
    Some(([kept, left].concat(), definer))
}

pub fn first_line(sql: &[u8]) -> String {
    const CHARS: usize = 120;
    let text = head(sql);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut shown: String = line.chars().take(CHARS).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_for_other_places_are_known() {
        use Fate::{Database, Leave, Send, Try};
        let shop = || Database("shop".to_owned());
        for (sql, expected) in [
            (
                "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */",
                shop(),
            ),
            ("create schema if not exists shop", shop()),
            ("USE `shop`", shop()),
            ("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1-5'", Leave(Some(WHOLE_SERVER))),
            ("SET @@SESSION.SQL_LOG_BIN= 0", Leave(None)),
            ("ALTER DATABASE `shop` CHARACTER SET latin1", Leave(None)),
            ("/*!40101 SET NAMES utf8mb4 */", Send),
            ("/*!40000 ALTER TABLE `t` DISABLE KEYS */", Send),
            ("/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY */", Send),
            ("GRANT SELECT ON *.* TO `a`@`%`", Leave(Some(RIGHTS))),
            ("CREATE USER `a`@`%`", Leave(Some(RIGHTS))),
            ("CREATE TABLE `user` (a int)", Send),
            ("LOCK TABLES `t` WRITE", Send),
        ] {
            assert_eq!(fate(sql.as_bytes(), Dialect::MySql), expected, "{sql}");
        }
        for (sql, expected) in [
            ("ALTER TABLE public.t OWNER TO postgres", Leave(Some(OWNERS))),
            ("ALTER TABLE ONLY public.t ADD CONSTRAINT c PRIMARY KEY (id)", Send),
            ("CREATE EXTENSION IF NOT EXISTS pgcrypto WITH SCHEMA public", Try),
            ("SET transaction_timeout = 0", Try),
            ("SELECT pg_catalog.set_config('search_path', '', false)", Send),
            ("REVOKE ALL ON SCHEMA public FROM PUBLIC", Leave(Some(RIGHTS))),
            ("CREATE DATABASE shop WITH TEMPLATE = template0", Leave(None)),
            ("CREATE TABLE public.owners (a int)", Send),
        ] {
            assert_eq!(fate(sql.as_bytes(), Dialect::Postgres), expected, "{sql}");
        }
    }

    #[test]
    fn statements_that_clear_the_place_are_known() {
        for (sql, expected) in [
            ("DROP TABLE IF EXISTS `t`", true),
            ("/*!50001 DROP VIEW IF EXISTS `v`*/", true),
            ("DROP TEMPORARY TABLE IF EXISTS t", true),
            ("DROP TABLE t", false),
            ("CREATE TABLE IF NOT EXISTS t (a INT)", false),
        ] {
            assert_eq!(is_drop_if_exists(sql.as_bytes()), expected, "{sql}");
        }
    }

    #[test]
    fn a_definer_who_is_not_there_is_left_out() {
        let stripped = |sql: &str| {
            let is_there = |it: &Definer| it.user == "root";
            without_definer(sql.as_bytes(), &is_there)
                .map(|(sql, _)| String::from_utf8(sql).unwrap())
        };
        assert_eq!(
            stripped("/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`app`@`10.%` SQL SECURITY DEFINER */")
                .as_deref(),
            Some("/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013  SQL SECURITY DEFINER */")
        );
        assert_eq!(
            stripped("CREATE DEFINER = app@localhost FUNCTION f() RETURNS INT RETURN 1").as_deref(),
            Some("CREATE  FUNCTION f() RETURNS INT RETURN 1")
        );
        assert_eq!(
            stripped("CREATE DEFINER=`root`@`localhost` FUNCTION f() RETURNS INT RETURN 1"),
            None
        );
        assert_eq!(stripped("CREATE VIEW v AS SELECT 'DEFINER=`a`@`b`'"), None);
        assert_eq!(stripped("INSERT INTO t VALUES ('DEFINER=`a`@`b`')"), None);
    }

    #[test]
    fn users_name_the_plugin_that_checks_their_password() {
        let login = |sql: &str| dumped_login(sql.as_bytes()).map(|it| (it.user, it.plugin));
        let native = |user: &str| Some((user.to_owned(), "mysql_native_password".to_owned()));
        for sql in [
            "CREATE USER 'app'@'%' IDENTIFIED WITH 'mysql_native_password' AS '*ABC' REQUIRE NONE",
            "CREATE USER IF NOT EXISTS `app`@`%` IDENTIFIED WITH mysql_native_password",
            "ALTER USER app@localhost IDENTIFIED VIA mysql_native_password USING '*ABC'",
            "GRANT USAGE ON *.* TO 'app'@'%' IDENTIFIED BY PASSWORD '*ABC'",
        ] {
            assert_eq!(login(sql), native("app"), "{sql}");
        }
        for sql in
            ["CREATE USER a IDENTIFIED BY 'x'", "GRANT SELECT ON t TO a", "CREATE TABLE t (a INT)"]
        {
            assert_eq!(login(sql), None, "{sql}");
        }
    }

    #[test]
    fn the_first_line_stands_for_a_statement() {
        assert_eq!(first_line(b"\n  CREATE TABLE t (\n a int)"), "CREATE TABLE t (");
        let long = first_line("é".repeat(300).as_bytes());
        assert_eq!(long.chars().count(), 121);
    }
}
