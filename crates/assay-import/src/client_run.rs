//! A run of a benchmark client, as its output tells it.

use std::fmt;

/// The program that wrote an output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Client {
    /// sysbench.
    #[default]
    Sysbench,
    /// pgbench.
    Pgbench,
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sysbench => "sysbench",
            Self::Pgbench => "pgbench",
        })
    }
}

/// A run of a benchmark client. What the output does not say is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientRun {
    /// The program.
    pub client: Client,
    /// The versions that the output names, such as `1.1.0`; one, unless it is of several runs.
    pub versions: Vec<String>,
    /// The script or test, from the command line, without directory and `.lua`.
    pub script: Option<String>,
    /// Options of the command line, without the dashes; passwords are left out. Of pgbench, what its report says.
    pub options: Vec<(String, String)>,
    /// Number of clients.
    pub threads: Option<u32>,
    /// Transactions per second to which it was limited.
    pub target: Option<f64>,
    /// Mean delay of a transaction that began later than its limited rate asks for, milliseconds.
    pub lag_ms: Option<f64>,
    /// Time of connecting before the first transaction, milliseconds; of pgbench.
    pub connecting_ms: Option<f64>,
    /// Statements that read.
    pub read: Option<u64>,
    /// Statements that write.
    pub write: Option<u64>,
    /// Statements that do neither.
    pub other: Option<u64>,
    /// The sum of these, as printed.
    pub total: Option<u64>,
    /// All statements.
    pub queries: Option<u64>,
    /// Statements per second, as printed.
    pub qps: Option<f64>,
    /// Transactions.
    pub transactions: Option<u64>,
    /// Transactions per second, as printed.
    pub tps: Option<f64>,
    /// The same with the time of connecting, which old versions of pgbench print too.
    pub tps_with_connecting: Option<f64>,
    /// Events.
    pub events: Option<u64>,
    /// Errors after which an event was started again.
    pub ignored_errors: Option<u64>,
    /// Those per second, as printed.
    pub errors_per_second: Option<f64>,
    /// Connections that replaced lost ones.
    pub reconnects: Option<u64>,
    /// Transactions that were given up, and others that were not even begun; of pgbench.
    pub given_up: Option<u64>,
    /// Transactions that took longer than `pgbench --latency-limit`.
    pub late: Option<u64>,
    /// Measured time, seconds.
    pub seconds: Option<f64>,
    /// Time of warming up, seconds, as the header of the output says.
    pub warmup_s: Option<f64>,
    /// Response times.
    pub latency: RunLatency,
    /// Mean number of events of a thread.
    pub events_of_thread: Option<f64>,
    /// The lines of `--report-interval` or `--progress`.
    pub intervals: Vec<Interval>,
    /// Number of reports: an output may be of several runs.
    pub reports: u32,
    /// The first line that says why the run failed.
    pub fatal: Option<String>,
}

/// A run of a system.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemRun {
    /// Name of the system. Runs of one name and as many clients are repeats.
    pub system: String,
    /// Name of the output, for messages.
    pub file: String,
    /// The output.
    pub run: ClientRun,
}

/// Response times, milliseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunLatency {
    /// The shortest.
    pub min: Option<f64>,
    /// The mean.
    pub avg: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
    /// The sum of all.
    pub sum: Option<f64>,
    /// The standard deviation.
    pub stddev: Option<f64>,
    /// A percentile, and the response time there.
    pub percentile: Option<(f64, f64)>,
    /// The buckets of a histogram, in the order of the output: a response time, and the number of events there.
    pub histogram: Vec<(f64, u64)>,
}

/// What was done since the line before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The end of the interval, seconds since the start.
    pub at_s: f64,
    /// Clients; `None` if the line does not tell.
    pub threads: Option<u32>,
    /// Transactions per second.
    pub tps: f64,
    /// Statements per second; those of pgbench are transactions.
    pub qps: f64,
    /// The percentile of the response time, milliseconds; of pgbench the mean.
    pub latency_ms: f64,
}

impl RunLatency {
    /// The response times at percentiles, each once: as printed, and as they follow from the histogram.
    #[must_use]
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

    /// The events in the histogram.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.histogram.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The first bucket that, with those before it, has so many percent of the events.
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
    /// The value of an option of the command line.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether there is a report, and no more than one: a run that fails prints none.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let has_work = match self.client {
            Client::Sysbench => [self.read, self.write, self.other].iter().all(Option::is_some),
            Client::Pgbench => self.transactions.is_some(),
        };
        self.reports == 1 && has_work && self.seconds.is_some_and(|it| it > 0.0)
    }

    /// Whether something else than the server decided its rate.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        self.target.is_some() || self.lag_ms.is_some()
    }

    /// Statements that read, statements that do not, both per event; `None` where they were not counted.
    #[must_use]
    pub fn statements_per_event(&self) -> Option<[f64; 2]> {
        let events = self.events.filter(|it| *it > 0)? as f64;
        let others = self.write?.saturating_add(self.other?);
        Some([self.read? as f64 / events, others as f64 / events])
    }

    /// By how much statements per event may be off: events that were started again, and those that were under way
    /// when the counting began or ended, leave statements behind.
    #[must_use]
    pub fn slack_per_event(&self) -> f64 {
        let events = self.events.unwrap_or(0).max(1) as f64;
        let begun = self.ignored_errors.unwrap_or(0).saturating_add(self.reconnects.unwrap_or(0));
        let of_event = self.statements_per_event().map_or(0.0, |[read, rest]| read + rest);
        of_event * (begun as f64 + 2.0 * f64::from(self.threads.unwrap_or(1))) / events
    }
}
