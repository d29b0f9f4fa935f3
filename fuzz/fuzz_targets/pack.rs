#![no_main]
//! The target `pack` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("pack", bytes));
