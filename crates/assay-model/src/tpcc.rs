//! A workload in the manner of TPC-C: its size, and how its transactions are carried out.

use serde::{Deserialize, Serialize};

use crate::counted;

/// The tables of the workload, and what its clients do with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tpcc {
    /// Number of warehouses.
    pub warehouses: u32,
    /// Whether a transaction is one call of a stored procedure, instead of statements of the client.
    pub procedures: bool,
    /// Whether clients pause for as long as people at terminals would key and think.
    pub thinks: bool,
}

/// Rows of the table of items, whatever the number of warehouses.
const ITEMS: u64 = 100_000;

/// Rows of a warehouse in all other tables, if its orders have ten lines each: the warehouse, 10 districts, 30,000
/// customers with a payment and an order each, 9000 new orders, 300,000 lines of orders, and stock of 100,000 items.
const OF_WAREHOUSE: u64 = 1 + 10 + 3 * 30_000 + 9000 + 300_000 + 100_000;

impl Tpcc {
    /// Rows of all tables after the load, about: the number of lines of an order is random.
    #[must_use]
    pub fn rows(&self) -> u64 {
        ITEMS + u64::from(self.warehouses) * OF_WAREHOUSE
    }

    /// Its size and its ways in words, and that it is no TPC result.
    #[must_use]
    pub fn in_words(&self) -> String {
        let warehouses = counted(u64::from(self.warehouses), "warehouse");
        let by = if self.procedures { ", stored procedures" } else { "" };
        let times = if self.thinks { ", with keying and think times" } else { "" };
        format!("TPC-C-like, {warehouses}{by}{times}, not a TPC result")
    }
}

/// A kind of transaction, as it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TpccKind {
    /// An order was entered.
    NewOrder,
    /// An order was rolled back, because it had an item that does not exist.
    RolledBack,
    /// A customer paid.
    Payment,
    /// The last order of a customer was shown.
    OrderStatus,
    /// The oldest new order of every district was delivered.
    Delivery,
    /// Items of which little is in stock were counted.
    StockLevel,
}

impl TpccKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::NewOrder,
        Self::RolledBack,
        Self::Payment,
        Self::OrderStatus,
        Self::Delivery,
        Self::StockLevel,
    ];

    /// The counter of such transactions. With `_ns` at its end, it is that of the time that they took.
    #[must_use]
    pub const fn counter(self) -> &'static str {
        match self {
            Self::NewOrder => "tpcc_new_order",
            Self::RolledBack => "tpcc_rolled_back",
            Self::Payment => "tpcc_payment",
            Self::OrderStatus => "tpcc_order_status",
            Self::Delivery => "tpcc_delivery",
            Self::StockLevel => "tpcc_stock_level",
        }
    }
}
