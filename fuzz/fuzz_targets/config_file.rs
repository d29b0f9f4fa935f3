#![no_main]
//! The target `config_file` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("config_file", bytes));
