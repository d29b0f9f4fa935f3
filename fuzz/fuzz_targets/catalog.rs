#![no_main]
//! The target `catalog` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("catalog", bytes));
