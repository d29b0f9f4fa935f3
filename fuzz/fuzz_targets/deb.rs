#![no_main]
//! The target `deb` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("deb", bytes));
