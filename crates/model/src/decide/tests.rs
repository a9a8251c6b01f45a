//! The rules of the contract, as tests without a server.

mod attempts;
mod clock;
mod counters;
mod edits;
mod ending;
mod overlap;
mod properties;
mod quota;
mod repair;
mod runs;
mod skips;
mod upcoming;
mod world;
