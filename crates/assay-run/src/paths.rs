//! Directories and files of assay: the XDG base directories, unless options or environment variables name others.

use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assay_provision::belongs_to_another;
use rustix::process::{getegid, geteuid};

use crate::advice::HintedError;

pub fn cache_dir(given: Option<&Path>) -> Result<PathBuf> {
    absolute(given, CACHE, ".cache", "assay")
}

pub fn ledger_file(given: Option<&Path>) -> Result<PathBuf> {
    let file = absolute(given, LEDGER, ".local/share", "assay/ledger.db")?;
    if file.is_dir() {
        let hint =
            "`--ledger` and `ASSAY_LEDGER` name a file, such as `ledger.db` in that directory";
        return Err(wrong_place(&file, IS_DIRECTORY, hint).into());
    }
    Ok(file)
}

/// Data that outlives a command but is not a result, such as servers left running.
pub fn state_dir() -> Result<PathBuf> {
    absolute(None, STATE, ".local/state", "assay")
}

/// The user's catalog of servers: `ASSAY_CATALOG`, else `catalog.toml` in the configuration; `None` if neither exists.
pub fn own_catalog() -> Result<Option<PathBuf>> {
    if let Some(named) = std::env::var_os("ASSAY_CATALOG") {
        return Ok(Some(PathBuf::from(named)));
    }
    let Ok(path) = absolute(None, CONFIG, ".config", "assay/catalog.toml") else { return Ok(None) };
    Ok(path.is_file().then_some(path))
}

fn create(dir: &Path, what: &str, chosen_by: &str) -> Result<(), HintedError> {
    fs_err::create_dir_all(dir).map_err(|error| {
        HintedError::new(
            format!("cannot create the {what} directory"),
            format!("set {chosen_by} to a directory that you can write to"),
        )
        .caused_by(error)
    })
}

const OTHER_CACHE: &str = "`--cache-dir` or `ASSAY_CACHE` selects another cache";

/// The owner may be another user, or somebody who planted it.
fn of_another(path: &Path, owner: u32) -> HintedError {
    let (path, own) = (path.display(), geteuid().as_raw());
    HintedError::new(
        format!("`{path}`, from which assay runs programs, belongs to user {owner}"),
        format!("if you trust what is in it, make it yours: `chown -R {own} {path}`"),
    )
    .or(OTHER_CACHE)
}

/// Parts of the cache that assay adds to.
const CHANGED: [&str; 5] = ["", "prefixes", "tools", "templates", "instances"];

