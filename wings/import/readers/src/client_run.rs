//! A run of a benchmark client, parsed from its output.

use std::fmt;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BenchmarkClient {
    #[default]
    Sysbench,
    Pgbench,
}

impl fmt::Display for BenchmarkClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sysbench => "sysbench",
            Self::Pgbench => "pgbench",
        })
    }
}

/// A run of a benchmark client. `None` means absent from the output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientRun {
    pub client: BenchmarkClient,
    /// Such as `1.1.0`; more than one if the output has several runs.
    pub versions: Vec<String>,
    /// Version of the server; pgbench from 14 on prints it.
    pub server_version: Option<String>,
    /// The script or test, from the command line, without directory and `.lua`.
    pub script: Option<String>,
    /// Options of the command line without dashes and passwords. For pgbench, facts of its report.
    pub options: Vec<(String, String)>,
    pub threads: Option<u32>,
    /// Limit of transactions per second.
    pub target: Option<f64>,
    /// Mean delay of transactions that began later than the limited rate asks for, milliseconds.
    pub lag_ms: Option<f64>,
    /// Time of connecting before the first transaction, milliseconds; pgbench only.
    pub connecting_ms: Option<f64>,
    /// Statements that read.
    pub read: Option<u64>,
    pub write: Option<u64>,
    pub other: Option<u64>,
    /// Sum of `read`, `write` and `other`, as printed.
    pub total: Option<u64>,
    pub queries: Option<u64>,
    /// Statements per second, as printed.
    pub qps: Option<f64>,
    pub transactions: Option<u64>,
    /// As printed.
    pub tps: Option<f64>,
    /// The same including connecting, which old versions of pgbench also print.
    pub tps_with_connecting: Option<f64>,
    pub events: Option<u64>,
    /// Errors after which an event was restarted.
    pub ignored_errors: Option<u64>,
    /// As printed.
    pub errors_per_second: Option<f64>,
    /// Connections that replaced lost ones.
    pub reconnects: Option<u64>,
    /// Transactions abandoned or never begun; pgbench only.
    pub given_up: Option<u64>,
    /// Transactions that took longer than `pgbench --latency-limit`.
    pub late: Option<u64>,
    /// Measured time, seconds.
    pub seconds: Option<f64>,
    /// Warm-up, seconds, from the header of the output.
    pub warmup_s: Option<f64>,
    pub latency: RunLatency,
    /// Mean number of events per thread.
    pub events_of_thread: Option<f64>,
    /// The lines of `--report-interval` or `--progress`.
    pub intervals: Vec<ReportInterval>,
    /// An output may have several runs.
    pub reports: u32,
    /// First line with a reason why the run failed.
    pub fatal: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SystemRun {
    /// Runs with the same name and number of clients are repeats.
    pub system: String,
    pub file: String,
    pub run: ClientRun,
}

/// Response times, milliseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunLatency {
    pub min: Option<f64>,
    pub avg: Option<f64>,
    pub max: Option<f64>,
    pub sum: Option<f64>,
    pub stddev: Option<f64>,
    /// A percentile and the response time there.
    pub percentile: Option<(f64, f64)>,
    /// Response time and number of events of each bucket, in the order of the output.
    pub histogram: Vec<(f64, u64)>,
}

/// Work since the previous line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportInterval {
    /// End of the interval, seconds since the start.
    pub at_s: f64,
    pub threads: Option<u32>,
    pub tps: f64,
    /// Statements per second; for pgbench, transactions.
    pub qps: f64,
    /// Percentile of the response time, milliseconds; for pgbench, the mean.
    pub latency_ms: f64,
}

impl RunLatency {
    /// Response times at percentiles, each once: as printed, and from the histogram.
    pub fn percentiles(&self) -> Vec<(f64, f64)> {
        let printed = self.percentile.into_iter();
        let of_histogram = [50.0, 95.0, 99.0].into_iter().filter_map(|at| Some((at, self.at(at)?)));
        let mut all: Vec<(f64, f64)> = Vec::new();
        for (at, ms) in printed.chain(of_histogram) {
            if !all.iter().any(|(known, _)| *known == at) {
                all.push((at, ms));
            }
        }
        all
    }

    pub fn counted(&self) -> u64 {
        self.histogram.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// First bucket at which the cumulative share of events reaches `percentile`.
    fn at(&self, percentile: f64) -> Option<f64> {
        let wanted = (self.counted() as f64 * percentile / 100.0 + 0.5).floor();
        let mut seen = 0.0;
        let mut buckets = self.histogram.iter();
        let found = buckets.find(|(_, count)| {
            seen += *count as f64;
            seen >= wanted
        });
        found.map(|(ms, _)| *ms)
    }
}

impl ClientRun {
    pub fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A run that fails prints no report.
    pub fn is_complete(&self) -> bool {
        let has_work = match self.client {
            BenchmarkClient::Sysbench => {
                [self.read, self.write, self.other].iter().all(Option::is_some)
            }
            BenchmarkClient::Pgbench => self.transactions.is_some(),
        };
        self.reports == 1 && has_work && self.seconds.is_some_and(|it| it > 0.0)
    }

    /// Whether something other than the server decided its rate.
    pub fn is_paced(&self) -> bool {
        self.target.is_some() || self.lag_ms.is_some()
    }

    /// Statements that read and statements that do not, per event; `None` if not counted.
    pub fn statements_per_event(&self) -> Option<[f64; 2]> {
        let events = self.events.filter(|it| *it > 0)? as f64;
        let others = self.write?.saturating_add(self.other?);
        Some([self.read? as f64 / events, others as f64 / events])
    }

    /// Uncertainty of the statements per event: restarted events, and events under way when the counting began or
    /// ended, leave statements behind.
    pub fn slack_per_event(&self) -> f64 {
        let events = self.events.unwrap_or(0).max(1) as f64;
        let begun = self.ignored_errors.unwrap_or(0).saturating_add(self.reconnects.unwrap_or(0));
        let of_event = self.statements_per_event().map_or(0.0, |[read, rest]| read + rest);
        of_event * (begun as f64 + 2.0 * f64::from(self.threads.unwrap_or(1))) / events
    }
}
