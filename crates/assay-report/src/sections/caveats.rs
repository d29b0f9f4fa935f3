//! Caveats of the answer, and its basis.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    AUTOCOMMIT_OFF, Count, DataContent, EventKind, Experiment, Origin, ScaledSizes,
    StudyDocument as _, StudyRecord, System, counted, may_equal, thousands,
};
use assay_verdict::{JudgedFigure, Judgement, SystemSummary};

use super::study::JudgedStudy;
use super::{answers, cpu, findings, to_do, trouble, work};
use crate::number::{duration, share};
use crate::words::{listed, origin};

/// Sentences without a capital letter and a full stop.
pub(crate) struct Caveats {
    /// Systems that are the same despite different options.
    pub(crate) same: Vec<String>,
    /// Settings that matter and differ without having been requested.
    pub(crate) suspicious: Vec<String>,
    /// False calls of each A/A twin.
    pub(crate) twins: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) unmeasured: Option<String>,
    pub(crate) basis: String,
}

impl Caveats {
    pub(crate) fn new(study: &JudgedStudy) -> Self {
        let twins = study.judgement.systems.iter().filter(|it| study.is_twin(it.system));
        Self {
            same: findings::same_systems(study.record)
                .map(|(system, same)| findings::same_sentence(&study.record.systems, system, same))
                .collect(),
            suspicious: findings::suspicious(&study.record.audit),
            twins: twins.map(|twin| twin_line(study, twin)).collect(),
            warnings: warnings(study),
            notes: notes(study),
            unmeasured: work::left_out(study.record),
            basis: basis(study),
        }
    }
}

fn twin_line(study: &JudgedStudy, twin: &SystemSummary) -> String {
    let base = study.label(study.base);
    let (calls, by) = match study.figure() {
        JudgedFigure::Time => (twin.slower + twin.faster, ""),
        JudgedFigure::Cpu => (twin.cpu.map_or(0, |cpu| cpu.more + cpu.less), " by CPU"),
    };
    let calls = counted(calls, "false call");
    let tests = counted(twin.cells(), "test");
    let effect = effect(study, &[twin.system]);
    format!("A/A twin: {calls}{by} in {tests} of {base} against itself{effect}")
}

fn warnings(study: &JudgedStudy) -> Vec<String> {
    let record = study.record;
    let reservations = record.events.iter().filter_map(|event| match &event.what {
        EventKind::Reservation { what } => Some(what.clone()),
        _ => None,
    });
    let missing = record.events.iter().filter_map(|event| match &event.what {
        EventKind::SystemMissing { .. } => Some(event.what.to_string()),
        _ => None,
    });
    let old = record.events.iter().filter_map(|event| match &event.what {
        EventKind::OldRelease(old) => {
            let system = record.systems.get(event.system?)?;
            Some(format!("`{}` {old}", system.name))
        }
        _ => None,
    });
    let first = missing.chain(reservations).chain(old);
    let mut warnings = answers::dump_of_base_warning(study);
    warnings.extend(to_do::warnings(study));
    warnings.extend(first.chain(makers(study)).chain(flags(study, true)));
    warnings.extend(answers::mix_warnings(study));
    warnings.extend(answers::dump_warnings(study));
    warnings.extend(data_differ(study));
    warnings.extend(work::idle(record));
    warnings.extend(work::unequal(study));
    warnings.extend(not_counted(record));
    warnings.extend(trouble::warnings(record, study.judgement));
    let cells = study.judgement.cells.iter();
    let disturbed: BTreeSet<_> =
        cells.filter(|cell| cell.is_disturbed).map(|cell| cell.cell).collect();
    if !disturbed.is_empty() {
        warnings.push(format!(
            "too few slices were undisturbed in {} of {}, so disturbed ones are judged too",
            disturbed.len(),
            counted(record.study.cells.len() as u64, "test")
        ));
    }
    if record.running {
        warnings.push(format!("the study is still running; {SO_FAR}"));
    } else if !record.finished {
        warnings.push(format!("the study is unfinished; {SO_FAR}"));
    }
    warnings
}

const SO_FAR: &str = "the verdicts are based on the measurements so far";

