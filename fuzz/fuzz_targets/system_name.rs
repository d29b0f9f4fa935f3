#![no_main]
//! The target `system_name` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("system_name", bytes));
