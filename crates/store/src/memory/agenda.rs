//! The agenda in memory.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::decide::Repair;
use punctual_model::statistics;
use punctual_model::{JobId, Scope};
use tokio::sync::watch;

use super::{MemoryStore, State};
use crate::{
    Agenda, AheadAsk, AheadPage, Claim, ClaimAsk, DueCountAsk, Fence, Repaired, Settled, Settlement, Trouble,
    target_of,
};

#[async_trait]
impl Agenda for MemoryStore {
    async fn claim(&self, ask: &ClaimAsk) -> Result<Vec<Claim>, Trouble> {
        Ok(self.state().claim(ask))
    }

    async fn begin(&self, fences: &[Fence]) -> Result<Vec<bool>, Trouble> {
        let mut state = self.state();
        Ok(fences.iter().map(|fence| state.claims.begin(*fence)).collect())
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>, Trouble> {
        let (settled, moved) = {
            let mut state = self.state();
            let mut moved = false;
            let mut settle = |settlement: Settlement| {
                let has_entry = settlement.job.progress.entry.is_some();
                let settled = state.settle(settlement);
                moved |= has_entry && matches!(settled, Settled::Recorded);
                settled
            };
            (settlements.into_iter().map(&mut settle).collect(), moved)
        };
        if moved {
            self.wake();
        }
        Ok(settled)
    }

    async fn release(&self, fences: &[Fence]) -> Result<(), Trouble> {
        let ended_count = {
            let mut state = self.state();
            fences.iter().filter(|fence| state.claims.end(**fence).is_some()).count()
        };
        if ended_count > 0 {
            self.wake();
        }
        Ok(())
    }

    async fn next_due(&self, full_targets: &[String]) -> Result<Option<Timestamp>, Trouble> {
        let state = self.state();
        Ok(state.claimable(full_targets).next().map(|(due_at, _)| due_at))
    }

    async fn in_flight(&self, jobs: &[JobId]) -> Result<Vec<JobId>, Trouble> {
        let state = self.state();
        Ok(jobs.iter().copied().filter(|job| state.claims.in_flight(*job)).collect())
    }

    async fn ahead(&self, ask: &AheadAsk) -> Result<AheadPage, Trouble> {
        Ok(self.state().ahead(ask))
    }

    async fn repair(&self, repairs: Vec<Repair>) -> Result<Vec<Repaired>, Trouble> {
        let repaired: Vec<Repaired> = {
            let mut state = self.state();
            repairs.into_iter().map(|repair| state.repair(repair)).collect()
        };
        if repaired.contains(&Repaired::Written) {
            self.wake();
        }
        Ok(repaired)
    }

    async fn due_count(&self, ask: &DueCountAsk) -> Result<usize, Trouble> {
        let state = self.state();
        let due =
            state.agenda.range((ask.from, JobId(i64::MIN))..(ask.until, JobId(i64::MIN))).take(ask.limit);
        let keys = due.filter_map(|(_, job)| state.keys.get(job));
        Ok(keys.filter(|key| ask.scope.covers(&Scope::Job((*key).clone()))).count())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl State {
    fn claimable<'a>(&'a self, full_targets: &'a [String]) -> impl Iterator<Item = (Timestamp, JobId)> + 'a {
        let free = |job: JobId| self.claims.free(job);
        let wanted = |job: JobId| {
            full_targets.is_empty()
                || self.job_by_id(job).is_some_and(|job| !full_targets.contains(&target_of(job)))
        };
        self.agenda.iter().copied().filter(move |(_, job)| free(*job) && wanted(*job))
    }

    fn claim(&mut self, ask: &ClaimAsk) -> Vec<Claim> {
        let due = self.claimable(&ask.full_targets).take_while(|(due_at, _)| *due_at <= ask.until);
        let jobs: Vec<JobId> = due.take(ask.limit).map(|(_, job)| job).collect();
        jobs.into_iter().filter_map(|job| self.claim_one(job)).collect()
    }

    fn claim_one(&mut self, id: JobId) -> Option<Claim> {
        let fence = self.claims.claim(id)?;
        let job = self.job_by_id(id)?.clone();
        let collection = self.collections.get(&job.key.collection)?;
        let target = target_of(&job);
        Some(Claim {
            fence,
            region: collection.location.as_str().into(),
            sku: collection.sku,
            target: target.into(),
            job,
        })
    }

    fn settle(&mut self, settlement: Settlement) -> Settled {
        let Settlement { fence, job: decided, records, skips } = settlement;
        let Some(id) = self.claims.job(fence) else { return Settled::Lost };
        let Some(job) = self.job_by_id(id) else {
            self.claims.end(fence);
            return Settled::Gone;
        };
        if job.revision != decided.revision {
            let sku = self.collections[&job.key.collection].sku;
            return Settled::Changed(Box::new(job.clone()), sku);
        }
        let mut job = job.clone();
        let counts = statistics::counts(&records, &skips, decided.progress.entry);
        self.count(&job.key.collection, &counts);
        job.state = decided.state;
        job.counters = decided.counters;
        job.last_started_at = decided.last_started_at;
        job.progress = decided.progress;
        job.revision += 1;
        self.write_job(job);
        records.into_iter().for_each(|record| self.append(record));
        self.skips.extend(skips);
        self.claims.end(fence);
        Settled::Recorded
    }
}
