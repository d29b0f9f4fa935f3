//! The plans of a test's statements, where systems differ in them.

use assay_model::{AuditClass, AuditFinding, CellId};

use super::study::JudgedStudy;

pub(crate) struct PlanDifference<'a> {
    pub(crate) class: AuditClass,
    pub(crate) why: &'a str,
    /// Systems with the same plan, and that plan.
    pub(crate) plans: Vec<(String, &'a str)>,
}

pub(crate) fn differences<'a>(study: &'a JudgedStudy<'a>, cell: CellId) -> Vec<PlanDifference<'a>> {
    let difference = |finding: &'a AuditFinding| {
        let mut plans: Vec<(String, &str)> = Vec::new();
        for (system, plan) in finding.values.iter().enumerate() {
            let Some(plan) = plan.as_deref().filter(|_| !study.is_twin(system)) else { continue };
            let label = study.label(system);
            match plans.iter_mut().find(|(_, other)| *other == plan) {
                Some((systems, _)) => *systems += &format!(", {label}"),
                None => plans.push((label.to_owned(), plan)),
            }
        }
        PlanDifference { class: finding.class, why: &finding.why, plans }
    };
    let differences = study.plans.of(cell).map(difference);
    // The difference may concern only the twin.
    differences.filter(|it| it.plans.len() > 1).collect()
}
