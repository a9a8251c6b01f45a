//! Claiming: one statement, whose answer is entered before anything else is done with its connection.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use punctual_model::JobId;
use punctual_store::columns::target_hash;
use punctual_store::instant::to_ticks;
use punctual_store::{Claim, ClaimAsk, Fence, NodeStanding, Trouble, target_of};
use tokio::sync::oneshot;
use tokio_postgres::Row;

use super::{Inner, decode};
use crate::connection::Connection;
use crate::error::PgError;
use crate::node_claims::Ticket;
use crate::param::params;
use crate::pool::work;
use crate::query;
use crate::row::{self, Last, bound};

const DOING: &str = "claim what is due";

/// How often what is held is compared with the database.
const RECONCILE: Duration = Duration::from_secs(10);

/// Entries of the share of others are free so long after they were due: a node that is full or slow holds nobody up.
pub(super) const PATIENCE: SignedDuration = SignedDuration::from_millis(200);

/// The column of `claim.sql` that says whether the definition belongs to the revision.
const WHOLE: usize = 31;

/// A row that was claimed.
struct Claimed {
    fence: Fence,
    row: Row,
}

impl Inner {
    /// Claims what is due. What nobody waits for any more is given back.
    pub(super) async fn claim(self: &Arc<Self>, ask: &ClaimAsk) -> Result<Vec<Claim>, Trouble> {
        self.outage.check(DOING)?;
        if ask.limit == 0 {
            return Ok(Vec::new());
        }
        let (delivery, delivered) = oneshot::channel();
        let (inner, ask) = (Arc::clone(self), ask.clone());
        tokio::spawn(async move {
            let claims = inner.claim_now(&ask).await;
            if let Err(Ok(claims)) = delivery.send(claims) {
                let mut node_claims = inner.node_claims();
                let tickets =
                    claims.iter().filter_map(|claim| Some(node_claims.end(claim.fence)?.ticket)).collect();
                drop(node_claims);
                inner.give_back(tickets);
            }
        });
        delivered.await.unwrap_or(Err(PgError::Panicked)).map_err(|error| error.trouble(DOING))
    }

    async fn claim_now(self: &Arc<Self>, ask: &ClaimAsk) -> Result<Vec<Claim>, PgError> {
        let Some(standing) = self.lease.valid() else { return Ok(Vec::new()) };
        let (inner, asked) = (Arc::clone(self), ask.clone());
        let claim = work!(|connection| with inner, asked; {
            inner.reconcile(connection, to_ticks(asked.until), standing).await?;
            // Last: what is entered must reach whoever asked, so nothing may fail after it.
            inner.claim_with(connection, &asked, standing).await
        });
        let claimed = self.claims.run(claim).await?;
        if self.lease.valid().is_none_or(|now| now.lease != standing.lease) {
            // Too late: others may have them.
            let mut node_claims = self.node_claims();
            let ended =
                claimed.iter().filter_map(|claimed| Some(node_claims.end(claimed.fence)?.ticket)).collect();
            drop(node_claims);
            self.give_back(ended);
            return Ok(Vec::new());
        }
        let inner = Arc::clone(self);
        decode(claimed.len(), move || Ok(inner.loaded(claimed))).await
    }

    /// Claims with a connection, and enters what was claimed.
    async fn claim_with(
        self: &Arc<Self>,
        connection: &Connection,
        ask: &ClaimAsk,
        standing: NodeStanding,
    ) -> Result<Vec<Claimed>, PgError> {
        let full: Vec<i64> = ask.full_targets.iter().map(|target| target_hash(target)).collect();
        let walk = self.frontier().begin(&full, self.lease.boot());
        let (until, limit, ticket) = (to_ticks(ask.until), bound(ask.limit), self.next_ticket());
        let lease = i64::try_from(standing.lease).unwrap_or(0);
        let Share { nodes, rank, patience } = self.share(standing);
        let (recent, left_out) =
            (if nodes > 1 { self.recent() } else { Vec::new() }, self.node_claims().left_out());
        let rows = connection
            .write_rows(
                query::claim,
                params![
                    until,
                    limit,
                    lease,
                    ticket,
                    walk.from.0,
                    walk.from.1,
                    nodes,
                    rank,
                    patience,
                    recent,
                    full,
                    left_out,
                ],
            )
            .await?;
        let count = rows.len();
        let (mut whole, mut torn) = (Vec::with_capacity(count), Vec::new());
        let mut last = (until, i64::MAX);
        let mut places = Vec::with_capacity(count);
        for row in rows {
            let job = JobId(row.try_get(0)?);
            let place: (i64, i64) = (row.try_get(7)?, job.0);
            places.push(place);
            let ticket = Ticket { job, lease, ticket };
            if row.try_get::<_, Option<bool>>(WHOLE)? == Some(true) {
                // There is no collection where the job itself is missing; that one is left out when it is decoded.
                let collection: Option<i64> = row.try_get(WHOLE + 1)?;
                whole.push((place, ticket, row.try_get(28)?, collection.unwrap_or(0), row));
            } else {
                torn.push(ticket);
            }
        }
        // Entered when all of them could be read: nobody would give back the others.
        let mut claimed = Vec::with_capacity(whole.len());
        for (place, ticket, revision, collection, row) in whole {
            let fence = self.node_claims().enter(ticket, revision, collection);
            claimed.push((place, Claimed { fence, row }));
        }
        if count >= ask.limit {
            last = places.iter().copied().max().unwrap_or(last);
        }
        self.frontier().advance(&walk, &full, last);
        // Their definition may be older than their revision: they are claimed again.
        self.give_back(torn);
        claimed.sort_unstable_by_key(|(place, _)| *place);
        Ok(claimed.into_iter().map(|(_, claimed)| claimed).collect())
    }

