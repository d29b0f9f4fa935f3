#![no_main]
//! The target `postgres_login` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("postgres_login", bytes));
