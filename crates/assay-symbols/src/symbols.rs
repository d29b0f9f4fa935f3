//! Binaries, read once for all profiles.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use procfs::process::MemoryMap;

use crate::binary::ElfBinary;
use crate::code::{ProgramCode, has_symbols};
use crate::debuginfod::Fetcher;
use crate::matching::matched_names;
use crate::names::KernelNames;

/// A file that may have names for the functions of another build of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameDonor {
    pub path: PathBuf,
    /// The build for readers, such as `mariadb 11.8.2 (maven)`.
    pub build: String,
}

/// Names of the functions of a stripped file, from matching code of another build.
#[derive(Debug)]
pub struct DonorNames {
    pub build: String,
    names: BTreeMap<u64, String>,
}

impl DonorNames {
    /// The name of the function that starts at a stated address.
    pub fn find(&self, start: u64) -> Option<&str> {
        self.names.get(&start).map(String::as_str)
    }
}

/// The binaries of servers with their function names. Reading those of a server takes a second, so all profiles of a
/// study share them.
#[derive(Debug)]
pub struct Symbols {
    binaries: BTreeMap<FileId, Option<Arc<ElfBinary>>>,
    files: BTreeMap<PathBuf, Option<Arc<ElfBinary>>>,
    matched: BTreeMap<PathBuf, Option<Arc<DonorNames>>>,
    kernel: Option<Arc<KernelNames>>,
    fetcher: Fetcher,
}

/// Most donors whose files are opened.
const DONORS_MAX: usize = 100;

/// Device, inode and path in the processes that map the file: servers may have separate root directories.
type FileId = ((i32, i32), u64, PathBuf);

impl Symbols {
    /// `fetches` permits fetching the names of stripped binaries from the debug file servers that the user has
    /// configured (`DEBUGINFOD_URLS`); `is_stopped` returns whether the user wants to stop waiting for them.
    pub fn new(fetches: bool, is_stopped: fn() -> bool) -> Self {
        let fetcher = Fetcher::new(fetches, is_stopped);
        let (binaries, files, matched) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { binaries, files, matched, kernel: None, fetcher }
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

    /// Names of the functions of a stripped file by those of the first donor that has a symbol table. `None` if none
    /// has, or either file cannot be read. Reading both takes some seconds, so it happens once for each path.
    pub fn matched(&mut self, path: &Path, donors: &[NameDonor]) -> Option<Arc<DonorNames>> {
        let read = || {
            let mut others = donors.iter().filter(|donor| donor.path != path).take(DONORS_MAX);
            let donor = others.find(|donor| has_symbols(&donor.path))?;
            let names = matched_names(&ProgramCode::read(path)?, &ProgramCode::read(&donor.path)?);
            Some(Arc::new(DonorNames { build: donor.build.clone(), names }))
        };
        self.matched.entry(path.to_owned()).or_insert_with(read).clone()
    }
}

fn seen_by(pid: i32, path: &Path) -> PathBuf {
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let inside = path.strip_prefix("/").unwrap_or(path);
    let seen = root.join(inside);
    if seen.exists() { seen } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `main`, `THD::cleanup`, which it calls, and a third function.
    const NAMED: &[u8] = include_bytes!("../../../fuzz/corpus/elf/named");
    /// The same code, of which only `main` has a name.
    const STRIPPED: &[u8] = include_bytes!("../../../fuzz/corpus/elf/stripped");

    #[test]
    fn a_stripped_file_has_names_of_the_first_donor_with_a_symbol_table() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            fs_err::write(&path, bytes).unwrap();
            NameDonor { path, build: name.to_owned() }
        };
        let (path, missing) = (file("server", STRIPPED).path, directory.path().join("missing"));
        let missing = NameDonor { path: missing, build: "missing".to_owned() };
        let donors =
            [missing, file("other", STRIPPED), file("damaged", &NAMED[..99]), file("named", NAMED)];
        let mut symbols = Symbols::new(false, || false);
        let binary = symbols.file(&path).unwrap();
        assert!(binary.is_stripped);
        let places = [0x1008, 0x1018, 0x1030].map(|address| binary.function(address));
        assert_eq!(places, ["main", "0x1010", "0x1020"]);
        let names = symbols.matched(&path, &donors).unwrap();
        assert_eq!(names.build, "named");
        assert_eq!(
            [0x1000, 0x1010, 0x1020].map(|start| names.find(start)),
            [None, Some("THD::cleanup"), None]
        );
        assert!(Symbols::new(false, || false).matched(&path, &donors[..3]).is_none());
    }
}
