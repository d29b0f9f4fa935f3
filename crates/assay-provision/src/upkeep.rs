//! Entries of the cache, their removal, and copies of them for another machine.

use std::fs::TryLockError;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use assay_model::{Prefix, Product};
use fs_err as fs;

use crate::census::FileCensus;
use crate::error::Result;
use crate::provisioner::Provisioner;
use crate::sources;
use crate::sources::kind::SourceKind;
use crate::store::{BUILDING, MANIFEST, PINS, RESOLVED, TOOLS, UNFINISHED, entries_of};
use crate::unpack::remove_tree;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    pub kind: CacheEntryKind,
    pub path: PathBuf,
    pub bytes: u64,
    /// For a prefix or a tool, the last time it was held; otherwise the last write.
    pub last_used: SystemTime,
    pub in_use: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheEntryKind {
    Prefix {
        product: Product,
        version: String,
    },
    Valgrind {
        version: String,
    },
    /// A prefix or a tool with missing files or parts. Never used.
    Damaged,
    /// Downloads and trees of a run that was killed or is still in progress.
    Unfinished,
    Indexes,
    Pins,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaning {
    /// Prefixes and tools that were not used for this long, and everything damaged or unfinished.
    Unused(Duration),
    /// Including the indexes.
    Everything,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleaningResult {
    pub removed: Vec<CacheEntry>,
    /// Selected for removal, but held by a running process.
    pub in_use: Vec<CacheEntry>,
}

/// Keeps a prefix or a tool from being removed, by any process, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Hold {
    _manifest: fs::File,
}

impl Provisioner {
    /// Holds a prefix for use, and records the time as its last use.
    pub fn hold(&self, prefix: &Prefix) -> Result<Hold> {
        hold_tree(&prefix.path)
    }

    /// All of this crate's entries in the cache: prefixes by name, then the rest.
    pub fn entries(&self) -> Result<Vec<CacheEntry>> {
        let mut entries = Vec::new();
        for (name, path) in entries_of(&self.store.path("prefixes"))? {
            let kind = match self.store.prefix(&name) {
                _ if name.starts_with(UNFINISHED) => CacheEntryKind::Unfinished,
                None => CacheEntryKind::Damaged,
                Some(Prefix { product, version, .. }) => {
                    CacheEntryKind::Prefix { product, version }
                }
            };
            entries.extend(entry(kind, path)?);
        }
        for (name, path) in entries_of(&self.store.path(TOOLS))? {
            let found = self.cached_tool(&name);
            let kind = found.map_or(CacheEntryKind::Damaged, |tool| CacheEntryKind::Valgrind {
                version: tool.version,
            });
            entries.extend(entry(kind, path)?);
        }
        for (_, path) in entries_of(&self.store.path("builds"))? {
            entries.extend(entry(CacheEntryKind::Unfinished, path)?);
        }
        for source in sources::ALL {
            let state = self.store.path(source.word);
            // Vendors leave only parts of files, which are separate entries.
            if matches!(source.kind, SourceKind::Registry(registry) if registry.has_vendors()) {
                for (_, path) in entries_of(&state)? {
                    entries.extend(entry(CacheEntryKind::Unfinished, path)?);
                }
            } else {
                entries.extend(entry(CacheEntryKind::Indexes, state)?);
            }
        }
        entries.extend(entry(CacheEntryKind::Indexes, self.store.path(RESOLVED))?);
        entries.extend(entry(CacheEntryKind::Pins, self.store.path(PINS))?);
        Ok(entries)
    }

    /// Removes the entries selected by `cleaning` that no running process holds. Waits for a process that fills the
    /// cache; `waiting` is then called once. Entries removed before an error stay removed.
    pub fn clean(&self, cleaning: Cleaning, waiting: impl FnOnce()) -> Result<CleaningResult> {
        let lock = self.store.lock_only(waiting)?;
        let mut cleaned = CleaningResult::default();
        for entry in self.entries()? {
            let wanted = match (&entry.kind, cleaning) {
                (CacheEntryKind::Damaged | CacheEntryKind::Unfinished, _)
                | (_, Cleaning::Everything) => true,
                (CacheEntryKind::Indexes | CacheEntryKind::Pins, _) => false,
                (_, Cleaning::Unused(limit)) => {
                    entry.last_used.elapsed().is_ok_and(|age| age >= limit)
                }
            };
            if !wanted {
                continue;
            }
            if self.remove(&entry)? {
                cleaned.removed.push(entry);
            } else {
                cleaned.in_use.push(CacheEntry { in_use: true, ..entry });
            }
        }
        self.store.collect_garbage()?;
        drop(lock);
        Ok(cleaned)
    }

    /// Removes leftovers of failed builds, then the least recently used builds of commits, until `wanted` bytes are
    /// free. Anything held by a running process stays, and so do all other servers. Returns the removed entries.
    pub fn remove_builds(&self, wanted: u64) -> Result<Vec<CacheEntry>> {
        let mut candidates: Vec<CacheEntry> = self.entries()?;
        let (builds, prefixes) = (self.store.path("builds"), self.store.path("prefixes"));
        let is_of_commit = |entry: &CacheEntry| {
            let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
            let prefix =
                self.store.prefix(&name).filter(|_| entry.path.parent() == Some(&prefixes));
            prefix.is_some_and(|prefix| prefix.build.source == sources::git::SOURCE)
        };
        candidates.retain(|entry| {
            !entry.in_use && (entry.path.parent() == Some(&builds) || is_of_commit(entry))
        });
        let is_build = |entry: &CacheEntry| entry.kind == CacheEntryKind::Unfinished;
        candidates.sort_by_key(|entry| (!is_build(entry), entry.last_used));
        let (mut freed, mut removed) = (0, Vec::new());
        for entry in candidates {
            if freed >= wanted {
                break;
            }
            if self.remove(&entry)? {
                freed += entry.bytes;
                removed.push(entry);
            }
        }
        Ok(removed)
    }

    /// Removes an entry unless it is in use. Prefixes and tools are removed atomically, so no process sees a part of
    /// one.
    fn remove(&self, entry: &CacheEntry) -> Result<bool> {
        if !entry.path.is_dir() {
            fs::remove_file(&entry.path)?;
            return Ok(true);
        }
        if !matches!(entry.kind, CacheEntryKind::Prefix { .. } | CacheEntryKind::Valgrind { .. }) {
            if !entry.in_use {
                remove_tree(&entry.path)?;
            }
            return Ok(!entry.in_use);
        }
        let manifest = fs::File::open(entry.path.join(MANIFEST))?;
        match manifest.file().try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let directory = entry.path.parent().unwrap_or(&entry.path);
        let grave = self.store.new_tree_in(directory)?;
        let moved = grave.path().join("removed");
        fs::rename(&entry.path, &moved)?;
        remove_tree(grave.path())?;
        Ok(true)
    }
}

/// Holds a tree of the cache, and records the time as its last use.
pub(crate) fn hold_tree(tree: &Path) -> Result<Hold> {
    let path = tree.join(MANIFEST);
    let manifest = fs::File::open(&path)?;
    manifest.file().lock_shared()?;
    // Removed in between: the file is locked, but no longer that of this tree.
    if fs::metadata(&path)?.ino() != manifest.metadata()?.ino() {
        return Err(std::io::Error::from(ErrorKind::NotFound).into());
    }
    // Another user's cache may be used, but its times must not change.
    let _ = manifest.file().set_modified(SystemTime::now());
    Ok(Hold { _manifest: manifest })
}

/// `None` if it does not exist or disappears meanwhile.
fn entry(kind: CacheEntryKind, path: PathBuf) -> Result<Option<CacheEntry>> {
    let measured = || -> std::io::Result<_> {
        let manifest = path.join(MANIFEST);
        let dated = if manifest.is_file() { &manifest } else { &path };
        Ok((fs::metadata(dated)?.modified()?, FileCensus::at(&path)?.bytes))
    };
    let (last_used, bytes) = match measured() {
        Ok(measured) => measured,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let in_use = [MANIFEST, BUILDING].iter().any(|name| {
        fs::File::open(path.join(name))
            .is_ok_and(|file| matches!(file.file().try_lock(), Err(TryLockError::WouldBlock)))
    });
    Ok(Some(CacheEntry { kind, path, bytes, last_used, in_use }))
}

impl Provisioner {
    /// Writes finished trees of the cache, and the answers that led to them, as a tar archive. Unpacked elsewhere, it
    /// is a cache that needs no network. Trees outside the cache are left out.
    pub fn carry<'a>(
        &self,
        trees: impl IntoIterator<Item = &'a Path>,
        to: impl Write,
    ) -> Result<()> {
        let root = self.store.path("");
        let mut archive = tar::Builder::new(to);
        archive.follow_symlinks(false);
        for tree in trees {
            if let Ok(place) = tree.strip_prefix(&root)
                && !place.as_os_str().is_empty()
            {
                archive.append_dir_all(place, tree)?;
            }
        }
        let answers = self.store.path(RESOLVED);
        if answers.exists() {
            archive.append_file(RESOLVED, fs::File::open(answers)?.file_mut())?;
        }
        archive.into_inner()?.flush()?;
        Ok(())
    }
}
