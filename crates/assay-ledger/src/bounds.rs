//! Ranges of valid values, checked on writing and again on reading, since a file may come from anywhere.

use std::ops::RangeInclusive;

use assay_model::limits::ibench::SEGMENTS;
use assay_model::limits::user::KINDS;
use assay_model::limits::{
    ATTACHMENT_BYTES, BLOCKS, CELLS, CLIENTS, NAME_BYTES, RESULTS, ROUNDS, ROWS, SERIES_COUNTS,
    SHARDS, SLICE_MS, SYSTEMS, TABLES, TURNS, name, search, within,
};
use assay_model::{
    Attachment, CellId, Class, DataSet, Definition, Examination, Fill, FollowedRange, Host,
    InstanceRecord, NamedVersion, Noise, Origin, PlannedBlock, PlannedCell, Quantiles,
    RegressionLimits, Scratch, SearchPart, Series, Setup, ShardRun, Slice, Study, StudyEvent,
    StudySummary, System, TableForm, Transaction, check_ascending, is_option, is_test_name,
    refusal, shortened,
};

use crate::histogram;
use crate::limits::{COUNT_MAX, COUNTER_MAX};

/// Until the end of the year 9999, milliseconds since the Unix epoch.
const MOMENTS: RangeInclusive<i64> = 0..=253_402_300_799_999;

const BUDGETS_S: RangeInclusive<f64> = 0.0..=1e19;

const THRESHOLDS: RangeInclusive<f64> = 0.0..=1.0;

const BLOCK_NUMBERS: RangeInclusive<u32> = 0..=*BLOCKS.end() - 1;

/// Spoilt rounds are repeated, so there may be more than planned.
const ROUND_NUMBERS: RangeInclusive<u32> = 0..=10 * *ROUNDS.end();

const PUBLISHED: usize = 100;

/// Maximum length of texts of which a study has only a few, bytes: a reason, or a version with its options.
const TEXT_BYTES: usize = 16 << 10;

fn text(owner: &str, text: &str) -> Result<(), String> {
    within(&format!("length of a {owner}"), text.len(), &(0..=TEXT_BYTES))
}

pub trait CheckBounds {
    fn check(&self) -> Result<(), String>;
}

fn at_least_one(name: &str, count: usize, most: usize) -> Result<(), String> {
    if (1..=most).contains(&count) {
        return Ok(());
    }
    Err(format!("a study of {count} {name}: it may have 1 to {most}"))
}

pub(crate) fn moment(name: &str, ms: i64) -> Result<(), String> {
    within(name, ms, &MOMENTS)
}

pub(crate) fn systems(systems: &[System], cells: usize) -> Result<(), String> {
    at_least_one("systems", systems.len(), SYSTEMS)?;
    let results = systems.len().saturating_mul(cells);
    within("systems times cells", results, &(0..=RESULTS))?;
    if systems.iter().enumerate().any(|(number, system)| system.is_base != (number == 0)) {
        return Err("the base is not the first system, or not alone".to_owned());
    }
    if systems.iter().rev().skip(1).any(|system| system.is_twin) {
        return Err("the twin is not the last system".to_owned());
    }
    systems.iter().try_for_each(system)
}

fn system(system: &System) -> Result<(), String> {
    name("system", &system.name)?;
    if system.name.contains(char::is_control) {
        return Err("the name of a system has a control character".to_owned());
    }
    let spec = &system.spec;
    if !spec.build.is_empty() && !matches!(spec.origin, Origin::Git(_)) {
        return Err("a system that is not built from source has flags of a build".to_owned());
    }
    for (flag, value) in &spec.build {
        flag.refusal(value).map_or(Ok(()), Err)?;
    }
    for (name, value) in &spec.overrides {
        option(system, name, value)?;
    }
    for text in &system.options {
        let text = text.trim_start_matches("--");
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        option(system, name, value)?;
    }
    Ok(())
}

fn shown(text: &str) -> String {
    shortened(text).replace(char::is_control, " ")
}

/// Refuses an option that assay passes to no server: malformed, or one that moves the server or loads code.
fn option(system: &System, name: &str, value: &str) -> Result<(), String> {
    let shown = shown(name);
    if !is_option(name, value) {
        return Err(format!("`{shown}` is not an option of a server"));
    }
    match refusal(system.spec.product, name, value) {
        None => Ok(()),
        Some(_) => Err(format!("`{shown}` is an option that only assay may set")),
    }
}

