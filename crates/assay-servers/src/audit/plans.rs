//! Findings about plans.

use std::collections::BTreeSet;

use assay_model::{AuditClass, AuditFinding};

use super::asked::Asked;
use super::difference::{differ, differ_within_series, finding};
use super::facts::Audited;

/// Other things that a plan depends on, for users who look for the cause.
const WHY: &str = "executed with another plan, so another algorithm is measured; the cause is an index, the \
                   statistics, an optimiser switch or a requested option";

/// Why plans differ between versions that have the same data, indexes and settings.
const WHY_OF_VERSION: &str =
    "executed with another plan by another version's planner, which is part of what is compared";

/// One finding for each test with a statement whose plans differ.
///
/// Plans of each dialect have their own terms, so they are compared only with each other.
pub(super) fn compare(systems: &[Audited], asked: &Asked) -> Vec<AuditFinding> {
    if differ(systems.iter().map(|system| system.spec.product.dialect())) {
        return Vec::new();
    }
    let mut tests: Vec<&str> = Vec::new();
    for plan in systems.iter().flat_map(|it| &it.facts.plans) {
        if !tests.contains(&plan.test.as_str()) {
            tests.push(&plan.test);
        }
    }
    tests.into_iter().filter_map(|test| of_test(test, systems, asked)).collect()
}

fn of_test(test: &str, systems: &[Audited], asked: &Asked) -> Option<AuditFinding> {
    let plan = |system: &Audited, statement: &str| {
        let mut plans = system.facts.plans.iter();
        plans.find(|it| it.test == test && it.statement == statement).map(|it| it.plan.clone())
    };
    let notes = notes(test, systems);
    let all = systems.iter().flat_map(|it| &it.facts.plans);
    let mut seen = BTreeSet::new();
    let statements: Vec<&str> = all
        .filter(|it| it.test == test && seen.insert(it.statement.as_str()))
        .map(|it| it.statement.as_str())
        // A missing plan is no different plan.
        .filter(|statement| differ(systems.iter().filter_map(|it| plan(it, statement))))
        .collect();
    if statements.is_empty() {
        return (!notes.is_empty()).then(|| noted(test, systems, &notes));
    }
    let value = |system: &Audited| {
        let plans: Vec<String> = statements.iter().filter_map(|it| plan(system, it)).collect();
        (!plans.is_empty()).then(|| plans.join(" | "))
    };
    let told: Vec<String> = statements.iter().map(|it| format!("`{it}`")).collect();
    let values: Vec<_> = systems.iter().map(value).collect();
    let (class, why) = if asked.engines_differ {
        (AuditClass::Expected, "planned for another storage engine, as requested")
    } else if differ_within_series(systems, &values) {
        (AuditClass::Suspicious, WHY)
    } else {
        (AuditClass::Expected, WHY_OF_VERSION)
    };
    let notes: Vec<String> = notes.iter().map(|note| format!("; {note}")).collect();
    let why = format!("{}: {why}{}", told.join(", "), notes.concat());
    let found = finding(&format!("plan.{test}"), values, class, &why);
    Some(AuditFinding { is_asked: asked.engines_differ, ..found })
}

/// What the servers say of the plans of a test. What all of them say is said once.
fn notes(test: &str, systems: &[Audited]) -> Vec<String> {
    let of = |system: &Audited| -> BTreeSet<String> {
        let plans = system.facts.plans.iter().filter(|it| it.test == test);
        plans.flat_map(|it| it.notes.iter().cloned()).collect()
    };
    let by_system: Vec<BTreeSet<String>> = systems.iter().map(of).collect();
    let all: BTreeSet<&String> = by_system.iter().flatten().collect();
    let told = all.into_iter().map(|note| {
        let having = systems.iter().zip(&by_system).filter(|(_, notes)| notes.contains(note));
        let names: Vec<String> = having.map(|(system, _)| system.spec.to_string()).collect();
        if names.len() == systems.len() {
            note.clone()
        } else {
            format!("{}: {note}", names.join(", "))
        }
    });
    told.collect()
}

/// A finding about plans that do not differ, of which the servers say something.
fn noted(test: &str, systems: &[Audited], notes: &[String]) -> AuditFinding {
    let plan = |system: &Audited| {
        let plans = system.facts.plans.iter().filter(|it| it.test == test && !it.notes.is_empty());
        let plans: Vec<&str> = plans.map(|it| it.plan.as_str()).collect();
        (!plans.is_empty()).then(|| plans.join(" | "))
    };
    let values = systems.iter().map(plan).collect();
    finding(&format!("plan.{test}"), values, AuditClass::Harmless, &notes.join("; "))
}
