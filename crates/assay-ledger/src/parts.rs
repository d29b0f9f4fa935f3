//! Series and attachments of slices, read separately from their study.

use assay_model::{Attachment, Series, SliceId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::rows::{Fields, rows};
use crate::values::{index, json, storable};
use crate::write::slice_in_words;
use crate::{Error, Ledger, Problem};

impl Ledger {
    pub fn add_series(
        &mut self,
        study: &str,
        slice: SliceId,
        series: &Series,
    ) -> Result<(), Error> {
        self.named(add_series(&self.connection, study, slice, series))
    }

    pub fn series(&self, study: &str, slice: SliceId) -> Result<Vec<Series>, Error> {
        self.reading(|connection| series(connection, row_of(connection, study, slice)?))
    }

    pub fn add_attachment(
        &mut self,
        study: &str,
        slice: SliceId,
        attachment: &Attachment,
    ) -> Result<(), Error> {
        self.named(add_attachment(&self.connection, study, slice, attachment))
    }

    pub fn attachments(&self, study: &str, slice: SliceId) -> Result<Vec<String>, Error> {
        self.reading(|connection| {
            let sql = "SELECT name FROM attachment WHERE slice = ? ORDER BY name";
            let slice = row_of(connection, study, slice)?;
            rows(connection, sql, [slice], |row| Fields::new("attachment", "name", row).get("name"))
        })
    }

    pub fn attachment(&self, study: &str, slice: SliceId, name: &str) -> Result<Attachment, Error> {
        self.reading(|connection| attachment(connection, row_of(connection, study, slice)?, name))
    }
}

fn row_of(connection: &Connection, study: &str, slice: SliceId) -> Result<i64, Problem> {
    let sql = "SELECT id FROM slice
        WHERE study = ? AND system = ? AND test = ? AND clients = ? AND tables = ? AND rows = ?
            AND block = ? AND round = ?";
    let setup = slice.cell.setup;
    let values = params![
        study,
        index(slice.system)?,
        slice.cell.test.name,
        setup.clients,
        setup.tables,
        setup.rows,
        slice.block,
        slice.round
    ];
    let id = connection.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?;
    id.ok_or_else(|| Problem::NoSuchSlice { study: study.to_owned(), slice: slice_in_words(slice) })
}

pub(crate) fn add_series(
    connection: &Connection,
    study: &str,
    slice: SliceId,
    series: &Series,
) -> Result<(), Problem> {
    storable(series)?;
    let sql = "INSERT INTO series (slice, name, step_ms, counts) VALUES (?, ?, ?, ?)";
    let slice = row_of(connection, study, slice)?;
    let values = params![slice, series.name, series.step_ms, json(&series.counts)?];
    connection.execute(sql, values)?;
    Ok(())
}

fn series(connection: &Connection, slice: i64) -> Result<Vec<Series>, Problem> {
    let sql = "SELECT name, step_ms, counts FROM series WHERE slice = ? ORDER BY name";
    rows(connection, sql, [slice], one_series)
}

fn one_series(row: &Row<'_>) -> Result<Series, Problem> {
    let fields = Fields::new("series", "name", row);
    fields.checked(Series {
        name: fields.get("name")?,
        step_ms: fields.get("step_ms")?,
        counts: fields.json("counts")?,
    })
}

pub(crate) fn read_all(connection: &Connection, study: &str) -> Result<(), Problem> {
    let of_study = "slice IN (SELECT id FROM slice WHERE study = ?)";
    let sql = format!("SELECT name, step_ms, counts FROM series WHERE {of_study}");
    rows(connection, &sql, [study], |row| one_series(row).map(drop))?;
    let sql = format!("SELECT name, media_type, bytes FROM attachment WHERE {of_study}");
    rows(connection, &sql, [study], |row| one_attachment(row).map(drop))?;
    Ok(())
}

fn add_attachment(
    connection: &Connection,
    study: &str,
    slice: SliceId,
    attachment: &Attachment,
) -> Result<(), Problem> {
    storable(attachment)?;
    let sql = "INSERT INTO attachment (slice, name, media_type, bytes) VALUES (?, ?, ?, ?)";
    let slice = row_of(connection, study, slice)?;
    let values = params![slice, attachment.name, attachment.media_type, attachment.bytes];
    connection.execute(sql, values)?;
    Ok(())
}

fn attachment(connection: &Connection, slice: i64, name: &str) -> Result<Attachment, Problem> {
    let sql = "SELECT name, media_type, bytes FROM attachment WHERE slice = ? AND name = ?";
    let mut found = rows(connection, sql, params![slice, name], one_attachment)?;
    found.pop().ok_or_else(|| Problem::NoSuchAttachment(name.to_owned()))
}

fn one_attachment(row: &Row<'_>) -> Result<Attachment, Problem> {
    let fields = Fields::new("attachment", "name", row);
    fields.checked(Attachment {
        name: fields.get("name")?,
        media_type: fields.get("media_type")?,
        bytes: fields.get("bytes")?,
    })
}
