//! The API from outside, in one process: requests go into the router, answers come out; no sockets, a clock
//! that is moved by hand, randomness that counts.

#![allow(clippy::unwrap_used, reason = "a test that can't set up should stop")]

mod access;
mod agenda;
mod audit;
mod collection;
mod concurrency;
mod dialect;
mod docs;
mod doctor;
mod fuzz;
mod history;
mod host;
mod issuer;
mod job;
mod keys;
mod limit;
mod limits;
mod list;
mod manager;
mod metrics;
mod mutation;
mod node;
mod occurrences;
mod openapi;
mod openid;
mod page;
mod patch;
mod polls;
mod preview;
mod quota;
mod recurrence;
mod rerun;
mod search;
mod secret;
mod session;
mod sign_in;
mod stats;
mod throttle;
mod token;
mod unknown;
mod version;
mod world;
