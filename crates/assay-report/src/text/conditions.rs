//! Under which conditions it was measured, and how to do it again.

use assay_model::{
    AuditClass, AuditFinding, CpuPlacement, IdKey, Origin, StartFrom, StatementMode, StudyRecord,
    counted,
};
use assay_verdict::Judgement;

use crate::findings::{self, Kind};
use crate::label::label;
use crate::number::{duration, share};
use crate::trouble;
use crate::words::{command, minute, origin, rfc3339};

/// Host, systems, study, trouble, audit, events, under a heading.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let mut lines = vec!["conditions".to_owned()];
    lines.extend(list(record, judgement));
    lines
}

/// Host, systems, study, trouble, audit, events: one line each.
pub(crate) fn list(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let mut lines = vec![host(record)];
    lines.extend(systems(record));
    lines.push(study(record));
    lines.extend(runs(record));
    lines.extend(data(record).into_iter().map(|line| format!("  data {line}")));
    lines.push(slices(record, judgement));
    lines.extend(audit(record));
    lines.extend(record.events.iter().map(|event| match event.system {
        Some(system) => format!("  event: {}: {}", label(record, system), event.what),
        None => format!("  event: {}", event.what),
    }));
    lines
}

/// How to measure the same: one command, or the study file where one command cannot say it; and how to see it again.
pub(crate) fn again(record: &StudyRecord) -> Vec<String> {
    let recipe = record.study.recipe.trim_end();
    let mut lines = vec!["again".to_owned()];
    match command(record) {
        Some(command) => lines.push(format!("  {command}")),
        None if recipe.is_empty() => {}
        None => {
            lines.push("  assay run study.toml, with this in the file:".to_owned());
            lines.extend(recipe.lines().map(|line| format!("    {line}").trim_end().to_owned()));
        }
    }
    if record.systems.iter().any(|system| matches!(system.spec.origin, Origin::Url(_))) {
        lines.push(
            "  (passwords are not kept: put them in the URLs, or in `ASSAY_PASSWORD`)".to_owned(),
        );
    }
    lines.push(format!("  assay report {}  (from the ledger)", record.study.id));
    lines
}

/// What the data were, and whether all systems held the same.
pub(crate) fn data(record: &StudyRecord) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut told = Vec::new();
    for content in &record.data {
        let key = (content.data, content.start_from);
        if told.contains(&key) {
            continue;
        }
        told.push(key);
        let all = || record.data.iter().filter(|other| (other.data, other.start_from) == key);
        let equal = all().all(|it| (it.rows, &it.checksum) == (content.rows, &content.checksum));
        let state = match content.start_from {
            StartFrom::Fresh => "as loaded",
            StartFrom::Aged => "after the aging writes",
        };
        let several = record.study.setups.iter().any(|setup| setup.data() != content.data);
        let of = if several { format!(" of {}", content.data) } else { String::new() };
        let rows = counted(content.rows, "row");
        lines.push(if equal {
            let on = if all().count() > 1 { "the same on all systems" } else { "on one system" };
            format!("{state}{of}: {rows}, checksum {}, {on}", content.checksum)
        } else {
            let each = all().map(|it| {
                let name = label(record, it.system);
                format!("{name} has {}, checksum {}", counted(it.rows, "row"), it.checksum)
            });
            format!("{state}{of}, differing: {}", each.collect::<Vec<_>>().join("; "))
        });
    }
    lines
}

fn host(record: &StudyRecord) -> String {
    let host = record.host();
    let hypervisor =
        host.hypervisor.as_ref().map_or_else(String::new, |h| format!(", virtual machine ({h})"));
    format!(
        "  host: {} × {}{hypervisor}, {:.0} GiB, {}, kernel {}, {}",
        host.cpus,
        host.cpu,
        host.memory_kb as f64 / f64::from(1 << 20),
        host.os,
        host.kernel,
        host.filesystem
    )
}

fn systems(record: &StudyRecord) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, system) in record.systems.iter().enumerate().filter(|(_, system)| !system.is_twin) {
        let label = label(record, index);
        // The one place where people find the whole name.
        let url = if label == system.name { String::new() } else { format!("{}, ", system.name) };
        let binaries = crate::words::binaries(&system.artifact);
        let role = if system.is_base { " (base)" } else { "" };
        lines.push(format!(
            "  {label}{role}: {url}{} {}, {}, package {} from {}, {binaries}",
            system.artifact.product(),
            system.artifact.version(),
            system.spec.engine.word(),
            system.artifact.package_version(),
            origin(system),
        ));
        if !system.artifact.is_released() {
            lines.push(format!("    warning: {} is no released channel", origin(system)));
        }
        lines.extend(system.artifact.notes().iter().map(|note| format!("    note: {note}")));
    }
    lines
}

