//! What was unequal: settings, by the rules of the audit, and the work of the runs. Pure.

use assay_import::{SystemRun, run_doubts};
use assay_model::{AuditClass, Origin, SystemSpec, counted};
use assay_report::findings::by_topic;
use assay_servers::audit::{AuditFacts, AuditedSystem, FactsExtent, compare};
use assay_terms::Terms;

use crate::comparisons::contradicting_intervals;
use crate::runs::{ReviewedFiles, ReviewedSystem};

/// Sentences without a capital letter and a full stop.
pub(crate) fn unequal(files: &ReviewedFiles) -> Vec<String> {
    let mut all = settings(files);
    // Runs of different scripts are different work.
    let mut kinds: Vec<Vec<SystemRun>> = Vec::new();
    for output in &files.outputs {
        let kind = |run: &SystemRun| (run.run.client, run.run.script.clone());
        match kinds.iter_mut().find(|known| kind(&known[0]) == kind(output)) {
            Some(known) => known.push(output.clone()),
            None => kinds.push(vec![output.clone()]),
        }
    }
    all.extend(kinds.iter().flat_map(|runs| run_doubts(runs)));
    all.extend(files.failures.iter().cloned());
    all.extend(contradicting_intervals(files));
    all
}

/// Settings that can decide a comparison.
fn settings(files: &ReviewedFiles) -> Vec<String> {
    let audited: Vec<(&ReviewedSystem, SystemSpec, AuditFacts)> =
        files.systems.iter().filter_map(audited).collect();
    if audited.len() < 2 {
        return Vec::new();
    }
    let systems = audited.iter().map(|(_, spec, facts)| AuditedSystem { spec, facts });
    let findings = compare(&systems.collect::<Vec<_>>(), Terms::or_default(None));
    let names: Vec<&str> = audited.iter().map(|(system, ..)| system.name.as_str()).collect();
    let mut all = Vec::new();
    for group in by_topic(&findings, AuditClass::Suspicious) {
        for finding in &group.findings {
            let (name, values, why) = (finding.name(), finding.values(), finding.why());
            all.push(format!("{name} = {values} ({}): {why}", names.join(" → ")));
        }
    }
    let others = findings.iter().filter(|finding| finding.class != AuditClass::Suspicious).count();
    if others > 0 {
        let others = counted(others as u64, "other difference");
        all.push(format!(
            "{others} between settings, expected or harmless: `assay audit FILE FILE`"
        ));
    }
    all
}

fn audited(system: &ReviewedSystem) -> Option<(&ReviewedSystem, SystemSpec, AuditFacts)> {
    let file = system.settings.as_ref()?;
    let version = file.version.clone().unwrap_or_else(|| "unknown".to_owned());
    let spec = SystemSpec::new(file.product, Origin::Version(version));
    let extent = if file.is_whole { FactsExtent::Variables } else { FactsExtent::Part };
    let settings = file.settings.clone();
    Some((system, spec, AuditFacts { settings, extent, ..AuditFacts::default() }))
}
