//! Reads `printed.toml`: the tables of a post, and the systems here that answer for those of the post.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use assay_claim_check::Summary;
use assay_model::System;
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrintedPost {
    /// Author, title and date.
    pub(crate) source: String,
    pub(crate) url: Option<String>,
    /// Systems of here.toml by those of the study for which they answer.
    #[serde(default)]
    pub(crate) here: BTreeMap<String, String>,
    #[serde(default, rename = "table")]
    pub(crate) tables: Vec<PrintedTable>,
    #[serde(default, rename = "failure")]
    pub(crate) failures: Vec<PrintedFailure>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrintedTable {
    pub(crate) title: String,
    pub(crate) unit: PrintedUnit,
    /// The system that the numbers are relative to.
    pub(crate) base: Option<String>,
    /// Printed digits after the point.
    pub(crate) digits: usize,
    /// The study file that it belongs to.
    #[serde(default = "first_study")]
    pub(crate) study: String,
    pub(crate) clients: Option<u32>,
    pub(crate) tables: Option<u32>,
    #[serde(default)]
    systems: Vec<String>,
    system: Option<String>,
    #[serde(default)]
    statistics: Vec<Summary>,
    /// Numbers of each column by test, step or group; NaN where nothing is printed.
    pub(crate) rows: BTreeMap<String, Vec<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum PrintedUnit {
    #[serde(rename = "relative QPS")]
    RelativeQps,
    /// Of a step of the Insert Benchmark.
    #[serde(rename = "relative rate")]
    RelativeRate,
    /// In percent.
    #[serde(rename = "change of rate")]
    ChangeOfRate,
    #[serde(rename = "relative cpu/o")]
    RelativeCpu,
    /// CPU of the machine for each operation per second, in percent.
    #[serde(rename = "cpu/o")]
    Cpu,
}

impl PrintedUnit {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::RelativeQps => "relative QPS",
            Self::RelativeRate => "relative rate",
            Self::ChangeOfRate => "change of rate",
            Self::RelativeCpu => "relative cpu/o",
            Self::Cpu => "cpu/o",
        }
    }
}

/// Releases that do not compile, says the post.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrintedFailure {
    pub(crate) product: String,
    pub(crate) what: String,
    from: Option<String>,
    to: Option<String>,
}

fn first_study() -> String {
    "study.toml".to_owned()
}

/// A column: a system, and the statistic if the table has statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrintedColumn<'a> {
    pub(crate) system: &'a str,
    pub(crate) statistic: Option<Summary>,
}

impl PrintedPost {
    pub(crate) fn read(text: &str) -> Result<Self> {
        let post: Self = toml::from_str(text)?;
        post.tables.iter().try_for_each(PrintedTable::check)?;
        Ok(post)
    }

    /// The system that answers for one of the post: itself, or its counterpart.
    pub(crate) fn answering(&self, name: &str, systems: &[System]) -> Option<usize> {
        let find = |name: &str| systems.iter().position(|system| system.name == name);
        find(name).or_else(|| find(self.here.get(name)?))
    }

    /// The names of systems of a study by those for which they answer; empty if all of them are the post's own.
    pub(crate) fn counterparts(&self, systems: &[System]) -> BTreeMap<String, String> {
        let counterpart = |name: &String| {
            let here = self.answering(name, systems)?;
            Some((name.clone(), systems[here].name.clone()))
        };
        let all: BTreeMap<String, String> = self.here.keys().filter_map(counterpart).collect();
        if all.iter().any(|(name, here)| name != here) { all } else { BTreeMap::new() }
    }
}

impl PrintedTable {
    pub(crate) fn columns(&self) -> Vec<PrintedColumn<'_>> {
        match &self.system {
            Some(system) => {
                let column = |&statistic| PrintedColumn { system, statistic: Some(statistic) };
                self.statistics.iter().map(column).collect()
            }
            None => {
                let column = |system| PrintedColumn { system, statistic: None };
                self.systems.iter().map(String::as_str).map(column).collect()
            }
        }
    }

    fn check(&self) -> Result<()> {
        const DIGITS: usize = 9;
        let title = &self.title;
        let columns = self.columns().len();
        ensure!(columns > 0, "table `{title}` has no columns");
        let has_both = self.system.is_some() && !self.systems.is_empty();
        ensure!(!has_both, "table `{title}` has both `system` and `systems`");
        let has_statistics = !self.statistics.is_empty();
        ensure!(
            self.system.is_some() == has_statistics,
            "table `{title}` has only one of `system` and `statistics`"
        );
        ensure!(self.digits <= DIGITS, "table `{title}` has more than {DIGITS} digits");
        let is_relative = self.unit != PrintedUnit::Cpu;
        ensure!(
            self.base.is_some() == is_relative,
            "table `{title}` has a base, but is not relative, or the other way round"
        );
        for (row, numbers) in &self.rows {
            ensure!(numbers.len() == columns, "table `{title}`: `{row}` has not {columns} numbers");
            ensure!(
                !numbers.iter().any(|number| number.is_infinite()),
                "table `{title}`: `{row}` has an infinite number"
            );
        }
        Ok(())
    }
}

impl PrintedFailure {
    /// `mysql 8.0.0 to 8.0.23: OpenSSL 1.1`.
    pub(crate) fn words(&self) -> String {
        let releases = match (&self.from, &self.to) {
            (Some(from), Some(to)) if from == to => format!(" {from}"),
            (from, to) => {
                let from = from.iter().map(|from| format!(" {from}"));
                from.chain(to.iter().map(|to| format!(" to {to}"))).collect()
            }
        };
        format!("{}{releases}: {}", self.product, self.what)
    }
}
