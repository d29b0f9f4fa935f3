//! Carries out the steps of the Insert Benchmark.

use std::ops::Range;
use std::time::{Duration, Instant as Clock};

use anyhow::{Context, Result, bail};
use assay_load::{IbenchProgress, IbenchSession, IbenchStepRun, IbenchWork, create_ibench_tables};
use assay_model::{
    Attachment, CpuPlacement, IbenchStep, PlannedCell, Preparation, Priority, Series, Slice,
    SliceOutcome, StepSegment,
};
use assay_probe::{DeviceStatistics, ProbeConfig, UsageProbe};
use assay_servers::audit::AuditedPlan;
use assay_study::Outcome;
use assay_verdict::SliceSample;
use assay_wire::Connection;
use assay_workloads::IbenchTable;

use super::executor::{OpenStep, StudyExecutor};
use super::realtime::{at_priority, lower};
use super::sizes::sizes;
use crate::progress::seconds;
use crate::systems::{SliceSlot, explain_queue, failed_slice, unmeasured};

const MAINTAIN_LIMIT: Duration = Duration::from_secs(1200);

const EXPLAIN_LIMIT: Duration = Duration::from_secs(300);

const TELL_EVERY: Duration = Duration::from_secs(1);

struct StepMeasurement {
    slice: Slice,
    series: Vec<Series>,
    attachments: Vec<Attachment>,
    plans: Vec<AuditedPlan>,
}

impl StudyExecutor<'_, '_> {
    /// Carries out a segment of a step on one system, which is frozen before and after.
    pub(super) fn step(
        &mut self,
        cell: usize,
        slot: SliceSlot,
        segment: StepSegment,
        is_recorded: bool,
    ) -> Result<Outcome> {
        let began = Clock::now();
        let planned = self.cell(cell)?;
        if planned.priority == Priority::Normal {
            self.weight.iter().for_each(|weight| weight.set(true));
        }
        let done = self.thawed(slot.system, |study| {
            let done = study.carry_out(&planned, slot, segment);
            if planned.priority == Priority::Realtime {
                lower(study.server(slot.system)?, &[])?;
            }
            if segment.is_last() || done.is_err() {
                study.remove_binary_logs(slot.system);
            }
            done
        });
        self.weight.iter().for_each(|weight| weight.set(false));
        // A request to stop ends the segment, which is repeated when the study is resumed.
        self.env.interrupt.check()?;
        let measured = done.unwrap_or_else(|error| StepMeasurement {
            slice: failed_slice(planned.id, slot, format!("{error:#}")),
            series: Vec::new(),
            attachments: Vec::new(),
            plans: Vec::new(),
        });
        if !measured.plans.is_empty() {
            self.recorder.plans(slot.system, planned.id.setup.data(), measured.plans)?;
        }
        let samples = vec![SliceSample::from_slice(&measured.slice)];
        if is_recorded {
            let id = measured.slice.id();
            self.record(measured.slice)?;
            self.recorder.parts(id, &measured.series, &measured.attachments)?;
        }
        Ok(Outcome::Measured { samples, seconds: began.elapsed().as_secs_f64() })
    }

    /// The first segment connects the clients. The last one, or a failure, disconnects them.
    fn carry_out(
        &mut self,
        planned: &PlannedCell,
        slot: SliceSlot,
        segment: StepSegment,
    ) -> Result<StepMeasurement> {
        let step = *planned.id.test.ibench().context("not a step of the Insert Benchmark")?;
        let open = self.steps.remove(&slot.system);
        let (mut open, plans) = match open.filter(|_| !segment.is_first()) {
            Some(open) => (open, Vec::new()),
            None if segment.is_first() => self.open_step(planned, slot.system, step)?,
            None => bail!("the clients of {} are not connected", planned.id.test),
        };
        let measured = self.measure_segment((planned, step), slot, segment, &mut open)?;
        if !segment.is_last() {
            self.steps.insert(slot.system, open);
        }
        Ok(StepMeasurement { plans, ..measured })
    }

