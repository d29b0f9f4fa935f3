#![no_main]
//! The target `sources` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("sources", bytes));
