//! The tables of a user's workload as SQL.

use assay_model::{UserData, UserRows, UserRowsFile, UserTable};
use assay_workloads::{CsvBatches, CsvRows, UserBatches, quoted_name, script_statements};

use crate::finding::{Finding, ReproFile, ReproRefusal};
use crate::safe;
use crate::sbtest::analyze;

/// Limit for all rows: they are in memory together, and a larger file is hardly ever sent.
const BYTES_MAX: usize = 256 << 20;

/// Tables made by an SQL script belong to the data, and so do those after them, which may refer to them.
pub(crate) fn files(finding: &Finding<'_>, own: &UserData) -> Result<Vec<ReproFile>, ReproRefusal> {
    let dialect = finding.dialect();
    if let Some(dump) = own.dump(dialect) {
        return Err(ReproRefusal::new(
            format!("the tables of the workload come from the dump `{}`", dump.file.path),
            "send the dump itself, with the statements of the test and the configurations of the servers",
        ));
    }
    let mut schema = Vec::new();
    let mut data = Vec::new();
    let is_script = |table: &UserTable| matches!(table.rows, UserRows::Script(_));
    let scripted = own.tables.iter().position(is_script).unwrap_or(own.tables.len());
    for (number, table) in own.tables.iter().enumerate() {
        let place = if number < scripted { &mut schema } else { &mut data };
        for sql in table.create.iter().filter_map(|sql| sql.for_dialect(dialect)) {
            safe::check(dialect, sql)?;
            push_statement(place, sql.as_bytes());
        }
        rows(finding, table, &mut data)?;
        for sql in table.after.iter().filter_map(|sql| sql.for_dialect(dialect)) {
            safe::check(dialect, sql)?;
            push_statement(&mut data, sql.as_bytes());
        }
    }
    for table in &own.tables {
        data.extend_from_slice(analyze(dialect, &quoted_name(dialect, &table.name)).as_bytes());
    }
    Ok(vec![ReproFile::new("schema.sql", schema), ReproFile::new("data.sql", data)])
}

fn rows(finding: &Finding<'_>, table: &UserTable, data: &mut Vec<u8>) -> Result<(), ReproRefusal> {
    let dialect = finding.dialect();
    let read =
        |file: &UserRowsFile| (finding.read_file)(file).map_err(|why| unreadable(file, &why));
    let mut statement = Vec::new();
    match &table.rows {
        UserRows::Generated { count, columns } => {
            let seed = finding.record.study.seed;
            let mut batches = UserBatches::new(dialect, seed, &table.name, columns, *count);
            while batches.next_into(&mut statement) > 0 {
                push_rows(data, &statement)?;
            }
        }
        UserRows::Csv { file, .. } => {
            let content = read(file)?;
            let fail = |why: assay_workloads::CsvError| unreadable(file, &why.to_string());
            let rows = CsvRows::new(&content).map_err(fail)?;
            let mut batches = CsvBatches::new(dialect, &table.name, rows);
            while batches.next_into(&mut statement).map_err(fail)? > 0 {
                push_rows(data, &statement)?;
            }
        }
        UserRows::Script(script) => {
            let Some(file) = script.for_dialect(dialect) else { return Ok(()) };
            let content = read(file)?;
            let statements = script_statements(&content, dialect);
            for sql in statements.map_err(|why| unreadable(file, &why.to_string()))? {
                safe::check(dialect, sql)?;
                push_rows(data, sql.as_bytes())?;
            }
        }
    }
    Ok(())
}

fn unreadable(file: &UserRowsFile, why: &str) -> ReproRefusal {
    ReproRefusal::new(
        format!("cannot read `{}`, which has rows of the workload: {why}", file.path),
        "put the file back as it was when the study was planned",
    )
}

fn push_rows(data: &mut Vec<u8>, statement: &[u8]) -> Result<(), ReproRefusal> {
    push_statement(data, statement);
    if data.len() > BYTES_MAX {
        return Err(ReproRefusal::new(
            format!("the rows of the workload take more than {} MiB as SQL", BYTES_MAX >> 20),
            "measure the test again with fewer rows: a smaller table often shows the same",
        ));
    }
    Ok(())
}

/// Keeps a comment at the end from hiding the semicolon.
pub(crate) fn push_statement(sql: &mut Vec<u8>, statement: &[u8]) {
    let statement = statement.trim_ascii();
    sql.extend_from_slice(statement);
    let last = statement.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let may_end_in_comment = last.contains(&b'#') || last.windows(2).any(|pair| pair == b"--");
    // Rows are long; checking their last line is pointless.
    let is_rows = statement.len() > 10_000;
    sql.extend_from_slice(if may_end_in_comment && !is_rows { b"\n;\n" } else { b";\n" });
}