/// Refuses a cache that is world-writable, that belongs to another user than this one or root, or that this user cannot
/// write to: assay runs programs of the cache, so other users must not be able to add any. Returns a warning for one
/// that some other users can write to. `may_change`: whether this user may list a directory and add to it.
fn check_cache(
    dir: &Path,
    may_change: impl Fn(&Path) -> bool,
) -> Result<Option<String>, HintedError> {
    let mut warning = check_above(dir)?;
    let below = |path: &Path| {
        let entries = fs_err::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    // Entries are checked down to the last file when they are used.
    let parts = below(dir);
    let entries: Vec<PathBuf> = parts.iter().flat_map(|part| below(part)).collect();
    let changed = CHANGED.map(|part| if part.is_empty() { dir.to_owned() } else { dir.join(part) });
    for path in std::iter::once(dir.to_owned()).chain(parts).chain(entries) {
        // It may have gone meanwhile.
        let Ok(found) = fs_err::symlink_metadata(&path) else { continue };
        // The path of the cache itself may be a link, as the user chose it. Its owner decides where it leads.
        if found.is_symlink() && belongs_to_another(&found) {
            return Err(of_another(&path, found.uid()));
        }
        let found =
            if found.is_symlink() { fs_err::metadata(&path).unwrap_or(found) } else { found };
        let (mode, owner) = (found.mode(), found.uid());
        // In a directory like `/tmp`, others cannot replace entries, but add some.
        if mode & 0o002 != 0 {
            let path = path.display();
            return Err(HintedError::new(
                format!(
                    "every user of this machine may write to `{path}`, from which assay runs programs"
                ),
                format!(
                    "remove `{path}` unless you trust all users, or remove the permission: `chmod -R o-w {path}`"
                ),
            )
            .or(OTHER_CACHE));
        }
        if belongs_to_another(&found) {
            return Err(of_another(&path, owner));
        }
        if found.is_dir() && changed.contains(&path) && !may_change(&path) {
            // It belongs to another user, such as root, and this user may not enter it.
            return Err(HintedError::new(
                format!(
                    "this user may not change `{}`, which belongs to user {owner}",
                    path.display()
                ),
                "set `ASSAY_CACHE` (or `--cache-dir`) to a directory of your own; assay creates it",
            ));
        }
        // Many systems give each user a private group, which is harmless.
        let is_groups = mode & 0o020 != 0 && found.gid() != getegid().as_raw();
        if warning.is_none() && is_groups {
            let path = path.display();
            warning =
                Some(format!("other users can change `{path}`, from which assay runs programs"));
        }
    }
    Ok(warning)
}

/// Refuses a cache that everybody can replace. Returns a warning for one that another user can replace, as in a
/// container whose volume belongs to a user of the host.
fn check_above(dir: &Path) -> Result<Option<String>, HintedError> {
    let mut warning = None;
    let place = fs_err::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    for above in dir.ancestors().chain(place.ancestors()).filter(|it| *it != dir && *it != place) {
        let Ok(found) = fs_err::metadata(above) else { continue };
        // Its owner can point a link elsewhere later.
        let link = fs_err::symlink_metadata(above).ok().filter(|it| it.file_type().is_symlink());
        if let Some(link) = link.filter(belongs_to_another) {
            return Err(of_another(above, link.uid()));
        }
        // In a directory like `/tmp`, only the owner of an entry can replace it.
        if found.mode() & 0o1002 == 0o002 {
            let (path, above) = (dir.display(), above.display());
            return Err(HintedError::new(
                format!(
                    "every user of this machine may replace `{path}`, from which assay runs programs: all may write \
                     to `{above}`"
                ),
                format!("remove the permission: `chmod o-w {above}`"),
            )
            .or(OTHER_CACHE));
        }
        if warning.is_none() && belongs_to_another(&found) {
            warning = Some(format!(
                "user {} can replace `{}`, from which assay runs programs: `{}` is theirs",
                found.uid(),
                dir.display(),
                above.display()
            ));
        }
    }
    Ok(warning)
}

/// Refuses a world-writable directory and one of another user: assay would run what others put there. `hint` names
/// another place.
pub fn refuse_open_to_all(dir: &Path, hint: &str) -> Result<(), HintedError> {
    let is_safe = fs_err::metadata(dir)
        .is_ok_and(|found| found.mode() & 0o002 == 0 && !belongs_to_another(&found));
    let what = "is a directory that other users can change, and what is in it is run";
    if is_safe { Ok(()) } else { Err(wrong_place(dir, what, hint)) }
}

/// Whether this user may list a directory and add to it.
fn may_change(dir: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, dir, all, AtFlags::EACCESS).is_ok()
}

