//! Unpacks archives into a tree. Nothing in an archive can reach outside of the tree.
//!
//! Refused: absolute paths, `..`, names that no file system accepts, links that lead out, paths through links,
//! overwriting, devices and other special files, set-user-id and set-group-id bits, and more bytes or entries than any
//! server has. Absolute links, which name a file of the installed system, are redirected to the same file in the tree.

use std::fs::Permissions;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use fs_err as fs;
use tar::Archive;

use crate::entry::{ArchiveEntry, ArchiveEntryKind, Extensions};
use crate::error::{ProvisionError, Result};

/// Directories that are left out, since no server opens them.
const UNWANTED: [&str; 5] =
    ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/lintian", "usr/share/bug"];

#[derive(Debug, Clone, Copy)]
pub(crate) struct UnpackLimits {
    pub(crate) bytes: u64,
    /// Files, directories and links together.
    pub(crate) entries: u64,
}

impl UnpackLimits {
    /// Ten times the content of the largest known server with its libraries.
    pub(crate) const SERVER: Self = Self { bytes: 4 << 30, entries: 200_000 };
}

#[derive(Debug, Clone, Default)]
pub(crate) struct EntrySelection {
    /// Directory of the archive; empty for all.
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
    /// Only these paths below `from`; empty for all.
    pub(crate) only: Vec<PathBuf>,
}

impl EntrySelection {
    fn place(&self, path: &Path) -> Option<PathBuf> {
        let path = path.strip_prefix(&self.from).ok()?;
        let wanted = self.only.is_empty() || self.only.iter().any(|only| path.starts_with(only));
        wanted.then(|| self.to.components().chain(path.components()).collect())
    }
}

#[derive(Debug)]
pub(crate) struct UnpackTree {
    root: PathBuf,
    left: UnpackLimits,
}

