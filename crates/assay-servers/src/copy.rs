//! Copies data directories: with shared blocks if the file system supports it, otherwise without the holes.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;

use assay_wire::Stop;
use fs_err as fs;
use rustix::fs::{FallocateFlags, SeekFrom, copy_file_range, fallocate, ioctl_ficlone, seek};
use rustix::io::Errno;

use crate::error::{Result, ServersError};
use crate::sparse::each_file;

const AT_ONCE: u64 = 64 << 20;

/// Copies a directory tree; `to` must not exist. The copy has the same content, permissions and holes, but only the
/// owner may write to it. Sockets and pipes are skipped. After an error, such as [`ServersError::Stopped`], the partial
/// copy stays.
pub fn copy_tree(from: &Path, to: &Path, stop: &Stop) -> Result<()> {
    copy(from, to, Holes::Stay, stop)
}

/// Copies a tree with all blocks allocated, as contiguous as the disk allows: a server that writes to it need not
/// allocate any.
pub(crate) fn copy_whole(from: &Path, to: &Path, stop: &Stop) -> Result<()> {
    copy(from, to, Holes::Allocated, stop)
}

/// Moves a directory; `to` must not exist. To another file system it is copied: the copy is complete before it gets its
/// name and before the original is removed. After an error nothing is at `to`, unless only the original could not be
/// removed.
pub(crate) fn move_tree(from: &Path, to: &Path, stop: &Stop) -> Result<()> {
    move_by(|from, to| fs::rename(from, to), from, to, stop)
}

fn move_by(
    rename: impl Fn(&Path, &Path) -> io::Result<()>,
    from: &Path,
    to: &Path,
    stop: &Stop,
) -> Result<()> {
    match rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        moved => return Ok(moved?),
    }
    let mut unfinished = to.as_os_str().to_owned();
    unfinished.push(".partial");
    let unfinished = Path::new(&unfinished);
    let mut sync = |path: &Path| -> Result<()> { Ok(fs::File::open(path)?.sync_all()?) };
    let copied = copy_tree(from, unfinished, stop)
        .and_then(|()| each_file(unfinished, &mut sync))
        .and_then(|()| Ok(fs::rename(unfinished, to)?));
    if let Err(error) = copied {
        // The error of the copy is the one that matters.
        let _ = fs::remove_dir_all(unfinished);
        return Err(error);
    }
    Ok(fs::remove_dir_all(from)?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holes {
    Stay,
    Allocated,
}

fn copy(from: &Path, to: &Path, holes: Holes, stop: &Stop) -> Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, source) = (entry.file_type()?, entry.path());
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy(&source, &target, holes, stop)?;
        } else if kind.is_symlink() {
            fs::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            copy_file(&source, &target, holes, stop)?;
        }
    }
    Ok(fs::set_permissions(to, owners(&fs::metadata(from)?))?)
}

fn owners(metadata: &Metadata) -> Permissions {
    Permissions::from_mode(metadata.permissions().mode() & 0o7755)
}

fn copy_file(from: &Path, to: &Path, holes: Holes, stop: &Stop) -> Result<()> {
    let source = fs::File::open(from)?;
    let target = fs::OpenOptions::new().write(true).create_new(true).open(to)?;
    let metadata = source.metadata()?;
    let is_clone = ioctl_ficlone(&target, &source).is_ok();
    if !is_clone {
        target.set_len(metadata.len())?;
    }
    if holes == Holes::Allocated {
        // Before the content, so that both are contiguous.
        allocate(target.file(), metadata.len())?;
    }
    if !is_clone {
        copy_data(source.file(), target.file(), metadata.len(), stop)?;
    }
    Ok(target.set_permissions(owners(&metadata))?)
}

/// Allocates all blocks of a file. Holes still read as zeros. The blocks are not written: allocation takes
/// milliseconds, zeros take seconds.
fn allocate(file: &File, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, length) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn copy_data(source: &File, target: &File, length: u64, stop: &Stop) -> Result<()> {
    let mut end = 0;
    while end < length {
        let start = match seek(source, SeekFrom::Data(end)) {
            Ok(start) => start,
            // Only a hole is left.
            Err(Errno::NXIO) => return Ok(()),
            Err(errno) => return Err(io::Error::from(errno).into()),
        };
        if stop.is_asked() {
            return Err(ServersError::Stopped);
        }
        let hole = seek(source, SeekFrom::Hole(start)).map_err(io::Error::from)?;
        end = hole.min(start.saturating_add(AT_ONCE));
        copy_part(source, target, start, end)?;
    }
    Ok(())
}

