#![no_main]
//! The target `tar` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("tar", bytes));
