//! The binary, tested from outside.

#![expect(clippy::unwrap_used, reason = "a test that can't set up should stop")]

mod architecture;
mod command;
mod docs;
mod fuzz;
mod preview;
mod serve;
mod server;
