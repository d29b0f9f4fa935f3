//! Tables of posts whose data were not published, by name.

use std::collections::BTreeMap;

use assay_model::{PublishedGroup, Setup, StudyRecord};
use serde::Deserialize;

use crate::steps::{StepResult, study_of_steps};
use crate::study::{ImportFacts, empty, place_of};

#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    pub slug: String,
    /// Author, date and subject of the post.
    pub source: String,
    /// Hardware and load, as far as the post describes them.
    pub note: String,
    /// Systems and relative rates, if the table has them. The rates of this record are relative: only their ratios have
    /// a meaning.
    pub record: StudyRecord,
    pub groups: Vec<PublishedGroup>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceFile {
    reference: Vec<ReferenceRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceRow {
    slug: String,
    source: String,
    note: String,
    clients: u32,
    #[serde(default)]
    pair: Vec<ReferencePair>,
    #[serde(default)]
    steps: Vec<String>,
    #[serde(default)]
    rates: BTreeMap<String, Vec<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferencePair {
    base: String,
    system: String,
    groups: BTreeMap<String, GroupStatistics>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupStatistics {
    min: f64,
    max: f64,
    average: f64,
    median: f64,
}

/// By date.
pub fn references() -> Vec<Reference> {
    let file = toml::from_str::<ReferenceFile>(include_str!("references.toml"));
    file.expect("the table is part of the program").reference.into_iter().map(reference).collect()
}

fn reference(row: ReferenceRow) -> Reference {
    let about = ImportFacts {
        reported_in: row.source.clone(),
        id: row.slug.clone(),
        imported_ms: 0,
        setup: Setup { clients: row.clients, tables: 1, rows: 1 },
        assay_version: String::new(),
    };
    let mut servers: Vec<String> = Vec::new();
    let mut groups = Vec::new();
    for pair in &row.pair {
        let [base, system] = [&pair.base, &pair.system].map(|name| place_of(&mut servers, name));
        groups.extend(pair.groups.iter().map(|(word, it)| PublishedGroup {
            base,
            system,
            word: word.clone(),
            min: it.min,
            max: it.max,
            average: it.average,
            median: it.median,
        }));
    }
    let record = if row.rates.is_empty() {
        empty(&servers, Vec::new(), &about)
    } else {
        study_of_steps(&results(&row), &about).expect("its steps are known").record
    };
    let ReferenceRow { slug, source, note, .. } = row;
    Reference { slug, source, note, record, groups }
}

/// A thousand times each ratio is precise enough as a rate.
fn results(row: &ReferenceRow) -> Vec<StepResult> {
    let result = |server: &str, step: &str, rate: f64| {
        let is_query = step.starts_with('q');
        let rate = 1000.0 * rate;
        StepResult {
            step: step.to_owned(),
            server: server.to_owned(),
            inserts: (!is_query).then_some(rate),
            queries: if is_query { rate } else { 0.0 },
            published: Vec::new(),
        }
    };
    let of_server = |(server, rates): (&String, &Vec<f64>)| {
        let steps = row.steps.iter().zip(rates);
        steps.map(|(step, rate)| result(server, step, *rate)).collect::<Vec<_>>()
    };
    row.rates.iter().flat_map(of_server).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_can_be_read() {
        let file: ReferenceFile = toml::from_str(include_str!("references.toml")).unwrap();
        let all = references();
        assert!(all.iter().all(|reference| !reference.record.systems.is_empty()));
        for (reference, row) in all.iter().zip(&file.reference) {
            let rates = row.steps.len() * row.rates.len();
            assert_eq!(reference.record.slices.len(), rates, "{}", row.slug);
            let groups: usize = row.pair.iter().map(|pair| pair.groups.len()).sum();
            assert_eq!(reference.groups.len(), groups, "{}", row.slug);
            assert!(rates + groups > 0, "{}", row.slug);
            let known =
                reference.record.systems.iter().all(|it| it.artifact.version().contains('.'));
            assert!(known, "{}", row.slug);
        }
    }
}
