//! The TPC-C-like workload: loads and checks its tables, and runs its transactions.

mod client;
mod conditions;
mod fill;
mod statements;
mod transactions;

pub(crate) use client::TpccActor;
pub(crate) use conditions::check_conditions;
pub(crate) use fill::{TpccTables, fill_tpcc};
