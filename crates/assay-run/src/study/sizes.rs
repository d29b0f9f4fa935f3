//! The size of a server's data and memory at the end of a step of the Insert Benchmark.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::Result;
use assay_model::{Dialect, Series};
use assay_wire::{ConnectOptions, Connection};
use procfs::process::Process;

use crate::systems::{DATABASE, Instance};

/// Bytes. File systems count in these.
const BLOCK: u64 = 512;

/// Bytes of the database and of the whole data directory on disk, and of the server's memory: a series of one count
/// each. A size that cannot be read is left out.
pub(super) fn sizes(
    server: &Instance,
    dialect: Dialect,
    options: &ConnectOptions,
) -> Result<Vec<Series>> {
    let Instance::Started(started) = server else { return Ok(Vec::new()) };
    let data_dir = started.data_dir();
    let database = match dialect {
        Dialect::Postgres => {
            let sql = "SELECT pg_database_size(current_database())";
            Connection::control(options)?.query(sql)?.text(0, 0).and_then(|it| it.parse().ok())
        }
        // MyRocks keeps all tables in a separate directory.
        Dialect::MySql => Some(
            allocated(&data_dir.join(DATABASE))
                + [".rocksdb", "#rocksdb"]
                    .map(|it| allocated(&data_dir.join(it)))
                    .iter()
                    .sum::<u64>(),
        ),
    };
    let found = [
        ("database-bytes", database),
        ("data-directory-bytes", Some(allocated(&data_dir))),
        ("resident-bytes", resident(started.pid())),
    ];
    let series = |(name, bytes): (&str, Option<u64>)| {
        Some(Series { name: name.to_owned(), step_ms: 1000, counts: vec![bytes?] })
    };
    Ok(found.into_iter().filter_map(series).collect())
}

/// Bytes that the files of a directory take on disk. Files may come and go meanwhile.
fn allocated(directory: &Path) -> u64 {
    let Ok(entries) = fs_err::read_dir(directory) else { return 0 };
    let size = |entry: fs_err::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => allocated(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |it| it.blocks() * BLOCK),
        _ => 0,
    };
    entries.flatten().map(size).sum()
}

/// Resident memory of a server and its child processes, bytes: the private part of each, and the shared part once.
fn resident(pid: i32) -> Option<u64> {
    let main = Process::new(pid).ok()?;
    let children = main.task_main_thread().and_then(|task| task.children()).unwrap_or_default();
    let processes = children.into_iter().filter_map(|child| Process::new(child.cast_signed()).ok());
    let status = std::iter::once(main).chain(processes).filter_map(|it| it.status().ok());
    let (mut own_kb, mut shared_kb) = (0, 0);
    for status in status {
        own_kb += status.rssanon?;
        shared_kb = shared_kb.max(status.rssshmem? + status.rssfile?);
    }
    Some((own_kb + shared_kb) * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_the_size_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::create_dir(folder.path().join("inner")).unwrap();
        fs_err::write(folder.path().join("inner/file"), vec![1; 100_000]).unwrap();
        let bytes = allocated(folder.path());
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
        assert_eq!(allocated(&folder.path().join("none")), 0);
    }

    #[test]
    fn this_process_is_resident() {
        assert!(resident(std::process::id().cast_signed()).unwrap() > 1 << 20);
    }
}
