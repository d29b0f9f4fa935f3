//! Findings about plans.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use assay_model::{AuditClass, AuditFinding, StatementPlans, changes_plans};

use super::facts::{AuditedPlan, AuditedSystem};
use crate::audit::facts::{differ, finding};
use crate::audit::requests::{OPTIONS, RequestedOptions, options_between};

/// Other factors of a plan, for users who look for the cause.
const WHY: &str = "executed with another plan, so another algorithm is measured; the cause is an index, the \
                   statistics, an optimiser switch or a requested option";

/// Why plans differ between versions that have the same data, indexes and settings.
const WHY_OF_VERSION: &str =
    "executed with another plan by another version's planner, which is part of what is compared";

/// One finding for each test with a statement whose plans differ. Plans of each dialect have different terms, so they
/// are compared only with each other.
pub(super) fn compare(systems: &[AuditedSystem], asked: &RequestedOptions) -> Vec<AuditFinding> {
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

fn of_test(
    test: &str,
    systems: &[AuditedSystem],
    asked: &RequestedOptions,
) -> Option<AuditFinding> {
    let notes = notes(test, systems);
    let statements = different(test, systems);
    if statements.is_empty() {
        return (!notes.is_empty()).then(|| noted(test, systems, &notes));
    }
    let value = |system: usize| {
        let plans = statements.iter().filter_map(|statement| statement.plans[system]);
        let plans: Vec<&str> = plans.collect();
        (!plans.is_empty()).then(|| plans.join(" | "))
    };
    let message: Vec<String> = statements.iter().map(ToString::to_string).collect();
    let values: Vec<_> = (0..systems.len()).map(value).collect();
    let reasons = reasons(systems, &values);
    let (class, why) = match () {
        // One unexplained difference is enough.
        () if reasons.contains(&PlanReason::Unknown) => (AuditClass::Suspicious, WHY.to_owned()),
        () if asked.engines_differ => {
            (AuditClass::Expected, "planned for another storage engine, as requested".to_owned())
        }
        () => (AuditClass::Expected, expected(&reasons)),
    };
    let is_asked = asked.engines_differ || !reasons.contains(&PlanReason::Version);
    let notes: Vec<String> = notes.iter().map(|note| format!("; {note}")).collect();
    let why = format!("{}: {why}{}", message.join(", "), notes.concat());
    let is_asked = is_asked && class == AuditClass::Expected;
    let found = finding(&format!("plan.{test}"), values, class, &why);
    Some(AuditFinding { is_asked, statements: places(&statements), ..found })
}

/// The places of statements in a user's test, each with its plans; empty if one of the statements has no place.
fn places(statements: &[DifferentStatement<'_>]) -> Vec<StatementPlans> {
    let plans = |statement: &DifferentStatement<'_>| {
        let (kind, step) = statement.place?;
        let number = |plan: &Option<&str>| {
            let first = statement.plans.iter().position(|it| it == plan);
            first.filter(|_| plan.is_some()).map(|at| at as u32)
        };
        let plans = statement.plans.iter().map(number).collect();
        Some(StatementPlans { kind, step, plans })
    };
    statements.iter().map(plans).collect::<Option<_>>().unwrap_or_default()
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum PlanReason {
    Engine,
    Options(Vec<String>),
    Version,
    /// No difference was requested.
    Unknown,
}

/// Over all pairs of systems whose plans differ.
fn reasons(systems: &[AuditedSystem], values: &[Option<String>]) -> BTreeSet<PlanReason> {
    let known: Vec<(&AuditedSystem, &String)> = systems
        .iter()
        .zip(values)
        .filter_map(|(system, value)| Some((system, value.as_ref()?)))
        .collect();
    let mut reasons = BTreeSet::new();
    for (at, (one, plan)) in known.iter().enumerate() {
        let later = known.iter().skip(at + 1).filter(|(_, other)| other != plan);
        for (other, _) in later {
            let options = options_between(one, other).into_iter();
            let able = options.filter(|(variable, _)| changes_plans(variable));
            let options: Vec<String> = able.map(|(_, option)| option).collect();
            let is_same_series = one.series() == other.series();
            reasons.extend((!is_same_series).then_some(PlanReason::Version));
            reasons.insert(match () {
                () if one.spec.engine != other.spec.engine => PlanReason::Engine,
                () if !options.is_empty() => PlanReason::Options(options),
                () if is_same_series => PlanReason::Unknown,
                () => PlanReason::Version,
            });
        }
    }
    reasons
}

fn expected(reasons: &BTreeSet<PlanReason>) -> String {
    let options: BTreeSet<&String> = reasons
        .iter()
        .flat_map(|reason| match reason {
            PlanReason::Options(options) => options.as_slice(),
            _ => &[],
        })
        .collect();
    if options.is_empty() {
        return WHY_OF_VERSION.to_owned();
    }
    let named: Vec<String> = options.iter().take(OPTIONS).map(|it| format!("`{it}`")).collect();
    let more = options.len().saturating_sub(OPTIONS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let by_version = if reasons.contains(&PlanReason::Version) {
        ", or by another version's planner"
    } else {
        ""
    };
    format!("executed with another plan, as requested by {}{more}{by_version}", named.join(", "))
}

struct DifferentStatement<'a> {
    statement: &'a str,
    place: Option<(u32, u32)>,
    /// Number of values it was explained with on several systems, and for how many of them the plans differ.
    values: usize,
    differing: usize,
    /// The plan of each system for the first of these values.
    plans: Vec<Option<&'a str>>,
}

impl fmt::Display for DifferentStatement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.statement)?;
        match self.values {
            0 | 1 => Ok(()),
            values if values == self.differing => write!(f, " (for all of {values} values)"),
            values => write!(f, " (for {} of {values} values)", self.differing),
        }
    }
}

