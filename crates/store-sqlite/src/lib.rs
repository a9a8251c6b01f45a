//! Keeps jobs in one SQLite file that is owned by one process.
//!
//! ```text
//!   callers ──bounded queue──> writer thread ──one transaction for all that queued──> WAL, fsync
//!      │                         │   claims and the look-ahead window live beside it, in memory
//!      │                         └──> checkpoint thread: copies the WAL while the writer goes on
//!      └─────bounded queues────> reader threads, each with a connection of its own
//! ```
//!
//! - An answer to a write is given after the COMMIT that made it durable.
//! - A write that is refused, or fails by itself, does not fail the writes that it was grouped with.
//! - Claims cost no write: the process owns the file, so a crash releases all of them.
//! - SQL is only in `queries/` and `migrations/`.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod access;
mod ahead;
mod alarm;
mod audit;
mod checkpoint;
mod connection;
mod copy;
mod directory;
mod error;
mod files;
pub mod layout;
mod lock;
mod meter;
mod open;
mod outage;
#[cfg(test)]
mod plan;
mod query;
mod reader;
mod row;
mod schema;
mod seals;
mod search;
mod shared_claims;
mod standing;
mod stats;
mod stopped;
mod store;
mod survey;
mod window;
mod writer;
mod writer_state;

pub use alarm::Alarm;
pub use copy::SqliteTarget;
pub use directory::DataDirectory;
pub use meter::Meter;
/// The version of SQLite.
pub fn version() -> &'static str {
    rusqlite::version()
}

pub use open::{OpenError, Options, Synchronous};
pub use stopped::{Keys, StoppedStore};
pub use store::SqliteStore;
