//! The agenda.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::JobId;
use punctual_model::decide::Repair;
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::{
    Agenda, AheadAsk, AheadPage, Claim, ClaimAsk, Fence, Repaired, Settled, Settlement, Trouble, Vault,
    target_of,
};
use rusqlite::Connection;
use tokio::sync::watch;

use super::SqliteStore;
use crate::desk::{Decided, WrittenRepair};
use crate::mishap::Mishap;
use crate::row::Last;
use crate::standing::{Standing, hash};
use crate::{ahead, query, row};

#[async_trait]
impl Agenda for SqliteStore {
    /// The writer thread chooses and marks; a reader thread loads and decodes, so that writes don't
    /// wait for that. What was edited in between has lost its claim, since an edit takes it back before
    /// its COMMIT, and is left out.
    async fn claim(&self, ask: &ClaimAsk) -> Result<Vec<Claim>, Trouble> {
        self.outages.check("claim what is due")?;
        let (until, limit) = (to_ticks(ask.until), ask.limit);
        let passed_over = ask.passed_over.iter().map(|target| hash(target)).collect();
        let choose =
            self.writer.call("claim what is due", move |desk| desk.claim(until, limit, &passed_over));
        let parcel = choose.await?;
        let chosen = parcel.chosen().to_vec();
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let vault = self.vault.clone();
        let load = self.readers.call_long("load what was claimed", move |conn| load(conn, &chosen, &vault));
        let Loaded { mut claims, unreadable } = load.await?;
        if !unreadable.is_empty() {
            let mut book = self.book.claims();
            unreadable.into_iter().for_each(|fence| book.leave_out(fence));
        }
        parcel.deliver(&mut claims);
        Ok(claims)
    }

    async fn begin(&self, fences: &[Fence]) -> Result<Vec<bool>, Trouble> {
        self.outages.check("begin what was claimed")?;
        let mut claims = self.book.claims();
        Ok(fences.iter().map(|fence| claims.begin(*fence)).collect())
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>, Trouble> {
        let decided: Vec<Decided> = settlements.into_iter().map(decided).collect();
        self.writer.call("settle claims", move |desk| desk.settle(&decided)).await
    }

    async fn release(&self, fences: &[Fence]) -> Result<(), Trouble> {
        let fences = fences.to_vec();
        self.writer.call("release claims", move |desk| desk.release(&fences)).await
    }

    async fn next_due(&self, passed_over: &[String]) -> Result<Option<Timestamp>, Trouble> {
        let passed_over = passed_over.iter().map(|target| hash(target)).collect();
        let ask = self.writer.call("find the next due time", move |desk| desk.next_due(&passed_over));
        Ok(ask.await?.and_then(from_ticks))
    }

    async fn in_flight(&self, jobs: &[JobId]) -> Result<Vec<JobId>, Trouble> {
        let claims = self.book.claims();
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
        let encode = |repair: Repair| WrittenRepair { standing: Standing::of(&repair.job), repair };
        let written: Vec<WrittenRepair> = repairs.into_iter().map(encode).collect();
        self.writer.call("put jobs back to the clock", move |desk| desk.repair(&written)).await
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.book.changes()
    }
}

fn decided(settlement: Settlement) -> Decided {
    let Settlement { fence, job, records, skips } = settlement;
    Decided { fence, revision: job.revision, standing: Standing::of(&job), records, skips }
}

/// What was claimed, as far as it can be read.
struct Loaded {
    claims: Vec<Claim>,
    unreadable: Vec<Fence>,
}

/// Loads claimed jobs. One that can't be read keeps nobody else from firing: it is left out. If none can be
/// read because the store can't, that is told instead; then all of them are given back, and tried again later.
fn load(conn: &Connection, chosen: &[(Fence, JobId)], vault: &Vault) -> Result<Loaded, Mishap> {
    let mut last = Last::default();
    let mut load_one = |&(fence, job): &(Fence, JobId)| -> Result<Option<Claim>, Mishap> {
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
            // It was deleted, and its claim is gone; or it has lost a part.
            Ok(None) => loaded.unreadable.push(one.0),
            Err(error @ Mishap::Unreadable { .. }) => {
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
    // The store reads others: it is the row.
    for ((fence, job), error) in failed {
        tracing::error!(job = job.0, %error, "a job that is due can't be read; it is left out until it is edited");
        loaded.unreadable.push(fence);
    }
    Ok(loaded)
}
