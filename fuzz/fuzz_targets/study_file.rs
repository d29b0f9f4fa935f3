#![no_main]
//! The target `study_file` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("study_file", bytes));