fn study(record: &StudyRecord) -> String {
    let study = &record.study;
    let setups: Vec<String> = study.setups.iter().map(ToString::to_string).collect();
    let mut placements: Vec<&str> =
        study.cells.iter().map(|cell| CpuPlacement::word(cell.placement)).collect();
    placements.sort_unstable();
    placements.dedup();
    let mut parts = vec![
        format!("study {}: preset {}", study.id, study.preset.word()),
        format!("{} (clients × tables × rows)", setups.join(", ")),
    ];
    if study.id_key != IdKey::default() {
        parts.push("a secondary index on id in place of the primary key".to_owned());
    }
    parts.push(match study.statements {
        StatementMode::Prepared => "prepared statements".to_owned(),
        StatementMode::Text => "statements as text".to_owned(),
    });
    parts.extend([
        format!("placement {}", placements.join(" and ")),
        format!("seed {}", study.seed),
        format!("threshold {}", share(study.threshold)),
        format!("workload version {}", study.workload_version),
        format!("assay {}", study.assay_version),
        format!(
            "started {}",
            rfc3339(study.started_ms).unwrap_or_else(|| "at an unknown time".into())
        ),
        format!("took {} of {}", duration(record.elapsed_s()), duration(study.budget_s)),
    ]);
    format!("  {}", parts.join(", "))
}

/// When nobody measured: between the runs of an interrupted study.
fn runs(record: &StudyRecord) -> Option<String> {
    let moment = |ms| minute(ms).unwrap_or_else(|| "an unknown time".to_owned());
    let pauses: Vec<String> = record
        .runs
        .windows(2)
        .filter_map(|pair| Some((pair.first()?.updated_ms, pair.last()?.started_ms)))
        .map(|(from, to)| format!("{} and {}", moment(from), moment(to)))
        .collect();
    let count = record.runs.len();
    (count > 1).then(|| {
        let pauses = pauses.join(", between ");
        format!("  measured in {count} runs; interrupted (UTC) between {pauses}")
    })
}

fn slices(record: &StudyRecord, judgement: &Judgement) -> String {
    let errors: u64 = judgement.cells.iter().map(|cell| cell.errors).sum();
    format!(
        "  slices: {}; {} started; {}",
        trouble::slices(record, judgement),
        counted(record.instances.len() as u64, "server"),
        counted(errors, "retried error"),
    )
}

fn audit(record: &StudyRecord) -> Vec<String> {
    let of_class = |class| record.audit.iter().filter(|finding| finding.class == class).count();
    let mut lines = vec![format!(
        "  audit: {}: {} suspicious, {} expected, {} harmless",
        counted(record.audit.len() as u64, "difference"),
        of_class(AuditClass::Suspicious),
        of_class(AuditClass::Expected),
        of_class(AuditClass::Harmless),
    )];
    let of = |kind| if kind == Kind::Plans { "plan of " } else { "" };
    let values = |finding: &AuditFinding| {
        let values = finding.values.iter().map(|value| findings::shown(value.as_deref()));
        values.collect::<Vec<_>>().join(" → ")
    };
    for (kind, entries) in findings::by_kind(&record.audit, AuditClass::Expected) {
        for entry in entries {
            let (of, name, values) = (of(kind), entry.name(), values(entry.finding));
            lines.push(match entry.finding.is_asked {
                true => format!("    asked for: {of}{name} = {values}"),
                false => format!("    expected: {of}{name} = {values}: {}", entry.finding.why),
            });
        }
    }
    for (kind, entries) in findings::by_kind(&record.audit, AuditClass::Suspicious) {
        for entry in entries {
            let (name, values, why) = (entry.name(), values(entry.finding), &entry.finding.why);
            lines.push(format!("    suspicious: {}{name} = {values}: {why}", of(kind)));
        }
        lines.push(format!("    to do about {}: {}", kind.title(), kind.remedy()));
    }
    lines
}
