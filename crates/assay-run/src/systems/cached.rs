//! Templates in the cache: locks of users and makers, removal, and descriptions.
//!
//! A template in use is locked, shared by all users. Whoever makes or removes one holds a claim beside it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use assay_servers::{Claim, UNFINISHED};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::environment::{Environment, TEMPLATES};
use crate::advice::Advised;
use crate::paths;

/// Interval of checks whether another assay has made a template.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Raised when the content of template directories is made differently.
pub(crate) const TEMPLATE_VERSION: u32 = 6;

/// Name of a template directory, or of a claim: a digest of everything that it depends on.
pub fn key(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let mut name = hex::encode(digest.finalize());
    name.truncate(32);
    name
}

/// Marks a template as one that instances are copied from, until the file is closed.
pub(crate) fn hold(dir: &Path) -> Result<fs_err::File> {
    let directory = fs_err::File::open(dir)?;
    directory.file().lock_shared()?;
    // Data may say what a server loads.
    if let Some(part) = assay_provision::part_of_others(dir)? {
        bail!(Advised::new(
            format!(
                "other users of this machine can change `{}`, which servers would read",
                part.display()
            ),
            format!("remove `{}`: assay creates it again", dir.display()),
        ));
    }
    Ok(directory)
}

/// The same, if it `is_whole` and no other process is making or removing it.
pub(crate) fn hold_unless_made(
    dir: &Path,
    is_whole: impl FnOnce() -> bool,
) -> Result<Option<fs_err::File>> {
    let Some(making) = try_making(dir)? else { return Ok(None) };
    let held = is_whole().then(|| hold(dir)).transpose()?;
    making.remove()?;
    Ok(held)
}

/// Removes a template, unless it is made or used, perhaps by an assay in another container that shares only the cache.
pub fn remove_unused(dir: &Path) -> Result<bool> {
    let Some(making) = try_making(dir)? else { return Ok(false) };
    let directory = fs_err::File::open(dir)?;
    let is_free = directory.file().try_lock().is_ok();
    if is_free {
        // Half a template must not pass for one, whatever interrupts this.
        fs_err::rename(dir, unfinished(dir))?;
        // An interrupted assay may have left none.
        let _ = fs_err::remove_file(description(dir));
    }
    making.remove()?;
    Ok(is_free)
}

/// Records the use of a template: long unused ones may be removed.
pub fn mark_used(dir: &Path) -> Result<()> {
    Ok(fs_err::File::open(dir)?.file().set_modified(std::time::SystemTime::now())?)
}

/// Path of a template's description; beside it, since everything in it is given to servers.
pub(crate) fn description(template: &Path) -> PathBuf {
    let cache = template.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    cache.join("template-notes").join(template.file_name().unwrap_or_default())
}

pub(crate) fn describe(template: &Path, what: &str) -> Result<()> {
    let path = description(template);
    if !path.exists() {
        if let Some(directory) = path.parent() {
            fs_err::create_dir_all(directory)?;
        }
        fs_err::write(path, what)?;
    }
    Ok(())
}

pub(crate) fn write_whole(path: &Path, made: &impl Serialize) -> Result<()> {
    let unfinished = path.with_extension("new");
    fs_err::write(&unfinished, serde_json::to_vec(made)?)?;
    Ok(fs_err::rename(&unfinished, path)?)
}

/// Keeps others from making the same template, such as an assay in a container that shares the cache.
pub(crate) fn making(env: &Environment, template: &Path) -> Result<Claim> {
    // Whoever can open a directory can lock it.
    paths::make_private(&env.cache_dir.join(TEMPLATES))?;
    loop {
        if let Some(claim) = try_making(template)? {
            return Ok(claim);
        }
        env.interrupt.check()?;
        env.progress.update("waiting for another assay that is preparing the same data");
        std::thread::sleep(LOOK_EVERY);
    }
}

fn try_making(template: &Path) -> Result<Option<Claim>> {
    Ok(Claim::try_take(&unfinished(template))?)
}

fn unfinished(template: &Path) -> PathBuf {
    let name = template.file_name().unwrap_or_default().to_string_lossy();
    template.with_file_name(format!("{UNFINISHED}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_goes_only_while_nobody_uses_or_makes_it() {
        let dir = tempfile::tempdir().unwrap();
        let template = dir.path().join("templates/a");
        fs_err::create_dir_all(template.join("fresh")).unwrap();
        describe(&template, "data of a").unwrap();
        let held = [hold(&template).unwrap(), hold(&template).unwrap()];
        assert!(!remove_unused(&template).unwrap());
        drop(held);
        let making = try_making(&template).unwrap().unwrap();
        assert!(!remove_unused(&template).unwrap());
        drop(making);
        assert!(template.join("fresh").is_dir());
        assert!(remove_unused(&template).unwrap());
        assert!(!template.exists() && !description(&template).exists());
        assert_eq!(fs_err::read_dir(dir.path().join("templates")).unwrap().count(), 0);
    }
}