/// Refuses text that cannot be a study's id or name: it is part of commands shown in reports, and must not be a keyword
/// for another study.
pub(crate) fn study_name(text: &str) -> Result<(), String> {
    if text == "latest" {
        return Err("its name stands for the latest study".to_owned());
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let sizes = 1..=NAME_BYTES;
    if text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && sizes.contains(&text.len())
        && text.chars().all(is_part)
    {
        Ok(())
    } else {
        Err("it has a name that assay gives to no study".to_owned())
    }
}

impl CheckBounds for ShardRun {
    fn check(&self) -> Result<(), String> {
        study_name(&self.study)?;
        within("of", self.of, &SHARDS)?;
        within("number", self.number, &(1..=self.of))?;
        within("step", self.step, &(1..=self.of))?;
        within("first", self.first, &(0..=self.step - 1))?;
        let texts = [&self.attempt, &self.node, &self.secret];
        match texts.into_iter().find(|text| text.len() > NAME_BYTES) {
            Some(text) => Err(format!("a node, attempt or secret has {} bytes", text.len())),
            None => Ok(()),
        }
    }
}

impl CheckBounds for StudySummary {
    fn check(&self) -> Result<(), String> {
        study_name(&self.id)?;
        self.name.as_deref().map_or(Ok(()), study_name)
    }
}

impl CheckBounds for Study {
    fn check(&self) -> Result<(), String> {
        study_name(&self.id)?;
        moment("started_ms", self.started_ms)?;
        within("threshold", self.threshold, &THRESHOLDS)?;
        within("budget_s", self.budget_s, &BUDGETS_S)?;
        within("blocks", self.blocks, &BLOCKS)?;
        within("rounds", self.rounds, &(1..=*ROUNDS.end()))?;
        within("segments", self.segments, &(0..=*SEGMENTS.end()))?;
        at_least_one("cells", self.cells.len(), CELLS)?;
        at_least_one("setups", self.setups.len(), CELLS)?;
        TableForm::check_options(&self.table_form.create_table_options)
            .map_err(|why| format!("`create_table_options` {why}"))?;
        self.cpus.check_bounds()?;
        self.terms.as_deref().map_or(Ok(()), terms)?;
        self.limits.as_ref().map_or(Ok(()), |limits| margins(limits, self.cells.len()))?;
        self.search.as_ref().map_or(Ok(()), SearchPart::check)?;
        self.followed.as_ref().map_or(Ok(()), FollowedRange::check)?;
        self.setups.iter().try_for_each(Setup::check)
    }
}

/// Refuses an invalid name of terms, as it is part of commands shown in reports.
fn terms(name: &str) -> Result<(), String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= NAME_BYTES
        && name.chars().all(is_part)
    {
        Ok(())
    } else {
        Err("`terms` is not the name of any terms".to_owned())
    }
}

fn margins(limits: &RegressionLimits, cells: usize) -> Result<(), String> {
    within("margins", limits.margins.len(), &(cells..=cells))?;
    match limits.margins.iter().find(|margin| !(**margin > 0.0 && **margin < 1.0)) {
        Some(margin) => Err(format!("a margin is {margin}, not between 0 and 1")),
        None => Ok(()),
    }
}

impl CheckBounds for FollowedRange {
    fn check(&self) -> Result<(), String> {
        name("name", &self.name)?;
        text("range", &self.range)
    }
}

impl CheckBounds for SearchPart {
    fn check(&self) -> Result<(), String> {
        study_name(&self.id)?;
        text("range", &self.range)?;
        within("level", self.level, &search::LEVELS)?;
        within("comparisons_max", self.comparisons_max, &(1..=search::COMPARISONS))?;
        within("spent_s", self.spent_s, &BUDGETS_S)?;
        within("versions", self.versions.len(), &(2..=search::VERSIONS))?;
        within("releases", self.releases.len(), &(0..=search::VERSIONS))?;
        self.releases.iter().try_for_each(|it| text("version", it))?;
        within("unusable", self.unusable.len(), &(0..=self.versions.len()))?;
        let unusable = self.unusable.iter().map(|it| it.version);
        for version in unusable.chain([self.version]) {
            within("version", version, &(0..=self.versions.len() - 1))?;
        }
        for NamedVersion { words, name: short, title } in &self.versions {
            text("version", words)?;
            text("version", short)?;
            text("title", title.as_deref().unwrap_or_default())?;
        }
        self.unusable.iter().try_for_each(|it| text("reason", &it.why))
    }
}

impl CheckBounds for Setup {
    fn check(&self) -> Result<(), String> {
        within("clients", self.clients, &CLIENTS)?;
        self.data().check()
    }
}

impl CheckBounds for DataSet {
    fn check(&self) -> Result<(), String> {
        within("tables", self.tables, &TABLES)?;
        // User tables may have fewer rows than sysbench's.
        within("rows", self.rows, &(1..=*ROWS.end()))
    }
}

