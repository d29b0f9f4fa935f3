//! Sizes set by the specification.

/// Name of the test, which is part of the seed of its inputs.
pub const TPCC: &str = "tpcc";

/// Clause 1.2.1: districts of a warehouse, customers of a district, and items.
pub(super) const DISTRICTS: u32 = 10;
pub(super) const CUSTOMERS: u32 = 3000;
pub(super) const ITEMS: u32 = 100_000;
/// Orders of a district after the load, and the first of those that are not delivered yet.
pub(super) const ORDERS: u32 = 3000;
pub(super) const FIRST_NEW: u32 = 2101;
