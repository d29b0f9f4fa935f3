#![no_main]
//! The target `rpm` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("rpm", bytes));