/// Longest warm part, measured or planned, microseconds.
const WARM_US: u32 = 3_600_000_000;

/// Checks the measured part, milliseconds, and the warm part, microseconds, of a turn.
pub(crate) fn turn(turn_ms: u32, warm_us: u32) -> Result<(), String> {
    within("warm_us", warm_us, &(0..=WARM_US))?;
    within("turn_ms", turn_ms, &(0..=SLICE_MS))
}

impl CheckBounds for PlannedCell {
    fn check(&self) -> Result<(), String> {
        self.id.setup.check()?;
        within("warm_ms", self.warm_ms, &(0..=SLICE_MS))?;
        turn(self.turn_ms, self.warm_us.unwrap_or(0))?;
        within("slice_ms", self.slice_ms, &(0..=SLICE_MS))?;
        within("events", self.events.unwrap_or(0), &(0..=COUNT_MAX))?;
        if self.events.is_some() && self.id.test.class != Class::Write {
            return Err(format!("`events` is set, and {} does not write", self.id.test));
        }
        Ok(())
    }
}

/// Maximum roles of a test, steps of an event, and parameters and repetitions of a step.
const ROLES: usize = 16;
const STEPS: usize = 256;
const PARAMETERS: u32 = 100_000;

impl CheckBounds for Definition {
    fn check(&self) -> Result<(), String> {
        if !is_test_name(&self.name) {
            return Err(format!("`{}` is not the name of a test", shown(&self.name)));
        }
        for group in self.groups.iter().map(|(_, group)| group).chain([&self.group]) {
            name("group", &group.word).and(name("group", &group.title))?;
        }
        let facts = self.schema.facts();
        match facts.name() {
            Some(_) => at_least_one("roles", self.roles.len(), ROLES)?,
            // Published results do not state the work of their tests.
            None => within("roles", self.roles.len(), &(0..=ROLES))?,
        }
        for role in &self.roles {
            let script = &role.script;
            within("clients", role.clients.unwrap_or(1), &CLIENTS)?;
            within("steps", script.steps.len(), &(0..=STEPS))?;
            for step in &script.steps {
                let parameters = step.fill.iter().map(|fill| match fill {
                    Fill::Rows(rows) => *rows,
                    other => other.count(),
                });
                let all = parameters.fold(0_u32, u32::saturating_add);
                within("parameters", all, &(0..=PARAMETERS))?;
                within("times", step.times, &(0..=PARAMETERS))?;
            }
            script.draw.check_bounds()?;
            within("scratch tables", script.scratch.len(), &(0..=STEPS))?;
            for Scratch { name, columns, rows, then } in &script.scratch {
                within("length of name", name.len(), &(1..=NAME_BYTES))?;
                within("columns", columns.len(), &(1..=STEPS))?;
                within("rows", rows.unwrap_or(0), &(0..=PARAMETERS))?;
                within("statements", then.len(), &(0..=STEPS))?;
            }
            within("kinds", script.mix.len(), &(0..=KINDS))?;
            script.mix.iter().try_for_each(Transaction::check_bounds)?;
        }
        facts.check_bounds()
    }
}

impl CheckBounds for PlannedBlock {
    fn check(&self) -> Result<(), String> {
        within("number", self.number, &BLOCK_NUMBERS)?;
        within("expected", self.left, &BLOCKS)?;
        for cell in &self.cells {
            within("cell_rounds", cell.rounds, &(1..=*ROUNDS.end()))?;
        }
        let mut cells: Vec<CellId> = self.cells.iter().map(|cell| cell.id).collect();
        cells.sort_unstable();
        cells.dedup();
        if cells.len() < self.cells.len() {
            return Err("`cells` has one twice".to_owned());
        }
        Ok(())
    }
}

impl CheckBounds for InstanceRecord {
    fn check(&self) -> Result<(), String> {
        self.data.check()?;
        within("block", self.block, &BLOCK_NUMBERS)?;
        moment("started_ms", self.started_ms)
    }
}

impl CheckBounds for StudyEvent {
    fn check(&self) -> Result<(), String> {
        moment("when_ms", self.when_ms)
    }
}

impl CheckBounds for Series {
    fn check(&self) -> Result<(), String> {
        within("length of name", self.name.len(), &(1..=NAME_BYTES))?;
        within("step_ms", self.step_ms, &(1..=SLICE_MS))?;
        within("counts", self.counts.len(), &(0..=SERIES_COUNTS))?;
        self.counts.iter().try_for_each(|count| within("a count", *count, &(0..=COUNT_MAX)))
    }
}