impl UnpackTree {
    /// `root` is a directory to which no other process writes.
    pub(crate) fn new(root: &Path, limits: UnpackLimits) -> Self {
        Self { root: root.to_owned(), left: limits }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Unpacks a whole tar stream; `archive` is its name in errors. After an error the caller must discard the tree.
    pub(crate) fn unpack(&mut self, archive: &str, mut stream: impl Read) -> Result<()> {
        self.unpack_part(archive, &mut stream, &EntrySelection::default())
    }

    pub(crate) fn unpack_part(
        &mut self,
        archive: &str,
        stream: &mut dyn Read,
        selection: &EntrySelection,
    ) -> Result<()> {
        // Headers, padding and unwanted files add to the size; a stream longer than that ends early, as an error.
        let headers = self.left.entries.saturating_mul(1024);
        let stream = stream.take(self.left.bytes.saturating_mul(4).saturating_add(headers));
        let mut archive_reader = Archive::new(stream);
        let broken =
            |error: io::Error| ProvisionError::malformed(format!("archive `{archive}`"), error);
        let mut extensions = Extensions::default();
        // Raw, since the reader would take a name of any length into memory.
        for entry in archive_reader.entries().map_err(broken)?.raw(true) {
            let mut stored = entry.map_err(broken)?;
            if extensions.take(&mut stored).map_err(broken)? {
                continue;
            }
            let entry = std::mem::take(&mut extensions).entry(&stored).map_err(broken)?;
            self.add(archive, selection, &entry, &mut stored)?;
        }
        extensions.none_is_left().map_err(broken)?;
        Ok(())
    }

    pub(crate) fn add(
        &mut self,
        archive: &str,
        selection: &EntrySelection,
        entry: &ArchiveEntry,
        content: &mut dyn Read,
    ) -> Result<()> {
        self.entry(selection, entry, content).map_err(|refusal| match refusal {
            UnpackRefusal::Rule(why) => {
                let entry = entry.path.display().to_string();
                ProvisionError::UnsafeEntry { archive: archive.to_owned(), entry, why }
            }
            UnpackRefusal::Io(error) => ProvisionError::Io(error),
        })
    }

    fn entry(
        &mut self,
        selection: &EntrySelection,
        entry: &ArchiveEntry,
        content: &mut dyn Read,
    ) -> Result<(), UnpackRefusal> {
        self.count()?;
        let path =
            inside(&entry.path).ok_or(UnpackRefusal::Rule("its path leads out of the archive"))?;
        if is_too_long(&path) {
            return Err(UnpackRefusal::Rule("its name is too long"));
        }
        let Some(path) = selection.place(&path) else { return Ok(()) };
        if UNWANTED.iter().any(|unwanted| path.starts_with(unwanted)) {
            return Ok(());
        }
        let Some(parent) = path.parent() else {
            let is_root = matches!(entry.kind, ArchiveEntryKind::Directory);
            return if is_root { Ok(()) } else { Err(UnpackRefusal::Rule("it has no name")) };
        };
        match &entry.kind {
            ArchiveEntryKind::Directory => self.directory(&path),
            ArchiveEntryKind::File => {
                self.directory(parent)?;
                self.file(entry.mode, content, &path)
            }
            ArchiveEntryKind::Symlink(target) => {
                self.directory(parent)?;
                let target = rerooted(parent, target)
                    .ok_or(UnpackRefusal::Rule("it links out of the archive"))?;
                new(symlink(target, self.root.join(&path)))
            }
            ArchiveEntryKind::HardLink(target) => {
                self.directory(parent)?;
                let target = inside(target).and_then(|target| selection.place(&target));
                self.hard_link(
                    &target.ok_or(UnpackRefusal::Rule("it links out of the archive"))?,
                    &path,
                )
            }
            ArchiveEntryKind::Special => {
                Err(UnpackRefusal::Rule("it is a device or another special file"))
            }
        }
    }

    fn count(&mut self) -> Result<(), UnpackRefusal> {
        self.left.entries =
            (self.left.entries.checked_sub(1)).ok_or(UnpackRefusal::Rule("too many entries"))?;
        Ok(())
    }

    /// Creates a directory and its parents, none of which may be a link.
    fn directory(&mut self, relative: &Path) -> Result<(), UnpackRefusal> {
        let mut path = self.root.clone();
        for component in relative.components() {
            path.push(component);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err(UnpackRefusal::Rule("it goes through a link or a file")),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // One name may imply many directories.
                    self.count()?;
                    std::fs::DirBuilder::new().mode(0o755).create(&path)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn file(
        &mut self,
        mode: u32,
        content: &mut dyn Read,
        path: &Path,
    ) -> Result<(), UnpackRefusal> {
        if mode & 0o6000 != 0 {
            return Err(UnpackRefusal::Rule("it would run with the rights of its owner"));
        }
        // Some archives keep no modes: files among programs are programs.
        let is_program = mode & 0o111 != 0 || path.parent().is_some_and(|it| it.ends_with("bin"));
        let mode = if is_program { 0o555 } else { 0o444 };
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        let mut file = match options.open(self.root.join(path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(OVERWRITES),
            other => other?,
        };
        // Independent of the umask: a server may run as another user than the one who unpacks.
        file.set_permissions(Permissions::from_mode(mode))?;
        let copied = io::copy(&mut content.take(self.left.bytes.saturating_add(1)), &mut file)?;
        self.left.bytes = self
            .left
            .bytes
            .checked_sub(copied)
            .ok_or(UnpackRefusal::Rule("too many bytes in all"))?;
        Ok(())
    }

    fn hard_link(&mut self, target: &Path, path: &Path) -> Result<(), UnpackRefusal> {
        let parent = target.parent().ok_or(UnpackRefusal::Rule("it links to the root"))?;
        self.directory(parent)?;
        let target = self.root.join(target);
        match fs::symlink_metadata(&target) {
            Ok(found) if found.is_file() => new(fs::hard_link(target, self.root.join(path))),
            _ => Err(UnpackRefusal::Rule("it links to what is not a file unpacked before")),
        }
    }

    /// Removes write permission from all directories below the root; files never had it.
    pub(crate) fn seal(&self) -> Result<()> {
        each_directory(&self.root, &mut |directory| {
            fs::set_permissions(directory, Permissions::from_mode(0o555))
        })?;
        Ok(())
    }
}

pub(crate) fn remove_tree(root: &Path) -> Result<()> {
    each_directory(root, &mut |directory| {
        fs::set_permissions(directory, Permissions::from_mode(0o755))
    })?;
    Ok(fs::remove_dir_all(root)?)
}

/// Visits every directory below `root`, except itself, before its content and regardless of it.
fn each_directory(root: &Path, visit: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            visit(&entry.path())?;
            each_directory(&entry.path(), visit)?;
        }
    }
    Ok(())
}

enum UnpackRefusal {
    Rule(&'static str),
    Io(io::Error),
}

const OVERWRITES: UnpackRefusal = UnpackRefusal::Rule("it would overwrite another entry");

impl From<io::Error> for UnpackRefusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn new(created: io::Result<()>) -> Result<(), UnpackRefusal> {
    match created {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(OVERWRITES),
        other => Ok(other?),
    }
}

/// A relative path without `.`; `None` if it is absolute or has `..`.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(clean)
}

/// Longer than Linux file systems accept.
fn is_too_long(path: &Path) -> bool {
    path.as_os_str().len() > 2048 || path.iter().any(|name| name.len() > 255)
}

/// The target of a link in directory `parent`, as a relative path that stays inside the tree; `None` if it cannot. `..`
/// comes first in the result or not at all. Directories above a link are real (links are never passed through), so a
/// path that is lexically inside is really inside, whatever other links the tree has.
fn rerooted(parent: &Path, target: &Path) -> Option<PathBuf> {
    let mut full = if target.is_absolute() { PathBuf::new() } else { parent.to_owned() };
    for component in target.components() {
        match component {
            Component::Normal(name) => full.push(name),
            Component::ParentDir if full.pop() => {}
            Component::CurDir | Component::RootDir => {}
            _ => return None,
        }
    }
    let shared = parent.components().zip(full.components()).take_while(|(a, b)| a == b).count();
    let up = parent.components().skip(shared).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(full.components().skip(shared)).collect();
    let is_named = !target.as_os_str().is_empty() && !full.as_os_str().is_empty();
    is_named.then_some(if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;
    use tar::{Builder, EntryType, Header};

    use super::*;

    const SMALL: UnpackLimits = UnpackLimits { bytes: 1000, entries: 10 };

    /// An entry as an attacker would write it: neither checked nor normalised.
    fn raw(kind: EntryType, path: &str, link: &str, mode: u32, content: &[u8]) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        let old = header.as_old_mut();
        (&mut old.name[..]).write_all(path.as_bytes()).unwrap();
        (&mut old.linkname[..]).write_all(link.as_bytes()).unwrap();
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }

    fn file(path: &str, content: &str) -> Vec<u8> {
        raw(EntryType::Regular, path, "", 0o644, content.as_bytes())
    }

    fn link(path: &str, target: &str) -> Vec<u8> {
        raw(EntryType::Symlink, path, target, 0o777, b"")
    }

    fn unpack(entries: &[Vec<u8>]) -> Result<tempfile::TempDir> {
        let root = tempfile::tempdir().unwrap();
        let mut stream = entries.concat();
        stream.resize(stream.len() + 1024, 0);
        UnpackTree::new(root.path(), SMALL).unpack("hand-made", stream.as_slice())?;
        Ok(root)
    }

    #[track_caller]
    fn refused(entries: &[Vec<u8>], rule: &str) {
        let error = unpack(entries).unwrap_err();
        assert!(
            matches!(&error, ProvisionError::UnsafeEntry { why, .. } if why.contains(rule)),
            "{error} instead of: {rule}"
        );
    }

    #[test]
    fn ordinary_trees_come_out_read_only_without_documentation() {
        let program = raw(EntryType::Regular, "./usr/bin/run", "", 0o755, b"#!");
        let alias = raw(EntryType::Link, "./usr/bin/alias", "./usr/bin/run", 0o755, b"");
        let root = unpack(&[
            raw(EntryType::Directory, "./", "", 0o755, b""),
            raw(EntryType::Directory, "./usr/", "", 0o2775, b""),
            raw(EntryType::Directory, "./usr/", "", 0o755, b""),
            program,
            alias,
            file("./usr/share/data", "data"),
            file("./usr/share/doc/README", "unwanted"),
        ])
        .unwrap();
        let mode = |path: &str| {
            fs::metadata(root.path().join(path)).unwrap().permissions().mode() & 0o7777
        };
        assert_eq!(mode("usr/bin/alias"), 0o555);
        assert_eq!(mode("usr/share/data"), 0o444);
        assert_eq!(mode("usr"), 0o755);
        assert!(!root.path().join("usr/share/doc").exists());
        UnpackTree::new(root.path(), SMALL).seal().unwrap();
        assert_eq!(mode("usr/share"), 0o555);
        remove_tree(root.path()).unwrap();
        assert!(!root.path().exists());
    }

    #[test]
    fn absolute_paths_and_parent_directories_are_refused() {
        refused(&[file("/etc/passwd", "x")], "leads out");
        refused(&[file("usr/../../evil", "x")], "leads out");
        refused(&[raw(EntryType::Directory, "..", "", 0o755, b"")], "leads out");
    }

    #[test]
    fn links_that_lead_out_are_refused() {
        refused(&[link("a", "../evil")], "links out");
        refused(&[link("usr/lib/a", "../../../evil")], "links out");
        refused(&[link("usr/a", "..")], "links out");
        refused(&[link("a", "")], "links out");
        refused(&[raw(EntryType::Link, "a", "../evil", 0o644, b"")], "links out");
        refused(&[raw(EntryType::Link, "a", "/etc/passwd", 0o644, b"")], "links out");
        refused(&[raw(EntryType::Link, "a", "etc/passwd", 0o644, b"")], "not a file");
    }

    #[test]
    fn absolute_links_are_turned_into_the_tree() {
        let root = unpack(&[
            file("lib/x86/ld.so", "loader"),
            link("lib64/ld.so", "/lib/x86/ld.so"),
            link("lib/x86/near", "./ld.so"),
            link("lib/far", "../lib64/../lib/x86/ld.so"),
        ])
        .unwrap();
        let target = |path: &str| fs::read_link(root.path().join(path)).unwrap();
        assert_eq!(target("lib64/ld.so"), Path::new("../lib/x86/ld.so"));
        assert_eq!(target("lib/x86/near"), Path::new("ld.so"));
        assert_eq!(target("lib/far"), Path::new("x86/ld.so"));
        assert_eq!(fs::read_to_string(root.path().join("lib64/ld.so")).unwrap(), "loader");
    }

    #[test]
    fn a_chain_of_links_that_are_harmless_one_by_one_stays_inside() {
        let root = unpack(&[
            file("p/q/file", ""),
            link("p/q/up", ".."),
            // Through `up`, which is `p`, this would be one level above the root.
            link("p/q/out", "up/../.."),
        ])
        .unwrap();
        let reached = fs::canonicalize(root.path().join("p/q/out")).unwrap();
        assert_eq!(reached, fs::canonicalize(root.path().join("p")).unwrap());
    }

    #[test]
    fn a_part_goes_where_it_is_wanted_and_links_stay_inside_it() {
        let part = EntrySelection {
            from: "package/linux".into(),
            to: "to".into(),
            only: vec!["bin".into(), "link".into()],
        };
        let unpack = |entries: &[Vec<u8>]| {
            let root = tempfile::tempdir().unwrap();
            let mut stream = entries.concat();
            stream.resize(stream.len() + 1024, 0);
            UnpackTree::new(root.path(), SMALL).unpack_part(
                "part",
                &mut stream.as_slice(),
                &part,
            )?;
            Ok::<_, ProvisionError>(root)
        };
        let root = unpack(&[
            raw(EntryType::Directory, "package/linux/", "", 0o755, b""),
            file("package/linux/bin/run", ""),
            file("package/linux/other", ""),
            file("package/mac/bin/run", ""),
            link("package/linux/link", "bin/run"),
        ])
        .unwrap();
        let mode = fs::metadata(root.path().join("to/link")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o555, "a program, without its archive saying so");
        assert!(!root.path().join("to/other").exists() && !root.path().join("package").exists());
        unpack(&[link("package/linux/link", "../../mac/bin/run")]).unwrap_err();
        let foreign = raw(EntryType::Link, "package/linux/bin/a", "package/mac/a", 0o644, b"");
        unpack(&[file("package/mac/a", ""), foreign]).unwrap_err();
    }

    #[test]
    fn overlong_names_are_refused() {
        let mut builder = Builder::new(Vec::new());
        let mut add = |name: &str| {
            let mut header = Header::new_gnu();
            header.set_size(0);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, [].as_slice()).unwrap();
        };
        add(&"d/".repeat(1000));
        add(&"n".repeat(256));
        let stream = builder.into_inner().unwrap();
        let root = tempfile::tempdir().unwrap();
        let limits = UnpackLimits { entries: 2000, ..SMALL };
        let error =
            UnpackTree::new(root.path(), limits).unpack("long", stream.as_slice()).unwrap_err();
        assert!(error.to_string().ends_with("its name is too long"), "{error}");
    }

    #[test]
    fn nothing_passes_through_a_link_or_a_file() {
        refused(&[link("a", "b"), file("a/evil", "x")], "through a link");
        refused(&[link("a", "b"), link("a/evil", "x")], "through a link");
        refused(&[file("a", "x"), file("a/evil", "x")], "through a link");
        refused(&[link("d", "e"), raw(EntryType::Link, "x", "d/f", 0o644, b"")], "through a link");
    }

    #[test]
    fn nothing_is_overwritten() {
        refused(&[file("a", "x"), file("a", "y")], "overwrite");
        refused(&[link("a", "b"), file("a", "y")], "overwrite");
        refused(&[file("a", "x"), link("a", "b")], "overwrite");
        let hard_link = raw(EntryType::Link, "b", "a", 0o644, b"");
        refused(&[file("a", "x"), file("b", "y"), hard_link], "overwrite");
    }

    #[test]
    fn special_files_and_rights_of_the_owner_are_refused() {
        for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo] {
            refused(&[raw(kind, "dev", "", 0o644, b"")], "special file");
        }
        refused(&[raw(EntryType::Regular, "su", "", 0o4755, b"")], "rights of its owner");
        refused(&[raw(EntryType::Regular, "sg", "", 0o2755, b"")], "rights of its owner");
    }

