#![no_main]
//! The target `workload_file` of `assay-fuzz`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::run("workload_file", bytes));
