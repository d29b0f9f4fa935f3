//! Programs with functions.

use assay_model::limits::FUNCTION_BYTES;
use assay_symbols::{NameDonor, Symbols};
use fs_err as fs;

/// Reads a program, and matches it with another copy of itself.
pub(crate) fn program(bytes: &[u8]) {
    let directory = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let [path, copy] = ["server", "copy"].map(|name| directory.path().join(name));
    // A full disk is the fuzzer's own trouble.
    if fs::write(&path, bytes).and_then(|()| fs::write(&copy, bytes)).is_err() {
        return;
    }
    let mut symbols = Symbols::new(false, || false);
    if let Some(file) = symbols.file(&path) {
        for address in [0, 0x1000, 0x1018, u64::MAX] {
            let name = file.function(address);
            assert!(name.len() <= FUNCTION_BYTES, "{name}");
        }
    }
    let donor = NameDonor { path: copy, build: "copy".to_owned() };
    if let Some(names) = symbols.matched(&path, &[donor]) {
        assert!(names.find(0x1000).is_none_or(|name| name.len() <= FUNCTION_BYTES), "{names:?}");
    }
}
