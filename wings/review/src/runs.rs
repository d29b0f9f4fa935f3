//! The runs of a benchmark, whatever program did them, and the systems to which they belong. Pure.

use std::collections::BTreeSet;

use assay_import::{HammerdbRun, PgbenchLog, QpsTable, SystemRun, Vmstat};
use assay_model::{Dialect, Product, counted};
use assay_setting_files::SettingsFile;
use assay_workloads::OLTP_SCRIPTS;

use crate::contents::FileContent;
use crate::statistics::{RunRate, series_noise};
use crate::systems::{NamedRelease, release_in};

/// The unit of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RateUnit {
    Transactions,
    /// Queries per second, in a published table.
    Queries,
    NewOrders,
}

impl RateUnit {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Transactions => "transactions/s",
            Self::Queries => "queries/s",
            Self::NewOrders => "new orders/min",
        }
    }
}

/// A run of one system. `None` means that its files do not say it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReviewedRun {
    pub(crate) system: String,
    pub(crate) file: String,
    pub(crate) test: String,
    pub(crate) clients: Option<u32>,
    pub(crate) unit: RateUnit,
    pub(crate) rate: f64,
    /// Rates of equal intervals after the warm-up.
    pub(crate) intervals: Vec<f64>,
    pub(crate) seconds: Option<f64>,
    pub(crate) warmup_s: Option<f64>,
    /// Whether its program reports errors.
    pub(crate) has_errors: bool,
    pub(crate) size: RunSize,
}

/// The tables of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RunSize {
    pub(crate) tables: Option<u32>,
    pub(crate) rows: Option<u32>,
    /// Of pgbench.
    pub(crate) scale: Option<u32>,
    pub(crate) warehouses: Option<u32>,
}

/// The name of HammerDB's test.
pub(crate) const TPROC: &str = "TPROC-C";

impl ReviewedRun {
    pub(crate) fn with_noise(&self) -> RunRate {
        RunRate { rate: self.rate, noise: series_noise(&self.intervals) }
    }

    /// What repeats and other systems have alike.
    pub(crate) fn key(&self) -> (&str, Option<u32>, RateUnit) {
        (&self.test, self.clients, self.unit)
    }

    /// Or why the output has no run with a rate.
    fn from_client(given: &SystemRun) -> Result<Self, String> {
        let SystemRun { system, file, run } = given;
        if let Some(why) = &run.fatal {
            return Err(format!("its run failed: {why}"));
        }
        if run.is_paced() {
            return Err("its rate was limited, so capacity is not shown".to_owned());
        }
        if run.reports > 1 {
            return Err(format!(
                "it has {} reports: split it into a file for each run",
                run.reports
            ));
        }
        let warmup_s = run.warmup_s.or_else(|| run.option("warmup-time")?.parse().ok());
        let warm = warmup_s.unwrap_or(0.0);
        let intervals = run.intervals.iter().filter(|interval| interval.at_s > warm);
        let intervals: Vec<f64> = intervals.map(|interval| interval.tps).collect();
        let mean = || (!intervals.is_empty()).then(|| assay_verdict::mean(&intervals));
        let rate = run.tps.or_else(mean).filter(|rate| *rate > 0.0);
        let rate = rate.ok_or("it has no rate: its run did not end, or the file is cut off")?;
        let number = |name: &str| run.option(name)?.parse().ok();
        // Few outputs of sysbench have their command line, and different scripts are no repeats.
        let named = || {
            let name = OLTP_SCRIPTS.iter().find(|name| file.contains(**name))?;
            Some((*name).to_owned())
        };
        Ok(Self {
            system: system.clone(),
            file: file.clone(),
            test: run.script.clone().or_else(named).unwrap_or_else(|| run.client.to_string()),
            clients: run.threads,
            unit: RateUnit::Transactions,
            rate,
            intervals,
            seconds: run.seconds,
            warmup_s,
            // sysbench always reports them; pgbench does so from version 15 on.
            has_errors: run.ignored_errors.or(run.given_up).is_some(),
            size: RunSize {
                tables: number("tables"),
                rows: number("table-size"),
                scale: number("scale"),
                warehouses: None,
            },
        })
    }

