#![no_main]
//! The target `callgrind` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("callgrind", bytes));