fn data_differ(study: &JudgedStudy) -> Option<String> {
    let data = &study.record.data;
    let differs = |one: &DataContent| {
        data.iter().any(|other| {
            (other.data, other.start_from) == (one.data, one.start_from)
                && !(other.rows == one.rows && may_equal(&other.checksum, &one.checksum))
        })
    };
    let differing = data.iter().filter(|content| differs(content));
    let systems: BTreeSet<&str> = differing.map(|content| study.label(content.system)).collect();
    let names: Vec<&str> = systems.into_iter().collect();
    (!names.is_empty()).then(|| format!("the data differ between {}", names.join(", ")))
}

/// Uncounted tests of a study that measures rates as well.
fn not_counted(record: &StudyRecord) -> Option<String> {
    let reasons = record.events.iter().filter_map(|event| match &event.what {
        EventKind::NotDone { afterward, why, .. } if afterward == Count::NAME => Some(why),
        _ => None,
    });
    let reasons: Vec<&String> =
        reasons.filter(|_| record.study.experiment != Experiment::Counted).collect();
    let tests = counted(reasons.len() as u64, "test");
    reasons.first().map(|why| format!("the instructions of {tests} were not counted: {why}"))
}

/// The minimum detectable effect, which is one on time; empty if CPU decides the study.
fn effect(study: &JudgedStudy, systems: &[usize]) -> String {
    let effect = minimum_effect(study.judgement, systems);
    let effect = effect.filter(|_| study.figure() == JudgedFigure::Time);
    effect.map_or_else(String::new, |words| format!("; {words}"))
}

fn minimum_effect(judgement: &Judgement, systems: &[usize]) -> Option<String> {
    let (half, all) = detectable(judgement, systems)?;
    // A larger number would be useless.
    let is_blind = |part: f64| part > 1.0;
    let effect = "minimum detectable effect";
    let [of_half, of_all] = [half, all].map(share);
    Some(match (is_blind(half), is_blind(all)) {
        (true, _) => format!("{effect} over a factor of 2 in half of the tests"),
        (false, true) => {
            format!("{effect} {of_half} in half of the tests, over a factor of 2 in some")
        }
        (false, false) if of_half == of_all => format!("{effect} {of_all}"),
        (false, false) => format!("{effect} {of_half} in half of the tests, {of_all} in all"),
    })
}

/// Smallest relative change of these systems that would be called in half of the tests, and in all.
pub(crate) fn detectable(judgement: &Judgement, systems: &[usize]) -> Option<(f64, f64)> {
    let mut detectable: Vec<f64> = judgement
        .cells
        .iter()
        .filter(|cell| systems.contains(&cell.system))
        .filter_map(|cell| cell.detectable)
        .collect();
    detectable.sort_by(f64::total_cmp);
    Some((*detectable.get(detectable.len() / 2)?, *detectable.last()?))
}

/// Unrequested differences that need no caution: releases of one maker, and settings that no option changes.
fn notes(study: &JudgedStudy) -> Vec<String> {
    let are_shipped = !super::conditions::defaults(study.record).is_empty();
    let what = findings::unremovable(&study.record.audit, are_shipped);
    let unremovable = (!what.is_empty()).then(|| {
        format!("differences between the versions that no option can remove: {}", what.join(", "))
    });
    let published = (!study.has_verdicts()).then(|| {
        "each published value is a single run, which has no interval, and so no verdict".to_owned()
    });
    let nodes = nodes(study).into_iter().chain(config_files(study)).chain(defaults(study));
    let unfelt = findings::unfelt(&study.record.audit);
    releases(study)
        .into_iter()
        .chain(flags(study, false))
        .chain(unremovable)
        .chain(unfelt)
        .chain(answers::session_note(study.record))
        .chain(autocommit(study))
        .chain(published)
        .chain(nodes)
        .collect()
}

const OPTIONS: usize = 6;