    /// Decodes what was claimed. A job that can't be read does not prevent others from firing: it is left out.
    fn loaded(self: &Arc<Self>, claimed: Vec<Claimed>) -> Vec<Claim> {
        let mut last = Last::default();
        let (mut claims, mut unreadable) = (Vec::with_capacity(claimed.len()), Vec::new());
        for Claimed { fence, row } in claimed {
            match row::job(&row, &self.vault, &mut last) {
                Ok(row) => claims.push(Claim {
                    fence,
                    target: target_of(&row.job).into(),
                    job: row.job,
                    region: row.region,
                    sku: row.sku,
                }),
                Err(error) => {
                    let job = row::number_of(&row);
                    tracing::error!(job, %error, "a job that is due can't be read; it is left out until it is edited");
                    unreadable.extend(self.node_claims().leave_out(fence));
                }
            }
        }
        if !unreadable.is_empty() {
            self.give_back(unreadable);
        }
        claims
    }

    /// Gives back what the database says this node holds and nobody here knows of: the answer to a claim was lost, or a
    /// failover has undone a settlement. Only between claims: what is claimed is entered then.
    async fn reconcile(
        self: &Arc<Self>,
        connection: &Connection,
        until: i64,
        standing: NodeStanding,
    ) -> Result<(), PgError> {
        let (now, lost_count) = (self.lease.boot(), self.lost_count());
        {
            let mut reconciled = self.reconciled.lock().unwrap_or_else(PoisonError::into_inner);
            let due = now.saturating_sub(reconciled.at) >= RECONCILE || reconciled.lost_count != lost_count;
            if !due {
                return Ok(());
            }
            (reconciled.at, reconciled.lost_count) = (now, lost_count);
        }
        let lease = i64::try_from(standing.lease).unwrap_or(0);
        let rows = connection.rows(query::reconcile, params![until, lease]).await?;
        let held = rows.iter().map(|row| {
            let (job, ticket): (i64, Option<i64>) = (row.try_get(0)?, row.try_get(1)?);
            Ok(Ticket { job: JobId(job), lease, ticket: ticket.unwrap_or(0) })
        });
        let held: Vec<Ticket> = held.collect::<Result<_, PgError>>()?;
        let unknown: Vec<Ticket> = {
            let node_claims = self.node_claims();
            held.into_iter().filter(|ticket| !node_claims.knows(*ticket)).collect()
        };
        if !unknown.is_empty() {
            tracing::info!(count = unknown.len(), "claims whose answer was lost are given back");
        }
        self.give_back(unknown);
        Ok(())
    }

    /// Which entries are this node's.
    pub(super) fn share(&self, standing: NodeStanding) -> Share {
        let nodes = i64::from(standing.firing_count.max(1));
        let patience = if nodes == 1 {
            i64::MAX
        } else {
            self.clock.now().checked_sub(PATIENCE).map_or(i64::MAX, to_ticks)
        };
        Share { nodes, rank: i64::from(standing.rank) % nodes, patience }
    }
}

/// Which entries are this node's: those of which the number of the job, divided by the number of nodes, leaves its rank; and
/// all that were due before `patience`.
pub(super) struct Share {
    pub(super) nodes: i64,
    pub(super) rank: i64,
    pub(super) patience: i64,
}
