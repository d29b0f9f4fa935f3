//! The file functions of `io` and `os`, for a script that may use only its own directory. Files are opened by path
//! once, so that they cannot be replaced between check and use.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use mlua::{Function, Lua, MultiValue, Table, Value as LuaValue};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, readlinkat, renameat, unlinkat,
};

use crate::error::NEEDS_FILES;
use crate::interface::add_function;

/// The modes of `io.open`. The last four create a missing file.
const MODES: [&str; 6] = ["r", "r+", "w", "w+", "a", "a+"];

/// A file or directory, held without being read. Opening a device or a pipe in this way has no effect on it.
pub(crate) struct PinnedFile {
    pub(crate) fd: OwnedFd,
    /// With all links resolved.
    pub(crate) path: PathBuf,
}

impl PinnedFile {
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Self::open(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
    }

    fn open(fd: OwnedFd) -> io::Result<Self> {
        let path = readlinkat(CWD, handle(&fd), Vec::new())?;
        let path = PathBuf::from(OsString::from_vec(path.into_bytes()));
        Ok(Self { fd, path })
    }

    pub(crate) fn is_regular(&self) -> io::Result<bool> {
        Ok(FileType::from_raw_mode(fstat(&self.fd)?.st_mode) == FileType::RegularFile)
    }

    /// A path of this very file, whatever happens to its directory.
    pub(crate) fn handle(&self) -> String {
        handle(&self.fd)
    }
}