/// Options of config files that were not applied as written: conditions are less equal than the files. Systems that
/// reject the same options share a sentence.
fn config_files(study: &JudgedStudy) -> Vec<String> {
    let mut left_out: BTreeMap<Vec<&str>, BTreeSet<usize>> = BTreeMap::new();
    let mut message = Vec::new();
    for event in &study.record.events {
        match &event.what {
            EventKind::ConfigLeftOut { options }
                if !event.system.is_some_and(|it| study.is_twin(it)) =>
            {
                let names: Vec<&str> = options.iter().map(|it| it.name.as_str()).collect();
                left_out.entry(names).or_default().extend(event.system);
            }
            EventKind::Scaled(ScaledSizes { divisor, .. }) if *divisor > 1 => message.push(
                format!("the sizes of the config file are divided by {divisor} on all systems"),
            ),
            _ => {}
        }
    }
    let without = left_out.iter().map(|(options, systems)| {
        let systems: Vec<&str> = systems.iter().map(|system| study.label(*system)).collect();
        without(options, if systems.is_empty() { &["a system"] } else { &systems })
    });
    without.chain(message).collect()
}

/// Systems whose settings turn off autocommit, which is not what is measured.
fn autocommit(study: &JudgedStudy) -> Option<String> {
    let systems = study.record.systems.iter().enumerate();
    let off = systems.filter(|(_, it)| !it.is_twin && it.spec.switches_autocommit_off());
    let names: Vec<&str> = off.map(|(index, _)| study.label(index)).collect();
    (!names.is_empty()).then(|| format!("the options of {} {AUTOCOMMIT_OFF}", listed(&names)))
}

