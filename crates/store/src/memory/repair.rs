//! Jobs that are ahead of the clock, in memory.

use punctual_model::decide::{Ahead, Marks, Repair, STARTED_MAX};
use punctual_model::{Cause, Job, JobId, Record, RecordStatus};

use super::State;
use crate::claims::TakenBack;
use crate::{AheadAsk, AheadPage, Repaired};

impl State {
    pub(super) fn ahead(&self, ask: &AheadAsk) -> AheadPage {
        let mut ids: Vec<JobId> =
            self.keys.keys().copied().filter(|id| ask.after.is_none_or(|after| *id > after)).collect();
        ids.sort_unstable();
        let mut page = AheadPage::default();
        let mut started_count = 0;
        for (count, id) in ids.iter().enumerate() {
            if count == ask.job_limit || page.found.len() == ask.found_limit || started_count >= STARTED_MAX {
                return page;
            }
            page.last = Some(*id);
            let job = self.job_by_id(*id).filter(|job| Marks::of(job).may_be_ahead(ask.now));
            let found = job.and_then(|job| self.ahead_of(job, ask));
            started_count += found.as_ref().map_or(0, |found| found.started.len());
            page.found.extend(found);
        }
        page.last = None;
        page
    }

    fn ahead_of(&self, job: &Job, ask: &AheadAsk) -> Option<Ahead> {
        let collection = self.collections.get(&job.key.collection)?;
        let attempts = self.records.values().filter(|record| {
            let own = (record.job, record.generation) == (job.id, job.generation);
            own && record.status != RecordStatus::Postponed
        });
        let scheduled = attempts.clone().filter(|record| record.cause == Cause::Schedule);
        let mut started: Vec<_> =
            scheduled.map(|record| record.nominal_at).filter(|at| *at > ask.now).collect();
        started.sort_unstable();
        started.dedup();
        started.truncate(STARTED_MAX);
        let retry = job.progress.entry.filter(|entry| entry.attempt > 0);
        let before = |record: &&Record| {
            let place = (record.cause, record.nominal_at, record.step, record.attempt + 1);
            retry.is_some_and(|entry| place == (entry.cause, entry.nominal_at, entry.step, entry.attempt))
        };
        let mut skips = self.skips.clone();
        skips.retain(|skip| skip.job == job.id && skip.first_at <= ask.now && skip.last_at > ask.now);
        skips.sort_by_key(|skip| skip.first_at);
        Some(Ahead {
            job: job.clone(),
            collection_enabled: collection.enabled(),
            sku: collection.sku,
            started,
            skips,
            tried_at: attempts.clone().find(before).map(|record| record.ended_at),
        })
    }

    pub(super) fn repair(&mut self, repair: Repair) -> Repaired {
        let Repair { job: decided, withdrawn, skips } = repair;
        let Some(job) = self.job_by_id(decided.id).filter(|job| job.revision == decided.revision) else {
            return Repaired::Stale;
        };
        let mut job = job.clone();
        if self.claims.take_back(job.id) == TakenBack::InFlight {
            return Repaired::InFlight;
        }
        job.state = decided.state;
        job.put_at = decided.put_at;
        job.progress = decided.progress;
        job.revision += 1;
        self.skips.retain(|skip| {
            skip.job != job.id || skip.last_at <= withdrawn.after || skip.first_at >= withdrawn.before
        });
        self.skips.extend(skips);
        self.write_job(job);
        Repaired::Written
    }
}
