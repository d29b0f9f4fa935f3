//! Dumps of a workload and their dialects.

use assay_model::{Dialect, PerDialect, UserDump, UserRowsFile};
use assay_workloads::dump_dialect;

use super::fields::per_product;
use super::files::{ReadFile, UserFile, Wanted};
use crate::document::{Fault, Value};

/// Examines only the beginning of the content.
pub(super) fn dump(value: &Value<'_>, files: ReadFile<'_>) -> Result<PerDialect<UserDump>, Fault> {
    if value.value.is_str() {
        let (dialect, dump) = of_file(value, files)?;
        return Ok(match dialect {
            Some(Dialect::MySql) => PerDialect { mysql: Some(dump), postgres: None },
            Some(Dialect::Postgres) => PerDialect { mysql: None, postgres: Some(dump) },
            // It depends on the systems that restore it.
            None => PerDialect::all(dump),
        });
    }
    let parts = per_product(value)?;
    let of = |part: Option<Value<'_>>, meant| -> Result<Option<UserDump>, Fault> {
        let Some(part) = part else { return Ok(None) };
        match of_file(&part, files)? {
            (dialect, dump) if dialect.is_none_or(|it| it == meant) => Ok(Some(dump)),
            _ => Err(part.fault("this is a dump of the other family of products")),
        }
    };
    let mysql = of(parts.mysql, Dialect::MySql)?;
    Ok(PerDialect { mysql, postgres: of(parts.postgres, Dialect::Postgres)? })
}

fn of_file(value: &Value<'_>, files: ReadFile<'_>) -> Result<(Option<Dialect>, UserDump), Fault> {
    let name = value.text("the name of a dump, in quotes")?;
    let read = files(name, Wanted::Head);
    let read = read.map_err(|why| value.fault(format!("`{name}` cannot be read: {why}")))?;
    let UserFile { path, sha256, content, bytes } = read;
    let dialect = dump_dialect(&content)
        .map_err(|why| value.fault(format!("`{name}` is {why}")).hint(why.hint()))?;
    Ok((dialect, UserDump { file: UserRowsFile { path, sha256 }, bytes }))
}