/// Creates a directory that only this user may enter. An existing one gets the same permissions.
pub fn make_private(dir: &Path) -> Result<()> {
    fs_err::create_dir_all(dir)?;
    if fs_err::metadata(dir)?.mode() & 0o077 != 0 {
        fs_err::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

pub fn made_cache_dir(given: Option<&Path>) -> Result<PathBuf> {
    let dir = cache_dir(given)?;
    create(&dir, "cache", "`--cache-dir` or `ASSAY_CACHE`")?;
    if let Some(warning) = check_cache(&dir, may_change)? {
        log::warn!("{warning}");
    }
    Ok(dir)
}

/// Directory of servers left running. Each machine has one, as several may share a home.
pub fn sandboxes() -> Result<PathBuf> {
    let machine = fs_err::read_to_string("/proc/sys/kernel/hostname")?;
    Ok(made_state_dir()?.join("servers").join(machine.trim()))
}

pub fn made_state_dir() -> Result<PathBuf> {
    let dir = state_dir()?;
    create(&dir, "state", "`XDG_STATE_HOME`")?;
    check_own(&dir)?;
    Ok(dir)
}

/// Refuses a state directory that somebody else has created.
fn check_own(dir: &Path) -> Result<(), HintedError> {
    let hint = "set `XDG_STATE_HOME` to a directory of your own; assay creates it";
    if may_change(dir) { Ok(()) } else { Err(wrong_place(dir, NO_ENTRY, hint)) }
}

pub fn make_own(dir: &Path) -> Result<()> {
    let there = dir.ancestors().find(|it| it.exists());
    there.map_or(Ok(()), check_own)?;
    make_private(dir)
}

/// The variable that names a base directory, and the one that names the path below it.
type BaseVariable = (&'static str, &'static str);

const CACHE: BaseVariable = ("XDG_CACHE_HOME", "`ASSAY_CACHE`");
const LEDGER: BaseVariable = ("XDG_DATA_HOME", "`ASSAY_LEDGER`");
const STATE: BaseVariable = ("XDG_STATE_HOME", "`XDG_STATE_HOME`");
const CONFIG: BaseVariable = ("XDG_CONFIG_HOME", "`ASSAY_CATALOG`");

fn wrong_place(path: &Path, what: &str, hint: &str) -> HintedError {
    HintedError::new(format!("`{}` {what}", path.display()), hint)
}

/// Bytes. Texts that people write have a thousandth of it.
const TEXT_MAX: u64 = 16 << 20;

/// Reads the text of a file or pipe, which may be anything.
pub fn text(from: impl Read, name: &str, hint: &str) -> Result<String> {
    let mut bytes = Vec::new();
    let cannot = || format!("cannot read `{name}`");
    from.take(TEXT_MAX + 1).read_to_end(&mut bytes).with_context(cannot)?;
    if bytes.len() as u64 > TEXT_MAX {
        bail!(HintedError::new(format!("`{name}` has more than {TEXT_MAX} bytes"), hint));
    }
    // Some editors mark a text as UTF-8.
    if bytes.starts_with(UTF8_MARK) {
        bytes.drain(..UTF8_MARK.len());
    }
    let valid = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
    // A zero is a valid character, but no text has one.
    let zero = bytes.iter().position(|byte| *byte == 0);
    match String::from_utf8(bytes) {
        Ok(text) if zero.is_none() => Ok(text),
        read => {
            let bytes =
                read.map_or_else(std::string::FromUtf8Error::into_bytes, String::into_bytes);
            let at = zero.map_or(valid, |zero| zero.min(valid));
            let line = 1 + bytes.iter().take(at).filter(|byte| **byte == b'\n').count();
            let is_utf16 = zero.is_some() || UTF16_MARKS.iter().any(|it| bytes.starts_with(it));
            let (perhaps, encoding) =
                if is_utf16 { (", but perhaps UTF-16", "UTF-16") } else { ("", "LATIN1") };
            let what = format!(
                "`{name}` is not UTF-8 text{perhaps}: byte {}, in line {line}, is invalid",
                at + 1
            );
            Err(HintedError::new(what, hint)
                .or(format!(
                    "if it is text in another encoding, convert it, for example `iconv -f {encoding} -t UTF-8 {name}`"
                ))
                .into())
        }
    }
}

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

const IS_DIRECTORY: &str = "is a directory";
const NO_ENTRY: &str = "is a directory that this user may not change";

pub fn check_file(path: &Path, hint: &str) -> Result<(), HintedError> {
    if path.is_dir() {
        return Err(wrong_place(path, IS_DIRECTORY, hint));
    }
    check_there(path, hint)
}

pub fn check_there(path: &Path, hint: &str) -> Result<(), HintedError> {
    // If the path cannot be inspected, reading it reports the error.
    match path.try_exists() {
        Ok(false) => Err(wrong_place(path, "does not exist", hint)),
        _ => Ok(()),
    }
}

fn absolute(
    given: Option<&Path>,
    variable: BaseVariable,
    below_home: &str,
    name: &str,
) -> Result<PathBuf> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => base(variable, below_home)?.join(name),
    };
    std::path::absolute(&path).with_context(|| format!("`{}` is not a path", path.display()))
}

