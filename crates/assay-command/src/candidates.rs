//! Shell completions for systems, tests, studies and servers. Nothing is fetched, and a failure completes nothing.

use std::ffi::OsStr;
use std::path::PathBuf;

use assay_ledger::Ledger;
use assay_model::TestSet;
use assay_run::paths;
use assay_servers::FoundServer;
use clap_complete::engine::CompletionCandidate;

/// Systems of the catalog: first the series, and the patch releases of a series once it is typed.
pub fn systems(word: &OsStr) -> Vec<CompletionCandidate> {
    let typed = word.to_string_lossy();
    let all = assay_provision::catalog_names().unwrap_or_default();
    let mut names: Vec<String> = all.iter().map(|name| shown(name, &typed).to_owned()).collect();
    names.dedup();
    beginning(word, names)
}

fn shown<'a>(name: &'a str, typed: &str) -> &'a str {
    let parts = if name.starts_with("postgres@") { 1 } else { 2 };
    match name.match_indices('.').nth(parts - 1) {
        Some((end, _)) if typed.len() <= end => name.get(..end).unwrap_or(name),
        _ => name,
    }
}

pub fn tests(word: &OsStr) -> Vec<CompletionCandidate> {
    let micro = assay_workloads::tests_of(TestSet::All);
    let scripts = assay_workloads::oltp_tests(&assay_workloads::OltpOptions::default());
    let all = micro.into_iter().chain(scripts).map(|test| test.name().to_owned());
    beginning(word, all.chain([assay_workloads::TPCC.to_owned()]))
}

pub fn studies(word: &OsStr) -> Vec<CompletionCandidate> {
    let ledger = || -> anyhow::Result<Vec<String>> {
        let given = std::env::var_os("ASSAY_LEDGER").map(PathBuf::from);
        let file = paths::ledger_file(given.as_deref())?;
        let studies = Ledger::open_read_only(&file)?.studies()?;
        let named = studies.into_iter().rev().map(|it| it.name.unwrap_or(it.id));
        Ok(named.collect())
    };
    let found = ledger().unwrap_or_default();
    let latest = (!found.is_empty()).then(|| "latest".to_owned());
    beginning(word, latest.into_iter().chain(found))
}

pub fn servers(word: &OsStr) -> Vec<CompletionCandidate> {
    let found = || -> anyhow::Result<Vec<FoundServer>> {
        if !paths::state_dir()?.is_dir() {
            return Ok(Vec::new());
        }
        Ok(assay_servers::kept_servers(&assay_servers::run_root(Some(&paths::sandboxes()?)))?)
    };
    beginning(word, found().unwrap_or_default().into_iter().map(|it| it.kept.name))
}

fn beginning(word: &OsStr, all: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let word = word.to_string_lossy();
    let fitting = all.into_iter().filter(|it| it.starts_with(&*word));
    fitting.map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(word: &str, complete: fn(&OsStr) -> Vec<CompletionCandidate>) -> Vec<String> {
        let found = complete(OsStr::new(word)).into_iter();
        found.map(|it| it.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_series_comes_before_its_releases() {
        let series = completed("mariadb@1", systems);
        assert!(series.contains(&"mariadb@10.11".to_owned()), "{series:?}");
        assert!(series.iter().all(|name| name.matches('.').count() == 1), "{series:?}");
        let releases = completed("mariadb@10.11.", systems);
        assert!(releases.contains(&"mariadb@10.11.6".to_owned()), "{releases:?}");
        assert!(completed("postgres@", systems).contains(&"postgres@17".to_owned()));
        assert!(completed("oracle", systems).is_empty());
    }

    #[test]
    fn tests_are_those_of_every_set() {
        assert!(completed("point", tests).contains(&"point-query".to_owned()));
        assert!(completed("oltp_", tests).contains(&"oltp_read_write".to_owned()));
    }
}
