//! Conclusions of studies.

use assay_model::{Conclusion, Conclusions, Estimate, Verdict};
use rusqlite::{Connection, params};

use crate::read::{read_study, read_systems};
use crate::rows::{Fields, rows};
use crate::values::{index, word};
use crate::{Error, Ledger, Problem};

impl Ledger {
    pub fn set_conclusions(&mut self, study: &str, concluded: &Conclusions) -> Result<(), Error> {
        self.written(set(&self.connection, study, concluded))
    }

    pub fn conclusions(&self, study: &str) -> Result<Option<Conclusions>, Error> {
        self.reading(|connection| read(connection, study))
    }
}

fn set(connection: &Connection, study: &str, concluded: &Conclusions) -> Result<(), Problem> {
    let transaction = connection.unchecked_transaction()?;
    replace(&transaction, study, concluded)?;
    Ok(transaction.commit()?)
}

pub(crate) fn replace(
    transaction: &Connection,
    study: &str,
    concluded: &Conclusions,
) -> Result<(), Problem> {
    remove(transaction, study)?;
    let judged = "UPDATE study SET judged_by = ? WHERE id = ?";
    if transaction.execute(judged, params![concluded.judged_by, study])? == 0 {
        return Err(Problem::NoSuchStudy(study.to_owned()));
    }
    let sql = "INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let mut statement = transaction.prepare(sql)?;
    for it in &concluded.cells {
        // SQLite stores NaN, the end of an unknown interval, as NULL.
        let value = |estimate: Option<Estimate>| estimate.map(|it| it.value);
        let low = |estimate: Option<Estimate>| estimate.map(|it| it.low);
        let high = |estimate: Option<Estimate>| estimate.map(|it| it.high);
        statement.execute(params![
            study,
            index(it.cell)?,
            index(it.system)?,
            word(&it.verdict)?,
            value(it.qps),
            low(it.qps),
            high(it.qps),
            value(it.rqps),
            low(it.rqps),
            high(it.rqps),
            it.cpu_verdict.as_ref().map(word).transpose()?,
            value(it.cpu_ratio),
            low(it.cpu_ratio),
            high(it.cpu_ratio),
        ])?;
    }
    Ok(())
}

pub(crate) fn remove(connection: &Connection, study: &str) -> Result<(), Problem> {
    connection.execute("DELETE FROM verdict WHERE study = ?", [study])?;
    connection.execute("UPDATE study SET judged_by = NULL WHERE id = ?", [study])?;
    Ok(())
}

fn read(connection: &Connection, study: &str) -> Result<Option<Conclusions>, Problem> {
    let snapshot = connection.unchecked_transaction()?;
    let (cells, _) = read_study(&snapshot, study)?;
    let (cells, systems) = (cells.cells.len(), read_systems(&snapshot, study)?.len());
    let sql = "SELECT id, judged_by FROM study WHERE id = ?";
    let judged_by: Vec<Option<String>> =
        rows(&snapshot, sql, [study], |row| Fields::new("study", "id", row).get("judged_by"))?;
    let sql = "SELECT * FROM verdict WHERE study = ? ORDER BY cell, system";
    let concluded = rows(&snapshot, sql, [study], |row| {
        let fields = Fields::new("verdict", "cell", row);
        Ok(Conclusion {
            cell: fields.index("cell", cells)?,
            system: fields.index("system", systems)?,
            verdict: fields.word("verdict")?,
            qps: estimate(&fields, "qps")?,
            rqps: estimate(&fields, "rqps")?,
            cpu_verdict: fields
                .has("cpu_verdict")?
                .then(|| fields.word::<Verdict>("cpu_verdict"))
                .transpose()?,
            cpu_ratio: estimate(&fields, "cpu_ratio")?,
        })
    })?;
    match judged_by.into_iter().flatten().next() {
        Some(judged_by) => Ok(Some(Conclusions { judged_by, cells: concluded })),
        None if concluded.is_empty() => Ok(None),
        None => Err(Problem::Row {
            table: "study",
            row: format!("`{study}`"),
            what: "has verdicts, but `judged_by` is NULL".to_owned(),
        }),
    }
}

/// NULL interval ends mean an unknown uncertainty.
fn estimate(fields: &Fields<'_>, column: &str) -> Result<Option<Estimate>, Problem> {
    let number = |suffix| fields.get::<Option<f64>>(&format!("{column}{suffix}"));
    let (value, low, high) = (number("")?, number("_low")?, number("_high")?);
    let Some(value) = value else {
        if low.is_some() || high.is_some() {
            return Err(fields.wrong(format!("`{column}` is NULL, but not its interval")));
        }
        return Ok(None);
    };
    Ok(Some(Estimate { value, low: low.unwrap_or(f64::NAN), high: high.unwrap_or(f64::NAN) }))
}
