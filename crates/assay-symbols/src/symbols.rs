//! Binaries, read once for all profiles.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use procfs::process::MemoryMap;

use crate::binary::ElfBinary;
use crate::debuginfod::Fetcher;
use crate::names::KernelNames;

/// The binaries of servers with their function names. Reading those of a server takes a second, so all profiles of a
/// study share them.
#[derive(Debug)]
pub struct Symbols {
    binaries: BTreeMap<FileId, Option<Arc<ElfBinary>>>,
    files: BTreeMap<PathBuf, Option<Arc<ElfBinary>>>,
    kernel: Option<Arc<KernelNames>>,
    fetcher: Fetcher,
}

/// Device, inode and path in the processes that map the file: servers may have separate root directories.
type FileId = ((i32, i32), u64, PathBuf);

impl Symbols {
    /// `fetches` permits fetching the names of stripped binaries from the debug file servers that the user has
    /// configured (`DEBUGINFOD_URLS`); `is_stopped` returns whether the user wants to stop waiting for them.
    pub fn new(fetches: bool, is_stopped: fn() -> bool) -> Self {
        let fetcher = Fetcher::new(fetches, is_stopped);
        Self { binaries: BTreeMap::new(), files: BTreeMap::new(), kernel: None, fetcher }
    }

    /// Names of the kernel's functions. Modules loaded after the first profile have none.
    pub fn kernel(&mut self) -> Arc<KernelNames> {
        Arc::clone(self.kernel.get_or_insert_with(|| Arc::new(KernelNames::read())))
    }

    /// The binary of a part of a process's memory, which knows it as `shown`. `None` if it cannot be read.
    pub fn binary(&mut self, pid: i32, map: &MemoryMap, shown: &Path) -> Option<Arc<ElfBinary>> {
        let fetcher = &mut self.fetcher;
        let read = || ElfBinary::read(&seen_by(pid, shown), shown, fetcher).map(Arc::new);
        let key = (map.dev, map.inode, shown.to_owned());
        self.binaries.entry(key).or_insert_with(read).clone()
    }

    /// The binary of a file of this machine. `None` if it cannot be read.
    pub fn file(&mut self, path: &Path) -> Option<Arc<ElfBinary>> {
        let fetcher = &mut self.fetcher;
        let read = || ElfBinary::read(path, path, fetcher).map(Arc::new);
        self.files.entry(path.to_owned()).or_insert_with(read).clone()
    }
}

fn seen_by(pid: i32, path: &Path) -> PathBuf {
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let inside = path.strip_prefix("/").unwrap_or(path);
    let seen = root.join(inside);
    if seen.exists() { seen } else { path.to_owned() }
}
