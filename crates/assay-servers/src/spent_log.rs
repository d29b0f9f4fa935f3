//! Frees the parts of a log that no start reads after a clean shutdown.
//!
//! A log keeps old content until it is overwritten, up to its whole size after a large table. After a clean shutdown, a
//! server reads the headers and continues from its last checkpoint. If the checkpoint cannot be located with certainty,
//! the log is left unchanged.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use fs_err as fs;

use crate::error::Error;
use crate::sparse::punch;

/// Bytes kept at the start of each file, and on both sides of the checkpoint: far more than a page.
const KEPT: u64 = 1 << 20;

/// Block size of InnoDB's log, bytes.
const LOG_BLOCK: u64 = 512;

/// Mask of the numbers of these blocks, which begin at 1.
const BLOCK_NUMBER_MASK: u64 = 0x3FFF_FFFF;

/// Start of MariaDB's log in its file, from 10.8 on.
const MARIADB_START: u64 = 12_288;

const MARIADB_MAGIC: &[u8] = b"Phys";

/// Segment size of Postgres' log, bytes.
const WAL_SEGMENT: u64 = 16 << 20;

/// Frees the spent parts of the logs. The server must have been shut down cleanly.
pub(crate) fn free_spent_logs(data_dir: &Path) -> Result<(), Error> {
    if data_dir.join("pg_wal").is_dir() {
        return Ok(free_wal(&data_dir.join("pg_wal"), data_dir)?);
    }
    if data_dir.join("pg_xlog").is_dir() {
        return Ok(free_wal(&data_dir.join("pg_xlog"), data_dir)?);
    }
    // Copies of pages written since. A clean shutdown leaves no unwritten page.
    for path in named(data_dir, |name| name.starts_with("#ib_") && name.ends_with(".dblwr"))? {
        let file = opened(&path)?;
        punch(&file, 0, file.metadata()?.len())?;
    }
    let redo = data_dir.join("#innodb_redo");
    if redo.is_dir() {
        // Spare files, which the server fills before it reads them.
        for path in named(&redo, |name| name.ends_with("_tmp") && name.starts_with("#ib_redo"))? {
            let file = opened(&path)?;
            punch(&file, 0, file.metadata()?.len())?;
        }
        let files = named(&redo, |name| numbered(name, "#ib_redo"))?;
        return Ok(free_redo(&files)?);
    }
    Ok(free_redo(&named(data_dir, |name| numbered(name, "ib_logfile"))?)?)
}

fn named(dir: &Path, fits: impl Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name().to_str().is_some_and(&fits) {
            found.push(entry.path());
        }
    }
    found.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(found)
}

fn numbered(name: &str, beginning: &str) -> bool {
    let number = name.strip_prefix(beginning);
    number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
}

fn opened(path: &Path) -> io::Result<File> {
    Ok(fs::OpenOptions::new().read(true).write(true).open(path)?.into_parts().0)
}

fn number_at(file: &File, at: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, at)?;
    Ok(u64::from_be_bytes(bytes))
}

fn free_redo(paths: &[PathBuf]) -> io::Result<()> {
    let files = paths.iter().map(|path| opened(path)).collect::<io::Result<Vec<_>>>()?;
    let Some(first) = files.first() else { return Ok(()) };
    let length = first.metadata()?.len();
    if length < 2 * KEPT {
        return Ok(());
    }
    let mut magic = [0; 4];
    first.read_exact_at(&mut magic, 0)?;
    if magic == MARIADB_MAGIC {
        let start = number_at(first, 8)?;
        let checkpoint = number_at(first, 4096)?.max(number_at(first, 8192)?);
        let Some(done) = checkpoint.checked_sub(start).filter(|_| start > 0) else { return Ok(()) };
        let at = MARIADB_START + done % (length - MARIADB_START);
        return keep_around(first, length, at);
    }
    // The first or the last file has the newest checkpoint, in one of two places.
    let mut checkpoint = 0;
    for file in &files {
        checkpoint = checkpoint.max(number_at(file, 512 + 8)?).max(number_at(file, 1536 + 8)?);
    }
    let wanted = ((checkpoint / LOG_BLOCK) & BLOCK_NUMBER_MASK) as u32 + 1;
    let mut found = Vec::new();
    for (index, file) in files.iter().enumerate() {
        found.extend(blocks_numbered(file, wanted)?.into_iter().map(|at| (index, at)));
    }
    // None or several: this log has another format.
    let &[(holder, at)] = found.as_slice() else { return Ok(()) };
    for (index, file) in files.iter().enumerate() {
        let length = file.metadata()?.len();
        // Only in the file with the checkpoint is more than the start kept.
        let at = if index == holder { at } else { 0 };
        keep_around(file, length, at)?;
    }
    Ok(())
}

/// Positions of blocks with that number.
fn blocks_numbered(file: &File, wanted: u32) -> io::Result<Vec<u64>> {
    let length = file.metadata()?.len();
    let mut found = Vec::new();
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    while at < length {
        let count = usize::try_from(length - at).unwrap_or(buffer.len()).min(buffer.len());
        let part = buffer.get_mut(..count).unwrap_or_default();
        file.read_exact_at(part, at)?;
        for block in part.chunks(LOG_BLOCK as usize) {
            let number = block.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes));
            // The highest bit marks the start of a write of several blocks.
            if number.is_some_and(|it| it & 0x7FFF_FFFF == wanted) && at >= 4 * LOG_BLOCK {
                found.push(at);
            }
            at += block.len() as u64;
        }
    }
    Ok(found)
}

