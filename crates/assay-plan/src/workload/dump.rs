//! The dump of a workload: what it is, and for which products.

use assay_model::{Dialect, PerDialect, UserDump, UserRowsFile};

use super::fields::per_product;
use super::files::{ReadFile, UserFile, Wanted};
use crate::document::{Fault, Value};

/// Reads which dump a workload has. Only the beginning of its content is looked at.
pub(super) fn dump(value: &Value<'_>, files: ReadFile<'_>) -> Result<PerDialect<UserDump>, Fault> {
    if value.value.is_str() {
        let (dialect, dump) = of_file(value, files)?;
        return Ok(match dialect {
            Dialect::MySql => PerDialect { mysql: Some(dump), postgres: None },
            Dialect::Postgres => PerDialect { mysql: None, postgres: Some(dump) },
        });
    }
    let parts = per_product(value)?;
    let of = |part: Option<Value<'_>>, meant| -> Result<Option<UserDump>, Fault> {
        let Some(part) = part else { return Ok(None) };
        match of_file(&part, files)? {
            (dialect, dump) if dialect == meant => Ok(Some(dump)),
            _ => Err(part.fault("this is a dump of the other family of products")),
        }
    };
    let mysql = of(parts.mysql, Dialect::MySql)?;
    Ok(PerDialect { mysql, postgres: of(parts.postgres, Dialect::Postgres)? })
}

fn of_file(value: &Value<'_>, files: ReadFile<'_>) -> Result<(Dialect, UserDump), Fault> {
    let name = value.text("the name of a dump, in quotes")?;
    let read = files(name, Wanted::Head);
    let read = read.map_err(|why| value.fault(format!("`{name}` cannot be read: {why}")))?;
    let UserFile { path, sha256, content, bytes } = read;
    if content.starts_with(b"PGDMP") {
        return Err(value
            .fault(format!("`{name}` is a dump in the custom format of pg_dump"))
            .hint("write a plain one: `pg_dump --format=plain`, or `pg_restore --file=dump.sql` from this one"));
    }
    if content.contains(&0) {
        return Err(value.fault(format!("`{name}` is no text")).hint(PLAIN));
    }
    let dialect = dialect_of(&content);
    let dialect = dialect
        .ok_or_else(|| value.fault(format!("`{name}` does not look like a dump")).hint(PLAIN))?;
    Ok((dialect, UserDump { file: UserRowsFile { path, sha256 }, bytes }))
}

const PLAIN: &str = "`mysqldump`, `mariadb-dump` and `pg_dump` write dumps as text, which may be compressed with gzip";

/// Who wrote a dump, by its beginning.
fn dialect_of(head: &[u8]) -> Option<Dialect> {
    let head = String::from_utf8_lossy(head);
    let has = |words: &[&str]| words.iter().any(|word| head.contains(word));
    // What only one of both has, in dumps with and without comments.
    if has(&[
        "-- PostgreSQL database dump",
        "\\connect ",
        "pg_catalog.set_config",
        "\nSET client_encoding",
    ]) {
        return Some(Dialect::Postgres);
    }
    if has(&[
        "-- MySQL dump",
        "-- MariaDB dump",
        "/*!40101 SET ",
        "/*M!",
        "ENGINE=",
        "/*!5",
        "/*!4",
    ]) {
        return Some(Dialect::MySql);
    }
    if has(&["FROM stdin;", "public.", "OWNER TO"]) {
        return Some(Dialect::Postgres);
    }
    has(&["`"]).then_some(Dialect::MySql)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_tells_who_wrote_a_dump() {
        for (head, expected) in [
            ("-- MySQL dump 10.13\n", Some(Dialect::MySql)),
            ("/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump\n", Some(Dialect::MySql)),
            ("DROP TABLE IF EXISTS `t`;\n", Some(Dialect::MySql)),
            ("--\n-- PostgreSQL database dump\n--\n\n\\restrict x\n", Some(Dialect::Postgres)),
            ("CREATE TABLE public.t (a int);\n", Some(Dialect::Postgres)),
            ("Dear all,\n", None),
        ] {
            assert_eq!(dialect_of(head.as_bytes()), expected, "{head}");
        }
    }
}