/// `a and b run without 1 option of the config file, which they do not take: x`
fn without(options: &[&str], systems: &[&str]) -> String {
    let names: Vec<String> = options.iter().take(OPTIONS).map(|it| format!("`{it}`")).collect();
    let more = options.len().saturating_sub(OPTIONS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (run, take) = match systems {
        [_] => ("runs", "it does not take"),
        _ => ("run", "they do not take"),
    };
    let systems = listed(systems);
    let count = counted(options.len() as u64, "option");
    format!(
        "{systems} {run} without {count} of the config file, which {take}: {}{more}",
        names.join(", ")
    )
}

fn defaults(study: &JudgedStudy) -> Option<String> {
    let differing = super::conditions::defaults(study.record).len();
    (differing > 0).then(|| {
        format!(
            "each version has its own defaults, of which {} {}; the conditions list them",
            thousands(differing as u64),
            if differing == 1 { "differs" } else { "differ" }
        )
    })
}

/// Dependence of the results on the machines that measured the shards.
fn nodes(study: &JudgedStudy) -> Vec<String> {
    let Some(nodes) = &study.judgement.nodes else { return Vec::new() };
    let names: Vec<&str> = nodes.each.iter().map(|node| node.name.as_str()).collect();
    let count = counted(names.len() as u64, "node");
    let is_shared = nodes.each.iter().any(|node| node.speed.is_some());
    let measured = match is_shared {
        true => format!(
            "{count} measured the shards; differences between nodes are part of the intervals"
        ),
        false => format!(
            "{count} measured the shards, each test one of them, so nothing shows whether its result depends on the \
             machine"
        ),
    };
    let mut notes = vec![measured];
    let differing: BTreeSet<_> = nodes.differing.iter().map(|(cell, _)| *cell).collect();
    if !differing.is_empty() {
        let names: Vec<&str> = differing.iter().map(|cell| cell.test.name.as_str()).collect();
        notes.push(format!(
            "relative QPS differs between the nodes in {}: {}",
            counted(names.len() as u64, "test"),
            names.join(", ")
        ));
    }
    notes
}

/// Maker of a build and its target release: compiler and libraries depend on them.
fn builder(system: &System) -> (&str, &str) {
    let artifact = &system.artifact;
    (artifact.source(), artifact.channel().split('-').next().unwrap_or_default())
}

/// Builds of several makers call for caution.
fn makers(study: &JudgedStudy) -> Option<String> {
    let what = "compilers and flags differ too, so this does not compare versions alone";
    (!is_one_maker(&study.record.systems)).then(|| builds_differ(study, what))
}

/// Builds of several releases of one maker need no caution: every user who upgrades gets them.
fn releases(study: &JudgedStudy) -> Option<String> {
    let systems = &study.record.systems;
    let first = builder(systems.first()?);
    let differ = systems.iter().any(|system| builder(system) != first);
    let what = "compiler and libraries change with the version";
    (differ && is_one_maker(systems)).then(|| builds_differ(study, what))
}

/// Flags of builds from source that differ, between builds of one source or, `with_versions`, beside the sources.
fn flags(study: &JudgedStudy, with_versions: bool) -> Option<String> {
    let is_built = |system: &System| matches!(system.spec.origin, Origin::Git(_));
    let systems = study.record.systems.iter().enumerate();
    let built: Vec<(usize, &System)> =
        systems.filter(|(_, it)| is_built(it) && !it.is_twin).collect();
    let pairs = built.iter().flat_map(|(_, one)| built.iter().map(move |(_, other)| (one, other)));
    let unlike: Vec<_> = pairs.filter(|(one, other)| one.spec.build != other.spec.build).collect();
    let is_mixed = unlike.iter().any(|(one, other)| one.spec.origin != other.spec.origin);
    if unlike.is_empty() || is_mixed != with_versions {
        return None;
    }
    let each = built.iter().map(|(index, system)| {
        let flags =
            system.spec.build.iter().map(|(flag, value)| format!("{}={value}", flag.option()));
        let flags: Vec<String> = flags.collect();
        let flags = if flags.is_empty() { "none".to_owned() } else { flags.join(" ") };
        format!("{}: {flags}", study.label(*index))
    });
    let what = match is_mixed {
        true => "the sources differ too, so this compares neither of them alone",
        false => "this compares builds of one source",
    };
    let each = each.collect::<Vec<_>>().join(", ");
    Some(format!("the flags of the builds differ ({each}): {what}"))
}

fn is_one_maker(systems: &[System]) -> bool {
    systems.windows(2).all(|pair| matches!(pair, [one, next] if is_same_maker(one, next)))
}

pub(crate) fn is_same_maker(one: &System, other: &System) -> bool {
    builder(one).0 == builder(other).0
}

fn builds_differ(study: &JudgedStudy, what: &str) -> String {
    let systems = study.record.systems.iter().enumerate().filter(|(_, system)| !system.is_twin);
    let each: Vec<String> = systems
        .map(|(index, system)| format!("{} from {}", study.label(index), origin(system)))
        .collect();
    format!("the builds differ ({}): {what}", each.join(", "))
}

fn basis(study: &JudgedStudy) -> String {
    let (record, cells) = (study.record, &study.judgement.cells);
    if record.is_reported() {
        let values: u32 = cells.iter().map(|cell| cell.slices).sum();
        let repeats = cells.iter().map(|cell| cell.blocks).max().unwrap_or(0);
        let repeats = match repeats {
            0 | 1 => String::new(),
            many => format!(", up to {many} repeats of a run"),
        };
        return format!(
            "{} of {}{repeats}",
            counted(values, "published value"),
            counted(record.systems.len() as u64, "system")
        );
    }
    let blocks = cells.iter().map(|cell| cell.blocks).max().unwrap_or(0);
    let slices: u32 = cells.iter().map(|cell| cell.slices).sum();
    let called = cells.iter().any(|cell| cpu::is_called(study, cell));
    let false_alarms =
        if called { "; at most 5% of the called changes are expected to be false" } else { "" };
    let has_twin = record.systems.iter().any(|system| system.is_twin);
    let effect = if has_twin { String::new() } else { effect(study, &study.compared) };
    let how = match record.study.experiment {
        Experiment::Interleaved => {
            format!(" in {}{}", counted(blocks, "block"), of_servers(&record.systems))
        }
        Experiment::Sequential => ", one system after the other, each test once".to_owned(),
        Experiment::Consecutive => ", one system after the other (ratios include drift)".to_owned(),
        Experiment::Stepwise if record.study.segments > 0 => {
            ", the systems in alternation, by segments of steps".to_owned()
        }
        Experiment::Stepwise => ", the systems in alternation, step by step".to_owned(),
        Experiment::Counted => return super::counts::basis(study),
    };
    format!(
        "{}{how}, {}; changes below {} are ignored{effect}{false_alarms}",
        counted(slices, "slice"),
        duration(record.elapsed_s()),
        share(study.threshold()),
    )
}

/// A running server is the same in all blocks; only its tables are loaded again.
fn of_servers(systems: &[System]) -> &'static str {
    let is_running = |system: &&System| matches!(system.spec.origin, Origin::Url(_));
    match systems.iter().filter(is_running).count() {
        0 => " of fresh servers",
        some if some < systems.len() => " of fresh servers, or of fresh data on running servers",
        _ => " of fresh data on running servers",
    }
}
