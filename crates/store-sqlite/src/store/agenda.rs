//! The agenda.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::JobId;
use punctual_model::decide::Repair;
use punctual_model::statistics;
use punctual_store::columns::{self, target_hash};
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::{
    Agenda, AheadAsk, AheadPage, Claim, ClaimAsk, DueCountAsk, Fence, Repaired, Settled, Settlement, Trouble,
    Vault, target_of,
};
use rusqlite::Connection;
use tokio::sync::watch;

use super::SqliteStore;
use crate::error::SqliteError;
use crate::row::Last;
use crate::standing::Standing;
use crate::writer_state::{EncodedRepair, EncodedSettlement};
use crate::{ahead, query, row};

#[async_trait]
impl Agenda for SqliteStore {
    /// The writer thread chooses and marks; a reader thread loads and decodes, so that writes don't wait for
    /// that. A job that was edited in between has lost its claim, since an edit takes it back before its
    /// COMMIT, and is left out.
    async fn claim(&self, ask: &ClaimAsk) -> Result<Vec<Claim>, Trouble> {
        self.outages.check("claim what is due")?;
        let (until, limit) = (to_ticks(ask.until), ask.limit);
        let full_targets = ask.full_targets.iter().map(|target| target_hash(target)).collect();
        let choose =
            self.writer.call("claim what is due", move |state| state.claim(until, limit, &full_targets));
        let delivery = choose.await?;
        let chosen = delivery.chosen().to_vec();
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let vault = self.vault.clone();
        let load = self.readers.call_firing("load what was claimed", move |conn| load(conn, &chosen, &vault));
        let Loaded { mut claims, unreadable } = load.await?;
        if !unreadable.is_empty() {
            let mut shared_claims = self.shared_claims.lock();
            unreadable.into_iter().for_each(|fence| shared_claims.leave_out(fence));
        }
        delivery.deliver(&mut claims);
        Ok(claims)
    }

    async fn begin(&self, fences: &[Fence]) -> Result<Vec<bool>, Trouble> {
        self.outages.check("begin what was claimed")?;
        let mut claims = self.shared_claims.lock();
        Ok(fences.iter().map(|fence| claims.begin(*fence)).collect())
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>, Trouble> {
        let encoded: Vec<EncodedSettlement> = settlements.into_iter().map(encoded).collect();
        self.writer.call("settle claims", move |state| state.settle(&encoded)).await
    }

    async fn release(&self, fences: &[Fence]) -> Result<(), Trouble> {
        let fences = fences.to_vec();
        self.writer.call("release claims", move |state| state.release(&fences)).await
    }

    async fn next_due(&self, full_targets: &[String]) -> Result<Option<Timestamp>, Trouble> {
        let full_targets = full_targets.iter().map(|target| target_hash(target)).collect();
        let ask = self.writer.call("find the next due time", move |state| state.next_due(&full_targets));
        Ok(ask.await?.and_then(from_ticks))
    }

    async fn in_flight(&self, jobs: &[JobId]) -> Result<Vec<JobId>, Trouble> {
        let claims = self.shared_claims.lock();
        Ok(jobs.iter().copied().filter(|job| claims.in_flight(*job)).collect())
    }

    async fn ahead(&self, ask: &AheadAsk) -> Result<AheadPage, Trouble> {
        let (ask, vault) = (*ask, self.vault.clone());
        let read = self.readers.call_long("look for jobs that are ahead of the clock", move |conn| {
            ahead::page(conn, &ask, &vault)
        });
        read.await
    }

    async fn repair(&self, repairs: Vec<Repair>) -> Result<Vec<Repaired>, Trouble> {
        let encode = |repair: Repair| EncodedRepair { standing: Standing::of(&repair.job), repair };
        let written: Vec<EncodedRepair> = repairs.into_iter().map(encode).collect();
        self.writer.call("put jobs back to the clock", move |state| state.repair(&written)).await
    }

    async fn due_count(&self, ask: &DueCountAsk) -> Result<usize, Trouble> {
        let (from, until, limit) = (to_ticks(ask.from), to_ticks(ask.until), row::bound(ask.limit));
        let scope = ask.scope.clone();
        let read = self.readers.call_long("count what is due", move |conn| {
            let [subscription, group, collection] = columns::place_of(&scope);
            let asked = (from, until, limit, subscription, group, collection);
            let within = row::many(conn, query::due_count, asked, |row| Ok(row.get::<_, bool>(0)?))?;
            Ok(within.into_iter().filter(|within| *within).count())
        });
        read.await
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.shared_claims.changes()
    }
}

fn encoded(settlement: Settlement) -> EncodedSettlement {
    let Settlement { fence, job, records, skips } = settlement;
    EncodedSettlement {
        fence,
        revision: job.revision,
        standing: Standing::of(&job),
        counts: statistics::counts(&records, &skips, job.progress.entry),
        collection: job.key.collection,
        records,
        skips,
    }
}

/// The claimed jobs that could be read.
struct Loaded {
    claims: Vec<Claim>,
    unreadable: Vec<Fence>,
}

/// Loads claimed jobs. One that can't be read does not prevent others from firing: it is left out. If none can
/// be read because the store fails, that is the error; then all of them are given back, and tried again later.
fn load(conn: &Connection, chosen: &[(Fence, JobId)], vault: &Vault) -> Result<Loaded, SqliteError> {
    let mut last = Last::default();
    let mut load_one = |&(fence, job): &(Fence, JobId)| -> Result<Option<Claim>, SqliteError> {
        let row = row::one(conn, query::job_by_id, [job.0], |row| row::job(row, vault, &mut last))?;
        Ok(row.map(|row| Claim {
            fence,
            target: target_of(&row.job).into(),
            job: row.job,
            region: row.region,
            sku: row.sku,
        }))
    };
    let mut loaded = Loaded { claims: Vec::with_capacity(chosen.len()), unreadable: Vec::new() };
    let mut failed = Vec::new();
    for one in chosen {
        match load_one(one) {
            Ok(Some(claim)) => loaded.claims.push(claim),
            // It was deleted, and its claim is gone; or a part of it is missing.
            Ok(None) => loaded.unreadable.push(one.0),
            Err(error @ SqliteError::Unreadable { .. }) => {
                tracing::error!(job = one.1.0, %error, "a job that is due can't be read; it is left out until it is edited");
                loaded.unreadable.push(one.0);
            }
            Err(error) => failed.push((*one, error)),
        }
    }
    if loaded.claims.is_empty()
        && let Some((_, error)) = failed.pop()
    {
        return Err(error);
    }
    // The store reads others: the row is at fault.
    for ((fence, job), error) in failed {
        tracing::error!(job = job.0, %error, "a job that is due can't be read; it is left out until it is edited");
        loaded.unreadable.push(fence);
    }
    Ok(loaded)
}
