//! The agenda.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::JobId;
use punctual_model::decide::Repair;
use punctual_store::columns::{self, target_hash};
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::{
    Agenda, AheadAsk, AheadPage, Claim, ClaimAsk, DueCountAsk, Fence, Repaired, Settled, Settlement, Trouble,
};
use tokio::sync::watch;

use super::PostgresStore;
use super::claim::{PATIENCE, Share};
use crate::error::PgError;
use crate::node_claims::Ticket;
use crate::param::params;
use crate::pool::work;
use crate::row::bound;
use crate::{ahead, query};

#[async_trait]
impl Agenda for PostgresStore {
    async fn claim(&self, ask: &ClaimAsk) -> Result<Vec<Claim>, Trouble> {
        self.inner.claim(ask).await
    }

    async fn begin(&self, fences: &[Fence]) -> Result<Vec<bool>, Trouble> {
        self.inner.outage.check("begin what was claimed")?;
        self.inner.begin(fences).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>, Trouble> {
        let inner = Arc::clone(&self.inner);
        let settled = tokio::spawn(async move { inner.settle(settlements).await });
        let settled = settled.await.unwrap_or(Err(crate::error::PgError::Panicked));
        settled.map_err(|error| error.trouble("settle claims"))
    }

    async fn release(&self, fences: &[Fence]) -> Result<(), Trouble> {
        let tickets: Vec<Ticket> = {
            let node_claims = self.inner.node_claims();
            fences.iter().filter_map(|fence| Some(node_claims.held(*fence)?.ticket)).collect()
        };
        if tickets.is_empty() {
            return Ok(());
        }
        // They are ended here afterwards: whoever fails here tries again.
        let (inner, fences) = (Arc::clone(&self.inner), fences.to_vec());
        let release = tokio::spawn(async move {
            inner.release_tickets(tickets).await?;
            let mut node_claims = inner.node_claims();
            for fence in fences {
                node_claims.end(fence);
            }
            drop(node_claims);
            inner.frontier().reset();
            inner.wake();
            Ok(())
        });
        let released = release.await.unwrap_or(Err(crate::error::PgError::Panicked));
        released.map_err(|error| error.trouble("give claims back"))
    }

    async fn next_due(&self, full_targets: &[String]) -> Result<Option<Timestamp>, Trouble> {
        let inner = Arc::clone(&self.inner);
        let full: Vec<i64> = full_targets.iter().map(|target| target_hash(target)).collect();
        let from = inner.frontier().from(&full);
        let standing = *inner.lease.standing.borrow();
        let Share { nodes, rank, .. } = inner.share(standing);
        let (left_out, recent) =
            (inner.node_claims().left_out(), if nodes > 1 { inner.recent() } else { Vec::new() });
        let read = work!(|connection| with full, left_out, recent; {
            connection.one(query::next_due, params![from.0, from.1, nodes, rank, full, left_out, recent]).await
        });
        let doing = "find the next due time";
        let row = inner.claims.run(read).await.map_err(|error| error.trouble(doing))?;
        let Some(row) = row else { return Ok(None) };
        let due = |column: usize| {
            let due_at: Result<Option<i64>, _> = row.try_get(column);
            due_at.map_err(|error| crate::error::PgError::from(error).trouble(doing))
        };
        let own = due(0)?.and_then(from_ticks);
        let other = due(1)?.and_then(from_ticks).and_then(|due_at| due_at.checked_add(PATIENCE).ok());
        Ok([own, other].into_iter().flatten().min())
    }

    async fn in_flight(&self, jobs: &[JobId]) -> Result<Vec<JobId>, Trouble> {
        let inner = &self.inner;
        let ids: Vec<i64> = jobs.iter().map(|job| job.0).collect();
        let (now, lease) = (to_ticks(inner.clock.now()), inner.lease.number());
        let read =
            work!(|connection| with ids; connection.rows(query::in_flight, params![ids, now, lease]).await);
        let rows = inner.api.run(read).await.map_err(|error| error.trouble("see what is in flight"))?;
        let elsewhere: Vec<i64> = rows.iter().filter_map(|row| row.try_get(0).ok()).collect();
        let node_claims = inner.node_claims();
        Ok(jobs
            .iter()
            .copied()
            .filter(|job| node_claims.in_flight(*job) || elsewhere.contains(&job.0))
            .collect())
    }

    async fn ahead(&self, ask: &AheadAsk) -> Result<AheadPage, Trouble> {
        let (ask, vault) = (*ask, Arc::clone(&self.inner.vault));
        let read = work!(|connection| with vault; {
            connection.begin_read().await?;
            let page = ahead::page(connection, &ask, &vault).await?;
            connection.roll_back().await?;
            Ok(page)
        });
        let doing = "look for jobs that are ahead of the clock";
        self.inner.api.run(read).await.map_err(|error| error.trouble(doing))
    }

    async fn repair(&self, repairs: Vec<Repair>) -> Result<Vec<Repaired>, Trouble> {
        self.inner.repair(repairs).await.map_err(|error| error.trouble("put jobs back to the clock"))
    }

    async fn due_count(&self, ask: &DueCountAsk) -> Result<usize, Trouble> {
        let (from, until, limit) = (to_ticks(ask.from), to_ticks(ask.until), bound(ask.limit));
        let [subscription, group, collection] = columns::place_of(&ask.scope);
        let read = work!(|connection| with subscription, group, collection; {
            let place = params![from, until, limit, subscription, group, collection];
            Ok::<_, PgError>(match connection.one(query::due_count, place).await? {
                Some(row) => row.try_get::<_, i64>(0)?,
                None => 0,
            })
        });
        let count = self.inner.api.run(read).await.map_err(|error| error.trouble("count what is due"))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }
}
