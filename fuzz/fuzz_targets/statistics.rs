#![no_main]
//! The target `statistics` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("statistics", bytes));
