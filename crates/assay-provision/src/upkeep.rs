//! The entries of the cache, and their removal.

use std::fs::TryLockError;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use assay_model::{Prefix, Product};
use fs_err as fs;

use crate::census::Census;
use crate::error::Error;
use crate::pins::PINS;
use crate::provisioner::Provisioner;
use crate::sources;
use crate::sources::kind::Registry;
use crate::store::{BUILDING, MANIFEST, TOOLS, UNFINISHED};
use crate::unpack::remove_tree;

/// Something the cache keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its kind.
    pub kind: EntryKind,
    /// Its path.
    pub path: PathBuf,
    /// Lengths of its files together, bytes.
    pub bytes: u64,
    /// When a prefix or a tool was last held, or anything else written.
    pub last_used: SystemTime,
    /// Whether a running process holds it.
    pub in_use: bool,
}

/// The kind of an entry of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A server.
    Prefix {
        /// Its family.
        product: Product,
        /// Its upstream version.
        version: String,
    },
    /// Valgrind.
    Valgrind {
        /// Its upstream version.
        version: String,
    },
    /// A prefix or a tool with missing files or parts. It is never used.
    Damaged,
    /// Downloads and trees of a run that was killed or is still in progress.
    Unfinished,
    /// Indexes of package archives, the state of their clients, and recorded answers.
    Indexes,
    /// Checksums pinned on first use.
    Pins,
}

/// The entries to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaning {
    /// Prefixes and tools that were not used for this long, and everything damaged or unfinished.
    Unused(Duration),
    /// Everything, including the indexes.
    Everything,
}

/// Result of cleaning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Entries that were removed.
    pub removed: Vec<Entry>,
    /// Entries that were to be removed, but that a running process holds.
    pub in_use: Vec<Entry>,
}

/// Keeps a prefix or a tool from being removed, by this and by other processes, until it is dropped or the process
/// ends.
#[derive(Debug)]
pub struct Hold {
    _manifest: fs::File,
}

impl Provisioner {
    /// Holds a prefix for use, and notes the time as its last use.
    pub fn hold(&self, prefix: &Prefix) -> Result<Hold, Error> {
        hold_tree(&prefix.path)
    }

    /// All of this crate's entries in the cache: prefixes by name, then the rest.
    pub fn entries(&self) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        for (name, path) in listed(&self.store.path("prefixes"))? {
            let kind = match self.store.prefix(&name) {
                _ if name.starts_with(UNFINISHED) => EntryKind::Unfinished,
                None => EntryKind::Damaged,
                Some(Prefix { product, version, .. }) => EntryKind::Prefix { product, version },
            };
            entries.extend(entry(kind, path)?);
        }
        for (name, path) in listed(&self.store.path(TOOLS))? {
            let found = self.cached_tool(&name);
            let kind = found
                .map_or(EntryKind::Damaged, |tool| EntryKind::Valgrind { version: tool.version });
            entries.extend(entry(kind, path)?);
        }
        for (_, path) in listed(&self.store.path("builds"))? {
            entries.extend(entry(EntryKind::Unfinished, path)?);
        }
        for source in sources::ALL {
            let state = self.store.path(source.word());
            // Vendors leave only parts of files, each by itself.
            if sources::registry(source.word()).is_some_and(Registry::has_vendors) {
                for (_, path) in listed(&state)? {
                    entries.extend(entry(EntryKind::Unfinished, path)?);
                }
            } else {
                entries.extend(entry(EntryKind::Indexes, state)?);
            }
        }
        entries.extend(entry(EntryKind::Indexes, self.store.path("resolved.json"))?);
        entries.extend(entry(EntryKind::Pins, self.store.path(PINS))?);
        Ok(entries)
    }

    /// Removes from the cache what `cleaning` selects and no running process holds. Waits for a process
    /// that fills the cache; `waiting` is called once if there is one.
    ///
    /// # Errors
    /// When a directory of the cache cannot be read or changed. Entries removed before that stay removed.
    pub fn clean(&self, cleaning: Cleaning, waiting: impl FnOnce()) -> Result<Cleaned, Error> {
        let lock = self.store.lock_only(waiting)?;
        let mut cleaned = Cleaned::default();
        for entry in self.entries()? {
            let unused = |limit| entry.last_used.elapsed().is_ok_and(|age| age >= limit);
            let wanted = match (cleaning, &entry.kind) {
                (Cleaning::Everything, _) => true,
                (_, EntryKind::Damaged | EntryKind::Unfinished) => true,
                (_, EntryKind::Indexes | EntryKind::Pins) => false,
                (
                    Cleaning::Unused(limit),
                    EntryKind::Prefix { .. } | EntryKind::Valgrind { .. },
                ) => unused(limit),
            };
            if !wanted {
                continue;
            }
            match self.remove(&entry)? {
                true => cleaned.removed.push(entry),
                false => cleaned.in_use.push(Entry { in_use: true, ..entry }),
            }
        }
        self.store.collect_garbage()?;
        drop(lock);
        Ok(cleaned)
    }

    /// Removes what failed builds have left, then the builds of commits that were not used for the longest time, until
    /// so many bytes are free. What a running process holds stays, and so do all other servers. Returns what was
    /// removed.
    pub fn remove_builds(&self, wanted: u64) -> Result<Vec<Entry>, Error> {
        let mut candidates: Vec<Entry> = self.entries()?;
        let (builds, prefixes) = (self.store.path("builds"), self.store.path("prefixes"));
        let is_of_commit = |entry: &Entry| {
            let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
            let prefix =
                self.store.prefix(&name).filter(|_| entry.path.parent() == Some(&prefixes));
            prefix.is_some_and(|prefix| prefix.build.source == sources::git::SOURCE)
        };
        candidates.retain(|entry| {
            !entry.in_use && (entry.path.parent() == Some(&builds) || is_of_commit(entry))
        });
        let is_build = |entry: &Entry| entry.kind == EntryKind::Unfinished;
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
    fn remove(&self, entry: &Entry) -> Result<bool, Error> {
        if !entry.path.is_dir() {
            fs::remove_file(&entry.path)?;
            return Ok(true);
        }
        if !matches!(entry.kind, EntryKind::Prefix { .. } | EntryKind::Valgrind { .. }) {
            // A build in progress.
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

/// Holds a tree of the cache, and notes the time as its last use.
pub(crate) fn hold_tree(tree: &Path) -> Result<Hold, Error> {
    let path = tree.join(MANIFEST);
    let manifest = fs::File::open(&path)?;
    manifest.file().lock_shared()?;
    // Removed between the two: the file is locked, but is no longer that of this tree.
    if fs::metadata(&path)?.ino() != manifest.metadata()?.ino() {
        return Err(std::io::Error::from(ErrorKind::NotFound).into());
    }
    // Another user's cache may be used, but its times are not to be changed.
    let _ = manifest.file().set_modified(SystemTime::now());
    Ok(Hold { _manifest: manifest })
}

/// Names and paths in a directory, by name.
fn listed(directory: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let mut all = Vec::new();
    if !directory.exists() {
        return Ok(all);
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        all.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    all.sort();
    Ok(all)
}

/// The entry at a path; `None` if it does not exist or disappears meanwhile.
fn entry(kind: EntryKind, path: PathBuf) -> Result<Option<Entry>, Error> {
    let measured = || -> std::io::Result<_> {
        let manifest = path.join(MANIFEST);
        let dated = if manifest.is_file() { &manifest } else { &path };
        Ok((fs::metadata(dated)?.modified()?, Census::all(&path)?.bytes))
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
    Ok(Some(Entry { kind, path, bytes, last_used, in_use }))
}
