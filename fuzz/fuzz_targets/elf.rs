#![no_main]
//! The target `elf` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("elf", bytes));
