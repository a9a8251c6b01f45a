//! The conformance suite on PostgreSQL servers that the tests start themselves, and what is special about a store that several
//! nodes share.
//!
//! `PUNCTUAL_TEST_POSTGRES` names the directory with PostgreSQL's programs (`initdb`, `pg_ctl`); without it these tests are skipped.
//! `scripts/test-postgres` sets it.

#![allow(clippy::unwrap_used, reason = "a test that can't set up should stop")]

mod audit_log;
mod copy;
mod keys;
mod lease;
mod lost_answers;
mod migration;
mod plans;
mod pooler;
#[expect(dead_code, reason = "the chaos run uses more of it")]
mod proxy;
mod server;
mod torture;
mod trouble;
mod world;

use std::sync::Arc;

use punctual_store::Store;
use punctual_store_postgres::PostgresStore;

use crate::server::Database;

async fn make() -> Option<(Arc<PostgresStore>, Database)> {
    let database = Database::new().await?;
    Some((Arc::new(world::open(&database).await), database))
}

async fn make_two() -> Option<(Arc<dyn Store>, Arc<dyn Store>, Database)> {
    let database = Database::new().await?;
    let one = Arc::new(world::open(&database).await);
    // The other one is as behind a pooler that knows no prepared statements.
    let mut unprepared = world::options(&database.url);
    unprepared.prepare = false;
    let other = Arc::new(PostgresStore::open(unprepared).await.unwrap());
    Some((one, other, database))
}

punctual_store::conformance!(crate::make);
punctual_store::conformance_of_two!(crate::make_two);
