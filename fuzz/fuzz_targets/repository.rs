#![no_main]
//! The target `repository` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("repository", bytes));
