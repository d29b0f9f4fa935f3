//! What differs between a post and the study that redoes it. Pure: no I/O, no clock.

use std::collections::BTreeSet;

use assay_model::{StudyRecord, System, counted};
use assay_plan::{Request, SystemRequest, request_of, write_study};
use assay_report::blocks::{NONE, source, thousands};

use crate::printed::PrintedPost;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PostDifference {
    pub(crate) what: String,
    pub(crate) post: String,
    pub(crate) here: String,
}

/// Systems, then keys of the study files, then the machine. `study` is the post as it was.
pub(crate) fn differences(
    study: &Request,
    post: &PrintedPost,
    record: &StudyRecord,
) -> Vec<PostDifference> {
    let system = |asked: &SystemRequest| {
        let name = asked.name.as_ref().unwrap_or(&asked.words);
        let here = post.answering(name, &record.systems).map(|it| &record.systems[it]);
        let what = "system".to_owned();
        PostDifference { what, post: in_post(asked), here: here.map_or_else(none, measured) }
    };
    let mut all: Vec<PostDifference> = study.systems.iter().map(system).collect();
    // An imported study has no request.
    if let Some(asked) = request_of(&record.study).ok().filter(|_| !record.is_reported()) {
        all.extend(keys(study, &asked));
    }
    let host = record.host();
    if host.is_known() {
        let memory = thousands(host.memory_kb as f64 / 1024.0);
        let cpus = counted(host.cpus, "CPU");
        all.push(PostDifference {
            what: "machine".to_owned(),
            post: "the author's".to_owned(),
            here: format!("{cpus} ({}), {memory} MiB", host.cpu),
        });
    }
    all
}

fn none() -> String {
    "not measured".to_owned()
}

/// `mysql-5.5 (mysql@5.5.29)`.
fn in_post(asked: &SystemRequest) -> String {
    match &asked.name {
        Some(name) => format!("{name} ({})", asked.words),
        None => asked.words.clone(),
    }
}

/// `mysql@8.0.33, version 8.0.33 from maven`.
fn measured(system: &System) -> String {
    let (name, version) = (&system.name, system.artifact.version());
    format!("{name}, version {version} from {}", source(system))
}

/// The keys of study files with different values, without those of systems.
fn keys(study: &Request, here: &Request) -> Vec<PostDifference> {
    let tables = [study, here].map(|request| {
        let mut table: toml::Table = toml::from_str(&write_study(request)).unwrap_or_default();
        ["compare", "system"].into_iter().for_each(|key| drop(table.remove(key)));
        table
    });
    let [post, here] = &tables;
    let all: BTreeSet<&String> = tables.iter().flat_map(|table| table.keys()).collect();
    let differing = all.into_iter().filter(|key| post.get(*key) != here.get(*key));
    let value = |table: &toml::Table, key: &str| table.get(key).map_or(NONE.to_owned(), words);
    let difference = |key: &String| PostDifference {
        what: key.clone(),
        post: value(post, key),
        here: value(here, key),
    };
    differing.map(difference).collect()
}

/// `1, 4`; `clients 1, 4, rows 20,000,000, tables 1; ...` of a list of tables.
fn words(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => thousands(*number as f64),
        toml::Value::Array(all) => {
            let is_of_tables = all.iter().any(toml::Value::is_table);
            let all: Vec<String> = all.iter().map(words).collect();
            all.join(if is_of_tables { "; " } else { ", " })
        }
        toml::Value::Table(table) => {
            let entry = |(key, value): (&String, &toml::Value)| format!("{key} {}", words(value));
            table.iter().map(entry).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_are_named_with_both_values() {
        let read = |text: &str| assay_plan::read_study("study.toml", text).unwrap();
        let study = "preset = \"published\"\nslice = \"300s\"\ncompare = [\"mysql@8.0\", \"mysql@9.7\"]\n\
                     [[setup]]\nclients = 12\nrows = 10_000_000\n";
        let here = "budget = \"30m\"\ncompare = [\"mysql@8.0.33\", \"mysql@9.7\"]\n\
                    [[setup]]\nclients = 4\nrows = 100_000\n";
        let found = keys(&read(study), &read(here));
        let named: Vec<&str> = found.iter().map(|it| it.what.as_str()).collect();
        assert_eq!(named, ["budget", "preset", "setup", "slice"]);
        let [_, preset, setup, slice] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(preset.post, "published");
        assert!(setup.post.contains("rows 10,000,000"), "{setup:?}");
        assert!(setup.here.contains("clients 4"), "{setup:?}");
        assert_eq!(slice.here, NONE);
        assert!(keys(&read(study), &read(study)).is_empty());
    }
}
