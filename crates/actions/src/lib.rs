//! Carries out actions: sends HTTP requests and puts messages into queues.
//!
//! [`Actions::fire`] takes a firing and returns an outcome, never an error: an attempt that goes wrong is a failed
//! outcome with the reason. No other crate connects to addresses that users choose. Every connection obeys the
//! [`Egress`] rules, and every attempt ends within the time-out of [`Settings`], which is measured in real time even
//! if the schedule runs on a virtual clock.
//!
//! The crate knows nothing about schedules, retries, stores or the API. It logs no URL, header, body or secret.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod actions;
mod cache;
mod client;
mod connector;
mod dial;
mod egress;
mod explanation;
mod failure;
mod first_bytes;
mod http;
mod oauth;
mod own;
mod peer;
mod permit;
mod redact;
mod resolve;
mod service_bus;
mod settings;
mod storage_queue;
mod tls;

pub use actions::Actions;
pub use egress::{Egress, Refusal};
pub use own::OwnAddresses;
pub use settings::{Sasl, Settings, SettingsError, SettingsProblem};
