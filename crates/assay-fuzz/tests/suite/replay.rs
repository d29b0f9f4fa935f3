//! Feeds every file of the corpus to the function that the fuzzer calls.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use fs_err as fs;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

#[test]
fn no_file_of_the_corpus_is_too_much_for_its_parser() {
    let mut failed = Vec::new();
    for (name, parse) in assay_fuzz::TARGETS {
        let files = fs::read_dir(corpus().join(name)).unwrap();
        let paths: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
        assert!(!paths.is_empty(), "`{name}` has no corpus");
        for path in paths {
            let bytes = fs::read(&path).unwrap();
            if catch_unwind(|| parse(&bytes)).is_err() {
                failed.push(path);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn every_corpus_and_every_fuzzer_has_a_target() {
    let names: Vec<_> = assay_fuzz::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    for (directory, is_file) in [("../fuzz_targets", true), ("", false)] {
        let entries = fs::read_dir(corpus().join(directory)).unwrap();
        let mut found: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file() == is_file)
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        found.sort();
        assert_eq!(found, names, "`{directory}`");
    }
}
