#![no_main]
//! The target `quantity` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("quantity", bytes));
