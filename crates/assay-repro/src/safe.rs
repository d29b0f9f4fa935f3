//! Statements that a plain client would not send as they are: it has commands of its own, some of which run programs.

use assay_model::Product;
use assay_workloads::sql::{Syntax, backslash, first_word, statements, unterminated};

use crate::finding::{Refused, line};

/// Words with which commands of the clients of MySQL and MariaDB begin, where a statement could.
const COMMANDS: [&str; 18] = [
    "charset",
    "clear",
    "connect",
    "delimiter",
    "edit",
    "ego",
    "exit",
    "go",
    "nopager",
    "notee",
    "nowarning",
    "pager",
    "print",
    "prompt",
    "quit",
    "source",
    "system",
    "tee",
];

/// Refuses a text that is not one statement, or that a client would take for one of its commands.
pub(crate) fn check(product: Product, sql: &str) -> Result<(), Refused> {
    let syntax = Syntax::of(product);
    let first = first_word(sql, syntax).split_whitespace().next().unwrap_or_default();
    let is_command = |it: &&str| first.eq_ignore_ascii_case(it);
    let why = if backslash(sql, syntax).is_some() {
        "it has a backslash outside of strings"
    } else if unterminated(sql, syntax).is_some() {
        "a string, a quoted name or a comment has no end"
    } else if statements(sql, syntax).len() != 1 {
        "it is not one statement"
    } else if product != Product::Postgres && COMMANDS.iter().any(is_command) {
        "it begins as a command of the client"
    } else {
        return Ok(());
    };
    let shown: String = sql.chars().take(60).collect();
    Err(Refused::new(
        format!("the plain client would not send `{}` as it is: {why}", line(&shown)),
        "change the statement in the workload file, and measure again",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_clients_are_refused() {
        for (product, sql, is_fine) in [
            (Product::Postgres, "SELECT 1 \\! id", false),
            (Product::Postgres, "SELECT '\\! id'", true),
            (Product::Postgres, "SELECT 1; SELECT 2", false),
            (Product::Postgres, "SELECT 'a", false),
            (Product::MySql, "system id", false),
            (Product::MariaDb, "SOURCE /etc/passwd", false),
            (Product::MariaDb, "SELECT 'a\\'b'", true),
            (Product::MySql, "SELECT 1 \\! id", false),
            (Product::MySql, "UPDATE t SET system = 1", true),
        ] {
            assert_eq!(check(product, sql).is_ok(), is_fine, "{sql}");
        }
    }
}
