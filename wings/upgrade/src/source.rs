//! Reader of logs and dumps: plain or gzipped, and perhaps truncated.

use std::cell::Cell;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context as _, Result};
use assay_capture::{ServerVersion, server_version};
use assay_model::Dialect;
use assay_workloads::dump_dialect;
use flate2::bufread::MultiGzDecoder;

use assay_run::advice::Advised;
use assay_run::paths;

const DUMPS: &str =
    "name a file that `mysqldump`, `mariadb-dump` or `pg_dump` wrote, plain or gzipped";

const BUFFER: usize = 256 << 10;

/// Magic number of gzip.
const GZIP: &[u8] = b"\x1f\x8b";

/// Bytes from which the kind of a dump is detected.
const HEAD: u64 = 64 << 10;

pub(super) struct Source {
    pub(super) content: Box<dyn BufRead>,
    is_cut: Rc<Cell<bool>>,
}

impl Source {
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.get()
    }
}

struct UpTo<R> {
    source: R,
    is_cut: Rc<Cell<bool>>,
}

impl<R: Read> Read for UpTo<R> {
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
pub(super) fn check(path: &Path, hint: &'static str) -> Result<()> {
    paths::check_file(path, hint)?;
    if fs_err::metadata(path)?.is_file() {
        return Ok(());
    }
    let what = format!("`{}` is not a regular file", path.display());
    Err(Advised::new(what, "write its content into a file, and name that").into())
}

pub(super) fn open(path: &Path) -> Result<Source> {
    let file = fs_err::File::open(path)?;
    let mut plain = BufReader::with_capacity(BUFFER, file);
    let is_gzip = plain.fill_buf()?.starts_with(GZIP);
    let is_cut = Rc::new(Cell::new(false));
    let content: Box<dyn BufRead> = if is_gzip {
        let source = MultiGzDecoder::new(plain);
        let up_to = UpTo { source, is_cut: Rc::clone(&is_cut) };
        Box::new(BufReader::with_capacity(BUFFER, up_to))
    } else {
        Box::new(plain)
    };
    Ok(Source { content, is_cut })
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
    check(path, DUMPS)?;
    let head = head(path, HEAD)?;
    match dump_dialect(&head) {
        Ok(dialect) => Ok(DumpHead { dialect, server: server_version(&head) }),
        Err(why) => {
            let what = format!("`{}` is {why}", path.display());
            Err(Advised::new(what, why.hint()).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
