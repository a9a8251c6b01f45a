//! Hands what libFuzzer makes up to the target `sign_in`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| punctual_fuzz::run("sign_in", bytes));
