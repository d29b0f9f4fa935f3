//! Blocks of zeros: holes in a template, allocated in an instance.
//!
//! Most of a small template is reserve: redo logs, undo tablespaces, doublewrite files. As holes they take no disk
//! space, and a copy of them takes no time. A server that writes into a hole has to allocate the block first, so an
//! instance gets all its blocks before it starts.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use assay_wire::Stop;
use fs_err as fs;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, ioctl_ficlone, seek};
use rustix::io::Errno;

use crate::error::{Result, ServersError};
use crate::supervise::unique_name;

/// Unit of holes, bytes: the blocks of common file systems.
const BLOCK: usize = 4096;

/// Shorter runs of zeros stay: each hole costs the file system an extent.
const RUN_MIN: u64 = 8 << 10;

/// Bytes read at once, and between two checks for a stop.
const AT_ONCE: usize = 1 << 20;

/// Room for writes until the next check, bytes.
const MARGIN: u64 = 64 << 20;

const ZEROS: [u8; BLOCK] = [0; BLOCK];

pub(crate) fn free_zeros(dir: &Path, stop: &Stop) -> Result<()> {
    each_file(dir, &mut |path| {
        let file = fs::OpenOptions::new().read(true).write(true).open(path)?;
        let length = file.metadata()?.len();
        let mut at = 0;
        while at < length {
            let start = match seek(&file, SeekFrom::Data(at)) {
                Ok(start) => start,
                Err(Errno::NXIO) => length,
                Err(errno) => return Err(io::Error::from(errno).into()),
            };
            // Allocated but unwritten blocks count as holes, but take space.
            punch(file.file(), at, start)?;
            if start >= length {
                break;
            }
            at = seek(&file, SeekFrom::Hole(start)).map_err(io::Error::from)?.min(length);
            free_zeros_of(file.file(), start, at, stop)?;
        }
        Ok(())
    })
}

fn free_zeros_of(file: &File, start: u64, end: u64, stop: &Stop) -> Result<()> {
    let mut buffer = vec![0; AT_ONCE];
    let (mut at, mut zeros_from) = (start, None);
    while at < end {
        if stop.is_asked() {
            return Err(ServersError::Stopped);
        }
        let wanted = usize::try_from(end - at).unwrap_or(AT_ONCE).min(AT_ONCE);
        let part = &mut buffer[..wanted];
        file.read_exact_at(part, at)?;
        for block in part.chunks(BLOCK) {
            let is_zero = ZEROS[..block.len()] == *block;
            match zeros_from {
                None if is_zero => zeros_from = Some(at),
                Some(from) if !is_zero => {
                    free_run(file, from, at)?;
                    zeros_from = None;
                }
                _ => {}
            }
            at += block.len() as u64;
        }
    }
    Ok(zeros_from.map_or(Ok(()), |from| free_run(file, from, end))?)
}

fn free_run(file: &File, from: u64, to: u64) -> io::Result<()> {
    if to - from < RUN_MIN { Ok(()) } else { punch(file, from, to) }
}

