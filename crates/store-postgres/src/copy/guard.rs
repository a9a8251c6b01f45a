//! Sees to it that no node runs while a database is copied.

use std::time::Duration;

use crate::OpenError;
use crate::connection::Connection;
use crate::connector::Connector;
use crate::error::{Class, PgError};
use crate::param::params;
use crate::query;

/// How often to look whether the beat of a node has moved.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A beat is raised every second; longer than others wait for it.
const MARGIN: Duration = Duration::from_secs(1);

/// Holds a lock that whoever joins has to wait for, until it is dropped.
pub(super) struct Guard {
    connection: Connection,
    nodes: Vec<Beat>,
}

/// A node, and how often it has renewed its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Beat {
    lease: i64,
    beat: i64,
    name: String,
}

impl Guard {
    /// Waits until it is sure that no node runs: rows of nodes that were killed stay until somebody has seen their beat
    /// stand still. A node that runs is not disturbed.
    pub(super) async fn take(connector: &Connector) -> Result<Self, OpenError> {
        let connection = connector.connect().await?;
        let nodes = beats(&connection).await?;
        if !nodes.is_empty() {
            let takeover = connection.number(query::number, params!["takeover_ms"]).await?.unwrap_or(0);
            let takeover = Duration::from_millis(u64::try_from(takeover).unwrap_or(0)) + MARGIN;
            let mut waited = Duration::ZERO;
            while waited < takeover {
                refuse_running(&nodes, &beats(&connection).await?)?;
                tokio::time::sleep(LOOK_AGAIN).await;
                waited += LOOK_AGAIN;
            }
        }
        connection.begin().await?;
        connection.rows(query::copy_patience, &[]).await?;
        connection.batch(query::lock_timeout).await?;
        connection.batch(query::copy_lock).await.map_err(|error| match error.class() {
            Class::Busy => OpenError::Locked,
            _ => OpenError::of(error),
        })?;
        refuse_running(&nodes, &beats(&connection).await?)?;
        Ok(Self { connection, nodes })
    }

    /// Fails if the lock may have been lost.
    pub(super) async fn check(&self) -> Result<(), PgError> {
        let nodes = beats(&self.connection).await?;
        if nodes == self.nodes { Ok(()) } else { Err(PgError::invalid("nodes, since one has started")) }
    }
}

async fn beats(connection: &Connection) -> Result<Vec<Beat>, PgError> {
    let rows = connection.rows(query::copy_nodes, &[]).await?;
    let beat = |row: &tokio_postgres::Row| {
        Ok(Beat { lease: row.try_get(0)?, beat: row.try_get(1)?, name: row.try_get(2)? })
    };
    rows.iter().map(beat).collect()
}

/// Refused if a node has renewed its lease, or has joined.
fn refuse_running(before: &[Beat], now: &[Beat]) -> Result<(), OpenError> {
    let running: Vec<String> =
        now.iter().filter(|node| !before.contains(node)).map(|node| node.name.clone()).collect();
    if running.is_empty() { Ok(()) } else { Err(OpenError::Running(running)) }
}
