//! The files of a script: itself, and the modules that it reads.

use std::cell::{Cell, RefCell};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use assay_model::LuaFile;
use sha2::{Digest as _, Sha256};

use crate::error::{LuaError, NEEDS_FILES, Result};
use crate::files::{PinnedFile, is_hidden};

const BYTES_MAX: u64 = 16 << 20;

const UNKNOWN: &str = "the script read another file when the study was planned, and does not name this one; with \
                       `require` or `dofile` and its whole name in quotes, its checksum is kept";

const FILES_MAX: usize = 256;

/// Installation directories of sysbench with its shared modules.
const INSTALLED: [&str; 4] = [
    "/usr/share/sysbench",
    "/usr/local/share/sysbench",
    "/usr/share/sysbench/tests/include/oltp_legacy",
    "/usr/local/share/sysbench/tests/include/oltp_legacy",
];

pub(crate) struct ScriptSources {
    directory: PathBuf,
    may_use_all: bool,
    /// The files with which a study was planned; `None` to record them.
    known: Option<Vec<LuaFile>>,
    read: RefCell<Vec<LuaFile>>,
    /// A text contains one of `WORDS_FOR_ROWS`.
    reads_rows: Cell<bool>,
    /// Files that the texts name, whether or not they were read so far.
    named: RefCell<Vec<ScriptFileName>>,
    /// Further search paths of modules, with `?` for the name. Only for a script that may read all files.
    patterns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ScriptFileName {
    Module(String),
    File(String),
}

impl ScriptFileName {
    /// Files read by a text. Names assembled at run time are not found.
    fn in_text(text: &[u8]) -> Vec<Self> {
        let text = String::from_utf8_lossy(text);
        let of_line = |line: &str| -> Vec<Self> {
            let after = |word: &str| line.split_once(word).and_then(|(_, rest)| quoted(rest));
            let module = after("require").map(Self::Module);
            let file = after("dofile").or_else(|| after("loadfile")).map(Self::File);
            module.into_iter().chain(file).collect()
        };
        text.lines().flat_map(of_line).collect()
    }
}

fn quoted(text: &str) -> Option<String> {
    let from = text.find(['\'', '"'])?;
    let (quote, rest) = (text.get(from..=from)?, text.get(from + 1..)?);
    rest.split_once(quote).map(|(name, _)| name.to_owned()).filter(|name| !name.is_empty())
}

const LUA_PATH: &str = "LUA_PATH";

/// Splits the search path. An empty part means Lua's default.
fn patterns_of(lua_path: &str) -> Vec<String> {
    lua_path.split(';').filter(|it| it.contains('?')).map(str::to_owned).collect()
}

/// Functions by which scripts read more of a result than its number of rows.
const WORDS_FOR_ROWS: [&[u8]; 4] = [b"fetch_row", b"nfields", b"next_result", b"more_results"];

pub(crate) struct ScriptText {
    pub(crate) path: String,
    pub(crate) text: Vec<u8>,
}

impl ScriptSources {
    pub(crate) fn new(script: &Path, known: Option<Vec<LuaFile>>, may_use_all: bool) -> Self {
        let directory = script.parent().filter(|it| !it.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new(".")).to_owned();
        let (read, reads_rows) = (RefCell::default(), Cell::new(false));
        let named = RefCell::default();
        let lua_path = may_use_all.then(|| std::env::var(LUA_PATH).unwrap_or_default());
        let patterns = patterns_of(&lua_path.unwrap_or_default());
        Self { directory, may_use_all, known, read, reads_rows, named, patterns }
    }

    /// Reads the files that the texts name and that were not read so far, to record their checksums. A script may name
    /// some that it never reads.
    pub(crate) fn read_named(&self) {
        let mut at = 0;
        loop {
            let Some(named) = self.named.borrow().get(at).cloned() else { return };
            at += 1;
            let _ = match named {
                ScriptFileName::Module(name) => self.module(&name),
                // A text often prepends the directory.
                ScriptFileName::File(path) => self
                    .file(Path::new(&path))
                    .or_else(|_| self.file(Path::new(path.trim_start_matches('/')))),
            };
        }
    }

    pub(crate) fn reads_rows(&self) -> bool {
        self.reads_rows.get()
    }

