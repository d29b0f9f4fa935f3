//! The TPC-C-like workload: transactions per minute and response times, a row for each system and number of clients.

use assay_model::counted;
use assay_verdict::{CellJudgement, PerOp};

use super::shaded::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::number::{NONE, figure, thousands};

/// A column: its heading, its figure, and how a figure is written.
type Written = (&'static str, &'static str, fn(f64) -> String);

const COLUMNS: [Written; 7] = [
    ("NOPM", "nopm", thousands),
    ("TPM", "tpm", thousands),
    ("new order ms", "new_order_us", ms),
    ("payment ms", "payment_us", ms),
    ("order status ms", "order_status_us", ms),
    ("delivery ms", "delivery_us", ms),
    ("stock level ms", "stock_level_us", ms),
];

const NOTE: &str = "NOPM: new orders committed per minute; TPM: transactions committed or rolled back per minute; ms: \
                    mean response time, retries included. These are no TPC results";

fn ms(us: f64) -> String {
    figure(Some(us / 1000.0))
}

/// The table; `None` for other studies, and where nothing was timed.
pub(super) fn table(study: &JudgedStudy) -> Option<ShadedTable> {
    let is_of_it = |cell: &&CellJudgement| cell.cell.test.tpcc().is_some();
    let rows = study.judgement.cells.iter().filter(is_of_it).filter_map(|cell| {
        let per_op: PerOp = cell.per_op?;
        let label = study.label(cell.system);
        let name = match study.several_setups() {
            true => {
                let clients = counted(u64::from(cell.cell.setup.clients), "client");
                format!("{label}, {clients}")
            }
            false => label.to_owned(),
        };
        let cells = COLUMNS.map(|(_, key, written)| ShadedCell {
            text: per_op.get(key).map_or_else(|| NONE.to_owned(), written),
            shade: Shade::None,
        });
        Some(ShadedRow { name, cells: cells.into() })
    });
    let rows: Vec<ShadedRow> = rows.collect();
    (!rows.is_empty()).then(|| ShadedTable {
        title: "transactions".to_owned(),
        note: NOTE.to_owned(),
        corner: "system",
        columns: COLUMNS.iter().map(|(heading, ..)| (*heading).to_owned()).collect(),
        rows,
    })
}
