#![no_main]
//! The target `reply` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("reply", bytes));
