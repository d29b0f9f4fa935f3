//! A workload in the manner of TPC-C: its size, and how its transactions are executed.

use serde::{Deserialize, Serialize};

use crate::limits::tpcc::WAREHOUSES;
use crate::limits::within;
use crate::workload::{SEND_PACK, WorkloadFacts};
use crate::{Setup, counted, words};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tpcc {
    pub warehouses: u32,
    /// Whether a transaction is one call of a stored procedure instead of client statements.
    pub procedures: bool,
    /// Whether clients pause for the keying and thinking times of people at terminals.
    pub thinks: bool,
}

/// Loaded size of a row.
const ROW_BYTES: u64 = 230;

const ITEMS: u64 = 100_000;

/// Rows of a warehouse in all other tables, with ten lines per order: the warehouse, 10 districts, 30,000 customers
/// with a payment and an order each, 9000 new orders, 300,000 order lines, and stock of 100,000 items.
const OF_WAREHOUSE: u64 = 1 + 10 + 3 * 30_000 + 9000 + 300_000 + 100_000;

impl Tpcc {
    /// Approximate rows of all tables after the load: the number of lines per order is random.
    pub fn rows(&self) -> u64 {
        ITEMS + u64::from(self.warehouses) * OF_WAREHOUSE
    }

    /// Size of the tables after the load, bytes. Most rows are short; orders add rows at run time.
    pub fn loaded_bytes(&self) -> u64 {
        self.rows().saturating_mul(ROW_BYTES)
    }

    pub fn in_words(&self) -> String {
        let warehouses = counted(u64::from(self.warehouses), "warehouse");
        let by = if self.procedures { ", stored procedures" } else { "" };
        let times = if self.thinks { ", with keying and think times" } else { "" };
        format!("TPC-C-like, {warehouses}{by}{times}, not a TPC result")
    }
}

impl WorkloadFacts for Tpcc {
    fn title(&self) -> Option<String> {
        Some(self.in_words())
    }

    fn own_rows(&self) -> Option<u64> {
        Some(self.rows())
    }

    fn own_bytes(&self) -> Option<u64> {
        Some(self.loaded_bytes())
    }

    fn data_in_words(&self, _: Setup) -> String {
        self.in_words()
    }

    fn extended_refused(&self) -> Option<&'static str> {
        Some(
            "`--suite tpcc` prepares its statements or sends texts; `--db-ps-mode extended` is for scripts of pgbench",
        )
    }

    fn irreproducible(&self, test: &str) -> Option<[String; 2]> {
        Some([
            format!(
                "clients of `{test}` decide after each reply what to send next, which sysbench, pgbench and the plain \
                 client cannot do"
            ),
            SEND_PACK.to_owned(),
        ])
    }

    fn check_bounds(&self) -> Result<(), String> {
        within("warehouses", self.warehouses, &WAREHOUSES)
    }
}

words! {
    /// A kind of transaction, by the name of its counter.
    pub enum TpccKind {
        /// A new order.
        NewOrder = "tpcc_new_order",
        /// An order that was rolled back because of a nonexistent item.
        RolledBack = "tpcc_rolled_back",
        /// A payment.
        Payment = "tpcc_payment",
        /// The state of a customer's last order.
        OrderStatus = "tpcc_order_status",
        /// The delivery of an order of each district.
        Delivery = "tpcc_delivery",
        /// Recently sold items whose stock is low.
        StockLevel = "tpcc_stock_level",
    }
}

/// Bounds of response times within an octave, µs; each higher octave doubles them.
const RESPONSE_US: [u64; 3] = [64, 81, 102];
const RESPONSE_OCTAVES: usize = 16;

/// Number of response-time classes: 64 µs to 4 s in steps of a quarter, plus shorter and longer.
pub const RESPONSE_CLASSES: usize = RESPONSE_US.len() * RESPONSE_OCTAVES + 1;

/// Exclusive upper bound of a response-time class, µs; `None` for the last.
pub fn response_bound_us(class: usize) -> Option<u64> {
    let (octave, place) = (class / RESPONSE_US.len(), class % RESPONSE_US.len());
    let first = RESPONSE_US.get(place).filter(|_| octave < RESPONSE_OCTAVES)?;
    Some(first << octave)
}

impl TpccKind {
    /// Kinds with reported response times.
    pub const TIMED: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// Counter of such transactions in a response-time class.
    pub fn response_counter(self, class: usize) -> String {
        let name = self.counter();
        match response_bound_us(class) {
            Some(us) => format!("{name}.below_{us}_us"),
            None => format!("{name}.longer"),
        }
    }

    /// Counter of such transactions; with suffix `_ns`, of their time.
    pub const fn counter(self) -> &'static str {
        self.word()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_response_times_are_narrow_and_follow_each_other() {
        let bounds: Vec<u64> = (0..RESPONSE_CLASSES).filter_map(response_bound_us).collect();
        assert_eq!(bounds.len(), RESPONSE_CLASSES - 1);
        assert!(bounds.windows(2).all(|it| it[0] < it[1] && it[1] * 10 < it[0] * 13));
        assert!(bounds.last().is_some_and(|last| *last > 3_000_000));
        let counter = |class| TpccKind::Payment.response_counter(class);
        assert_eq!(counter(3), "tpcc_payment.below_128_us");
        assert_eq!(counter(RESPONSE_CLASSES - 1), "tpcc_payment.longer");
    }
}
