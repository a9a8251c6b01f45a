//! The roster.

use std::sync::Arc;

use async_trait::async_trait;
use punctual_store::{BootInstant, Node, NodeReport, NodeStanding, Roster, Trouble};
use tokio::sync::watch;

use super::PostgresStore;
use crate::columns::unsigned;
use crate::error::PgError;
use crate::param::params;
use crate::pool::work;
use crate::query;

/// The most nodes that are listed.
const NODES_MAX: i64 = 1_000;

#[async_trait]
impl Roster for PostgresStore {
    fn standing(&self) -> watch::Receiver<NodeStanding> {
        self.inner.lease.standing.subscribe()
    }

    fn boot(&self) -> Option<BootInstant> {
        Some(BootInstant(self.inner.lease.boot()))
    }

    fn report(&self, report: NodeReport) {
        self.inner.lease.report(report);
    }

    async fn nodes(&self) -> Result<Vec<Node>, Trouble> {
        let read = work!(|connection| {
            let rows = connection.rows(query::nodes, params![NODES_MAX]).await?;
            let node = |row: &tokio_postgres::Row| {
                Ok(Node {
                    lease: u64::try_from(row.try_get::<_, i64>(0)?).unwrap_or(0),
                    name: row.try_get(1)?,
                    report: NodeReport {
                        fires: row.try_get(2)?,
                        held: unsigned(row.try_get(3)?)?,
                        in_flight: unsigned(row.try_get(4)?)?,
                    },
                })
            };
            rows.iter().map(node).collect::<Result<Vec<Node>, PgError>>()
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("list nodes"))
    }

    /// The lease is deleted, so that whatever this node still holds is free. It gets no other.
    async fn leave(&self) -> Result<(), Trouble> {
        let inner = Arc::clone(&self.inner);
        let left = inner.lease.leave(async |lease| {
            let delete = work!(|connection| connection.execute(query::leave, params![lease]).await);
            inner.api.run(delete).await.map(|_| ())
        });
        left.await.map_err(|error| error.trouble("leave the cluster"))
    }
}
