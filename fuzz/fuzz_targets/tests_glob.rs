#![no_main]
//! The target `tests_glob` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("tests_glob", bytes));