    fn from_hammerdb(system: &str, file: &str, run: &HammerdbRun) -> Option<Self> {
        (run.nopm > 0.0).then(|| Self {
            system: system.to_owned(),
            file: file.to_owned(),
            test: TPROC.to_owned(),
            // One of the virtual users only watches the others.
            clients: run.users,
            unit: RateUnit::NewOrders,
            rate: run.nopm,
            intervals: run.counts.clone(),
            seconds: run.minutes.map(|minutes| 60.0 * minutes),
            warmup_s: run.rampup_minutes.map(|minutes| 60.0 * minutes),
            has_errors: false,
            size: RunSize { warehouses: run.warehouses, ..RunSize::default() },
        })
    }
}

/// A system with its files.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReviewedSystem {
    pub(crate) name: String,
    pub(crate) release: Option<NamedRelease>,
    pub(crate) files: Vec<String>,
    pub(crate) settings: Option<SettingsFile>,
    pub(crate) vmstat: Vec<Vmstat>,
    log: PgbenchLog,
}

/// A file and the system to which the user's words, its folder or its name assign it.
pub(crate) struct AssignedFile {
    pub(crate) system: String,
    pub(crate) file: String,
    pub(crate) content: FileContent,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ReviewedFiles {
    /// Those with runs, the base first.
    pub(crate) systems: Vec<ReviewedSystem>,
    pub(crate) runs: Vec<ReviewedRun>,
    /// The outputs of sysbench and pgbench.
    pub(crate) outputs: Vec<SystemRun>,
    /// Failed users of HammerDB, in words; errors of other programs are in their outputs.
    pub(crate) failures: Vec<String>,
    /// Files without use, in words.
    pub(crate) left_out: Vec<String>,
}

impl ReviewedFiles {
    pub(crate) fn new(files: Vec<AssignedFile>) -> Self {
        let mut all = Self::default();
        for AssignedFile { system, file, content } in files {
            all.add(&system, &file, content);
        }
        for system in &mut all.systems {
            let stated = || stated_release(system).or_else(|| server_release(system, &all.outputs));
            system.release = release_in(&system.name).or_else(stated);
        }
        all.join_by_release();
        all.add_logs();
        all
    }

    fn system(&mut self, name: &str) -> &mut ReviewedSystem {
        let known = self.systems.iter().position(|system| system.name == name);
        let place = known.unwrap_or(self.systems.len());
        if known.is_none() {
            self.systems.push(ReviewedSystem { name: name.to_owned(), ..Default::default() });
        }
        &mut self.systems[place]
    }

    fn add(&mut self, system: &str, file: &str, content: FileContent) {
        // The columns of a table are its systems.
        if let FileContent::Table(table) = content {
            return self.add_table(file, &table);
        }
        let own = self.system(system);
        own.files.push(file.to_owned());
        match content {
            FileContent::Settings(mut settings) => match &mut own.settings {
                None => own.settings = Some(settings),
                Some(known) => {
                    // A dump has the values in effect.
                    if settings.is_whole {
                        std::mem::swap(known, &mut settings);
                    }
                    known.version = known.version.take().or(settings.version);
                    for (name, value) in settings.settings {
                        known.settings.entry(name).or_insert(value);
                    }
                }
            },
            FileContent::Vmstat(vmstat) => own.vmstat.push(vmstat),
            FileContent::Log(log) => own.log.add(&log),
            FileContent::Hammerdb(runs) => {
                let failed = runs.iter().filter(|run| run.failed_users > 0);
                self.failures.extend(failed.map(|run| {
                    format!("{file}: {} failed in a run", counted(run.failed_users, "virtual user"))
                }));
                let runs = runs.iter().map(|run| ReviewedRun::from_hammerdb(system, file, run));
                self.runs.extend(runs.flatten());
            }
            FileContent::Run(run) => {
                let (system, file) = (system.to_owned(), file.to_owned());
                let given = SystemRun { system, file, run: *run };
                match ReviewedRun::from_client(&given) {
                    Ok(run) => {
                        self.runs.push(run);
                        self.outputs.push(given);
                    }
                    Err(why) => self.left_out.push(format!("{}: {why}", given.file)),
                }
            }
            FileContent::Table(_) => {}
        }
    }

