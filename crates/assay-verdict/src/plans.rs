//! Audit findings about the plans of each test.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{AuditFinding, CellId, StatementPlans};

/// Place of a statement in a user's test: the kind of events, and the step.
pub(crate) type StatementPlace = (u32, u32);

/// Characters of the longest plan that a sentence quotes.
const PLAN_MAX: usize = 120;

#[derive(Debug)]
pub struct PlanFindings<'a>(BTreeMap<&'a str, Vec<&'a AuditFinding>>);

impl<'a> PlanFindings<'a> {
    pub fn new(audit: &'a [AuditFinding]) -> Self {
        let mut by_test: BTreeMap<&str, Vec<&AuditFinding>> = BTreeMap::new();
        for finding in audit {
            let Some(name) = finding.setting.strip_prefix("plan.") else { continue };
            by_test.entry(split(name).0).or_default().push(finding);
        }
        Self(by_test)
    }

    pub fn for_cell(&self, cell: CellId) -> impl Iterator<Item = &'a AuditFinding> {
        let found = self.0.get(cell.test.name()).into_iter().flatten().copied();
        let data = cell.setup.data().to_string();
        found.filter(move |finding| {
            let name = finding.setting.strip_prefix("plan.").unwrap_or_default();
            let is_of_data = split(name).1.is_none_or(|other| other == data);
            let mut plans = finding.values.iter().flatten();
            let first = plans.next();
            is_of_data && plans.any(|plan| Some(plan) != first)
        })
    }

    pub fn differ(&self, cell: CellId, systems: [usize; 2]) -> bool {
        self.for_cell(cell).any(|finding| {
            let [one, other] =
                systems.map(|system| finding.values.get(system).and_then(Option::as_ref));
            one.zip(other).is_some_and(|(one, other)| one != other)
        })
    }

    /// Places of a user's statements that these systems execute differently; `None` if unknown.
    pub(crate) fn places(
        &self,
        cell: CellId,
        systems: [usize; 2],
    ) -> Option<BTreeSet<StatementPlace>> {
        let mut places = BTreeSet::new();
        for finding in self.for_cell(cell) {
            if finding.statements.is_empty() {
                return None;
            }
            let differs = |statement: &&StatementPlans| {
                let [one, other] =
                    systems.map(|system| statement.plans.get(system).copied().flatten());
                one.zip(other).is_some_and(|(one, other)| one != other)
            };
            let differing = finding.statements.iter().filter(differs);
            places.extend(differing.map(|statement| (statement.kind, statement.step)));
        }
        Some(places)
    }

    /// Plans of the first statement that these systems execute differently; `None` without any, and for plans too long
    /// for a sentence.
    pub fn pair(&self, cell: CellId, systems: [usize; 2]) -> Option<[&'a str; 2]> {
        let pairs = self.for_cell(cell).filter_map(|finding| {
            let [one, other] = systems.map(|system| finding.values.get(system)?.as_deref());
            Some([one?, other?])
        });
        let mut differing = pairs.filter(|[one, other]| one != other);
        differing.next().filter(|pair| pair.iter().all(|plan| plan.chars().count() <= PLAN_MAX))
    }
}

fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once(" on ").map_or((name, None), |(test, data)| (test, Some(data)))
}
