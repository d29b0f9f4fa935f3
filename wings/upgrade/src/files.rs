//! Reads logs and dumps, plain or gzipped and perhaps truncated. Writes a workload and its values: only files made by
//! assay are replaced, and only the user can read the values.

use std::cell::Cell;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context as _, Result};
use assay_capture::{ServerVersion, server_version};
use assay_model::Dialect;
use assay_workloads::dump_dialect;
use flate2::bufread::MultiGzDecoder;
use rustix::process::geteuid;

use assay_run::advice::HintedError;
use assay_run::{paths, whole_file};

const MADE: &str = "# Made by `assay workload from`";

pub(super) fn folder(file: &Path) -> &Path {
    file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(super) fn check_file(file: &Path) -> Result<()> {
    let refused = |why: &str| {
        let what = format!("`{}` {why}", file.display());
        Err(HintedError::new(what, "`--output` with another name writes a new file").into())
    };
    let found = match fs_err::symlink_metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if found.is_symlink() {
        return refused("is a symbolic link, which assay does not follow");
    }
    if !found.is_file() {
        return refused("is not a regular file");
    }
    let mut first = Vec::new();
    BufReader::new(fs_err::File::open(file)?.take(MADE.len() as u64))
        .read_until(b'\n', &mut first)?;
    if first == MADE.as_bytes() {
        return Ok(());
    }
    refused("exists, and `assay workload from` did not make it")
}

/// Replaces a file or link. A private file is readable by its owner only; any other one keeps the permissions of the
/// file it replaces.
pub(super) fn write(file: &Path, bytes: &[u8], is_private: bool) -> Result<()> {
    let new = whole_file::temporary(folder(file), bytes)?;
    let old = fs_err::symlink_metadata(file).ok().filter(std::fs::Metadata::is_file);
    let mode = if is_private { Some(0o600) } else { old.map(|it| it.mode() & 0o777) };
    if let Some(mode) = mode {
        new.as_file().set_permissions(Permissions::from_mode(mode))?;
    }
    let named = new.persist(file).map_err(|error| error.error);
    named.with_context(|| format!("cannot write `{}`", file.display()))?;
    Ok(())
}

/// Creates a private folder. An existing one must be the user's own, and gets the same permissions.
pub(super) fn private_folder(folder: &Path) -> Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let shown = folder.display();
    let found = fs_err::symlink_metadata(folder);
    let refused = |why: &str| {
        let what = format!("the folder of values `{shown}` {why}");
        Err(HintedError::new(what, "remove it, or name another workload file with `--output`")
            .into())
    };
    match (made, found) {
        (_, Ok(found)) if found.is_symlink() => refused("is a symbolic link"),
        (_, Ok(found)) if !found.is_dir() => refused("is not a directory"),
        (_, Ok(found)) if found.uid() != geteuid().as_raw() => refused("belongs to another user"),
        (made, _) => {
            made.with_context(|| format!("cannot make `{shown}`"))?;
            let private = Permissions::from_mode(0o700);
            fs_err::set_permissions(folder, private)?;
            Ok(())
        }
    }
}

const DUMPS: &str =
    "name a file that `mysqldump`, `mariadb-dump` or `pg_dump` wrote, plain or gzipped";

const BUFFER: usize = 256 << 10;

/// Magic number of gzip.
const GZIP: &[u8] = b"\x1f\x8b";

/// Bytes from which the kind of a dump is detected.
const HEAD: u64 = 64 << 10;

pub(super) struct LogSource {
    pub(super) content: Box<dyn BufRead>,
    is_cut: Rc<Cell<bool>>,
}

impl LogSource {
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.get()
    }
}

struct CutReader<R> {
    source: R,
    is_cut: Rc<Cell<bool>>,
}

impl<R: Read> Read for CutReader<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self.source.read(into) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                self.is_cut.set(true);
                Ok(0)
            }
            read => read,
        }
    }
}

/// Requires a regular file: assay reads a log more than once.
pub(super) fn check_regular(path: &Path, hint: &'static str) -> Result<()> {
    paths::check_file(path, hint)?;
    if fs_err::metadata(path)?.is_file() {
        return Ok(());
    }
    let what = format!("`{}` is not a regular file", path.display());
    Err(HintedError::new(what, "write its content into a file, and name that").into())
}

