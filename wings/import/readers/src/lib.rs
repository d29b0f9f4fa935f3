//! Parsers of results published by other tools.
//!
//! The layouts are those of the summaries that Mark Callaghan publishes with his posts: tables of queries per second
//! ([`qps_table`]), metrics per operation ([`metrics`]), the Insert Benchmark's rows of 21 columns ([`step_rows`]) and
//! its summaries ([`rate_table`]). [`sysbench_run`], [`pgbench_run`] and [`ibench_run`] parse the output of the
//! clients, [`hammerdb_runs`] and [`pgbench_log`] what has no place in a study, [`vmstat`] and [`iostat`] the samples
//! taken meanwhile. A line that cannot be parsed is a [`LineFault`]; the rest is read.

mod checks;
mod client_run;
mod dbms;
mod hammerdb;
mod ibench;
mod line;
mod metrics;
mod output;
mod pgbench;
mod pgbench_log;
mod qps;
mod raw;
mod references;
mod reservations;
mod runs;
mod samples;
mod steps;
mod study;
mod sysbench;

pub use client_run::{BenchmarkClient, ClientRun, ReportInterval, RunLatency, SystemRun};
pub use dbms::{Dbms, dbms};
pub use hammerdb::{HammerdbRun, hammerdb_runs};
pub use ibench::{
    BUCKETS, IbenchOutput, IbenchResult, IbenchSecond, ResponseTimes, ibench_run, step_seconds,
    study_of_ibench_runs,
};
pub use line::{LineFault, ParseResult};
pub use metrics::{MetricRow, MetricSection, Metrics, metrics};
pub use output::{OtherOutput, OutputKind, output};
pub use pgbench::pgbench_run;
pub use pgbench_log::{PgbenchLog, pgbench_log};
pub use qps::{QpsKind, QpsRow, QpsTable, qps_table};
pub use raw::{RawRun, run_metrics, study_of_raw_runs};
pub use references::{Reference, references};
pub use reservations::run_doubts;
pub use runs::{NoRuns, study_of_runs};
pub use samples::{Iostat, IostatSample, RunMetrics, Vmstat, VmstatSample, iostat, vmstat};
pub use steps::{
    COLUMNS, IbenchRates, IbenchRow, RateTable, StepResult, rate_table, step_result, step_rows,
    steps_of_server, study_of_steps, summary_results, without_size,
};
pub use study::{ImportFacts, NoStudy, PublishedStudy, study_of};
pub use sysbench::sysbench_run;
