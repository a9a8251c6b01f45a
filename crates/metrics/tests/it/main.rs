//! What is counted is what the text says, and the reference says what the text has.

#![allow(clippy::unwrap_used, reason = "a test that can't set up should stop")]

mod docs;
mod examples;
mod figures;