pub(super) fn open(path: &Path) -> Result<LogSource> {
    let file = fs_err::File::open(path)?;
    let mut plain = BufReader::with_capacity(BUFFER, file);
    let is_gzip = plain.fill_buf()?.starts_with(GZIP);
    let is_cut = Rc::new(Cell::new(false));
    let content: Box<dyn BufRead> = if is_gzip {
        let source = MultiGzDecoder::new(plain);
        let up_to = CutReader { source, is_cut: Rc::clone(&is_cut) };
        Box::new(BufReader::with_capacity(BUFFER, up_to))
    } else {
        Box::new(plain)
    };
    Ok(LogSource { content, is_cut })
}

pub(super) fn head(path: &Path, bytes: u64) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    let read = open(path).and_then(|it| Ok(it.content.take(bytes).read_to_end(&mut head)?));
    read.with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(head)
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DumpHead {
    pub(super) dialect: Option<Dialect>,
    pub(super) server: Option<ServerVersion>,
}

pub(super) fn dump_head(path: &Path) -> Result<DumpHead> {
    check_regular(path, DUMPS)?;
    let head = head(path, HEAD)?;
    match dump_dialect(&head) {
        Ok(dialect) => Ok(DumpHead { dialect, server: server_version(&head) }),
        Err(why) => {
            let what = format!("`{}` is {why}", path.display());
            Err(HintedError::new(what, why.hint()).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_what_assay_made_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs_err::write(at("own.toml"), format!("{MADE} of a log.\n")).unwrap();
        fs_err::write(at("other.toml"), "[test.a]\n").unwrap();
        fs_err::write(at("empty.toml"), "").unwrap();
        symlink("own.toml", at("link.toml")).unwrap();
        symlink("nowhere.toml", at("dangling.toml")).unwrap();
        for (name, expected) in [
            ("new.toml", None),
            ("own.toml", None),
            ("other.toml", Some("did not make it")),
            ("empty.toml", Some("did not make it")),
            ("link.toml", Some("symbolic link")),
            ("dangling.toml", Some("symbolic link")),
            (".", Some("not a regular file")),
        ] {
            let said = check_file(&at(name)).err().map(|error| error.to_string());
            let is_right = match (&said, expected) {
                (Some(said), Some(part)) => said.contains(part),
                (said, part) => said.is_none() && part.is_none(),
            };
            assert!(is_right, "{name}: {said:?}");
        }
        // A file that became a link after the check is replaced itself.
        write(&at("dangling.toml"), b"x", false).unwrap();
        assert!(!at("nowhere.toml").exists() && !at("dangling.toml").is_symlink());
    }

    #[test]
    fn values_are_private_whatever_was_there_before() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let mode = |name: &str| fs_err::metadata(at(name)).unwrap().mode() & 0o777;
        fs_err::create_dir(at("app.values")).unwrap();
        fs_err::set_permissions(at("app.values"), Permissions::from_mode(0o755)).unwrap();
        fs_err::write(at("app.values/a.jsonl"), "old").unwrap();
        fs_err::set_permissions(at("app.values/a.jsonl"), Permissions::from_mode(0o644)).unwrap();
        private_folder(&at("app.values")).unwrap();
        write(&at("app.values/a.jsonl"), b"new", true).unwrap();
        assert_eq!((mode("app.values"), mode("app.values/a.jsonl")), (0o700, 0o600));
        symlink("app.values", at("link.values")).unwrap();
        fs_err::write(at("file.values"), "").unwrap();
        for name in ["link.values", "file.values"] {
            let error = private_folder(&at(name)).unwrap_err().to_string();
            assert!(error.contains("the folder of values"), "{error}");
        }
    }

    #[test]
    fn dumps_are_told_from_other_files() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        for (text, expected) in [
            ("-- MariaDB dump 10.19", Ok(Some(Dialect::MySql))),
            ("--\n-- PostgreSQL database dump\n--\n", Ok(Some(Dialect::Postgres))),
            ("CREATE TABLE `a` (b INT);", Ok(Some(Dialect::MySql))),
            ("create table a (b int);", Ok(None)),
            ("root:x:0:0:root:/root:/bin/bash\n", Err("is no dump")),
            ("PGDMP\u{1}", Err("custom format")),
        ] {
            fs_err::write(&file, text).unwrap();
            let found = dump_head(&file).map(|it| it.dialect).map_err(|error| error.to_string());
            match expected {
                Ok(dialect) => assert_eq!(found.unwrap(), dialect, "{text}"),
                Err(part) => assert!(found.unwrap_err().contains(part), "{text}"),
            }
        }
    }
}
