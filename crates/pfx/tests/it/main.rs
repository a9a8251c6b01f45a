//! Real files, made by the `openssl` command line while the test runs.

#![allow(clippy::unwrap_used, clippy::allow_attributes, reason = "a test that can't set up should stop")]

mod files;
mod open;