impl CheckBounds for Attachment {
    fn check(&self) -> Result<(), String> {
        within("length of name", self.name.len(), &(1..=NAME_BYTES))?;
        within("length of media_type", self.media_type.len(), &(1..=NAME_BYTES))?;
        within("bytes", self.bytes.len(), &(0..=ATTACHMENT_BYTES))
    }
}

/// Maximum lengths of the lists of an examination: busy processes, lags and turns.
const LISTED: usize = 100;

/// CPUs, seconds, and derived values of an examination.
const AMOUNTS: RangeInclusive<f64> = 0.0..=1e12;

impl CheckBounds for Host {
    fn check(&self) -> Result<(), String> {
        let texts = [&self.cpu, &self.kernel, &self.os, &self.filesystem].into_iter();
        for fact in texts.chain(&self.hypervisor) {
            text("fact of the machine", fact)?;
        }
        within("memory_kb", self.memory_kb, &(0..=COUNTER_MAX))?;
        check_ascending("node", &self.server_nodes)?;
        self.doctor.as_ref().map_or(Ok(()), Examination::check)
    }
}

impl CheckBounds for Examination {
    fn check(&self) -> Result<(), String> {
        let Self { cpus, load, memory, delays, noise, noise_realtime } = self;
        let texts = [&cpus.governor, &memory.huge_pages, &delays.clock].into_iter().flatten();
        let names = texts.chain(load.busiest.iter().map(|process| &process.name));
        for name in names {
            within("length of a fact", name.len(), &(0..=NAME_BYTES))?;
        }
        within("busiest", load.busiest.len(), &(0..=LISTED))?;
        let quantiles = [delays.sleep_late_us, delays.flush_us].into_iter().flatten();
        let quantiles = quantiles.flat_map(|Quantiles { median, p99 }| [median, p99]);
        let amounts = [cpus.quota, load.steal_cpus, load.other_cpus, delays.wake_one_cpu_us];
        let amounts = amounts.into_iter().chain([delays.wake_two_cpus_us]).flatten();
        let needed = [load.seconds, delays.clock_read_ns];
        for amount in needed.into_iter().chain(amounts).chain(quantiles) {
            within("an amount", amount, &AMOUNTS)?;
        }
        for kb in [memory.available_kb, memory.swap_kb, memory.swap_used_kb].into_iter().flatten() {
            within("an amount of memory", kb, &(0..=COUNTER_MAX))?;
        }
        noise.iter().chain(noise_realtime).try_for_each(check_noise)
    }
}

fn check_noise(noise: &Noise) -> Result<(), String> {
    let Noise { seconds, correlations, turns, asked_ms } = noise;
    within("correlations", correlations.len(), &(0..=LISTED))?;
    within("turns", turns.len(), &(0..=LISTED))?;
    for correlation in correlations {
        within("lag_ms", correlation.lag_ms, &AMOUNTS)?;
        within("a correlation", correlation.value, &(-1.0..=1.0))?;
    }
    for turn in turns {
        within("turn_ms", turn.turn_ms, &AMOUNTS)?;
        within("error", turn.error, &AMOUNTS)?;
    }
    within("seconds", *seconds, &AMOUNTS)?;
    within("asked_ms", *asked_ms, &AMOUNTS)
}

impl CheckBounds for Slice {
    fn check(&self) -> Result<(), String> {
        within("block", self.block, &BLOCK_NUMBERS)?;
        within("round", self.round, &ROUND_NUMBERS)?;
        within("position", self.position as usize, &(0..=SYSTEMS - 1))?;
        moment("started_ms", self.started_ms)?;
        within("events", self.work.events, &(0..=COUNT_MAX))?;
        let counts = self.work.errors.iter().map(|(_, count)| *count);
        let errors = counts.fold(0_u64, u64::saturating_add);
        within("errors in all", errors, &(0..=COUNT_MAX))?;
        within("number of turns", self.turns.len(), &(0..=TURNS as usize))?;
        for turn in &self.turns {
            for units in [turn.units, turn.warm_units] {
                within("units of a turn", units, &(0..=COUNT_MAX))?;
            }
            for ns in [turn.ns, turn.warm_ns] {
                within("nanoseconds of a turn", ns, &(0..=COUNTER_MAX))?;
            }
        }
        if let Some(step) = &self.step {
            step.check_bounds()?;
        }
        within("number of published figures", self.published.len(), &(0..=PUBLISHED))?;
        for (name, value) in &self.published {
            within("length of a name", name.len(), &(1..=NAME_BYTES))?;
            within("published figure", *value, &(0.0..=1e18))?;
        }
        if !histogram::is_sound(&self.work.latency_hdr) {
            return Err("`latency_hdr` is no histogram that can be decoded".to_owned());
        }
        Ok(())
    }
}
