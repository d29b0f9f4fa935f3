#![no_main]
//! The target `dump_schema` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("dump_schema", bytes));
