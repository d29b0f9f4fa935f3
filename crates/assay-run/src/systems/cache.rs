//! The cache: templates with the locks of their users and makers, its bound, and room for copies.
//!
//! A template in use is locked, shared by all users. A process that makes or removes one holds a claim beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use assay_provision::{ProvisionOptions, Provisioner};
use assay_servers::{DirectoryClaim, UNFINISHED};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::environment::{Environment, TEMPLATES};
use crate::advice::HintedError;
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
        bail!(HintedError::new(
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
pub(crate) fn making(env: &Environment, template: &Path) -> Result<DirectoryClaim> {
    // Every user who can open a directory can lock it.
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

fn try_making(template: &Path) -> Result<Option<DirectoryClaim>> {
    Ok(DirectoryClaim::try_take(&unfinished(template))?)
}

fn unfinished(template: &Path) -> PathBuf {
    let name = template.file_name().unwrap_or_default().to_string_lossy();
    template.with_file_name(format!("{UNFINISHED}{name}"))
}

const LIMIT: &str = "ASSAY_CACHE_LIMIT";

const LIMIT_MIN: u64 = 10 << 30;

/// The default bound is the disk's size divided by this.
const LIMIT_PART: u64 = 10;

const INSTANCES: &str = "instances";

/// Removes the least recently used loaded data, then builds of commits, until the cache is within its bound. Anything
/// in use stays, even if another user uses it.
pub(crate) fn keep_within_bound(env: &Environment) -> Result<()> {
    let limit = limit(&env.cache_dir)?;
    let mut total = 0;
    for entry in fs_err::read_dir(&env.cache_dir)? {
        let entry = entry?;
        if entry.file_name() != INSTANCES {
            total += size(&entry.path());
        }
    }
    if total > limit {
        let gigabytes = limit as f64 / f64::from(1 << 30);
        let why = format!("the cache is bounded to {gigabytes:.1} GB (`{LIMIT}`)");
        let freed = remove_oldest(env, total - limit, &why)?;
        remove_builds(env, (total - limit).saturating_sub(freed), &why)?;
    }
    Ok(())
}

fn remove_builds(env: &Environment, wanted: u64, why: &str) -> Result<()> {
    if wanted == 0 {
        return Ok(());
    }
    let removed =
        Provisioner::new(&env.cache_dir, ProvisionOptions::default())?.remove_builds(wanted)?;
    for entry in removed {
        let name = entry.path.file_name().unwrap_or_default().display();
        env.progress.note(&format!("note: removed the build `{name}`: {why}"));
    }
    Ok(())
}

/// Removes unused data if the disk has no room for a copy of each of these.
pub(crate) fn make_room_for(env: &Environment, data: &[&Path]) -> Result<()> {
    let instances = env.cache_dir.join(INSTANCES);
    fs_err::create_dir_all(&instances)?;
    make_room(env, assay_servers::missing_room(data, &instances)?).map(drop)
}

/// Removes unused data until this many more bytes are free. Returns whether they are.
pub(crate) fn make_room(env: &Environment, missing: u64) -> Result<bool> {
    Ok(missing == 0 || remove_oldest(env, missing, "the disk is full")? >= missing)
}

/// Returns the bytes that were freed.
fn remove_oldest(env: &Environment, wanted: u64, why: &str) -> Result<u64> {
    let mut oldest = Vec::new();
    for path in templates(&env.cache_dir)? {
        // Another assay may have removed it meanwhile.
        oldest.extend(last_used(&path).ok().map(|at| (at, path)));
    }
    oldest.sort();
    let mut freed = 0;
    for (_, path) in oldest {
        if freed >= wanted {
            break;
        }
        let (bytes, what) = (size(&path), described(&path));
        if remove_unused(&path).is_ok_and(|is_removed| is_removed) {
            freed += bytes;
            env.progress.note(&format!("note: removed the data of {what}: {why}"));
        }
    }
    Ok(freed)
}

/// Bytes. With less, servers fail.
const NOTHING_LEFT: u64 = 16 << 20;

fn is_full(cache_dir: &Path) -> bool {
    let left =
        rustix::fs::statvfs(cache_dir).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    matches!(left, Ok(..NOTHING_LEFT))
}

/// Messages of servers and the kernel for a full disk. Space may have been freed since.
const FULL: [&str; 5] =
    ["No space left on device", "os error 28", "system error 28", "is full", "got full"];

pub fn fails_for_space(why: &str, cache_dir: &Path) -> bool {
    FULL.iter().any(|words| why.contains(words)) || is_full(cache_dir)
}

/// Appends that the disk of the cache is full, if it is: not every server says why it ends.
pub fn with_full_disk(why: String, cache_dir: &Path) -> String {
    if is_full(cache_dir) { format!("{why}; the disk of the cache is full") } else { why }
}

pub fn limit(cache_dir: &Path) -> Result<u64> {
    match std::env::var(LIMIT) {
        Ok(text) => match parse_size(&text) {
            Some(bytes) => Ok(bytes),
            None => bail!(HintedError::new(
                format!("`{LIMIT}` is `{text}`, which is no size"),
                "give a size such as `20G` or `500M`"
            )),
        },
        Err(_) => {
            let disk = rustix::fs::statvfs(cache_dir).map_err(std::io::Error::from)?;
            Ok(LIMIT_MIN.max(disk.f_blocks.saturating_mul(disk.f_frsize) / LIMIT_PART))
        }
    }
}

/// Bytes, with an optional binary unit.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let text = text.strip_suffix(['B', 'b']).unwrap_or(text);
    let text = text.strip_suffix('i').unwrap_or(text);
    let unit = text.chars().next_back()?;
    let power = "KMGT".find(unit.to_ascii_uppercase());
    let digits = if power.is_some() { text.get(..text.len() - 1)? } else { text };
    let number: f64 = digits.trim().parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0)?;
    let shift = power.map_or(0, |power| 10 * (power as i32 + 1));
    Some((number * 2_f64.powi(shift)) as u64)
}

pub fn templates(cache_dir: &Path) -> Result<Vec<PathBuf>> {
    let place = cache_dir.join(TEMPLATES);
    if !place.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs_err::read_dir(place)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(UNFINISHED) && entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// A template is used when instances are copied from it. The copying marks it.
pub fn last_used(path: &Path) -> Result<SystemTime> {
    Ok(fs_err::metadata(path)?.modified()?)
}

/// System and data of a template; only its key if an interrupted assay has not described it.
pub fn described(template: &Path) -> String {
    let text = fs_err::read_to_string(description(template)).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let name =
        || template.file_name().unwrap_or_default().to_string_lossy().chars().take(12).collect();
    if line.is_empty() { name() } else { line.to_owned() }
}

/// Bytes on disk of all files below a directory, hard links once. Holes take none. Files that disappear meanwhile do
/// not count.
pub fn size(path: &Path) -> u64 {
    fn add(path: &Path, seen: &mut BTreeSet<(u64, u64)>) -> u64 {
        let Ok(found) = fs_err::symlink_metadata(path) else { return 0 };
        if found.is_dir() {
            let entries = fs_err::read_dir(path).into_iter().flatten().flatten();
            return entries.map(|entry| add(&entry.path(), seen)).sum();
        }
        let is_new = found.nlink() == 1 || seen.insert((found.dev(), found.ino()));
        if is_new { found.blocks() * 512 } else { 0 }
    }
    add(path, &mut BTreeSet::new())
}

// Equal files of a template are hard links: Postgres' template databases are copies of each other, and so are most
// files that loading and aging do not touch. No process writes to a template, because servers run on copies with
// their own files.

/// Smaller files take hardly any space.
const SMALLEST: u64 = 8 << 10;

/// Larger files are tables, which are rarely equal and take long to read.
const LARGEST: u64 = 64 << 20;

pub(crate) fn share_equal_files(dir: &Path) -> Result<()> {
    let mut alike: BTreeMap<(u64, u32), Vec<PathBuf>> = BTreeMap::new();
    collect(dir, &mut alike)?;
    for paths in alike.into_values().filter(|paths| paths.len() > 1) {
        let mut kept: BTreeMap<Vec<u8>, PathBuf> = BTreeMap::new();
        for path in paths {
            let digest = Sha256::digest(fs_err::read(&path)?).to_vec();
            match kept.get(&digest) {
                Some(same) => link(same, &path),
                None => {
                    kept.insert(digest, path);
                }
            }
        }
    }
    Ok(())
}

fn collect(dir: &Path, alike: &mut BTreeMap<(u64, u32), Vec<PathBuf>>) -> Result<()> {
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        let found = entry.metadata()?;
        if found.is_dir() {
            collect(&entry.path(), alike)?;
        } else if found.is_file()
            && (SMALLEST..=LARGEST).contains(&found.len())
            && found.blocks() > 0
        {
            let key = (found.len(), found.permissions().mode());
            alike.entry(key).or_default().push(entry.path());
        }
    }
    Ok(())
}

/// Makes `path` a hard link to `same`. If that is impossible, it takes extra space.
fn link(same: &Path, path: &Path) {
    let unfinished = path.with_extension("new-link");
    let linked = fs_err::hard_link(same, &unfinished)
        .and_then(|()| fs_err::rename(&unfinished, path))
        // Renaming does nothing if both are the same file already.
        .map(|()| drop(fs_err::remove_file(&unfinished)));
    if let Err(error) = linked {
        log::debug!("{error}");
        drop(fs_err::remove_file(&unfinished));
    }
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

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("20G"), Some(20 << 30));
        assert_eq!(parse_size(" 1.5 gb"), Some(3 << 29));
        assert_eq!(parse_size("500MiB"), Some(500 << 20));
        assert_eq!(parse_size("4096"), Some(4096));
        for wrong in ["", "G", "-1G", "inf", "nan", "12X", "ä"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_file_with_two_names_counts_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs_err::write(&path, vec![1; 100_000]).unwrap();
        let once = size(dir.path());
        fs_err::hard_link(&path, dir.path().join("b")).unwrap();
        assert!(once >= 100_000 && size(dir.path()) == once);
        assert_eq!(size(Path::new("/proc/no/such")), 0);
    }

    #[test]
    fn equal_files_are_kept_once_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs_err::create_dir(path("sub")).unwrap();
        for (name, byte) in [("a", 1), ("sub/b", 1), ("c", 2), ("d", 1)] {
            fs_err::write(path(name), vec![byte; 20_000]).unwrap();
        }
        fs_err::set_permissions(path("d"), std::fs::Permissions::from_mode(0o600)).unwrap();
        for _ in 0..2 {
            share_equal_files(dir.path()).unwrap();
            let inode = |name: &str| fs_err::metadata(path(name)).unwrap().ino();
            assert_eq!(inode("a"), inode("sub/b"));
            assert!(inode("a") != inode("c") && inode("a") != inode("d"));
            assert_eq!(fs_err::read(path("sub/b")).unwrap(), vec![1; 20_000]);
            assert_eq!(fs_err::read_dir(dir.path()).unwrap().count(), 4);
        }
    }
}
