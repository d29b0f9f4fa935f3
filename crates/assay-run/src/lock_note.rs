//! A note by the holder of the machine's lock, for those who wait.
//!
//! The note is a file beside the lock, of the holder's own user. Nothing depends on it: the kernel knows the holder of
//! the lock, a note of another process or user does not count, and its text is bounded and made printable.

use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use assay_model::{printable, shortened};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

const BYTES_MAX: u64 = 4096;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockNote {
    /// The study or command: `mysql@8.0 against mysql@9.7`.
    pub what: String,
    /// Start of measuring, milliseconds since 1970.
    pub since_ms: i64,
    /// End of the budget; `None` without one.
    pub until_ms: Option<i64>,
    /// Work that follows, such as `longer looks`; may be empty.
    pub afterwards: String,
    pid: u32,
}

impl LockNote {
    pub fn now(what: String, seconds: Option<f64>) -> Self {
        let since_ms = Timestamp::now().as_millisecond();
        let until_ms = seconds.map(|it| since_ms.saturating_add((it.max(0.0) * 1000.0) as i64));
        Self { what, since_ms, until_ms, pid: std::process::id(), ..Self::default() }
    }

    pub fn before(self, afterwards: String) -> Self {
        Self { afterwards, ..self }
    }

    /// Formats the note: `mysql@8.0 against mysql@9.7, since 14:02; its budget ends at 14:12`.
    fn in_words(&self) -> String {
        let mut words = printable(&shortened(&self.what)).into_owned();
        if let Some(at) = clock(self.since_ms) {
            words += &format!(", since {at}");
        }
        if let Some(at) = self.until_ms.and_then(clock) {
            words += &format!("; its budget ends at {at}");
        }
        if !self.afterwards.is_empty() {
            words += &format!(", before {}", printable(&shortened(&self.afterwards)));
        }
        words
    }
}

fn clock(milliseconds: i64) -> Option<String> {
    let zone = jiff::tz::TimeZone::system();
    let at = Timestamp::from_millisecond(milliseconds).ok()?.to_zoned(zone.clone());
    let is_today = at.date() == Timestamp::now().to_zoned(zone).date();
    Some(at.strftime(if is_today { "%H:%M" } else { "%Y-%m-%d %H:%M" }).to_string())
}

#[derive(Debug)]
pub struct WrittenNote(PathBuf);

impl Drop for WrittenNote {
    fn drop(&mut self) {
        let _ = fs_err::remove_file(&self.0);
    }
}

fn path(lock: &Path, uid: u32) -> PathBuf {
    let mut name = lock.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{uid}"));
    lock.with_file_name(name)
}

/// Writes the note of this process. A failure does no harm.
pub fn write(lock: &Path, note: &LockNote) -> Option<WrittenNote> {
    let path = path(lock, rustix::process::geteuid().as_raw());
    let written = (|| -> anyhow::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        let mut file = tempfile::Builder::new().prefix(".assay-").tempfile_in(directory)?;
        file.write_all(&serde_json::to_vec(note)?)?;
        // All users may read it, whatever the umask.
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        file.persist(&path)?;
        Ok(())
    })();
    match written {
        Ok(()) => Some(WrittenNote(path)),
        Err(error) => {
            log::debug!("no note beside the lock: {error:#}");
            None
        }
    }
}

pub fn read(lock: &Path, uid: u32, pid: u32) -> Option<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = fs_err::OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path(lock, uid))
        .ok()?;
    let facts = file.metadata().ok()?;
    if !facts.is_file() || facts.uid() != uid {
        return None;
    }
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    let note: LockNote = serde_json::from_str(&text).ok()?;
    (note.pid == pid && !note.what.is_empty()).then(|| note.in_words())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uid() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    #[test]
    fn a_note_says_what_runs_and_until_when() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("lock");
        assert_eq!(read(&lock, uid(), std::process::id()), None);
        let note = LockNote::now("a against b".to_owned(), Some(600.0));
        let note = LockNote { afterwards: "longer looks".to_owned(), ..note };
        let written = write(&lock, &note).unwrap();
        let words = read(&lock, uid(), std::process::id()).unwrap();
        let parts = ["a against b, since ", "; its budget ends at ", ", before longer looks"];
        assert!(parts.iter().all(|part| words.contains(part)), "{words}");
        // A note of another process is stale.
        assert_eq!(read(&lock, uid(), 1), None);
        drop(written);
        assert_eq!(read(&lock, uid(), std::process::id()), None);
        assert_eq!(fs_err::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_bounded_printable_words_of_a_file_of_the_user_are_shown() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("lock");
        let what = format!("\u{1b}[2J\n::error::{}", "x".repeat(10_000));
        let note = LockNote { what, pid: 7, ..LockNote::default() };
        let _written = write(&lock, &note);
        // Longer than the maximum.
        assert_eq!(read(&lock, uid(), 7), None);
        let note = LockNote { what: note.what.chars().take(1000).collect(), ..note };
        let _written = write(&lock, &note);
        let words = read(&lock, uid(), 7).unwrap();
        assert!(words.len() < 400 && !words.contains(['\u{1b}', '\n']), "{words:?}");
        let place = path(&lock, uid());
        for text in ["", "{", "[]", r#"{"pid": 7, "what": ""}"#, r#"{"what": 1}"#] {
            fs_err::write(&place, text).unwrap();
            assert_eq!(read(&lock, uid(), 7), None, "{text}");
        }
        fs_err::write(&place, r#"{"pid": 7, "what": "a", "since_ms": 9223372036854775807}"#)
            .unwrap();
        assert_eq!(read(&lock, uid(), 7).as_deref(), Some("a"));
        // Links are not followed, and a pipe does not block.
        let target = dir.path().join("target");
        fs_err::rename(&place, &target).unwrap();
        std::os::unix::fs::symlink(&target, &place).unwrap();
        assert_eq!(read(&lock, uid(), 7), None);
        fs_err::remove_file(&place).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &place, fifo, 0o644.into(), 0).unwrap();
        assert_eq!(read(&lock, uid(), 7), None);
        fs_err::remove_file(&place).unwrap();
        fs_err::write(path(&lock, 4_000_000_000), r#"{"pid": 7, "what": "a"}"#).unwrap();
        assert_eq!(read(&lock, 4_000_000_000, 7), None);
    }
}
