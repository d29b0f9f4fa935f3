//! The workload in the manner of TPC-C: loads and checks its tables, and carries out its transactions.

mod client;
mod conditions;
mod fill;
mod statements;
mod transactions;

pub(crate) use client::TpccActor;
pub(crate) use conditions::check_conditions;
pub(crate) use fill::{TpccTables, fill_tpcc};
