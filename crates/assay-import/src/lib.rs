//! Parsers of results published by other tools.
//!
//! The layouts are those of the summaries that Mark Callaghan publishes with his posts: tables of queries per second
//! ([`qps_table`]), metrics per operation ([`metrics`]), the Insert Benchmark's rows of 21 columns ([`step_rows`]) and
//! its summaries ([`rate_table`]). [`sysbench_run`], [`pgbench_run`] and [`ibench_run`] parse the output of the
//! clients, [`vmstat`] and [`iostat`] the samples taken meanwhile. A line that cannot be parsed is a [`Fault`]; the
//! rest is read.

mod checks;
mod client_run;
mod comparable;
mod dbms;
mod hardware;
mod ibench;
mod ibench_study;
mod line;
mod metrics;
mod output;
mod pgbench;
mod qps;
mod rates;
mod raw;
mod references;
mod relative;
mod reservations;
mod runs;
mod samples;
mod step_study;
mod steps;
mod study;
mod sysbench;
mod warmup;

pub use client_run::{Client, ClientRun, Interval, RunLatency, SystemRun};
pub use dbms::{Dbms, dbms};
pub use hardware::RunMetrics;
pub use ibench::{
    BUCKETS, IbenchRun, IbenchSecond, ResponseTimes, ibench_run, rate_reached, step_seconds,
};
pub use ibench_study::{IbenchResult, study_of_ibench_runs};
pub use line::Fault;
pub use metrics::{MetricRow, Metrics, Section, metrics};
pub use output::{OtherOutput, Output, output};
pub use pgbench::pgbench_run;
pub use qps::{QpsKind, QpsRow, QpsTable, qps_table};
pub use rates::{RateRow, RateTable, rate_table};
pub use raw::{RawRun, run_metrics, study_of_raw_runs};
pub use references::{Reference, references};
pub use relative::{printed_ratio, ratio};
pub use runs::{NoRuns, study_of_runs};
pub use samples::{Iostat, IostatSample, Vmstat, VmstatSample, iostat, vmstat};
pub use step_study::{
    StepResult, step_results, steps_of_server, study_of_steps, summary_results, without_size,
};
pub use steps::{COLUMNS, StepRow, step_rows};
pub use study::{About, Gathered, NoStudy, study_of};
pub use sysbench::sysbench_run;