    /// Prepares the tables of a step and connects its clients to a server, which runs.
    fn open_step(
        &mut self,
        planned: &PlannedCell,
        system: usize,
        step: IbenchStep,
    ) -> Result<(OpenStep, Vec<AuditedPlan>)> {
        let engine = self.participants[system].system.spec.engine;
        let dialect = self.dialect(system);
        let clients = planned.id.setup.clients;
        let options = self.server(system)?.connect_options();
        create_ibench_tables(&options, (dialect, engine), &step, clients)?;
        let plans = match step.before {
            Preparation::Maintain { least_s } => {
                self.maintain_queues(system, planned, Duration::from_secs(least_s.into()))?
            }
            Preparation::Create
            | Preparation::CreateIndexed
            | Preparation::Nothing
            | Preparation::Loaded => Vec::new(),
        };
        let seed = self.recorder.study().seed;
        let work =
            IbenchWork { dialect, engine, name: planned.id.test.name(), step, clients, seed };
        let session = IbenchSession::open(&options, &work)?;
        let server = self.servers.get(&system).context("its server is not running")?;
        let probed = server.probed(&session.connection_ids(), |connection, count| {
            Ok(session.round_trips(connection, count)?)
        })?;
        server.place(CpuPlacement::Free, &[], &[])?;
        let client_tids = session.client_tids();
        self.local.confine_clients(&client_tids)?;
        let probe = UsageProbe::new(ProbeConfig { client_tids, server: probed })?;
        Ok((OpenStep { session, probe }, plans))
    }

    /// Runs a segment on a server that is not frozen.
    fn measure_segment(
        &mut self,
        (planned, step): (&PlannedCell, IbenchStep),
        slot: SliceSlot,
        segment: StepSegment,
        open: &mut OpenStep,
    ) -> Result<StepMeasurement> {
        let OpenStep { session, probe } = open;
        let client_tids = session.client_tids();
        let server = self.servers.get(&slot.system).context("its server is not running")?;
        let monitor = at_priority(planned, server, &client_tids, self.local)?;
        let before = probe.snapshot()?;
        let device = probe.device_statistics()?;
        let begun = unmeasured(planned.id, slot);
        let statements = step.statements_of(segment);
        let run = self.run_segment((planned, step), slot.system, session, statements)?;
        let used = probe.device_statistics()?.zip(device);
        let used = used.map(|(later, earlier)| later.since(&earlier));
        let mut usage = probe.snapshot()?.since(&before);
        if let Some(monitor) = monitor {
            usage.set_realtime(monitor.delayed_ns());
            lower(self.server(slot.system)?, &client_tids)?;
        }
        let trouble = usage.trouble();
        let mut counters = usage.counters;
        counters.extend(used.iter().flat_map(|used| used.counters.named()));
        let IbenchStepRun { work, step: mut done, mut series, histograms } = run;
        done.segment = (segment.count > 1).then_some(segment);
        if segment.is_last() {
            let dialect = self.dialect(slot.system);
            let server = self.servers.get(&slot.system).context("its server is not running")?;
            series.extend(sizes(server, dialect, &server.connect_options())?);
        }
        series.extend(used.iter().flat_map(device_series));
        let slice = Slice {
            outcome: if trouble.is_empty() { SliceOutcome::Good } else { SliceOutcome::Troubled },
            trouble,
            work,
            step: Some(Box::new(done)),
            counters,
            ..begun
        };
        let attachments = histograms.into_iter().map(attachment).collect();
        Ok(StepMeasurement { slice, series, attachments, plans: Vec::new() })
    }

    /// Runs the clients of a segment, and shows its progress.
    fn run_segment(
        &self,
        (planned, step): (&PlannedCell, IbenchStep),
        system: usize,
        session: &mut IbenchSession,
        statements: Range<u64>,
    ) -> Result<IbenchStepRun> {
        let clients = planned.id.setup.clients;
        let target = step.per_second.map(|rate| f64::from(rate) * f64::from(clients));
        let label = format!("{}, {}", self.name(system), planned.id.test);
        self.tell_standing(&label);
        let stop = self.env.interrupt.stop();
        let mut message = Clock::now();
        Ok(session.run_segment(statements, &stop, &mut |done| {
            if message.elapsed() >= TELL_EVERY {
                message = Clock::now();
                let words = in_words(&step, &done, clients, target);
                self.tell_standing(&format!("{label}: {words}"));
            }
        })?)
    }

