#![no_main]
//! The target `capture` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("capture", bytes));
