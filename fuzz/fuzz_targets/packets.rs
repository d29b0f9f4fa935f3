#![no_main]
//! The target `packets` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("packets", bytes));