    pub(crate) fn look_at(&self, text: &[u8]) {
        let has = |word: &&[u8]| text.windows(word.len()).any(|part| part == *word);
        if !self.reads_rows() && WORDS_FOR_ROWS.iter().any(has) {
            self.reads_rows.set(true);
        }
        let mut named = self.named.borrow_mut();
        for new in ScriptFileName::in_text(text) {
            if named.len() < FILES_MAX && !named.contains(&new) {
                named.push(new);
            }
        }
    }

    pub(crate) fn files(&self) -> Vec<LuaFile> {
        self.read.borrow().clone()
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn script(&self, path: &Path) -> Result<ScriptText> {
        self.read(path, true)
    }

    /// Reads a file that the script names, relative to the script's directory or the current one.
    pub(crate) fn file(&self, path: &Path) -> Result<ScriptText> {
        let beside = self.directory.join(path);
        let found = if beside.is_file() { beside } else { path.to_owned() };
        self.read(&found, self.may_use_all)
    }

    /// Finds and reads a module: beside the script, with sysbench, or in `LUA_PATH`.
    pub(crate) fn module(&self, name: &str) -> Result<ScriptText> {
        let part = name.replace('.', "/");
        let names = [format!("{part}.lua"), format!("{part}/init.lua"), name.to_owned()];
        // sysbench uses its current directory: that of the script, its parent, or another.
        let above = self.directory.join("..");
        let near = [self.directory.as_path(), above.as_path(), Path::new(".")];
        let directories = near.into_iter().chain(INSTALLED.map(Path::new));
        let places = directories.flat_map(|directory| names.iter().map(|it| directory.join(it)));
        let places = places.chain(self.patterns.iter().map(|it| it.replace('?', &part).into()));
        match { places }.find(|place: &PathBuf| place.is_file()) {
            Some(place) => self.read(&place, self.may_use_all),
            None => Err(LuaError::File {
                path: name.to_owned(),
                why: format!(
                    "no such module beside the script or in {}{}",
                    INSTALLED[..2].join(", "),
                    if self.may_use_all { ", nor in `LUA_PATH`" } else { "" }
                ),
            }),
        }
    }

    /// Whether a script that may not read all files may read this one, given its real path.
    fn is_readable(&self, real: &Path) -> bool {
        let directories = std::iter::once(self.directory.as_path()).chain(INSTALLED.map(Path::new));
        let mut directories = directories.filter_map(|path| path.canonicalize().ok());
        directories.any(|directory| real.strip_prefix(directory).is_ok_and(|it| !is_hidden(it)))
    }

    fn read(&self, path: &Path, may_be_anywhere: bool) -> Result<ScriptText> {
        let shown = path.display().to_string();
        let fail = |why: String| LuaError::File { path: shown.clone(), why };
        let failed = |error: std::io::Error| fail(error.to_string());
        let file = PinnedFile::at(path).map_err(failed)?;
        if !may_be_anywhere && !self.is_readable(&file.path) {
            return Err(fail(format!("the script may read nothing {NEEDS_FILES}")));
        }
        // A device or a pipe may be endless.
        if !file.is_regular().map_err(failed)? {
            return Err(fail("it is not a regular file".to_owned()));
        }
        let mut text = Vec::new();
        let content = fs_err::File::open(file.handle()).map_err(failed)?;
        content.take(BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > BYTES_MAX {
            return Err(fail(format!("it has more than {BYTES_MAX} bytes")));
        }
        let path = file.path;
        self.look_at(&text);
        let path =
            path.to_str().ok_or_else(|| fail("its path is not UTF-8".to_owned()))?.to_owned();
        let sha256 = hex::encode(Sha256::digest(&text));
        let mut read = self.read.borrow_mut();
        let planned = self.known.as_ref().and_then(|known| known.iter().find(|it| it.path == path));
        if planned.is_some_and(|it| it.sha256 != sha256) {
            return Err(fail("it has changed since the study was planned".to_owned()));
        }
        if self.known.is_some() && planned.is_none() {
            return Err(fail(UNKNOWN.to_owned()));
        }
        if !read.iter().any(|it| it.path == path) {
            if read.len() == FILES_MAX {
                return Err(fail(format!("a script may have at most {FILES_MAX} files")));
            }
            read.push(LuaFile { path: path.clone(), sha256 });
        }
        Ok(ScriptText { path, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_beside_the_script_and_remembered() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs_err::write(at("main.lua"), "").unwrap();
        fs_err::write(at("shared.lua"), "one").unwrap();
        let sources = ScriptSources::new(&at("main.lua"), None, false);
        assert_eq!(sources.module("shared").unwrap().text, b"one");
        assert_eq!(sources.file(Path::new("shared.lua")).unwrap().text, b"one");
        assert!(sources.module("nothing").is_err());
        let outside = sources.file(Path::new("/etc/hosts")).err().unwrap();
        assert!(outside.to_string().contains(NEEDS_FILES), "{outside}");
        let files = sources.files();
        assert_eq!(files.len(), 1);
        fs_err::write(at("shared.lua"), "two").unwrap();
        fs_err::write(at("late.lua"), "").unwrap();
        let again = ScriptSources::new(&at("main.lua"), Some(files), false);
        let error = again.module("late").err().unwrap();
        assert!(error.to_string().contains("does not name this one"), "{error}");
        let error = again.module("shared").err().unwrap();
        assert!(error.to_string().contains("has changed"), "{error}");
    }

    #[test]
    fn hidden_files_are_no_part_of_a_script() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for folder in [".ssh", "shared"] {
            fs_err::create_dir(at(folder)).unwrap();
        }
        for name in ["main.lua", ".profile", ".ssh/key.lua", "shared/.key.lua", "shared/key.lua"] {
            fs_err::write(at(name), "x").unwrap();
        }
        fs_err::os::unix::fs::symlink(at(".profile"), at("link.lua")).unwrap();
        let sources = ScriptSources::new(&at("main.lua"), None, false);
        for name in
            [".profile", ".ssh/key.lua", "shared/.key.lua", "shared/../.profile", "link.lua"]
        {
            let refused = sources.file(Path::new(name)).err().unwrap().to_string();
            assert!(refused.contains(NEEDS_FILES), "{name}: {refused}");
        }
        for name in [".profile", "shared/.key.lua", "link"] {
            let refused = sources.module(name).err().unwrap().to_string();
            assert!(refused.contains(NEEDS_FILES), "{name}: {refused}");
        }
        assert!(sources.file(Path::new("shared/key.lua")).is_ok());
        assert!(sources.module("shared.key").is_ok());
        let all = ScriptSources::new(&at("main.lua"), None, true);
        assert!(all.file(Path::new(".profile")).is_ok());
    }

    #[test]
    fn modules_are_found_where_the_user_says() {
        let (place, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let script = place.path().join("main.lua");
        fs_err::write(&script, "").unwrap();
        fs_err::create_dir(elsewhere.path().join("a")).unwrap();
        fs_err::write(elsewhere.path().join("a/b.lua"), "there").unwrap();
        let lua_path = format!("{}/?.lua;;", elsewhere.path().display());
        let mut sources = ScriptSources::new(&script, None, true);
        sources.patterns = patterns_of(&lua_path);
        assert_eq!(sources.module("a.b").unwrap().text, b"there");
        let mut sources = ScriptSources::new(&script, None, false);
        assert_eq!(sources.patterns, [""; 0]);
        sources.patterns = patterns_of(&lua_path);
        assert!(sources.module("a.b").is_err());
    }

    #[test]
    fn files_that_are_read_late_are_known_early() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let text = "function event()\n  require 'late'\n  dofile(path .. \"/more.lua\") require(name)\nend";
        fs_err::write(at("main.lua"), text).unwrap();
        fs_err::write(at("late.lua"), "x = require(\"later\") -- require('none')").unwrap();
        for name in ["later.lua", "more.lua", "other.lua"] {
            fs_err::write(at(name), "").unwrap();
        }
        let sources = ScriptSources::new(&at("main.lua"), None, false);
        sources.script(&at("main.lua")).unwrap();
        sources.read_named();
        let files = sources.files();
        let names: Vec<&str> = files.iter().filter_map(|it| it.path.rsplit('/').next()).collect();
        assert_eq!(names, ["main.lua", "late.lua", "more.lua", "later.lua"]);
    }
}
