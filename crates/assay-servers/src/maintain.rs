//! Bringing a server to rest: statistics taken, old row versions purged, changed pages written.

use std::time::{Duration, Instant};

use assay_wire::Control;

use crate::{Error, postgres};

/// Between two looks at what is still to be done.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What was left to do when a server came to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Whether it came to rest within the time allowed.
    pub is_complete: bool,
    /// Transactions whose old row versions are not purged yet, of Postgres dead rows that are still there; none where
    /// the version cannot tell.
    pub history_length: Option<u64>,
    /// Pages of the buffer pool that are not written yet.
    pub dirty_pages: u64,
    /// How long it took.
    pub took: Duration,
}

/// Global variables that make a server write everything now, in the order in which they are set, with the values.
///
/// Without the higher capacity a server writes 200 pages a second, whatever the disk could do. Without the higher
/// frequency the history of what is purged is kept until more has been purged. Not every version has all.
const HURRY: [(&str, &str); 5] = [
    ("innodb_purge_rseg_truncate_frequency", "1"),
    ("innodb_io_capacity_max", "100000"),
    ("innodb_io_capacity", "100000"),
    ("innodb_max_dirty_pages_pct_lwm", "0"),
    ("innodb_max_dirty_pages_pct", "0"),
];

/// Takes the statistics of `tables` (of the connection's database) and drains the server.
///
/// # Errors
/// When the server cannot be asked or refuses a table.
pub fn maintain(
    control: &mut Control,
    tables: &[String],
    limit: Duration,
) -> Result<Drained, Error> {
    if let Control::Postgres(_) = control {
        return postgres::maintain(control, tables, limit);
    }
    for table in tables {
        control.query(&format!("ANALYZE TABLE `{}`", table.replace('`', "``")))?;
    }
    drain(control, limit)
}

/// Waits until old row versions are purged and changed pages are written, for `limit` at most.
///
/// # Errors
/// When the server cannot be asked.
pub fn drain(control: &mut Control, limit: Duration) -> Result<Drained, Error> {
    if let Control::Postgres(_) = control {
        return postgres::drain(control, limit);
    }
    let began = Instant::now();
    let mut before = Vec::new();
    for (name, value) in HURRY {
        let found = control.query(&format!("SHOW GLOBAL VARIABLES LIKE '{name}'"))?;
        if let Some(old) = found.text(0, 1) {
            before.push((name, old.to_owned()));
            control.query(&format!("SET GLOBAL {name} = {value}"))?;
        }
    }
    let drained = wait(control, began, limit);
    // In the opposite order: a maximum is lowered after what it bounds.
    for (name, value) in before.iter().rev() {
        control.query(&format!("SET GLOBAL {name} = {value}"))?;
    }
    drained
}

fn wait(control: &mut Control, began: Instant, limit: Duration) -> Result<Drained, Error> {
    loop {
        let found = control.query(
            "SHOW GLOBAL STATUS WHERE Variable_name IN \
             ('Innodb_history_list_length', 'Innodb_buffer_pool_pages_dirty')",
        )?;
        let value = |name: &str| {
            let row = (0..found.rows.len())
                .find(|row| found.text(*row, 0).is_some_and(|it| it.eq_ignore_ascii_case(name)));
            row.and_then(|row| found.text(row, 1)).and_then(|it| it.parse::<u64>().ok())
        };
        let history_length = value("innodb_history_list_length");
        let dirty_pages = value("innodb_buffer_pool_pages_dirty").unwrap_or(0);
        let took = began.elapsed();
        let is_complete = history_length.unwrap_or(0) == 0 && dirty_pages == 0;
        if is_complete || took > limit {
            return Ok(Drained { is_complete, history_length, dirty_pages, took });
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