fn base((variable, own): BaseVariable, below_home: &str) -> Result<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    if let Some(dir) = named.filter(|dir| dir.is_absolute()) {
        return Ok(dir);
    }
    let Some(home) = std::env::home_dir().filter(|home| home.is_absolute()) else {
        bail!(HintedError::new(
            format!("neither `{variable}` nor `HOME` names a directory"),
            format!("set `HOME` to your home directory, or {own} to a directory of your own")
        ));
    };
    Ok(home.join(below_home))
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;

    use super::*;

    #[test]
    fn binary_files_are_refused() {
        let message = |from: &mut dyn Read| text(from, "x", "name a study file");
        assert_eq!(message(&mut "größe".as_bytes()).unwrap(), "größe");
        assert_eq!(message(&mut &b"\xef\xbb\xbfSELECT 1;"[..]).unwrap(), "SELECT 1;");
        let endless = message(&mut std::io::repeat(0)).unwrap_err();
        assert_eq!(endless.to_string(), format!("`x` has more than {TEXT_MAX} bytes"));
        let bytes = message(&mut &b"ab\xff"[..]).unwrap_err();
        assert_eq!(bytes.to_string(), "`x` is not UTF-8 text: byte 3, in line 1, is invalid");
        let hints = bytes.downcast_ref::<HintedError>().unwrap().hints();
        let convert = "convert it, for example `iconv -f LATIN1 -t UTF-8 x`";
        assert!(hints[0] == "name a study file" && hints[1].ends_with(convert), "{hints:?}");
        for (bytes, at) in [(&b"\xff\xfeS\0"[..], 1), (b"\0S\0E", 1), (b"S\0E\0", 2)] {
            let utf16 = message(&mut &*bytes).unwrap_err();
            let wanted = format!(
                "`x` is not UTF-8 text, but perhaps UTF-16: byte {at}, in line 1, is invalid"
            );
            assert_eq!(utf16.to_string(), wanted);
        }
    }

    #[test]
    fn a_world_writable_cache_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, part) = (folder.path().join("cache"), folder.path().join("cache/templates"));
        make_private(&part).unwrap();
        let set = |path: &Path, mode| {
            fs_err::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        assert_eq!(check_cache(&cache, may_change).unwrap(), None);
        let refused = || check_cache(&cache, may_change).unwrap_err().to_string();
        let open = |path: &Path| {
            let path = path.display();
            format!(
                "every user of this machine may write to `{path}`, from which assay runs programs"
            )
        };
        for mode in [0o1777, 0o777, 0o702] {
            set(&cache, mode);
            assert_eq!(refused(), open(&cache));
        }
        set(&cache, 0o755);
        set(&part, 0o777);
        assert_eq!(refused(), open(&part));
        set(&part, 0o755);
        let planted = part.join("planted");
        make_private(&planted).unwrap();
        assert_eq!(check_cache(&cache, may_change).unwrap(), None);
        // Only root can give files away.
        if geteuid().is_root() {
            std::os::unix::fs::chown(&planted, Some(4711), None).unwrap();
            let error = check_cache(&cache, may_change).unwrap_err();
            assert!(error.to_string().ends_with("belongs to user 4711"), "{error}");
            assert!(error.hints().concat().contains("chown -R 0 "), "{:?}", error.hints());
            std::os::unix::fs::chown(&planted, Some(0), None).unwrap();
        }
        make_private(&part).unwrap();
        assert_eq!(fs_err::metadata(&part).unwrap().mode() & 0o777, 0o700);
        assert_eq!(check_cache(&cache, may_change).unwrap(), None);
    }

    #[test]
    fn a_cache_that_others_can_replace_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (above, cache) = (folder.path().join("a"), folder.path().join("a/b/cache"));
        make_private(&cache).unwrap();
        let set = |mode| {
            fs_err::set_permissions(&above, Permissions::from_mode(mode)).unwrap();
        };
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&cache, &link).unwrap();
        for path in [&cache, &link] {
            set(0o777);
            let error = check_cache(path, may_change).unwrap_err();
            assert!(
                error.to_string().contains("replace") && error.to_string().ends_with("/a`"),
                "{error}"
            );
            assert!(error.hints()[0].contains("chmod o-w "), "{:?}", error.hints());
            set(0o1777);
            assert_eq!(check_cache(path, may_change).unwrap(), None);
        }
        // Only root can give files away.
        if geteuid().is_root() {
            std::os::unix::fs::chown(&above, Some(4711), None).unwrap();
            let warning = check_cache(&cache, may_change).unwrap().unwrap();
            assert!(warning.starts_with("user 4711 can replace "), "{warning}");
            std::os::unix::fs::lchown(&link, Some(4711), None).unwrap();
            let error = check_cache(&link, may_change).unwrap_err();
            assert!(error.to_string().ends_with("belongs to user 4711"), "{error}");
        }
    }

    #[test]
    fn a_cache_that_is_somebody_elses_is_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, part) = (folder.path().to_owned(), folder.path().join("templates"));
        make_private(&part).unwrap();
        for closed in [&cache, &part] {
            let error = check_cache(&cache, |path| path != closed.as_path()).unwrap_err();
            let message = error.to_string();
            let begin = format!("this user may not change `{}`, which", closed.display());
            assert!(message.starts_with(&begin), "{message}");
            assert!(error.hints().concat().contains("set `ASSAY_CACHE`"), "{:?}", error.hints());
        }
        // Root may change everything.
        fs_err::set_permissions(&part, Permissions::from_mode(0o500)).unwrap();
        assert_eq!(may_change(&part), geteuid().is_root());
        fs_err::set_permissions(&part, Permissions::from_mode(0o700)).unwrap();
        assert!(may_change(&part) && !may_change(&part.join("missing")));
    }

    #[test]
    fn state_that_is_somebody_elses_is_refused_with_advice() {
        // Even root cannot add to it.
        let error = make_own(Path::new("/proc/self/no/such")).unwrap_err();
        let error = error.downcast_ref::<HintedError>().unwrap();
        assert!(error.to_string().ends_with(NO_ENTRY), "{error}");
        assert!(error.hints().concat().contains("`XDG_STATE_HOME`"));
        let folder = tempfile::tempdir().unwrap();
        make_own(&folder.path().join("a/b")).unwrap();
        assert!(check_own(&folder.path().join("a/b")).is_ok());
    }
}