    #[test]
    fn more_than_a_server_has_is_refused() {
        let half = "x".repeat(501);
        refused(&[file("a", &half), file("b", &half)], "too many bytes");
        let many: Vec<_> = (0..11).map(|number| file(&number.to_string(), "")).collect();
        refused(&many, "too many entries");
        refused(&[file("1/2/3/4/5/6/7/8/9/10/a", "")], "too many entries");
    }

    #[test]
    fn a_torn_archive_is_an_error() {
        let mut builder = Builder::new(Vec::new());
        let mut header = Header::new_gnu();
        header.set_size(100);
        builder.append_data(&mut header, "file", [7; 100].as_slice()).unwrap();
        let whole = builder.into_inner().unwrap();
        for length in [100, 512, 530] {
            let root = tempfile::tempdir().unwrap();
            let torn = whole.get(..length).unwrap();
            UnpackTree::new(root.path(), SMALL).unpack("torn", torn).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn links_stay_inside_whatever_their_text(
            parent in "([a-c]/){0,3}", target in "/?(([a-c]|\\.|\\.\\.)/){0,6}"
        ) {
            let parent = inside(Path::new(&parent)).unwrap();
            if let Some(relative) = rerooted(&parent, Path::new(&target)) {
                let text: Vec<_> = relative.components().collect();
                let ups = text.iter().take_while(|it| **it == Component::ParentDir).count();
                prop_assert!(ups <= parent.components().count());
                prop_assert!(!text.iter().skip(ups).any(|it| *it == Component::ParentDir));
            }
        }
    }
}
