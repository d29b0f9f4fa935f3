//! The TPC-C-like workload: transactions per minute and response times, a row for each system and number of clients.

use assay_model::counted;
use assay_verdict::{CellJudgement, PerOp};

use super::shades::{ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::document::{Block, Wish};
use crate::number::{NONE, figure, thousands};

const RATES: [(&str, &str); 2] = [("NOPM", "nopm"), ("TPM", "tpm")];

const TIMES: [(&str, &str, &str); 5] = [
    ("new order ms", "new_order_us", "new_order_p95_us"),
    ("payment ms", "payment_us", "payment_p95_us"),
    ("order status ms", "order_status_us", "order_status_p95_us"),
    ("delivery ms", "delivery_us", "delivery_p95_us"),
    ("stock level ms", "stock_level_us", "stock_level_p95_us"),
];

const NOTE: &str = "NOPM: new orders committed per minute; TPM: transactions committed or rolled back per minute; ms: \
                    mean response time, retries included, and its 95th percentile in brackets. These are no TPC \
                    results";

fn ms(us: f64) -> String {
    figure(Some(us / 1000.0))
}

/// A response time and its 95th percentile. Ledgers of older versions of assay have only the first.
fn times(mean_us: Option<f64>, p95_us: Option<f64>) -> String {
    match (mean_us, p95_us) {
        (None, _) => NONE.to_owned(),
        (Some(mean), None) => ms(mean),
        (Some(mean), Some(p95)) => format!("{} ({})", ms(mean), ms(p95)),
    }
}

pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let table: Vec<Block> = table(study).iter().map(|table| table.block(wish)).collect();
    if wish.is_page() { Block::place("tpcc", "", "TPC-C-like workload", table) } else { table }
}

/// `None` for other studies, and if nothing was timed.
fn table(study: &JudgedStudy) -> Option<ShadedTable> {
    let is_of_it = |cell: &&CellJudgement| cell.cell.test.tpcc().is_some();
    let rows = study.judgement.cells.iter().filter(is_of_it).filter_map(|cell| {
        let per_op: PerOp = cell.per_op?;
        let label = study.label(cell.system);
        let name = if study.several_setups() {
            format!("{label}, {}", counted(cell.cell.setup.clients, "client"))
        } else {
            label.to_owned()
        };
        let rate =
            |(_, key): &(_, &str)| per_op.get(key).map_or_else(|| NONE.to_owned(), thousands);
        let time = |(_, mean, p95): &(_, &str, &str)| times(per_op.get(mean), per_op.get(p95));
        Some(ShadedRow::plain(name, RATES.iter().map(rate).chain(TIMES.iter().map(time))))
    });
    let rows: Vec<ShadedRow> = rows.collect();
    let headings = RATES.iter().map(|it| it.0).chain(TIMES.iter().map(|it| it.0));
    (!rows.is_empty()).then(|| ShadedTable {
        title: "transactions".to_owned(),
        note: NOTE.to_owned(),
        corner: "system",
        columns: headings.map(str::to_owned).collect(),
        rows,
    })
}
