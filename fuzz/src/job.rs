//! Hands what libFuzzer makes up to the target `job`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| punctual_fuzz::run("job", bytes));
