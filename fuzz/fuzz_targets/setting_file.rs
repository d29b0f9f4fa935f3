#![no_main]
//! The target `setting_file` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("setting_file", bytes));