fn copy_part(source: &File, target: &File, start: u64, end: u64) -> io::Result<()> {
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let count = usize::try_from(end - read_at).unwrap_or(usize::MAX);
        let copied =
            copy_file_range(source, Some(&mut read_at), target, Some(&mut write_at), count);
        match copied {
            // The file has shrunk, although no process may write to a template.
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            // Another file system, or one without this call.
            Err(Errno::XDEV | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                return copy_through_memory(source, target, read_at, end);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn copy_through_memory(source: &File, target: &File, mut at: u64, end: u64) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    while at < end {
        let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
        let part = &mut buffer[..wanted];
        source.read_exact_at(part, at)?;
        target.write_all_at(part, at)?;
        at += wanted as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn copy_has_content_permissions_links_and_holes() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/file"), b"content").unwrap();
        fs::write(from.join("empty"), b"").unwrap();
        fs::set_permissions(from.join("a"), Permissions::from_mode(0o700)).unwrap();
        for open in ["a/b", "a/b/file"] {
            fs::set_permissions(from.join(open), Permissions::from_mode(0o777)).unwrap();
        }
        fs::os::unix::fs::symlink("a/b", from.join("link")).unwrap();
        let sparse = File::create_new(from.join("sparse")).unwrap();
        sparse.set_len(64 << 20).unwrap();
        sparse.write_all_at(b"middle", 20 << 20).unwrap();

        let (to, stop) = (dir.path().join("to"), Stop::default());
        copy_tree(&from, &to, &stop).unwrap();
        assert_eq!(fs::read(to.join("a/b/file")).unwrap(), b"content");
        assert_eq!(fs::read(to.join("empty")).unwrap(), b"");
        assert_eq!(fs::metadata(to.join("a")).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(to.join("a/b")).unwrap().mode() & 0o777, 0o755);
        assert_eq!(fs::metadata(to.join("a/b/file")).unwrap().mode() & 0o777, 0o755);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("a/b"));
        let copied = fs::metadata(to.join("sparse")).unwrap();
        assert_eq!(copied.len(), 64 << 20);
        assert!(copied.blocks() * 512 < 1 << 20, "holes were filled: {} blocks", copied.blocks());
        assert!(fs::read(to.join("sparse")).unwrap() == fs::read(from.join("sparse")).unwrap());
        assert!(copy_tree(&from, &to, &stop).is_err(), "an existing directory was taken");
    }

    #[test]
    fn a_stop_ends_a_copy_before_the_next_part() {
        let dir = tempfile::tempdir().unwrap();
        let (from, stop) = (dir.path().join("from"), Stop::default());
        fs::create_dir(&from).unwrap();
        fs::write(from.join("file"), b"content").unwrap();
        stop.ask();
        let ended = copy_tree(&from, &dir.path().join("to"), &stop);
        assert!(matches!(ended, Err(ServersError::Stopped)), "{ended:?}");
    }

    #[test]
    fn a_directory_moves_to_another_file_system_as_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("inner")).unwrap();
        fs::write(from.join("inner/file"), b"content").unwrap();
        let across = |_: &Path, _: &Path| Err(io::ErrorKind::CrossesDevices.into());
        let names = || fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().file_name());
        // A directory that cannot be copied stays, and leaves nothing behind.
        let stop = Stop::default();
        stop.ask();
        assert!(move_by(across, &from, &to, &stop).is_err());
        assert_eq!(names().collect::<Vec<_>>(), ["from"]);
        move_by(across, &from, &to, &Stop::default()).unwrap();
        assert_eq!(names().collect::<Vec<_>>(), ["to"]);
        assert_eq!(fs::read(to.join("inner/file")).unwrap(), b"content");
        // Other failures are no reason to copy.
        let denied = |_: &Path, _: &Path| Err(io::ErrorKind::PermissionDenied.into());
        assert!(move_by(denied, &to, &from, &Stop::default()).is_err());
        assert!(to.exists() && !from.exists());
    }

    #[test]
    fn copies_can_go_through_memory() {
        let dir = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..3_000_000_u32).map(|it| it as u8).collect();
        fs::write(dir.path().join("source"), &content).unwrap();
        let source = File::options().read(true).open(dir.path().join("source")).unwrap();
        let target = File::create_new(dir.path().join("target")).unwrap();
        copy_through_memory(&source, &target, 0, content.len() as u64).unwrap();
        assert!(fs::read(dir.path().join("target")).unwrap() == content);
    }
}