fn handle(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

enum FileRefusal {
    Outside,
    System(io::Error),
}

impl<E: Into<io::Error>> From<E> for FileRefusal {
    fn from(error: E) -> Self {
        Self::System(error.into())
    }
}

struct ScriptDirectory(PathBuf);

pub(crate) fn is_hidden(below: &Path) -> bool {
    let mut parts = below.components();
    parts.any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
}

impl ScriptDirectory {
    /// Whether a real path is in the directory and not hidden. A script may be beside `.ssh` and `.profile`.
    fn contains(&self, real: &Path) -> Result<bool, FileRefusal> {
        let Ok(below) = real.strip_prefix(self.0.canonicalize()?) else { return Ok(false) };
        Ok(!is_hidden(below))
    }

    fn existing(&self, path: &Path) -> Result<PinnedFile, FileRefusal> {
        let path = self.0.join(path);
        let file = PinnedFile::at(&path).map_err(|error| {
            // A script must not learn whether a file exists elsewhere.
            let mut above = path.ancestors().skip(1).filter_map(|it| PinnedFile::at(it).ok());
            let is_inside = above.next().is_some_and(|it| self.contains(&it.path).unwrap_or(false));
            if is_inside { error.into() } else { FileRefusal::Outside }
        })?;
        if !self.contains(&file.path)? {
            return Err(FileRefusal::Outside);
        }
        match file.is_regular()? {
            true => Ok(file),
            // A device or a pipe may have no end.
            false => Err(io::Error::other("Not a regular file").into()),
        }
    }

    /// The parent of a path, held open, and the file's name, which need not exist.
    fn parent(&self, path: &Path) -> Result<(PinnedFile, PathBuf), FileRefusal> {
        let path = self.0.join(path);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FileRefusal::Outside);
        };
        let parent = PinnedFile::at(parent)?;
        match self.contains(&parent.path.join(name))? {
            true => Ok((parent, name.into())),
            false => Err(FileRefusal::Outside),
        }
    }

    /// A new file, which replaces nothing and follows no link.
    fn new_file(&self, path: &Path) -> Result<PinnedFile, FileRefusal> {
        let (parent, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = openat(&parent.fd, &name, flags, Mode::from_raw_mode(0o666));
        Ok(PinnedFile::open(made.map_err(|error| match error {
            // A dangling link: its target was not checked.
            rustix::io::Errno::EXIST => FileRefusal::Outside,
            error => error.into(),
        })?)?)
    }

    fn open(&self, path: &Path, mode: &str) -> Result<PinnedFile, FileRefusal> {
        match self.existing(path) {
            Err(FileRefusal::System(error))
                if error.kind() == io::ErrorKind::NotFound && !mode.starts_with('r') =>
            {
                self.new_file(path)
            }
            found => found,
        }
    }

    fn remove(&self, path: &Path) -> Result<(), FileRefusal> {
        let (parent, name) = self.parent(path)?;
        match unlinkat(&parent.fd, &name, AtFlags::empty()) {
            Err(rustix::io::Errno::ISDIR) => Ok(unlinkat(&parent.fd, &name, AtFlags::REMOVEDIR)?),
            done => Ok(done?),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), FileRefusal> {
        let ((from, name), (to, new)) = (self.parent(from)?, self.parent(to)?);
        Ok(renameat(&from.fd, &name, &to.fd, &new)?)
    }
}

fn refused(lua: &Lua, refusal: FileRefusal, path: &str, action: &str) -> mlua::Result<MultiValue> {
    match refusal {
        FileRefusal::Outside => Err(mlua::Error::runtime(format!(
            "the script wants to {action} `{path}`, and may use nothing {NEEDS_FILES}, and no hidden file"
        ))),
        FileRefusal::System(error) => {
            let code = error.raw_os_error();
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            let text = lua.create_string(format!("{path}: {text}"))?;
            let code = code.map_or(LuaValue::Nil, |code| LuaValue::Integer(code.into()));
            Ok(MultiValue::from_iter([LuaValue::Nil, LuaValue::String(text), code]))
        }
    }
}

/// The values that `os.remove` and `os.rename` return.
fn returned(
    lua: &Lua,
    done: Result<(), FileRefusal>,
    path: &str,
    action: &str,
) -> mlua::Result<MultiValue> {
    match done {
        Ok(()) => Ok(MultiValue::from_iter([LuaValue::Boolean(true)])),
        Err(refusal) => refused(lua, refusal, path, action),
    }
}

/// Adds `open`, `remove` and `rename` to a table of the interface. Their arguments are those of Lua's functions.
pub(crate) fn add_files(lua: &Lua, table: &Table, directory: &Path) -> mlua::Result<()> {
    let directory = Rc::new(ScriptDirectory(directory.to_owned()));
    let lua_open: Function = lua.globals().get::<Table>("io")?.get("open")?;
    let open = move |directory: &Rc<ScriptDirectory>,
                     lua: &Lua,
                     (path, mode): (String, Option<String>)| {
        let mode = mode.unwrap_or_else(|| "r".to_owned());
        let plain = mode.replacen('b', "", 1);
        if !MODES.contains(&plain.as_str()) {
            return Err(mlua::Error::runtime(format!("`{mode}` is no mode of a file")));
        }
        let file = match directory.open(Path::new(&path), &plain) {
            Ok(file) => file,
            Err(refusal) => return refused(lua, refusal, &path, "open"),
        };
        // Lua opens the file that was checked.
        let opened: MultiValue = lua_open.call((file.handle(), plain))?;
        match opened.get(2).and_then(LuaValue::as_i32) {
            None => Ok(opened),
            Some(code) => {
                let error = io::Error::from_raw_os_error(code);
                refused(lua, FileRefusal::System(error), &path, "open")
            }
        }
    };
    add_function(lua, table, "open", &directory, open)?;
    add_function(lua, table, "remove", &directory, |directory, lua, path: String| {
        returned(lua, directory.remove(Path::new(&path)), &path, "remove")
    })?;
    add_function(
        lua,
        table,
        "rename",
        &directory,
        |directory, lua, (from, to): (String, String)| {
            returned(lua, directory.rename(Path::new(&from), Path::new(&to)), &from, "rename")
        },
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn is_outside<T>(found: Result<T, FileRefusal>) -> bool {
        matches!(found, Err(FileRefusal::Outside))
    }

    fn is_refused<T>(found: Result<T, FileRefusal>) -> bool {
        found.is_err()
    }

    #[test]
    fn files_are_used_in_the_directory_of_the_script_only() {
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("inside");
        fs_err::create_dir_all(inside.join(".ssh")).unwrap();
        fs_err::create_dir(inside.join("below")).unwrap();
        fs_err::write(place.path().join("secret"), "").unwrap();
        fs_err::write(inside.join(".ssh/key"), "").unwrap();
        fs_err::write(inside.join("own"), "").unwrap();
        symlink(place.path().join("secret"), inside.join("link")).unwrap();
        symlink(place.path().join("none"), inside.join("dangling")).unwrap();
        symlink(place.path(), inside.join("up")).unwrap();
        symlink(inside.join("own"), inside.join("to-own")).unwrap();
        symlink(".ssh/key", inside.join("to-key")).unwrap();
        let directory = ScriptDirectory(inside.clone());
        let open = |path: &str, mode| directory.open(Path::new(path), mode);
        for mode in MODES {
            for path in [
                "../secret",
                "link",
                "up/secret",
                "/etc/passwd",
                ".ssh/key",
                "to-key",
                "below/../../secret",
            ] {
                assert!(is_outside(open(path, mode)), "{path} {mode}");
            }
            assert!(is_refused(open("dangling", mode)), "{mode}");
            assert!(open("own", mode).is_ok() && open("to-own", mode).is_ok());
        }
        for path in ["../new", "up/new", ".profile", "below/.new", "dangling", "/tmp/assay-lua-new"]
        {
            assert!(is_outside(open(path, "w")), "{path}");
        }
        assert!(open("below/new", "w").is_ok() && inside.join("below/new").exists());
        assert!(!place.path().join("none").exists() && !place.path().join("new").exists());
        // The C library would stop at the NUL.
        for path in ["link\0", "link\0x", "own\0"] {
            assert!(is_refused(open(path, "r")) && is_refused(open(path, "w")), "{path:?}");
            assert!(is_refused(directory.remove(Path::new(path))));
            assert!(is_refused(directory.rename(Path::new(path), Path::new("x"))));
        }
        assert!(is_outside(directory.remove(Path::new("../secret"))));
        assert!(is_outside(directory.remove(Path::new("up/secret"))));
        assert!(is_outside(directory.rename(Path::new("own"), Path::new("../stolen"))));
        assert!(is_outside(directory.rename(Path::new("up/secret"), Path::new("stolen"))));
        // The link itself is in the directory.
        assert!(directory.remove(Path::new("link")).is_ok());
        assert!(place.path().join("secret").exists());
        assert!(directory.rename(Path::new("own"), Path::new("renamed")).is_ok());
    }

    #[test]
    fn only_regular_files_are_opened() {
        let place = tempfile::tempdir().unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            place.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let directory = ScriptDirectory(place.path().to_owned());
        for mode in MODES {
            assert!(is_refused(directory.open(Path::new("pipe"), mode)), "{mode}");
            assert!(is_refused(directory.open(Path::new("."), mode)), "{mode}");
        }
    }
}
