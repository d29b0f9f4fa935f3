//! Load and sessions against real servers.

mod actor;
mod bed;
mod captured_values;
mod content;
mod existing;
mod functional;
mod ibench;
mod ibench_acceptance;
mod lua;
mod oltp;
mod postgres;
mod session;
mod settings;
mod tpcc;
