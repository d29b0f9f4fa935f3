//! Checks the consistency conditions of the tables.

use assay_wire::ConnectOptions;
use assay_workloads::TPCC_CONDITIONS;

use crate::error::{Error, Result};
use crate::share::for_whole_tables;
use crate::user::connect;

pub(crate) fn check_conditions(options: &ConnectOptions) -> Result<()> {
    let mut control = connect(&for_whole_tables(options))?;
    for condition in &TPCC_CONDITIONS {
        let sql = condition.violation;
        let found = control.query(sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
        if found.rows.is_empty() {
            continue;
        }
        let values = (0..condition.columns.len()).map(|column| found.text(0, column));
        let (number, demands) = (condition.number, condition.demands);
        return Err(Error::Inconsistent { number, demands, found: condition.told(values) });
    }
    Ok(())
}
