//! Under which conditions it was measured, and how to do it again.

use assay_model::{AuditClass, CpuPlacement, Setup, StudyRecord};
use assay_verdict::Judgement;

use crate::number::{duration, share, thousands};
use crate::words::{rfc3339, shell_quoted, source};

/// Host, systems, study, trouble, audit, and the command.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let mut lines = vec!["conditions".to_owned(), host(record)];
    lines.extend(systems(record));
    lines.push(study(record));
    lines.push(slices(record, judgement));
    lines.extend(audit(record));
    lines.extend(record.events.iter().map(|event| format!("  event: {}", event.what)));
    lines.push(String::new());
    lines.push(format!("again: {}", command(record)));
    lines.push(format!("again from the ledger: assay report {}", record.study.id));
    lines
}

fn host(record: &StudyRecord) -> String {
    let host = &record.host;
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
    for system in &record.systems {
        let sha256: String = system.prefix.sha256.chars().take(12).collect();
        let role = if system.is_base { " (base)" } else { "" };
        lines.push(format!(
            "  {}{role}: {} {}, {}, package {} from {}, binaries {sha256}",
            system.name,
            system.prefix.product,
            system.prefix.version,
            system.spec.engine.word(),
            system.prefix.build.package_version,
            source(system),
        ));
        if !system.prefix.build.released {
            lines.push(format!("    warning: {} is no released channel", source(system)));
        }
        lines.extend(system.prefix.build.notes.iter().map(|note| format!("    note: {note}")));
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
    format!(
        "  study {}: preset {}, {} (clients × tables × rows), placement {}, seed {}, threshold {}, \
         workload version {}, assay {}, started {}, took {} of a budget of {}",
        study.id,
        study.preset.word(),
        setups.join(", "),
        placements.join(" and "),
        study.seed,
        share(study.threshold),
        study.workload_version,
        study.assay_version,
        rfc3339(study.started_ms).unwrap_or_else(|| "at an unknown time".into()),
        duration(record.elapsed_s()),
        duration(study.budget_s),
    )
}

fn slices(record: &StudyRecord, judgement: &Judgement) -> String {
    let good: u32 = judgement.cells.iter().map(|cell| cell.slices).sum();
    let troubled: u32 = judgement.cells.iter().map(|cell| cell.troubled).sum();
    let errors: u64 = judgement.cells.iter().map(|cell| cell.errors).sum();
    format!(
        "  slices: {} good, {} in machine trouble (not judged, rounds repeated within limits); {} servers started; \
         {} retried errors",
        thousands(f64::from(good)),
        thousands(f64::from(troubled)),
        record.instances.len(),
        thousands(errors as f64),
    )
}

fn audit(record: &StudyRecord) -> Vec<String> {
    let count = |class| record.audit.iter().filter(|finding| finding.class == class).count();
    let mut lines = vec![format!(
        "  audit: {} settings differ as asked, {} harmlessly, {} suspiciously",
        count(AuditClass::Expected),
        count(AuditClass::Harmless),
        count(AuditClass::Suspicious),
    )];
    for finding in record.audit.iter().filter(|f| f.class == AuditClass::Suspicious) {
        let values: Vec<&str> =
            finding.values.iter().map(|value| value.as_deref().unwrap_or("none")).collect();
        lines.push(format!(
            "    suspicious: {} = {}: {}",
            finding.setting,
            values.join(" → "),
            finding.why
        ));
    }
    lines
}

fn command(record: &StudyRecord) -> String {
    let study = &record.study;
    let names: Vec<String> = record
        .systems
        .iter()
        .filter(|system| !system.is_twin)
        .map(|system| shell_quoted(&system.spec.to_string()))
        .collect();
    let each = |of: fn(&Setup) -> u32| {
        let mut values: Vec<u32> = study.setups.iter().map(of).collect();
        values.dedup();
        values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    };
    let tests: Vec<String> = study.cells.iter().map(|cell| cell.id.test.name()).collect();
    let all = study.set.tests().iter().all(|test| tests.contains(&test.name()));
    let tests = if all { String::new() } else { format!(" --tests {}", tests.join(",")) };
    // Where tests differ in these, the preset chose them.
    let slice_ms = common(study.cells.iter().map(|cell| cell.slice_ms));
    let slice = slice_ms.map(|ms| format!(" --slice {ms}ms")).unwrap_or_default();
    let placement = common(study.cells.iter().map(|cell| cell.placement));
    let placement = placement.map(|it| format!(" --placement {}", it.word())).unwrap_or_default();
    format!(
        "assay compare {} --preset {} --set {}{tests} --clients {} --tables {} --rows {} \
         --budget {}s --threshold {}% --seed {} --blocks {} --rounds {}{slice}{placement}",
        names.join(" "),
        study.preset.word(),
        study.set.len(),
        each(|setup| setup.clients),
        each(|setup| setup.tables),
        each(|setup| setup.rows),
        study.budget_s,
        (study.threshold * 1e4).round() / 100.0,
        study.seed,
        study.blocks,
        study.rounds
    )
}

/// What all items have in common.
fn common<T: PartialEq>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.all(|item| item == first).then_some(first)
}
