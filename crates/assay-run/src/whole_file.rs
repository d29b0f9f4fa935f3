//! Atomic writes: readers see the old or the new content, also if assay is killed.

use std::fs::Permissions;
use std::io::{ErrorKind, Read as _, Result, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::fs::OFlags;
use tempfile::NamedTempFile;

/// A new file in a directory, which disappears unless it gets a name.
pub fn temporary(directory: &Path, bytes: &[u8]) -> Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".assay-")
        // As any new file; the umask applies.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Puts a new file at a path that others can predict. A link or a pipe there is replaced, not followed.
pub fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    temporary(directory, bytes)?.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Reads a small regular file at such a path. A pipe there does not block.
pub fn text_of(path: &Path) -> Result<String> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = fs_err::OpenOptions::new();
    let file = options.read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        let message = format!("`{}` is not a regular file", path.display());
        return Err(std::io::Error::new(ErrorKind::InvalidInput, message));
    }
    let mut text = String::new();
    file.take(SMALL).read_to_string(&mut text)?;
    Ok(text)
}

const SMALL: u64 = 1 << 20;

/// Replaces the content of a file, which keeps its permissions, or of a link's target. Anything but a regular file,
/// such as a pipe or `/dev/stdout`, is written to.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    match replace(path, bytes) {
        Err(error) if is_of_place(error.kind()) => fs_err::write(path, bytes),
        replaced => replaced,
    }
}

/// Whether the file cannot be replaced: its directory accepts none, or a file system is mounted on it.
fn is_of_place(kind: ErrorKind) -> bool {
    use ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(kind, CrossesDevices | PermissionDenied | ReadOnlyFilesystem | ResourceBusy)
}

fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let old = match fs_err::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
        Ok(it) if it.is_file() => Some((path.to_owned(), it)),
        // A link may lead to nothing yet, or to an open file of this process.
        Ok(_) => match fs_err::canonicalize(path).and_then(|to| Ok((fs_err::metadata(&to)?, to))) {
            Ok((it, to)) if it.is_file() && !is_open_file(path) => Some((to, it)),
            _ => return fs_err::write(path, bytes),
        },
    };
    let file = old.as_ref().map_or(path, |(file, _)| file);
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty());
    let new = temporary(directory.unwrap_or(Path::new(".")), bytes)?;
    if let Some((_, old)) = &old {
        new.as_file().set_permissions(old.permissions())?;
    }
    new.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// Whether a link leads to `/dev` or `/proc`: `/dev/stdout` may be a file to which others write too.
fn is_open_file(path: &Path) -> bool {
    let mut path = path.to_owned();
    // As many as the kernel follows.
    for _ in 0..40 {
        if ["/dev", "/proc"].iter().any(|it| path.starts_with(it)) {
            return true;
        }
        let Ok(to) = fs_err::read_link(&path) else { return false };
        path = path.parent().map_or_else(|| to.clone(), |directory| directory.join(&to));
    }
    true
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_when_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let text = |name: &str| fs_err::read_to_string(at(name)).unwrap();
        write(&at("new"), b"1").unwrap();
        fs_err::set_permissions(at("new"), Permissions::from_mode(0o640)).unwrap();
        let before = fs_err::metadata(at("new")).unwrap();
        symlink("new", at("link")).unwrap();
        write(&at("link"), b"2").unwrap();
        let after = fs_err::metadata(at("new")).unwrap();
        assert_eq!((text("new").as_str(), after.mode()), ("2", before.mode()));
        assert!(after.ino() != before.ino() && at("link").is_symlink());
        symlink("later", at("dangling")).unwrap();
        write(&at("dangling"), b"3").unwrap();
        assert_eq!(text("later"), "3");
        // Links to open files are written to, and so is a device.
        let open = fs_err::File::create(at("open")).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(open.file());
        let inode = fs_err::metadata(at("open")).unwrap().ino();
        symlink(format!("/proc/self/fd/{number}"), at("stdout")).unwrap();
        write(&at("stdout"), b"4").unwrap();
        assert_eq!(
            (text("open").as_str(), fs_err::metadata(at("open")).unwrap().ino()),
            ("4", inode)
        );
        write(Path::new("/dev/null"), b"5").unwrap();
        assert!(write(&at("no/file"), b"6").is_err());
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 6);
    }

    #[test]
    fn what_others_have_put_at_a_path_is_replaced_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs_err::write(at("of another"), "kept").unwrap();
        symlink("of another", at("link")).unwrap();
        put(&at("link"), b"new").unwrap();
        assert_eq!(text_of(&at("link")).unwrap(), "new");
        assert_eq!(text_of(&at("of another")).unwrap(), "kept");
        let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), fifo, mode, 0).unwrap();
        assert!(text_of(&at("pipe")).unwrap_err().to_string().contains("regular"));
        put(&at("pipe"), b"new").unwrap();
        assert_eq!(text_of(&at("pipe")).unwrap(), "new");
    }
}
