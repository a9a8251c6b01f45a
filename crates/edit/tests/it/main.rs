//! The edit layer on a store in memory.

#![allow(clippy::unwrap_used, reason = "a test that can't set up should stop")]

mod busy;
mod restless;
