//! The versions of a search: releases from the sources, commits from a repository.

use anyhow::{Result, bail};
use assay_model::{BisectVersion, limits};
use assay_provision::Releases;

use super::range::{Range, one_a_series};
use crate::advice::Advised;
use crate::systems::{Environment, fetch_one, provisioner};

/// What is searched first.
pub(super) struct First {
    pub(super) range: Range,
    pub(super) versions: Vec<BisectVersion>,
    /// All releases.
    pub(super) releases: Vec<String>,
    /// The source of all of them, if they are releases from one.
    pub(super) source: Option<String>,
    pub(super) is_of_commits: bool,
}

/// The versions of the first range whose ends are in order.
pub(super) fn first(
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
    if found.len() > limits::bisect::VERSIONS {
        bail!(Advised::new(
            format!("{} has {} commits", range.words(), found.len()),
            format!(
                "a search takes at most {}: name a shorter range, or narrow it with `--paths`",
                limits::bisect::VERSIONS
            )
        ));
    }
    env.progress.note(&format!("{} commits, the ends included", found.len()));
    let versions = found.iter().map(|it| range.commit(&it.id, &it.title)).collect();
    let releases = Vec::new();
    Ok(First { range: range.clone(), versions, releases, source: None, is_of_commits: true })
}

fn releases(range: &Range, source: Option<&str>, env: &Environment<'_>) -> Result<First> {
    let Releases { versions: releases, source } = found(range, source, env)?;
    let first = one_a_series(range.product, &releases);
    let kinds = if first.len() == releases.len() { "" } else { ", one of each series first" };
    let from = match &source {
        Some(source) => format!("all from {source}"),
        None => "from several sources, so a small difference may be one of their builds".to_owned(),
    };
    env.progress.note(&format!("{} releases, {from}{kinds}: {}", releases.len(), first.join(", ")));
    let versions = first.iter().map(|version| range.release(version)).collect();
    Ok(First { range: range.clone(), versions, releases, source, is_of_commits: false })
}

/// The releases of a range from the best source that can be reached.
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
