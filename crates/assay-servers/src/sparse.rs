//! Blocks of zeros: holes in a template, allocated in an instance.
//!
//! Most of a small template is reserve: redo logs, undo tablespaces, doublewrite files. As holes they take no disk
//! space, and a copy of them takes no time. A server that writes into a hole has to allocate the block first, so an
//! instance gets all its blocks before it starts.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use assay_wire::Stop;
use fs_err as fs;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, ioctl_ficlone, seek};
use rustix::io::Errno;

use crate::error::Error;

/// Unit of holes, bytes: the blocks of common file systems.
const BLOCK: usize = 4096;

/// Shorter runs of zeros stay: each hole costs the file system an extent.
const RUN_MIN: u64 = 8 << 10;

/// Bytes read at once, and between two checks for a stop.
const AT_ONCE: usize = 1 << 20;

/// Room for writes until the next check, bytes.
const MARGIN: u64 = 64 << 20;

const ZEROS: [u8; BLOCK] = [0; BLOCK];

pub(crate) fn free_zeros(dir: &Path, stop: &Stop) -> Result<(), Error> {
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

fn free_zeros_of(file: &File, start: u64, end: u64, stop: &Stop) -> Result<(), Error> {
    let mut buffer = vec![0; AT_ONCE];
    let (mut at, mut zeros_from) = (start, None);
    while at < end {
        if stop.is_asked() {
            return Err(Error::Stopped);
        }
        let wanted = usize::try_from(end - at).unwrap_or(AT_ONCE).min(AT_ONCE);
        let part = buffer.get_mut(..wanted).unwrap_or_default();
        file.read_exact_at(part, at)?;
        for block in part.chunks(BLOCK) {
            let is_zero = ZEROS.get(..block.len()) == Some(block);
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

/// Bytes that a disk lacks for a copy of `template` below `place`; 0 if there is room, or if a copy shares its blocks.
pub fn missing_room(template: &Path, place: &Path) -> Result<u64, Error> {
    let (needed, free) = needed_and_free(template, place)?;
    Ok(needed.saturating_sub(free))
}

pub(crate) fn check_room(template: &Path, place: &Path) -> Result<(), Error> {
    let (needed, free) = needed_and_free(template, place)?;
    if needed <= free {
        return Ok(());
    }
    let [needed_mb, free_mb, missing_mb] =
        [needed, free, needed - free].map(|it| it.div_ceil(1 << 20));
    Err(Error::NoRoomForCopy { dir: place.to_owned(), needed_mb, free_mb, missing_mb })
}

fn needed_and_free(template: &Path, place: &Path) -> Result<(u64, u64), Error> {
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
    let trial = place.join(format!(".clone-{}", std::process::id()));
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
pub(crate) fn each_file(
    dir: &Path,
    act: &mut dyn FnMut(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
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
        assert!(missing_room(dir.path(), dir.path()).unwrap() > 0);
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
        assert!(matches!(free_zeros(dir.path(), &stop), Err(Error::Stopped)));
    }
}
