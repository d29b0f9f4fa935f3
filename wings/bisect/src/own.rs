//! Marks of the searches begun by this user's assay.

use std::path::PathBuf;

use anyhow::Result;
use fs_err as fs;

use super::alike::asked;
use super::program::from_anywhere;
use super::state::Search;
use assay_run::paths;
use assay_run::systems::key;

/// Marks a search as begun by this user's assay. A search downloads versions and builds commits, so assay continues
/// only its own, and only reads one in a ledger from elsewhere.
pub(super) fn begin(search: &Search) -> Result<()> {
    let mark = mark(search)?;
    fs::create_dir_all(mark.parent().unwrap_or(&mark))?;
    fs::write(mark, "")?;
    Ok(())
}

/// Remembers the program to run on findings: `assay resume` runs it too.
pub(super) fn remember(search: &Search, program: Option<&str>) -> Result<()> {
    fs::write(mark(search)?, program.map(from_anywhere).unwrap_or_default())?;
    Ok(())
}

pub(super) fn remembered(search: &Search) -> Option<String> {
    let program = mark(search).and_then(|mark| Ok(fs::read_to_string(mark)?)).ok();
    program.filter(|_| is_own(search)).filter(|program| !program.is_empty())
}

/// Whether this user's assay began a search with the same versions and work.
pub(super) fn is_own(search: &Search) -> bool {
    let is_marked = || mark(search).is_ok_and(|mark| mark.exists());
    search.has_known_versions() && is_marked()
}

fn mark(search: &Search) -> Result<PathBuf> {
    let words: Vec<&str> = search.first_versions().map(|it| it.words.as_str()).collect();
    let parts = [
        &search.id,
        &search.words,
        search.terms.measure.word(),
        &words.join("\n"),
        &search.releases.join("\n"),
        &asked(&search.request),
    ];
    Ok(paths::state_dir()?.join("searches").join(key(&parts)).with_extension("own"))
}

pub(super) fn end(search: &Search) {
    if let Err(error) = mark(search).and_then(|mark| Ok(fs::remove_file(mark)?)) {
        log::debug!("{error}");
    }
}
