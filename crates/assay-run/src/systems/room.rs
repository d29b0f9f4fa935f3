//! Disk space: the bound on the cache, and room for copies.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, bail};
use assay_provision::{Options, Provisioner};
use assay_servers::UNFINISHED;

use super::cached::{description, remove_unused};
use super::environment::{Environment, TEMPLATES};
use crate::advice::Advised;

const LIMIT: &str = "ASSAY_CACHE_LIMIT";

const LIMIT_MIN: u64 = 10 << 30;

/// The default bound is the disk's size divided by this.
const LIMIT_PART: u64 = 10;

const INSTANCES: &str = "instances";

/// Removes the least recently used loaded data, then builds of commits, until the cache is within its bound. Anything
/// in use stays, whoever uses it.
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
        let why = format!("the cache is bounded to {}", gigabytes(limit));
        let freed = remove_oldest(env, total - limit, &why)?;
        remove_builds(env, (total - limit).saturating_sub(freed), &why)?;
    }
    Ok(())
}

fn remove_builds(env: &Environment, wanted: u64, why: &str) -> Result<()> {
    if wanted == 0 {
        return Ok(());
    }
    let removed = Provisioner::new(&env.cache_dir, Options::default())?.remove_builds(wanted)?;
    for entry in removed {
        let name = entry.path.file_name().unwrap_or_default().display();
        env.progress.note(&format!("note: removed the build `{name}`: {why}"));
    }
    Ok(())
}

/// Removes unused data if the disk has no room for a copy of `data`.
pub(crate) fn make_room_for(env: &Environment, data: &Path) -> Result<()> {
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
            None => bail!(Advised::new(
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

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB (`{LIMIT}`)", bytes as f64 / f64::from(1 << 30))
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
