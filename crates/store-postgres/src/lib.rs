//! Keeps jobs in a PostgreSQL database that several nodes share.
//!
//! ```text
//!   callers ──> pools of connections: one that claims, one that begins, two that settle, some for the API
//!                 │
//!                 └──> agenda: a claim is two columns, the lease of the node and a ticket of its own
//!   lease thread ──> nodes: one row for each node, whose beat it raises every second
//! ```
//!
//! - A claim is good while the lease of its node is. A node whose beat stands still loses its lease to whoever sees
//!   that, and its claims are free at once: nothing is handed over, and nobody leads.
//! - Right before firing one batched read confirms holder, ticket, revision and lease. No commit stands between the due
//!   time and the request.
//! - Settling is one statement that commits by itself, fenced by holder, ticket and revision.
//! - Locks are taken in one order: numbers, collections by id, agenda by job. Claims never wait.
//! - A write whose answer is lost is found by its receipt; see [`receipt`].
//! - SQL is only in `queries/` and `migrations/`.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod ahead;
mod audit;
mod beginner;
mod clock_offset;
mod columns;
mod connection;
mod connector;
mod copy;
mod edit;
mod error;
mod frontier;
mod job_ids;
mod lease;
mod node_claims;
mod observation;
mod open;
mod outage;
mod param;
mod pool;
mod query;
mod receipt;
mod row;
mod schema;
mod seals;
mod search;
mod session;
mod settlement;
mod stats;
mod store;
mod survey;
mod tls;
mod url;

pub use copy::PostgresCopy;
pub use open::{NodeIdentity, OpenError, Options, Spawn, TAKEOVER_MIN};
pub use session::SETTINGS;
pub use store::PostgresStore;
pub use url::{ServerUrl, SslMode, UrlError};
