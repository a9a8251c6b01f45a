//! Hands what libFuzzer makes up to the target `http_answer`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| punctual_fuzz::run("http_answer", bytes));
