//! Checks claims against studies.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::StudyRecord;

use crate::check::{CheckedStatement, ClaimScope, ClaimSource, ClaimStatus, check_claim};
use crate::claim::{ClaimPart, ClaimSystems, PublishedClaim};
use crate::statement::Statement;

#[derive(Debug, Clone, PartialEq)]
pub struct CheckedClaim {
    pub text: String,
    pub source: String,
    /// Interpretation of its words, where it is not obvious.
    pub reading: Option<String>,
    /// All of them must hold.
    pub parts: Vec<CheckedPart>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CheckedPart {
    /// Systems, tests and client counts in words; empty for all.
    pub scope: String,
    pub statement: Statement,
    pub checked: CheckedStatement,
    /// Sentences about words that name no system and no test of any study.
    pub missing: Vec<String>,
}

impl CheckedClaim {
    pub fn status(&self) -> ClaimStatus {
        ClaimStatus::of_all(self.parts.iter().map(|part| part.checked.status))
    }
}

/// The values of several studies count together. `counterparts` gives, for a system of the post, the system of the
/// studies that answers for it. Without any, claims name the systems of the studies.
pub fn check_claims(
    claims: &[PublishedClaim],
    records: &[StudyRecord],
    counterparts: &BTreeMap<String, String>,
) -> Vec<CheckedClaim> {
    let mut sources: Vec<(&StudyRecord, ClaimSource<'_>)> =
        records.iter().map(|it| (it, ClaimSource::new(it))).collect();
    let mut all = Vec::with_capacity(claims.len());
    for claim in claims {
        let parts = claim.parts.iter().map(|it| check_part(it, &mut sources, counterparts));
        all.push(CheckedClaim {
            text: claim.text.clone(),
            source: claim.source.clone(),
            reading: claim.reading.clone(),
            parts: parts.collect(),
        });
    }
    all
}

fn check_part(
    part: &ClaimPart,
    sources: &mut [(&StudyRecord, ClaimSource<'_>)],
    counterparts: &BTreeMap<String, String>,
) -> CheckedPart {
    let mut figures = Vec::new();
    let mut missing: Vec<String> = Vec::new();
    let mut is_found = false;
    for (record, source) in sources {
        let systems = ClaimSystems { systems: &record.systems, counterparts };
        let scope = part.pairs(&systems).and_then(|pairs| {
            let extremes = part.extremes(&systems)?;
            Ok(ClaimScope { pairs, cells: part.cells(record), extremes })
        });
        let message = match (scope, part.unknown_test(record)) {
            (Ok(scope), None) => {
                is_found = true;
                figures.extend(source.figures(&scope, &part.statement));
                continue;
            }
            (Ok(_), Some(words)) => {
                let groups = groups(record);
                format!("no test and no group is named `{words}`; groups are {groups}")
            }
            (Err(words), _) => {
                let names: Vec<&str> = record.systems.iter().map(|it| it.name.as_str()).collect();
                format!("`{words}` is not among the systems: {}", names.join(", "))
            }
        };
        if !missing.contains(&message) {
            missing.push(message);
        }
    }
    if is_found {
        missing.clear();
    }
    CheckedPart {
        scope: part.scope(),
        statement: part.statement.clone(),
        checked: check_claim(&part.statement, figures),
        missing,
    }
}

fn groups(record: &StudyRecord) -> String {
    let groups = record.study.cells.iter().map(|cell| cell.id.test.group(record.study.set));
    let groups: BTreeSet<_> = groups.collect();
    groups.into_iter().map(|group| group.word.as_str()).collect::<Vec<_>>().join(", ")
}
