//! Whether a MySQL or MariaDB user may see triggers, according to `SHOW GRANTS`. Without the privilege, none are shown.

use assay_wire::Connection;

use super::query::ask;
use crate::error::Result;

/// The lines of `SHOW GRANTS`, including those of the active roles.
pub(super) fn grants(control: &mut Connection) -> Result<Vec<String>> {
    let first = |rows: Vec<Vec<String>>| rows.into_iter().filter_map(|row| row.into_iter().next());
    // MySQL shows the privileges of roles only if they are named, in the syntax in which it returns them. MariaDB
    // always shows them, and old versions have no roles.
    let roles = control.query("SELECT CURRENT_ROLE()").ok().and_then(|it| it.first_string());
    if let Some(roles) = roles.filter(|it| it.starts_with('`')) {
        let sql = format!("SHOW GRANTS FOR CURRENT_USER() USING {roles}");
        if let Ok(found) = ask(control, &sql) {
            return Ok(first(found).collect());
        }
    }
    Ok(first(ask(control, "SHOW GRANTS")?).collect())
}

pub(super) fn show_triggers(grants: &[String], database: &str, table: &str) -> bool {
    let is_said = |verb: &str, end: &str| {
        grants.iter().any(|line| {
            let parts = line.strip_prefix(verb).and_then(|it| it.split_once(" ON "));
            let Some((rights, rest)) = parts else { return false };
            let has_it = |right: &str| ["TRIGGER", "ALL PRIVILEGES", "ALL"].contains(&right.trim());
            let target = rest.split(end).next().unwrap_or_default();
            rights.split(',').any(has_it) && covers(target, database, table)
        })
    };
    is_said("GRANT ", " TO ") && !is_said("REVOKE ", " FROM ")
}

/// Whether `*.*`, `` `db`.* `` or `` `db`.`table` `` covers a table.
fn covers(target: &str, database: &str, table: &str) -> bool {
    if target == "*.*" {
        return true;
    }
    let is_quote = |mark: char| mark == '`' || mark == '"';
    let bare = |name: &str| name.trim_matches(is_quote).replace("``", "`");
    if let Some(name) = target.strip_suffix(".*") {
        return is_like(bare(name).as_bytes(), database.as_bytes());
    }
    let is_table = |(database_said, table_said): (&str, &str)| {
        bare(database_said) == database && bare(table_said) == table
    };
    ["`.`", "\".\"", "."].iter().find_map(|mark| target.split_once(mark)).is_some_and(is_table)
}

fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([b'%', rest @ ..], _) => (0..=name.len()).any(|at| is_like(rest, &name[at..])),
        ([b'\\', mark, rest @ ..], [byte, name @ ..]) => mark == byte && is_like(rest, name),
        ([b'_', rest @ ..], [_, name @ ..]) => is_like(rest, name),
        ([mark, rest @ ..], [byte, name @ ..]) => mark == byte && is_like(rest, name),
        ([], name) => name.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::show_triggers;

    #[test]
    fn the_trigger_privilege_makes_triggers_visible() {
        let is_seen = |lines: &[&str]| {
            let grants: Vec<String> = lines.iter().map(|it| (*it).to_owned()).collect();
            show_triggers(&grants, "sb_test", "sbtest1")
        };
        for line in [
            "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION",
            "GRANT SELECT, CREATE VIEW, TRIGGER, DROP ON *.* TO `a`@`%`",
            "GRANT ALL PRIVILEGES ON `sb_test`.* TO `a`@`%`",
            "GRANT TRIGGER ON `sb\\_test`.* TO 'a'@'%'",
            "GRANT TRIGGER ON `sb%`.* TO 'a'@'%'",
            "GRANT TRIGGER ON \"sb_test\".* TO \"a\"@\"%\"",
            "GRANT SELECT, TRIGGER ON `sb_test`.`sbtest1` TO 'a'@'%'",
        ] {
            assert!(is_seen(&["GRANT USAGE ON *.* TO `a`@`%`", line]), "{line}");
        }
        for line in [
            "GRANT SELECT, INSERT, CREATE, DROP ON `sb_test`.* TO `a`@`%`",
            "GRANT ALL PRIVILEGES ON `other`.* TO `a`@`%`",
            "GRANT ALL PRIVILEGES ON `sb\\_test2`.* TO `a`@`%`",
            "GRANT TRIGGER ON `sb_test`.`sbtest2` TO 'a'@'%'",
            "GRANT PROXY ON ''@'' TO 'root'@'localhost'",
        ] {
            assert!(!is_seen(&[line]), "{line}");
        }
        let revoked = "REVOKE TRIGGER ON `sb_test`.* FROM `a`@`%`";
        assert!(!is_seen(&["GRANT TRIGGER ON *.* TO `a`@`%`", revoked]));
    }
}
