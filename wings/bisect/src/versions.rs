//! Versions of a search: releases from the sources, commits from a repository.

use anyhow::{Result, bail};
use assay_model::{BisectVersion, limits};
use assay_provision::Releases;

use super::range::{Range, one_a_series};
use assay_run::advice::Advised;
use assay_run::systems::{Environment, fetch_one, provisioner};

pub struct First {
    pub range: Range,
    pub versions: Vec<BisectVersion>,
    pub releases: Vec<String>,
    /// The source of all releases, if they share one.
    pub source: Option<String>,
    pub is_of_commits: bool,
    /// Indices of the ends of a range of commits that change none of its paths.
    pub aside: Vec<usize>,
}

impl First {
    pub(super) fn check(&self) -> Result<()> {
        if self.versions.len() > limits::bisect::VERSIONS {
            bail!(Advised::new(
                format!("{} has {} commits", self.range.words(), self.versions.len()),
                format!(
                    "a search takes at most {}: name a shorter range, or narrow it with `--paths`",
                    limits::bisect::VERSIONS
                )
            ));
        }
        Ok(())
    }

    pub(super) fn message(&self) -> String {
        if self.is_of_commits {
            return format!("{} commits, the ends included", self.versions.len());
        }
        let from = match &self.source {
            Some(source) => format!("all from {source}"),
            None => {
                "from several sources, so a small difference may be one of their builds".to_owned()
            }
        };
        let all = self.releases.len();
        let kinds = if self.versions.len() == all { "" } else { ", one of each series first" };
        let names: Vec<&str> = self.versions.iter().map(|it| it.name.as_str()).collect();
        format!("{all} releases, {from}{kinds}: {}", names.join(", "))
    }

    pub fn all(&self) -> Vec<BisectVersion> {
        match self.is_of_commits {
            true => self.versions.clone(),
            false => self.releases.iter().map(|it| self.range.release(it)).collect(),
        }
    }

    /// The baseline and the relevant versions after it, in order.
    pub fn watched(&self) -> Vec<BisectVersion> {
        let all = self.all().into_iter().enumerate();
        let counts = all.filter(|(at, _)| *at == 0 || !self.aside.contains(at));
        counts.map(|(_, version)| version).collect()
    }
}

/// Versions of the first range whose ends are in order.
pub fn first(
    ranges: &[Range],
    paths: &[String],
    source: Option<&str>,
    env: &Environment<'_>,
) -> Result<First> {
    let mut refused = None;
    for range in ranges {
        let found = match range.place {
            Some(_) => commits(range, paths, env),
            None => releases(range, source, env),
        };
        match found {
            Ok(found) => return Ok(found),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| anyhow::anyhow!("there is nothing to search")))
}

fn commits(range: &Range, paths: &[String], env: &Environment<'_>) -> Result<First> {
    let place = range.place.as_deref().unwrap_or_default();
    let [first, last] = &range.ends;
    let found = provisioner(env)?.commits(place, [first, last], paths)?;
    let versions = found.iter().map(|it| range.commit(&it.id, &it.title)).collect();
    let aside = found.iter().enumerate().filter(|(_, it)| it.is_aside).map(|(at, _)| at);
    Ok(First {
        range: range.clone(),
        versions,
        releases: Vec::new(),
        source: None,
        is_of_commits: true,
        aside: aside.collect(),
    })
}

fn releases(range: &Range, source: Option<&str>, env: &Environment<'_>) -> Result<First> {
    let Releases { versions: releases, source } = found(range, source, env)?;
    let first = one_a_series(range.product, &releases);
    let versions = first.iter().map(|version| range.release(version)).collect();
    let aside = Vec::new();
    Ok(First { range: range.clone(), versions, releases, source, is_of_commits: false, aside })
}

fn found(range: &Range, source: Option<&str>, env: &Environment<'_>) -> Result<Releases> {
    let [first, last] = &range.ends;
    let all = provisioner(env)?.with_source(source.map(str::to_owned))?;
    let mut refused = None;
    for releases in all.releases(range.product, [first, last])? {
        let Some(end) = releases.versions.first() else { continue };
        let words = range.release(end).words;
        let spec = assay_plan::parse_system(&words)?;
        match fetch_one(&all, &words, &spec, releases.source.as_deref(), env) {
            Ok(_) => return Ok(releases),
            Err(error) => refused = refused.or(Some(error)),
        }
        env.interrupt.check()?;
    }
    Err(refused.unwrap_or_else(|| {
        Advised::new(
            format!("no source has both ends of `{}` in this order", range.words()),
            format!("`assay server list --available {}` lists the releases", range.product),
        )
        .into()
    }))
}