/// Turns a part of a file into a hole, whatever its content. Does nothing on file systems without holes.
pub(crate) fn punch(file: &File, from: u64, to: u64) -> io::Result<()> {
    if from >= to {
        return Ok(());
    }
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match fallocate(file, flags, from, to - from) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Bytes that a disk lacks for a copy of each of these templates below `place`; 0 if there is room, or if copies share
/// their blocks.
pub fn missing_room(templates: &[&Path], place: &Path) -> Result<u64> {
    let (mut all, mut least) = (0, u64::MAX);
    for template in templates {
        let (needed, free) = needed_and_free(template, place)?;
        all += needed;
        least = least.min(free);
    }
    let is_shared = || templates.iter().all(|template| shares_blocks(template, place));
    let needed = if all > least && is_shared() { MARGIN } else { all };
    Ok(needed.saturating_sub(least))
}

pub(crate) fn check_room(template: &Path, place: &Path) -> Result<()> {
    let (needed, free) = needed_and_free(template, place)?;
    if needed <= free {
        return Ok(());
    }
    let [needed_mb, free_mb, missing_mb] =
        [needed, free, needed - free].map(|it| it.div_ceil(1 << 20));
    Err(ServersError::NoRoomForCopy { dir: place.to_owned(), needed_mb, free_mb, missing_mb })
}

fn needed_and_free(template: &Path, place: &Path) -> Result<(u64, u64)> {
    let disk = rustix::fs::statvfs(place).map_err(io::Error::from)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let mut needed = MARGIN;
    each_file(template, &mut |path| {
        needed += fs::symlink_metadata(path)?.len();
        Ok(())
    })?;
    if needed > free && shares_blocks(template, place) {
        Ok((MARGIN, free))
    } else {
        Ok((needed, free))
    }
}

fn shares_blocks(template: &Path, place: &Path) -> bool {
    let mut largest = None;
    let found = each_file(template, &mut |path| {
        let length = fs::symlink_metadata(path)?.len();
        if largest.as_ref().is_none_or(|(most, _)| *most < length) {
            largest = Some((length, path.to_owned()));
        }
        Ok(())
    });
    let (Ok(()), Some((_, path))) = (found, largest) else { return false };
    // Several servers may start at the same time.
    let trial = place.join(format!(".clone-{}", unique_name()));
    let cloned = || -> io::Result<()> {
        let source = fs::File::open(&path)?;
        let target = fs::OpenOptions::new().write(true).create_new(true).open(&trial)?;
        Ok(ioctl_ficlone(&target, &source)?)
    };
    let shares = cloned().is_ok();
    drop(fs::remove_file(&trial));
    shares
}

/// Calls `act` for every regular file below a directory. Links are not followed.
pub(crate) fn each_file(dir: &Path, act: &mut dyn FnMut(&Path) -> Result<()>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            each_file(&entry.path(), act)?;
        } else if kind.is_file() {
            act(&entry.path())?;
        }
    }
    Ok(())
}

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
pub(crate) fn free_spent_logs(data_dir: &Path) -> Result<()> {
    for wal in ["pg_wal", "pg_xlog"].map(|name| data_dir.join(name)) {
        if wal.is_dir() {
            return Ok(free_wal(&wal, data_dir)?);
        }
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
        let part = &mut buffer[..count];
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
        if holds(start) {
            keep_around(&file, length, checkpoint - start)?;
        } else {
            punch(&file, 0, length)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn blocks(path: &Path) -> u64 {
        fs::metadata(path).unwrap().blocks() * 512
    }

    #[test]
    fn zeros_take_no_space_in_a_template_and_all_of_it_in_an_instance() {
        let dir = tempfile::tempdir().unwrap();
        let [written, reserved] = ["written", "a/reserved"].map(|name| dir.path().join(name));
        fs::create_dir(dir.path().join("a")).unwrap();
        let mut content = vec![0; 8 << 20];
        content[5_000_000..5_000_100].fill(7);
        content[(8 << 20) - 1] = 9;
        fs::write(&written, &content).unwrap();
        let file = File::create_new(&reserved).unwrap();
        fallocate(&file, FallocateFlags::empty(), 0, 8 << 20).unwrap();
        assert!(blocks(&written) >= 8 << 20 && blocks(&reserved) >= 8 << 20);

        free_zeros(dir.path(), &Stop::default()).unwrap();
        assert!(blocks(&written) <= 64 << 10, "{}", blocks(&written));
        assert_eq!(blocks(&reserved), 0);
        assert!(fs::read(&written).unwrap() == content);
        let (needed, free) = needed_and_free(dir.path(), dir.path()).unwrap();
        assert!(needed == MARGIN + (16 << 20) && free > 0);

        let copy = dir.path().join("copy");
        crate::copy::copy_whole(&dir.path().join("a"), &copy, &Stop::default()).unwrap();
        assert!(blocks(&copy.join("reserved")) >= 8 << 20);
        let copied = dir.path().join("copied");
        fs::create_dir(dir.path().join("b")).unwrap();
        fs::rename(&written, dir.path().join("b/written")).unwrap();
        crate::copy::copy_whole(&dir.path().join("b"), &copied, &Stop::default()).unwrap();
        assert!(blocks(&copied.join("written")) >= 8 << 20);
        assert!(fs::read(copied.join("written")).unwrap() == content);
    }

    #[test]
    fn what_a_copy_lacks_is_told_before_it_begins() {
        let dir = tempfile::tempdir().unwrap();
        // Sparse: no disk is that large.
        let huge = File::create_new(dir.path().join("huge")).unwrap();
        huge.set_len(8 << 40).unwrap();
        assert!(missing_room(&[dir.path()], dir.path()).unwrap() > 0);
        let error = check_room(dir.path(), dir.path()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("8388672 MB") && message.contains("missing"), "{message}");
        let hints = assay_model::Hint::hints(&error).concat();
        assert!(hints.contains("assay cache clean"), "{hints}");
    }

    #[test]
    fn files_of_odd_lengths_keep_their_content() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("odd");
        let mut content = vec![0; 3_000_001];
        content[3_000_000] = 1;
        content[17] = 2;
        fs::write(&path, &content).unwrap();
        free_zeros(dir.path(), &Stop::default()).unwrap();
        assert!(fs::read(&path).unwrap() == content);
        let stop = Stop::default();
        stop.ask();
        assert!(matches!(free_zeros(dir.path(), &stop), Err(ServersError::Stopped)));
    }

    const LENGTH: usize = 16 << 20;

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
