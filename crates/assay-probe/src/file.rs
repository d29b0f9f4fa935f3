//! Reads the kernel's small text files (one buffer, no allocation per read) and subtracts and adds their counters.
//! Counters that are read together form a list; the reader has their names, in the order of the values.

use std::fmt::Display;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, pread};

use crate::{ProbeResult, UsageProbeError};

/// Most files read here are shorter; longer ones make the buffer grow once.
const INITIAL_BYTES: usize = 8 * 1024;

#[derive(Debug)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    pub(crate) fn new() -> Self {
        Self(vec![0; INITIAL_BYTES])
    }
}

/// An open kernel file, read repeatedly. A file under `/proc` belongs to a process or thread and disappears with it.
#[derive(Debug)]
pub(crate) struct KernelFile {
    path: PathBuf,
    file: OwnedFd,
}

impl KernelFile {
    /// `None` if the file does not exist.
    pub(crate) fn open(path: PathBuf) -> ProbeResult<Option<Self>> {
        Ok(open(&path, OFlags::empty())?.map(|file| Self { path, file }))
    }

    /// Opens a file that every kernel has.
    pub(crate) fn open_existing(path: PathBuf) -> ProbeResult<Self> {
        Self::open(path.clone())?.ok_or_else(|| io_error("open", &path, Errno::NOENT))
    }

    /// `None` if the file's process or thread is gone.
    pub(crate) fn read<T>(
        &self,
        buffer: &mut Buffer,
        expected: &'static str,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> ProbeResult<Option<T>> {
        let Some(content) = self.content(buffer)? else { return Ok(None) };
        match parse(content) {
            Some(value) => Ok(Some(value)),
            None => Err(UsageProbeError::Format { path: self.path.clone(), expected }),
        }
    }

    /// Kernel files are produced in one piece, so a read that fills the buffer was truncated and is repeated with a
    /// larger one.
    fn content<'a>(&self, Buffer(bytes): &'a mut Buffer) -> ProbeResult<Option<&'a [u8]>> {
        loop {
            match pread(&self.file, bytes.as_mut_slice(), 0) {
                Ok(length) if length < bytes.len() => return Ok(Some(&bytes[..length])),
                Ok(_) => bytes.resize(bytes.len() * 2, 0),
                // Newer kernels refuse to read a file whose process is about to end, even if it was opened before.
                Err(error) if is_gone(error) || error == Errno::ACCESS => return Ok(None),
                Err(error) => return Err(io_error("read", &self.path, error)),
            }
        }
    }
}

/// `None` if the directory does not exist.
pub(crate) fn open_directory(path: &Path) -> ProbeResult<Option<OwnedFd>> {
    open(path, OFlags::DIRECTORY)
}

fn open(path: &Path, flags: OFlags) -> ProbeResult<Option<OwnedFd>> {
    match rustix::fs::open(path, flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => Ok(Some(file)),
        Err(error) if is_gone(error) => Ok(None),
        Err(error) => Err(io_error("open", path, error)),
    }
}

pub(crate) fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::SRCH | Errno::NOENT)
}

pub(crate) fn io_error(doing: impl Display, path: &Path, error: Errno) -> UsageProbeError {
    let cause = io::Error::from(error);
    UsageProbeError::Io(io::Error::new(
        cause.kind(),
        format!("cannot {doing} `{}`: {cause}", path.display()),
    ))
}

/// Numbers separated by white space; `None` for other words. Bytes, not text: some of these files contain thread names,
/// which may hold anything.
pub(crate) fn numbers(text: &[u8]) -> impl Iterator<Item = Option<u64>> {
    text.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(|word| std::str::from_utf8(word).ok()?.parse().ok())
}

pub(crate) fn field(text: &[u8], key: &str) -> Option<u64> {
    text.split(|byte| *byte == b'\n')
        .find_map(|line| numbers(line.strip_prefix(key.as_bytes())?).next()?)
}

pub(crate) fn add<const N: usize>(sum: &mut [u64; N], more: &[u64; N]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum = sum.saturating_add(*more);
    }
}

/// Never negative.
pub(crate) fn since<const N: usize>(later: &[u64; N], earlier: &[u64; N]) -> [u64; N] {
    let mut used = *later;
    for (used, before) in used.iter_mut().zip(earlier) {
        *used = used.saturating_sub(*before);
    }
    used
}

/// Puts a prefix before each name.
pub(crate) fn named<const N: usize>(
    prefix: &str,
    names: [&str; N],
    values: [u64; N],
) -> impl Iterator<Item = (String, u64)> {
    names.into_iter().map(move |name| format!("{prefix}{name}")).zip(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_never_negative() {
        assert_eq!(since(&[0, 7], &[5, 5]), [0, 2]);
    }
}
