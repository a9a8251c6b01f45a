//! Carries out actions: sends HTTP requests and puts messages into queues.
//!
//! [`Actions::fire`] takes a firing and gives an outcome, never an error: whatever goes wrong is a failed
//! attempt that says why. This crate alone connects to addresses that users choose, always under the
//! rules of [`Egress`], and always within the time-out of its [`Settings`], measured by a real clock even
//! where the schedule runs on a virtual one.
//!
//! It knows nothing of schedules, retries, stores or the API. It logs no URL, header, body or secret.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod actions;
mod client;
mod connector;
mod dial;
mod egress;
mod explanation;
mod failure;
mod first_bytes;
mod http;
mod oauth;
mod resolve;
mod scrub;
mod service_bus;
mod settings;
mod shelf;
mod storage_queue;
mod tls;

pub use actions::Actions;
pub use egress::{Egress, Refusal};
pub use settings::{Sasl, Settings, SettingsError, SettingsProblem};