fn different<'a>(test: &str, systems: &[AuditedSystem<'a>]) -> Vec<DifferentStatement<'a>> {
    let of_system = |system: &AuditedSystem<'a>| -> BTreeMap<(&'a str, u64), &'a str> {
        let plans = system.facts.plans.iter().filter(|it| it.test == test);
        plans.map(|it| ((it.statement.as_str(), it.event), it.plan.as_str())).collect()
    };
    let by_system: Vec<_> = systems.iter().map(of_system).collect();
    let all = systems.iter().flat_map(|it| &it.facts.plans).filter(|it| it.test == test);
    let mut seen = BTreeSet::new();
    let mut found: Vec<DifferentStatement<'a>> = Vec::new();
    for AuditedPlan { statement, event, place, .. } in all {
        let (statement, event, place) = (statement.as_str(), *event, *place);
        if !seen.insert((statement, event)) {
            continue;
        }
        let plans: Vec<Option<&'a str>> =
            by_system.iter().map(|plans| plans.get(&(statement, event)).copied()).collect();
        // A missing plan is not a different plan.
        if plans.iter().flatten().count() < 2 {
            continue;
        }
        let differs = differ(plans.iter().flatten());
        let at = found.iter().position(|it| it.statement == statement).unwrap_or_else(|| {
            let (values, differing, plans) = (0, 0, Vec::new());
            found.push(DifferentStatement { statement, place, values, differing, plans });
            found.len() - 1
        });
        let known = &mut found[at];
        known.values += 1;
        if differs && known.differing == 0 {
            known.plans = plans;
        }
        known.differing += usize::from(differs);
    }
    found.retain(|it| it.differing > 0);
    found
}

fn notes(test: &str, systems: &[AuditedSystem]) -> Vec<String> {
    let notes = |system: &AuditedSystem| -> BTreeSet<String> {
        let plans = system.facts.plans.iter().filter(|it| it.test == test);
        plans.flat_map(|it| it.notes.iter().cloned()).collect()
    };
    let by_system: Vec<BTreeSet<String>> = systems.iter().map(notes).collect();
    let all: BTreeSet<&String> = by_system.iter().flatten().collect();
    let message = all.into_iter().map(|note| {
        let having = systems.iter().zip(&by_system).filter(|(_, notes)| notes.contains(note));
        let names: Vec<String> = having.map(|(system, _)| system.spec.to_string()).collect();
        if names.len() == systems.len() {
            note.clone()
        } else {
            format!("{}: {note}", names.join(", "))
        }
    });
    message.collect()
}

/// A finding about equal plans on which the servers have notes.
fn noted(test: &str, systems: &[AuditedSystem], notes: &[String]) -> AuditFinding {
    let plan = |system: &AuditedSystem| {
        let plans = system.facts.plans.iter().filter(|it| it.test == test && !it.notes.is_empty());
        let mut seen = BTreeSet::new();
        let plans: Vec<&str> =
            plans.map(|it| it.plan.as_str()).filter(|plan| seen.insert(*plan)).collect();
        (!plans.is_empty()).then(|| plans.join(" | "))
    };
    let values = systems.iter().map(plan).collect();
    finding(&format!("plan.{test}"), values, AuditClass::Harmless, &notes.join("; "))
}
