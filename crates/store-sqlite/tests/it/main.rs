//! The conformance suite on SQLite, and what is special about it: it is durable, it is owned, it keeps
//! secrets.

#![allow(clippy::unwrap_used, reason = "a test that can't set up should stop")]

mod crash;
mod directory;
mod durable;
mod keys;
mod secrets;
mod stopped;
mod sweep;
mod tampering;
mod trouble;
mod world;

use std::sync::Arc;

use punctual_store_sqlite::SqliteStore;
use tempfile::TempDir;

async fn make() -> (Arc<SqliteStore>, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    (Arc::new(world::open(dir.path())), dir)
}

punctual_store::conformance!(crate::make);