/// Frees a file except for its start and what is near a position.
fn keep_around(file: &File, length: u64, at: u64) -> io::Result<()> {
    let (before, after) = (at.saturating_sub(KEPT) & !(KEPT - 1), at.saturating_add(2 * KEPT));
    punch(file, KEPT, before)?;
    punch(file, (after & !(KEPT - 1)).max(KEPT), length)
}

fn free_wal(wal: &Path, data_dir: &Path) -> io::Result<()> {
    let Ok(control) = fs::File::open(data_dir.join("global/pg_control")) else { return Ok(()) };
    // After identifier, versions, state and time, the same since 9.4; in the byte order of this machine.
    let mut bytes = [0; 8];
    control.file().read_exact_at(&mut bytes, 32)?;
    let checkpoint = u64::from_le_bytes(bytes);
    let segment = |name: &str| -> Option<u64> {
        let digits = (name.len() == 24).then(|| name.get(8..24)).flatten()?;
        let (high, low) = digits.split_at_checked(8)?;
        let [high, low] = [high, low].map(|part| u64::from_str_radix(part, 16));
        Some(high.ok()? * (1 << 32) + low.ok()? * WAL_SEGMENT)
    };
    let mut all = Vec::new();
    for path in named(wal, |name| segment(name).is_some())? {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(segment);
        all.extend(name.map(|start| (start, path)));
    }
    let holds = |start: u64| (start..start + WAL_SEGMENT).contains(&checkpoint);
    // The segments have another size.
    if !all.iter().any(|(start, _)| holds(*start)) {
        return Ok(());
    }
    for (start, path) in all {
        let file = opened(&path)?;
        let length = file.metadata()?.len();
        if length != WAL_SEGMENT {
            return Ok(());
        }
        match holds(start) {
            true => keep_around(&file, length, checkpoint - start)?,
            false => punch(&file, 0, length)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    const LENGTH: usize = 16 << 20;

    fn blocks(path: &Path) -> u64 {
        fs::metadata(path).unwrap().blocks() * 512
    }

    /// A log file of blocks with numbers from `number` on, and a checkpoint.
    fn classic(number: u32, checkpoint: u64) -> Vec<u8> {
        let mut log = vec![0xAB; LENGTH];
        for (index, block) in (number..).zip(log.chunks_mut(512).skip(4)) {
            block[..4].copy_from_slice(&index.to_be_bytes());
        }
        log[..2048].fill(0);
        log[520..528].copy_from_slice(&checkpoint.to_be_bytes());
        log
    }

    #[test]
    fn of_a_classic_log_the_checkpoint_and_the_headers_stay() {
        let dir = tempfile::tempdir().unwrap();
        let paths = [0, 1].map(|number| dir.path().join(format!("ib_logfile{number}")));
        let written = [classic(1001, 9_000_000 + 100), classic(40_001, 0)];
        for (path, log) in paths.iter().zip(&written) {
            fs::write(path, log).unwrap();
        }
        free_spent_logs(dir.path()).unwrap();
        let block = (9_000_100 / 512 + 1 - 1001 + 4) * 512;
        let kept = fs::read(&paths[0]).unwrap();
        assert!(kept.len() == LENGTH && kept[..4096] == written[0][..4096]);
        assert!(kept[block..block + 65_536] == written[0][block..block + 65_536]);
        assert!(kept[LENGTH - 4096..].iter().all(|byte| *byte == 0));
        assert!(blocks(&paths[0]) <= 5 << 20 && blocks(&paths[1]) <= 3 << 20);
    }

    #[test]
    fn a_log_without_a_certain_checkpoint_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ib_logfile0");
        let log = classic(1001, 900_000_000_000);
        fs::write(&path, &log).unwrap();
        free_spent_logs(dir.path()).unwrap();
        assert!(fs::read(&path).unwrap() == log);
    }

    #[test]
    fn mariadb_and_postgres_logs_keep_what_follows_the_checkpoint() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ib_logfile0");
        let mut log = vec![0xAB; LENGTH];
        log[..4].copy_from_slice(MARIADB_MAGIC);
        log[8..16].copy_from_slice(&12_288_u64.to_be_bytes());
        log[4096..4104].copy_from_slice(&8_000_000_u64.to_be_bytes());
        log[8192..8200].copy_from_slice(&7_000_000_u64.to_be_bytes());
        fs::write(&path, &log).unwrap();
        free_spent_logs(dir.path()).unwrap();
        let kept = fs::read(&path).unwrap();
        assert!(kept[7_999_000..8_900_000] == log[7_999_000..8_900_000]);
        assert!(kept[2_000_000..3_000_000].iter().all(|byte| *byte == 0));
        assert!(kept[..1 << 20] == log[..1 << 20] && blocks(&path) <= 5 << 20);

        let dir = tempfile::tempdir().unwrap();
        for name in ["global", "pg_wal"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let mut control = vec![0; 8192];
        control[32..40].copy_from_slice(&(2 * WAL_SEGMENT + 9_000_000).to_le_bytes());
        fs::write(dir.path().join("global/pg_control"), control).unwrap();
        let wal = [1, 2, 3].map(|it| dir.path().join(format!("pg_wal/0000000100000000{it:08X}")));
        for path in &wal {
            fs::write(path, vec![0xAB; LENGTH]).unwrap();
        }
        free_spent_logs(dir.path()).unwrap();
        assert_eq!([&wal[0], &wal[2]].map(|path| blocks(path)), [0, 0]);
        let kept = fs::read(&wal[1]).unwrap();
        assert!(kept[8_999_000..9_900_000].iter().all(|byte| *byte == 0xAB));
        assert!(kept[..1 << 20].iter().all(|byte| *byte == 0xAB) && blocks(&wal[1]) <= 5 << 20);
    }
}
