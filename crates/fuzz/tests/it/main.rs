//! What a fuzzer has found and kept is tried again, and changed a little.

#![expect(clippy::unwrap_used, reason = "a test that can't set up should stop")]

mod corpus;
mod fuzz;
