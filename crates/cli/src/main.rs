//! The `punctual` binary: the only place that reads the environment, files and the real clock, and
//! that puts the parts together.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod audit;
mod client;
mod clock;
mod config;
mod copy;
mod doctor;
mod exit;
mod file_size;
mod home;
mod keys;
mod nodes;
mod options;
mod preview;
mod private;
mod progress;
mod random;
mod serve;
mod store;
mod token;

use std::process::ExitCode;

use clap::Parser;

use crate::options::{Options, Verb};

fn main() -> ExitCode {
    let outcome = match Options::parse().verb {
        Verb::Serve(options) => serve::serve(&options),
        Verb::Demo(options) => serve::demo(&options),
        Verb::Preview(options) => preview::preview(&options),
        Verb::Doctor(options) => doctor::doctor(&options),
        Verb::Token(options) => token::token(&options),
        Verb::Audit(options) => audit::audit(&options),
        Verb::Keys(options) => keys::keys(&options),
        Verb::Copy(options) => copy::copy(&options),
        Verb::Nodes(options) => nodes::nodes(&options),
    };
    outcome.unwrap_or_else(exit::report).into()
}
