#![no_main]
//! The target `ledger_file` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("ledger_file", bytes));
