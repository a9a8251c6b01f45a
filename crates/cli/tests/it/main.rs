//! The binary, tested from outside.

#![expect(clippy::unwrap_used, reason = "a test that can't set up should stop")]

mod architecture;
mod audit;
mod canary;
mod chaos;
mod cluster;
mod command;
mod connections;
mod copy;
mod crash;
mod credential;
mod data_directory;
mod demo;
mod docs;
mod doctor;
mod firing;
mod full_disk;
mod glossary;
mod in_flight;
mod keys;
mod log_events;
mod long_run;
mod metrics;
mod own_server;
mod page;
mod plans;
#[path = "../../../store-postgres/tests/it/server.rs"]
mod postgres;
mod preview;
#[path = "../../../store-postgres/tests/it/proxy.rs"]
mod proxy;
mod raw;
mod receiver;
mod refused;
mod scheduler;
mod serve;
mod server;
mod session;
mod sign_in;
mod small_disk;
mod start;
mod token;
mod wall_clock;
