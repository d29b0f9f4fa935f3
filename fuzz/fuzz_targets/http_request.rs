#![no_main]
//! The target `http_request` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("http_request", bytes));
