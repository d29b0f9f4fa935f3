#![no_main]
//! The target `packages` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("packages", bytes));
