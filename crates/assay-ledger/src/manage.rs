//! Removes, names and measures the size of studies.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::rows::{Fields, rows};
use crate::{Error, Ledger, Problem, bounds, shape};

/// Largest file to vacuum, pages. That takes about a second.
const VACUUM_PAGES: i64 = 1 << 16;

impl Ledger {
    /// Removes studies in one transaction. The file shrinks unless it is very large.
    pub fn remove(&mut self, studies: &[String]) -> Result<(), Error> {
        self.named(remove(&self.connection, studies))
    }

    pub fn set_name(&mut self, study: &str, name: &str) -> Result<(), Error> {
        self.named(set_name(&self.connection, study, name))
    }

    pub fn size(&self, study: &str) -> Result<u64, Error> {
        self.reading(|connection| size(connection, study))
    }
}

struct OwnedTable {
    table: String,
    /// `study`, or `slice` for rows of a slice.
    column: &'static str,
}

impl OwnedTable {
    fn of_study(&self) -> &'static str {
        match self.column {
            "slice" => "slice IN (SELECT id FROM slice WHERE study = ?1)",
            "id" => "id = ?1",
            _ => "study = ?1",
        }
    }
}

/// Tables with rows of studies: first those that refer to slices, then those that refer to studies, then the latter.
fn owned() -> Result<Vec<OwnedTable>, Problem> {
    let mut owned = Vec::new();
    for (table, columns) in shape::columns()? {
        let has = |name: &str| columns.iter().any(|column| column == name);
        let column = match table.as_str() {
            "study" => "id",
            _ if has("study") => "study",
            _ if has("slice") => "slice",
            _ => continue,
        };
        owned.push(OwnedTable { table: table.clone(), column });
    }
    owned.sort_by_key(|it| ["slice", "study", "id"].iter().position(|column| *column == it.column));
    Ok(owned)
}

/// References are checked when the transaction ends.
pub(crate) fn delete(transaction: &Transaction<'_>, study: &str) -> Result<(), Problem> {
    transaction.pragma_update(None, "defer_foreign_keys", true)?;
    for it in owned()? {
        let sql = format!("DELETE FROM {} WHERE {}", it.table, it.of_study());
        transaction.execute(&sql, [study])?;
    }
    Ok(())
}

fn exists(connection: &Connection, study: &str) -> Result<bool, Problem> {
    let sql = "SELECT EXISTS (SELECT * FROM study WHERE id = ?)";
    Ok(connection.query_row(sql, [study], |row| row.get(0))?)
}

/// Refuses an id that is the id or name of another study.
pub(crate) fn refuse_taken(connection: &Connection, id: &str) -> Result<(), Problem> {
    let sql = "SELECT EXISTS (SELECT * FROM study WHERE id = ?1)
        OR EXISTS (SELECT * FROM name WHERE name = ?1)";
    match connection.query_row(sql, [id], |row| row.get(0))? {
        true => Err(Problem::Twice(format!("a study `{id}`"))),
        false => Ok(()),
    }
}

/// Refuses a foreign study's id that is a prefix of another id or name. Commands would take it for that study, because
/// a full id takes precedence over a prefix.
pub(crate) fn refuse_hiding(connection: &Connection, id: &str) -> Result<(), Problem> {
    // Uses the indexes, so the number of studies does not matter.
    let sql = "SELECT id FROM study WHERE id > ?1 AND id < ?2 AND substr(id, 1, length(?1)) = ?1
        UNION ALL
        SELECT name FROM name WHERE name > ?1 AND name < ?2 AND substr(name, 1, length(?1)) = ?1";
    let after = format!("{id}{}", char::MAX);
    let hidden = rows(connection, sql, [id, &after], |row| Ok(row.get::<_, String>(0)?))?;
    match hidden.into_iter().next() {
        Some(text) => Err(Problem::Hides { id: id.to_owned(), text }),
        None => Ok(()),
    }
}

fn remove(connection: &Connection, studies: &[String]) -> Result<(), Problem> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    for study in studies {
        if !exists(&transaction, study)? {
            return Err(Problem::NoSuchStudy(study.clone()));
        }
        delete(&transaction, study)?;
    }
    transaction.commit()?;
    // The studies are gone. If the file cannot shrink now, its free pages are reused later.
    let pages = connection.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0));
    if pages.is_ok_and(|pages| pages <= VACUUM_PAGES) {
        let _ = connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    }
    Ok(())
}

fn set_name(connection: &Connection, study: &str, name: &str) -> Result<(), Problem> {
    bounds::study_name(name).map_err(|_| Problem::NoName(name.to_owned()))?;
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if !exists(&transaction, study)? {
        return Err(Problem::NoSuchStudy(study.to_owned()));
    }
    let taken = "SELECT EXISTS (SELECT * FROM study WHERE id = ?1)
        OR EXISTS (SELECT * FROM name WHERE name = ?1 AND study <> ?2)";
    if transaction.query_row(taken, [name, study], |row| row.get(0))? {
        return Err(Problem::Twice(format!("a study `{name}`")));
    }
    let sql = "INSERT INTO name (study, name) VALUES (?, ?)
        ON CONFLICT (study) DO UPDATE SET name = excluded.name";
    transaction.execute(sql, [study, name])?;
    transaction.commit()?;
    Ok(())
}

/// A study as its user names it.
#[derive(Debug, Clone)]
pub(crate) struct NamedStudy {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) is_foreign: bool,
}

/// Ids and names of all studies, the oldest first.
pub(crate) fn names(connection: &Connection) -> Result<Vec<NamedStudy>, Problem> {
    let sql = "SELECT study.id, name.name, is_foreign
        FROM study LEFT JOIN name ON name.study = study.id
        ORDER BY started_ms, study.rowid";
    rows(connection, sql, [], |row| {
        let fields = Fields::new("study", "id", row);
        Ok(NamedStudy {
            id: fields.get("id")?,
            name: fields.get("name")?,
            is_foreign: fields.get("is_foreign")?,
        })
    })
}

fn size(connection: &Connection, study: &str) -> Result<u64, Problem> {
    let columns = shape::columns()?;
    let mut bytes = 0_u64;
    for it in owned()? {
        let of_table = columns.get(&it.table).into_iter().flatten();
        let lengths: Vec<String> =
            of_table.map(|column| format!("ifnull(octet_length(\"{column}\"), 1)")).collect();
        let sql = format!(
            "SELECT ifnull(sum({}), 0) FROM {} WHERE {}",
            lengths.join(" + "),
            it.table,
            it.of_study()
        );
        let sum: i64 = connection.query_row(&sql, [study], |row| row.get(0))?;
        bytes = bytes.saturating_add(u64::try_from(sum).unwrap_or_default());
    }
    Ok(bytes)
}
