//! Requests in, answers out.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    clippy::allow_attributes,
    reason = "a test that can't set up should stop, and JSON literals read best as plain arguments"
)]

mod anything;
mod certificate;
mod collection;
mod credential;
mod patch;
mod put;
mod recordings;
mod render;
mod round_trip;
mod unknown;
mod world;
