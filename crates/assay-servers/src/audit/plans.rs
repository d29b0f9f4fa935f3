//! Findings about plans.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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
    let notes = notes(test, systems);
    let statements = different(test, systems);
    if statements.is_empty() {
        return (!notes.is_empty()).then(|| noted(test, systems, &notes));
    }
    let value = |system: usize| {
        let plans = statements.iter().filter_map(|it| it.plans.get(system).copied().flatten());
        let plans: Vec<&str> = plans.collect();
        (!plans.is_empty()).then(|| plans.join(" | "))
    };
    let told: Vec<String> = statements.iter().map(ToString::to_string).collect();
    let values: Vec<_> = (0..systems.len()).map(value).collect();
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

/// A statement whose plans differ.
struct Different<'a> {
    statement: &'a str,
    /// How many values it was explained with on several systems, and for how many of them the plans differ.
    values: usize,
    differing: usize,
    /// The plan of each system for the first of these values.
    plans: Vec<Option<&'a str>>,
}

impl fmt::Display for Different<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.statement)?;
        match self.values {
            0 | 1 => Ok(()),
            values if values == self.differing => write!(f, " (for all of {values} values)"),
            values => write!(f, " (for {} of {values} values)", self.differing),
        }
    }
}

/// The statements of a test whose plans differ for at least one event.
fn different<'a>(test: &str, systems: &[Audited<'a>]) -> Vec<Different<'a>> {
    let of_system = |system: &Audited<'a>| -> BTreeMap<(&'a str, u64), &'a str> {
        let plans = system.facts.plans.iter().filter(|it| it.test == test);
        plans.map(|it| ((it.statement.as_str(), it.event), it.plan.as_str())).collect()
    };
    let by_system: Vec<_> = systems.iter().map(of_system).collect();
    let all = systems.iter().flat_map(|it| &it.facts.plans).filter(|it| it.test == test);
    let mut seen = BTreeSet::new();
    let mut found: Vec<Different<'a>> = Vec::new();
    for (statement, event) in all.map(|it| (it.statement.as_str(), it.event)) {
        if !seen.insert((statement, event)) {
            continue;
        }
        let plans: Vec<Option<&'a str>> =
            by_system.iter().map(|plans| plans.get(&(statement, event)).copied()).collect();
        // A missing plan is no different plan.
        if plans.iter().flatten().count() < 2 {
            continue;
        }
        let differs = differ(plans.iter().flatten());
        let at = found.iter().position(|it| it.statement == statement).unwrap_or_else(|| {
            found.push(Different { statement, values: 0, differing: 0, plans: Vec::new() });
            found.len() - 1
        });
        if let Some(known) = found.get_mut(at) {
            known.values += 1;
            if differs && known.differing == 0 {
                known.plans = plans;
            }
            known.differing += usize::from(differs);
        }
    }
    found.retain(|it| it.differing > 0);
    found
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
        let mut seen = BTreeSet::new();
        let plans: Vec<&str> =
            plans.map(|it| it.plan.as_str()).filter(|plan| seen.insert(*plan)).collect();
        (!plans.is_empty()).then(|| plans.join(" | "))
    };
    let values = systems.iter().map(plan).collect();
    finding(&format!("plan.{test}"), values, AuditClass::Harmless, &notes.join("; "))
}