    fn add_table(&mut self, file: &str, table: &QpsTable) {
        for name in &table.servers {
            self.system(name).files.push(file.to_owned());
        }
        for row in &table.rows {
            for (system, rate) in table.servers.iter().zip(&row.values) {
                let Some(rate) = rate.filter(|rate| *rate > 0.0) else { continue };
                self.runs.push(ReviewedRun {
                    system: system.clone(),
                    file: file.to_owned(),
                    test: row.test.clone(),
                    clients: None,
                    unit: RateUnit::Queries,
                    rate,
                    intervals: Vec::new(),
                    seconds: None,
                    warmup_s: None,
                    has_errors: false,
                    size: RunSize::default(),
                });
            }
        }
    }

    /// Settings and samples that state the release of one system belong to it, whatever their names.
    fn join_by_release(&mut self) {
        let with_runs: BTreeSet<&str> = self.runs.iter().map(|run| run.system.as_str()).collect();
        let has_runs = |system: &ReviewedSystem| with_runs.contains(system.name.as_str());
        let (mut kept, others): (Vec<ReviewedSystem>, Vec<ReviewedSystem>) =
            std::mem::take(&mut self.systems).into_iter().partition(has_runs);
        for other in others {
            let is_same = |system: &&mut ReviewedSystem| {
                system.release.is_some() && system.release == other.release
            };
            let mut same: Vec<&mut ReviewedSystem> = kept.iter_mut().filter(is_same).collect();
            match same.as_mut_slice() {
                [system] => system.take_files(other),
                _ => self.left_out.push(format!(
                    "{} belong to no run: `NAME=FILE,FILE` puts files of one system together",
                    other.files.join(", ")
                )),
            }
        }
        self.systems = kept;
    }

    /// A log gives the only run of its system the rates of its seconds.
    fn add_logs(&mut self) {
        for system in &self.systems {
            let own = |run: &&mut ReviewedRun| run.system == system.name;
            let mut runs: Vec<&mut ReviewedRun> = self.runs.iter_mut().filter(own).collect();
            if let [run] = runs.as_mut_slice()
                && run.intervals.is_empty()
            {
                run.intervals = system.log.rates();
            }
        }
    }
}

impl ReviewedSystem {
    fn take_files(&mut self, other: Self) {
        self.files.extend(other.files);
        self.settings = self.settings.take().or(other.settings);
        self.vmstat.extend(other.vmstat);
        self.log.add(&other.log);
    }

    /// `old (mysql@8.0.36)`.
    pub(crate) fn words(&self) -> String {
        let release = self.release.as_ref().map(NamedRelease::words);
        let other = release.filter(|release| *release != self.name);
        other.map_or_else(|| self.name.clone(), |release| format!("{} ({release})", self.name))
    }
}

/// The server that pgbench names.
fn server_release(system: &ReviewedSystem, outputs: &[SystemRun]) -> Option<NamedRelease> {
    let own = outputs.iter().filter(|output| output.system == system.name);
    let version = own.filter_map(|output| output.run.server_version.clone()).next()?;
    Some(NamedRelease { product: Product::of_dialect(Dialect::Postgres), version })
}

fn stated_release(system: &ReviewedSystem) -> Option<NamedRelease> {
    let settings = system.settings.as_ref()?;
    Some(NamedRelease { product: settings.product, version: settings.version.clone()? })
}
