//! The file functions of `io` and `os`, for a script that may use only its own directory.

use std::io;
use std::path::{Path, PathBuf};

use mlua::{Function, Lua, MultiValue, Table, Value as LuaValue};
use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};

use crate::error::NEEDS_FILES;
use crate::pinned::Pinned;

/// The modes of `io.open`. The last four create a missing file.
const MODES: [&str; 6] = ["r", "r+", "w", "w+", "a", "a+"];

enum Refusal {
    Outside,
    System(io::Error),
}

impl<E: Into<io::Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::System(error.into())
    }
}

#[derive(Clone)]
struct Directory(PathBuf);

pub(crate) fn is_hidden(below: &Path) -> bool {
    let mut parts = below.components();
    parts.any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
}

impl Directory {
    /// Whether a real path is in the directory and not hidden. A script may be beside `.ssh` and `.profile`.
    fn contains(&self, real: &Path) -> Result<bool, Refusal> {
        let Ok(below) = real.strip_prefix(self.0.canonicalize()?) else { return Ok(false) };
        Ok(!is_hidden(below))
    }

    fn existing(&self, path: &Path) -> Result<Pinned, Refusal> {
        let path = self.0.join(path);
        let file = Pinned::at(&path).map_err(|error| {
            // A script must not learn whether a file exists elsewhere.
            let mut above = path.ancestors().skip(1).filter_map(|it| Pinned::at(it).ok());
            let is_inside = above.next().is_some_and(|it| self.contains(&it.path).unwrap_or(false));
            if is_inside { error.into() } else { Refusal::Outside }
        })?;
        if !self.contains(&file.path)? {
            return Err(Refusal::Outside);
        }
        match file.is_regular()? {
            true => Ok(file),
            // A device or a pipe may have no end.
            false => Err(io::Error::other("Not a regular file").into()),
        }
    }

    /// The parent of a path, held open, and the file's name, which need not exist.
    fn parent(&self, path: &Path) -> Result<(Pinned, PathBuf), Refusal> {
        let path = self.0.join(path);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Refusal::Outside);
        };
        let parent = Pinned::at(parent)?;
        match self.contains(&parent.path.join(name))? {
            true => Ok((parent, name.into())),
            false => Err(Refusal::Outside),
        }
    }

    /// A new file, which replaces nothing and follows no link.
    fn new_file(&self, path: &Path) -> Result<Pinned, Refusal> {
        let (parent, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = openat(&parent.fd, &name, flags, Mode::from_raw_mode(0o666));
        Ok(Pinned::of(made.map_err(|error| match error {
            // A dangling link: its target was not checked.
            rustix::io::Errno::EXIST => Refusal::Outside,
            error => error.into(),
        })?)?)
    }

    fn open(&self, path: &Path, mode: &str) -> Result<Pinned, Refusal> {
        match self.existing(path) {
            Err(Refusal::System(error))
                if error.kind() == io::ErrorKind::NotFound && !mode.starts_with('r') =>
            {
                self.new_file(path)
            }
            found => found,
        }
    }

    fn remove(&self, path: &Path) -> Result<(), Refusal> {
        let (parent, name) = self.parent(path)?;
        match unlinkat(&parent.fd, &name, AtFlags::empty()) {
            Err(rustix::io::Errno::ISDIR) => Ok(unlinkat(&parent.fd, &name, AtFlags::REMOVEDIR)?),
            done => Ok(done?),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Refusal> {
        let ((from, name), (to, new)) = (self.parent(from)?, self.parent(to)?);
        Ok(renameat(&from.fd, &name, &to.fd, &new)?)
    }
}

fn refused(lua: &Lua, refusal: Refusal, path: &str, action: &str) -> mlua::Result<MultiValue> {
    match refusal {
        Refusal::Outside => Err(mlua::Error::runtime(format!(
            "the script wants to {action} `{path}`, and may use nothing {NEEDS_FILES}, and no hidden file"
        ))),
        Refusal::System(error) => {
            let code = error.raw_os_error();
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            let text = lua.create_string(format!("{path}: {text}"))?;
            let code = code.map_or(LuaValue::Nil, |code| LuaValue::Integer(code.into()));
            Ok(MultiValue::from_iter([LuaValue::Nil, LuaValue::String(text), code]))
        }
    }
}

fn done() -> MultiValue {
    MultiValue::from_iter([LuaValue::Boolean(true)])
}

/// Adds `open`, `remove` and `rename` to a table of the interface. Their arguments are those of Lua's functions.
pub(crate) fn add_files(lua: &Lua, table: &Table, directory: &Path) -> mlua::Result<()> {
    let directory = Directory(directory.to_owned());
    let lua_open: Function = lua.globals().get::<Table>("io")?.get("open")?;
    let of_open = directory.clone();
    let open = move |lua: &Lua, (path, mode): (String, Option<String>)| {
        let mode = mode.unwrap_or_else(|| "r".to_owned());
        let plain = mode.replacen('b', "", 1);
        if !MODES.contains(&plain.as_str()) {
            return Err(mlua::Error::runtime(format!("`{mode}` is no mode of a file")));
        }
        match of_open.open(Path::new(&path), &plain) {
            Ok(file) => {
                // Lua opens the file that was checked.
                let opened: MultiValue = lua_open.call((file.handle(), plain))?;
                match opened.get(2).and_then(LuaValue::as_i32) {
                    None => Ok(opened),
                    Some(code) => {
                        let error = io::Error::from_raw_os_error(code);
                        refused(lua, Refusal::System(error), &path, "open")
                    }
                }
            }
            Err(refusal) => refused(lua, refusal, &path, "open"),
        }
    };
    table.set("open", lua.create_function(open)?)?;
    let of_remove = directory.clone();
    let remove = move |lua: &Lua, path: String| match of_remove.remove(Path::new(&path)) {
        Ok(()) => Ok(done()),
        Err(refusal) => refused(lua, refusal, &path, "remove"),
    };
    table.set("remove", lua.create_function(remove)?)?;
    let rename = move |lua: &Lua, (from, to): (String, String)| match directory
        .rename(Path::new(&from), Path::new(&to))
    {
        Ok(()) => Ok(done()),
        Err(refusal) => refused(lua, refusal, &from, "rename"),
    };
    table.set("rename", lua.create_function(rename)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn is_outside<T>(found: Result<T, Refusal>) -> bool {
        matches!(found, Err(Refusal::Outside))
    }

    fn is_refused<T>(found: Result<T, Refusal>) -> bool {
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
        let directory = Directory(inside.clone());
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
        let directory = Directory(place.path().to_owned());
        for mode in MODES {
            assert!(is_refused(directory.open(Path::new("pipe"), mode)), "{mode}");
            assert!(is_refused(directory.open(Path::new("."), mode)), "{mode}");
        }
    }
}
