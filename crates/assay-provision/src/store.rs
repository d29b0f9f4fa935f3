//! The cache on disk: prefixes, answers to requests, and one lock for all processes that fill it.
//!
//! A prefix appears by one rename, complete, and never changes: readers need no lock.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{Permissions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use assay_model::{Prefix, Product};
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _, Serialize};
use tempfile::{Builder, TempDir};

use crate::census::{FileCensus, part_of_others};
use crate::error::{ProvisionError, Result};
use crate::layout;
use crate::unpack::remove_tree;

/// Lifetime of a fetched index and of answers from it, seconds.
pub(crate) const CURRENT_FOR: u64 = 24 * 60 * 60;

#[derive(Debug)]
pub(crate) struct Store {
    root: PathBuf,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Resolution {
    pub(crate) directory: String,
    /// When the index was read, seconds since the Unix epoch.
    pub(crate) at: u64,
    pub(crate) expired: bool,
}

/// Record in every finished tree, such as a prefix. A process that uses the tree holds a lock on it.
pub(crate) const MANIFEST: &str = "prefix.json";
pub(crate) const TOOLS: &str = "tools";
pub(crate) const RESOLVED: &str = "resolved.json";
pub(crate) const PINS: &str = "recorded.json";
/// File in the directory of a build. The building process holds a lock on it.
pub(crate) const BUILDING: &str = "lock";
pub(crate) const UNFINISHED: &str = ".new-";
const UNFINISHED_FILE: &str = ".new-file-";
const CENSUS: &str = "census.json";

impl Store {
    pub(crate) fn open(root: &Path) -> Result<Self> {
        fs::create_dir_all(root.join("prefixes"))?;
        // Absolute, so that a server started in another directory still finds its parts.
        Ok(Self { root: fs::canonicalize(root)? })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Waits for the lock; `waiting` is called once if another process has it. The lock is held until it is dropped or
    /// the process ends. Also removes what a crash left behind.
    pub(crate) fn lock(&self, waiting: impl FnOnce()) -> Result<fs::File> {
        let file = self.lock_only(waiting)?;
        self.collect_garbage()?;
        Ok(file)
    }

    /// Removes nothing, unlike [`Self::lock`].
    pub(crate) fn lock_only(&self, waiting: impl FnOnce()) -> Result<fs::File> {
        lock_file(&self.path("provision.lock"), waiting)
    }

    /// Removes everything unfinished. With the lock held, that is only what a crash left behind.
    pub(crate) fn collect_garbage(&self) -> Result<()> {
        let places = [("prefixes", UNFINISHED), (TOOLS, UNFINISHED), (".", UNFINISHED_FILE)];
        for (directory, beginning) in places {
            for (name, path) in entries_of(&self.path(directory))? {
                if !name.starts_with(beginning) {
                    continue;
                }
                if fs::symlink_metadata(&path)?.is_dir() {
                    remove_tree(&path)?;
                } else {
                    fs::remove_file(path)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn check_room(&self, needed: u64) -> Result<()> {
        let room = rustix::fs::statvfs(&self.root).map_err(std::io::Error::from)?;
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        if free < needed {
            let (needed_mb, free_mb) = (needed >> 20, free >> 20);
            return Err(ProvisionError::DiskFull { path: self.root.clone(), needed_mb, free_mb });
        }
        Ok(())
    }

    /// The prefix in a directory, if complete.
    pub(crate) fn prefix(&self, directory: &str) -> Option<Prefix> {
        let path = self.path("prefixes").join(directory);
        let stored: Prefix = self.kept(&path)?;
        let layout = layout::under(&path, &stored.layout);
        let prefix = Prefix { layout, path, ..stored };
        prefix.layout.server.exists().then_some(prefix)
    }

    pub(crate) fn kept<T: DeserializeOwned>(&self, path: &Path) -> Option<T> {
        let stored = read_json(&path.join(MANIFEST))?;
        let lost = match read_json::<FileCensus>(&path.join(CENSUS)) {
            // Kept before the census was introduced.
            None => false,
            Some(census) => FileCensus::below(path).ok() != Some(census),
        };
        if lost {
            log::warn!("`{}` is damaged: files are missing or have another length", path.display());
        } else if let Err(error) = check_trust(path) {
            log::warn!("{error}; it is not used");
            return None;
        }
        (!lost).then_some(stored)
    }

    pub(crate) fn prefixes(&self) -> Result<Vec<Prefix>> {
        let names = self.names("prefixes")?;
        Ok(names.iter().filter_map(|name| self.prefix(name)).collect())
    }

    /// Those of one product. Files of the others are not examined, which takes long in a large cache.
    pub(crate) fn prefixes_of(&self, product: Product) -> Result<Vec<Prefix>> {
        let manifest = |name: &str| self.path("prefixes").join(name).join(MANIFEST);
        let mut names = self.names("prefixes")?;
        names.retain(|name| {
            read_json::<Prefix>(&manifest(name)).is_some_and(|stored| stored.product == product)
        });
        Ok(names.iter().filter_map(|name| self.prefix(name)).collect())
    }

    pub(crate) fn names(&self, directory: &str) -> Result<Vec<String>> {
        let names = entries_of(&self.path(directory))?.into_iter().map(|(name, _)| name);
        Ok(names.filter(|name| !name.starts_with('.')).collect())
    }

    /// A directory to build a prefix in; removed unless kept.
    pub(crate) fn new_tree(&self) -> Result<TempDir> {
        self.new_tree_in(&self.path("prefixes"))
    }

    /// Creates it in another directory of the cache. A tree is moved within its directory, because each may be a
    /// separate file system.
    pub(crate) fn new_tree_in(&self, directory: &Path) -> Result<TempDir> {
        fs::create_dir_all(directory)?;
        let tree = Builder::new().prefix(UNFINISHED).tempdir_in(directory)?;
        fs::set_permissions(tree.path(), Permissions::from_mode(0o755))?;
        Ok(tree)
    }

    pub(crate) fn downloads(&self) -> Result<TempDir> {
        Ok(Builder::new().prefix(UNFINISHED).tempdir_in(self.path("prefixes"))?)
    }

    /// `stored` has paths relative to the tree.
    pub(crate) fn keep(&self, tree: TempDir, name: &str, stored: &Prefix) -> Result<Prefix> {
        self.keep_tree(tree, &self.path("prefixes"), name, stored)?;
        self.prefix(name)
            .ok_or_else(|| ProvisionError::malformed(format!("prefix `{name}`"), "cannot be read"))
    }

    /// Moves a built tree into a directory of the cache, with its record.
    pub(crate) fn keep_tree(
        &self,
        tree: TempDir,
        directory: &Path,
        name: &str,
        stored: &impl Serialize,
    ) -> Result<()> {
        write_json(&tree.path().join(CENSUS), &FileCensus::below(tree.path())?)?;
        write_json(&tree.path().join(MANIFEST), stored)?;
        sync_tree(tree.path())?;
        let target = directory.join(name);
        if target.exists() {
            // It is incomplete, otherwise it would have been used.
            remove_tree(&target)?;
        }
        fs::rename(tree.path(), &target)?;
        fs::File::open(directory)?.sync_all()?;
        // Gone from its old name: nothing is left for it to remove.
        let _ = tree.keep();
        Ok(())
    }

    pub(crate) fn resolution(&self, request: &str) -> Option<Resolution> {
        read_json::<BTreeMap<String, Resolution>>(&self.path(RESOLVED))?.remove(request)
    }

    /// Needs the lock.
    pub(crate) fn remember(&self, request: &str, resolution: Resolution) -> Result<()> {
        let path = self.path(RESOLVED);
        let mut all: BTreeMap<String, Resolution> = read_json(&path).unwrap_or_default();
        all.insert(request.to_owned(), resolution);
        write_json(&path, &all)
    }

    /// The checksum pinned on first use; `None` if the package was never downloaded. A damaged file is an error: if it
    /// counted as empty, any download would be accepted.
    pub(crate) fn pinned(&self, coordinate: &str) -> Result<Option<String>> {
        Ok(self.pins()?.remove(coordinate))
    }

    /// Pins the checksum of a package without one known in advance. Needs the lock.
    pub(crate) fn pin(&self, coordinate: &str, sha256: &str) -> Result<()> {
        let mut pins = self.pins()?;
        pins.insert(coordinate.to_owned(), sha256.to_owned());
        write_json(&self.path(PINS), &pins)
    }

    fn pins(&self) -> Result<BTreeMap<String, String>> {
        let path = self.path(PINS);
        let damaged = |detail: String| ProvisionError::Pins { path: path.clone(), detail };
        // Does not follow links: a dangling link is not the same as no file.
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(damaged("it is not a regular file".to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error.into()),
        }
        let all = parsed(&fs::read(&path)?).map_err(|error| damaged(error.to_string()))?;
        let is_sum = |sum: &String| sum.len() == 64 && sum.bytes().all(|it| it.is_ascii_hexdigit());
        match all.iter().find(|(_, sum)| !is_sum(sum)) {
            Some((name, _)) => Err(damaged(format!("the checksum of `{name}` is not a SHA-256"))),
            None => Ok(all),
        }
    }
}

pub(crate) fn lock_file(path: &Path, waiting: impl FnOnce()) -> Result<fs::File> {
    // Readable too: programs that hold the lock have it as their input. Only its owner may open it: every user
    // who can read a file can lock it for any time.
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            waiting();
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    Ok(file)
}

/// Names and paths in a directory, in order; empty if it does not exist.
pub(crate) fn entries_of(directory: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut entries = Vec::new();
    if directory.exists() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            entries.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
        entries.sort();
    }
    Ok(entries)
}

/// Refuses a part of the cache that other users can change, at whatever depth: assay executes its content.
pub(crate) fn check_trust(path: &Path) -> Result<()> {
    match part_of_others(path)? {
        None => Ok(()),
        Some(part) => {
            let (path, part) = (path.display(), part.display());
            Err(ProvisionError::plain(
                format!(
                    "other users of this machine can change `{part}`, and assay executes what is in `{path}`"
                ),
                format!("remove `{path}`: assay creates it again"),
            ))
        }
    }
}

pub(crate) fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Seconds since `at`; a time in the future (the clock was set back) is infinitely old.
pub(crate) fn age(at: u64) -> u64 {
    now_seconds().checked_sub(at).unwrap_or(u64::MAX)
}

/// Syncs a tree to disk, so that a power loss after its rename leaves no truncated files. Syncing the whole file system
/// at once is far faster than file by file.
fn sync_tree(root: &Path) -> Result<()> {
    let directory = fs::File::open(root)?;
    Ok(rustix::fs::syncfs(directory.file()).map_err(std::io::Error::from)?)
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let text = fs::read(path).ok()?;
    let parsed = serde_json::from_slice(&text);
    parsed.inspect_err(|error| log::warn!("`{}`: {error}", path.display())).ok()
}

/// Writes a file readable only by its owner, such as one with the logins of mirrors.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file.write_all(text.as_bytes())?)
}

/// Replaces a JSON file atomically.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let text = serde_json::to_vec_pretty(value).map_err(std::io::Error::from)?;
    let mut file = Builder::new().prefix(UNFINISHED_FILE).tempfile_in(directory)?;
    file.write_all(&text)?;
    file.as_file().set_permissions(Permissions::from_mode(0o644))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Rejects duplicate names.
fn parsed(text: &[u8]) -> serde_json::Result<BTreeMap<String, String>> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let all = reader.deserialize_map(UniqueNames)?;
    reader.end().map(|()| all)
}

struct UniqueNames;

impl<'de> Visitor<'de> for UniqueNames {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("checksums by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut all = BTreeMap::new();
        while let Some((name, sum)) = map.next_entry::<String, String>()? {
            if all.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` has two checksums")));
            }
            all.insert(name, sum);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Build, Layout};

    use super::*;

    fn stored() -> Prefix {
        Prefix {
            path: PathBuf::new(),
            sha256: "0".repeat(64),
            product: Product::MariaDb,
            version: "10.11.19".to_owned(),
            build: Build {
                source: "apt".to_owned(),
                channel: "bookworm".to_owned(),
                package_version: "1:10.11.19-1".to_owned(),
                released: true,
                notes: Vec::new(),
            },
            packages: Vec::new(),
            layout: Layout {
                loader: Some("lib/ld.so".into()),
                library_path: vec!["lib".into()],
                server: "sbin/mariadbd".into(),
                basedir: "usr".into(),
                share_dir: "share".into(),
                charsets_dir: "share/charsets".into(),
                plugin_dir: "plugin".into(),
            },
        }
    }

    fn keep(store: &Store, name: &str) -> Prefix {
        let tree = store.new_tree().unwrap();
        fs::create_dir(tree.path().join("sbin")).unwrap();
        fs::write(tree.path().join("sbin/mariadbd"), "").unwrap();
        store.keep(tree, name, &stored()).unwrap()
    }

    #[test]
    fn a_moved_cache_still_works() {
        let home = tempfile::tempdir().unwrap();
        let (here, there) = (home.path().join("here"), home.path().join("there"));
        let kept = keep(&Store::open(&here).unwrap(), "a");
        assert!(kept.layout.server.starts_with(fs::canonicalize(&here).unwrap()));
        fs::rename(&here, &there).unwrap();
        let [moved] = &Store::open(&there).unwrap().prefixes().unwrap()[..] else {
            panic!("one prefix")
        };
        assert!(moved.path.starts_with(fs::canonicalize(&there).unwrap()));
        assert_eq!(moved.layout.loader, Some(moved.path.join("lib/ld.so")));
        assert!(moved.layout.server.exists());
    }

    #[test]
    fn leftovers_of_a_crash_are_collected_and_never_used() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path()).unwrap();
        let left = store.new_tree().unwrap().keep();
        let tool = store.new_tree_in(&store.path(TOOLS)).unwrap().keep();
        fs::create_dir(left.join("sealed")).unwrap();
        fs::set_permissions(left.join("sealed"), Permissions::from_mode(0o555)).unwrap();
        fs::create_dir(store.path("prefixes/broken")).unwrap();
        fs::write(store.path("prefixes/broken/prefix.json"), "{").unwrap();
        assert_eq!(store.prefixes().unwrap(), []);
        drop(store.lock(|| {}).unwrap());
        assert!(!left.exists() && !tool.exists());
        assert_eq!(keep(&store, "broken"), store.prefix("broken").unwrap());
    }

    #[test]
    fn the_lock_excludes_others_and_reports_waiting() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path()).unwrap();
        let lock = store.lock(|| {}).unwrap();
        let (waits, is_waiting) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| store.lock(move || waits.send(()).unwrap()));
            is_waiting.recv().unwrap();
            drop(lock);
            assert!(second.join().unwrap().is_ok());
        });
    }

    #[test]
    fn remembered_answers_do_not_overwrite_each_other() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path()).unwrap();
        for name in ["a", "b"] {
            let (directory, at) = (name.to_owned(), now_seconds());
            store.remember(name, Resolution { directory, at, expired: false }).unwrap();
        }
        assert_eq!(store.resolution("a").unwrap().directory, "a");
        assert_eq!(store.resolution("b").unwrap().directory, "b");
        assert!(store.resolution("c").is_none());
        assert_eq!(age(now_seconds() + 1000), u64::MAX);
    }

    #[test]
    fn a_pin_file_has_one_checksum_per_name() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path()).unwrap();
        let refused = |message: &str| {
            let error = store.pinned("a").unwrap_err();
            assert!(matches!(error, ProvisionError::Pins { .. }), "{error}");
            assert!(error.to_string().contains(message), "{error}");
            fs::remove_file(store.path(PINS)).unwrap();
        };
        std::os::unix::fs::symlink(home.path().join("nowhere"), store.path(PINS)).unwrap();
        refused("it is not a regular file");
        let made = std::process::Command::new("mkfifo").arg(store.path(PINS)).status().unwrap();
        assert!(made.success());
        refused("it is not a regular file");
        let (one, other) = ("0".repeat(64), "1".repeat(64));
        fs::write(store.path(PINS), format!(r#"{{"a": "{one}", "a": "{other}"}}"#)).unwrap();
        refused("`a` has two checksums");
        fs::write(store.path(PINS), format!(r#"{{"a": "{one}"}} x"#)).unwrap();
        refused("trailing");
    }

    #[test]
    fn a_damaged_file_is_an_error_rather_than_empty() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path()).unwrap();
        assert_eq!(store.pinned("a").unwrap(), None);
        store.pin("a", &"0".repeat(64)).unwrap();
        store.pin("b", &"1".repeat(64)).unwrap();
        assert_eq!(store.pinned("a").unwrap(), Some("0".repeat(64)));
        for damaged in ["", "{\"a\": \"00", "[]", "{\"a\": \"\"}"] {
            fs::write(store.path(PINS), damaged).unwrap();
            assert!(
                matches!(store.pinned("b").unwrap_err(), ProvisionError::Pins { .. }),
                "{damaged}"
            );
            store.pin("b", "2").unwrap_err();
            assert_eq!(
                fs::read_to_string(store.path(PINS)).unwrap(),
                damaged,
                "it is left as it is"
            );
        }
    }
}
