//! The roster.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use punctual_model::audit::AuditEntry;
use punctual_store::instant::from_ticks;
use punctual_store::{BootInstant, Node, NodeReport, NodeStanding, Roster, Trouble, codec};
use tokio::sync::watch;
use tokio_postgres::Row;

use super::PostgresStore;
use crate::columns::unsigned;
use crate::error::PgError;
use crate::lease::DRAINED;
use crate::param::params;
use crate::pool::work;
use crate::{audit, query, receipt};

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

    fn node_problem(&self) -> Option<String> {
        self.inner.lease.problem().filter(|problem| problem != DRAINED)
    }

    fn report(&self, report: NodeReport) {
        self.inner.lease.report(report);
    }

    async fn nodes(&self) -> Result<Vec<Node>, Trouble> {
        let read = work!(|connection| {
            let rows = connection.rows(query::nodes, params![NODES_MAX]).await?;
            let mut nodes = rows.iter().map(node).collect::<Result<Vec<Node>, PgError>>()?;
            for (rank, node) in (0..).zip(nodes.iter_mut().filter(|node| node.report.fires)) {
                node.rank = Some(rank);
            }
            Ok(nodes)
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("list nodes"))
    }

    async fn drain(&self, name: &str, drained: bool, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let note: Vec<Vec<u8>> = note.iter().map(codec::encode_audit).collect();
        let name = name.to_owned();
        let write = work!(|connection| with name, note; {
            if connection.execute(query::drain, params![name, drained]).await? == 0 {
                return Ok(false);
            }
            audit::append(connection, note).await?;
            Ok(true)
        });
        let written = receipt::edit(&self.inner.api, &*self.inner.random, write).await;
        written.map_err(|error| error.trouble("drain a node"))
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

/// A row of `nodes.sql`.
fn node(row: &Row) -> Result<Node, PgError> {
    let problem: String = row.try_get(8)?;
    let beat_age: i64 = row.try_get(11)?;
    Ok(Node {
        lease: u64::try_from(row.try_get::<_, i64>(0)?).unwrap_or(0),
        name: row.try_get(1)?,
        report: NodeReport {
            fires: row.try_get(2)?,
            held: unsigned(row.try_get(3)?)?,
            in_flight: unsigned(row.try_get(4)?)?,
        },
        rank: None,
        version: row.try_get(5)?,
        started_at: from_ticks(row.try_get(6)?),
        beat_age: Duration::from_millis(u64::try_from(beat_age).unwrap_or(0)),
        clock_lead: SignedDuration::from_nanos(row.try_get::<_, i64>(7)?.saturating_mul(100)),
        problem: Some(problem).filter(|problem| !problem.is_empty()),
        drained: row.try_get(9)?,
        url: row.try_get(10)?,
    })
}
