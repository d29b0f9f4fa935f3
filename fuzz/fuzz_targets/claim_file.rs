#![no_main]
//! The target `claim_file` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("claim_file", bytes));