    /// Collects statistics and writes pages, at least for this time. Returns plans for the audit: at its start, the
    /// tables did not exist.
    fn maintain_queues(
        &mut self,
        system: usize,
        planned: &PlannedCell,
        least: Duration,
    ) -> Result<Vec<AuditedPlan>> {
        let began = Clock::now();
        let name = self.name(system);
        self.env.progress.begin(&format!("{name}: maintaining before {}", planned.id.test));
        let options = self.server(system)?.connect_options();
        let mut control = Connection::control(&options)?;
        let tables = self.tables(system, planned.id.setup.data())?.names(&options)?;
        let drained = assay_servers::maintain(&mut control, &tables, MAINTAIN_LIMIT)?;
        if !drained.is_complete {
            let limit = seconds(MAINTAIN_LIMIT);
            self.env.progress.note(&format!("{name} has not become idle within {limit}"));
        }
        let data = planned.id.setup.data();
        let mut plans = Vec::new();
        if !self.recorder.has_plans(system, data) {
            match self.explain_queues(system, &mut control) {
                Ok(explained) => plans = explained,
                Err(error) => self
                    .env
                    .progress
                    .note(&format!("the audit lacks the plans of {name}: {error:#}")),
            }
        }
        self.wait(least.saturating_sub(began.elapsed()))?;
        Ok(plans)
    }

    fn explain_queues(&self, system: usize, control: &mut Connection) -> Result<Vec<AuditedPlan>> {
        let table = IbenchTable::new(self.dialect(system), 1);
        // This query is slow where many deleted rows lie at the low end.
        control.set_timeout(EXPLAIN_LIMIT)?;
        let lowest = control.query(&table.lowest())?;
        let lowest = lowest.first_string().and_then(|key| key.parse().ok()).unwrap_or(0);
        let cells = &self.recorder.study().cells;
        let steps = cells.iter().filter_map(|cell| cell.id.test.ibench());
        explain_queue(control, &table, steps, lowest)
    }
}

fn attachment((kind, bytes): (&'static str, Vec<u8>)) -> Attachment {
    let (name, media_type) = (format!("{kind}.hdr"), "application/octet-stream".to_owned());
    Attachment { name, media_type, bytes }
}

/// Device activity in the step besides that in a slice: a series of one count each.
fn device_series(used: &DeviceStatistics) -> [Series; 6] {
    [
        ("device-read-merges", used.read_merges),
        ("device-read-ms", used.read_ms),
        ("device-write-merges", used.write_merges),
        ("device-write-ms", used.write_ms),
        ("device-busy-ms", used.busy_ms),
        ("device-queue-ms", used.queue_ms),
    ]
    .map(|(name, count)| Series { name: name.to_owned(), step_ms: 1000, counts: vec![count] })
}

fn in_words(step: &IbenchStep, done: &IbenchProgress, clients: u32, target: Option<f64>) -> String {
    let all = step.rows as f64 * f64::from(clients);
    let elapsed_s = done.elapsed.as_secs_f64().max(1e-3);
    let rate = done.inserted as f64 / elapsed_s;
    let part = if all > 0.0 { 100.0 * done.inserted as f64 / all } else { 100.0 };
    let left = Duration::try_from_secs_f64((all - done.inserted as f64) / rate.max(1e-3));
    let left = left.map_or_else(|_| String::new(), |left| format!(", {} left", seconds(left)));
    if done.inserted as f64 >= all && step.builds_indexes {
        return format!("creating indexes for {}", seconds(done.elapsed));
    }
    let target = target.map_or_else(String::new, |target| format!(" of {target:.0}"));
    let queries = match step.queries {
        Some(_) => format!(", {:.0} queries/s", done.queries as f64 / elapsed_s),
        None => String::new(),
    };
    format!("{part:.0}%{left}, {rate:.0}{target} inserts/s{queries}")
}
