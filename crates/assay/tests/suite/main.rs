//! The test files of this crate in one program, because each program takes seconds to link. `cargo xtask suite` runs
//! each file in a process of its own.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod answers;
mod bisect;
mod by_statistics;
mod capture;
mod charts;
mod claims;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod completions;
mod configs;
mod counting;
mod definition;
mod evidence;
mod extra;
mod feeds;
mod foreign;
mod gate;
mod generated_rows;
mod import;
mod import_runs;
mod insert_bench;
mod interrupt;
mod kill_and_resume;
mod ledgers;
mod load_and_bench;
mod lua;
mod map;
mod notebooks;
mod oltp;
mod pgbench;
mod posts;
mod profile;
mod recorded_study;
mod reference;
mod repro;
mod running;
mod secrets;
mod site;
mod slurm;
mod soaking;
mod studies;
mod study;
mod tarballs;
mod tpcc;
mod traps;
mod trend;
mod usage;
mod watch;
#[path = "../../../assay-provision/tests/web/mod.rs"]
mod web;
mod workload;

assay_testkit::supervisor_entry!();
