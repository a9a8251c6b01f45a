//! History in memory.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::{JobId, JobKey, Rerun, Skip};

use super::{MemoryStore, page};
use crate::{Archive, HistoryAsk, HistoryCursor, Page, StoredRecord, Trouble};

#[async_trait]
impl Archive for MemoryStore {
    async fn history(&self, ask: &HistoryAsk) -> Result<Page<StoredRecord, HistoryCursor>, Trouble> {
        let place = |stored: &StoredRecord| (stored.record.started_at, stored.sequence);
        let after = ask.after.map(|cursor| (cursor.started_at, cursor.sequence));
        let wanted = |stored: &StoredRecord| {
            stored.record.job == ask.job
                && (ask.statuses.is_empty() || ask.statuses.contains(&stored.record.status))
                && after.is_none_or(|after| place(stored) < after)
        };
        let mut found: Vec<StoredRecord> = self.state().stored().filter(wanted).collect();
        found.sort_by_key(|stored| Reverse(place(stored)));
        let found = found.into_iter().skip(ask.skip).map(|stored| {
            let cursor = HistoryCursor { started_at: stored.record.started_at, sequence: stored.sequence };
            (cursor, stored)
        });
        Ok(page(found, ask.limit))
    }

    async fn records_between(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, Trouble> {
        let wanted = |stored: &StoredRecord| {
            stored.record.job == job && (from..=to).contains(&stored.record.nominal_at)
        };
        let mut found: Vec<StoredRecord> = self.state().stored().filter(wanted).collect();
        found.sort_by_key(|stored| {
            let record = &stored.record;
            (record.nominal_at, record.cause, record.step, record.attempt, stored.sequence)
        });
        found.truncate(limit);
        Ok(found)
    }

    async fn skips(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<Skip>, Trouble> {
        let state = self.state();
        let wanted = |skip: &&Skip| skip.job == job && skip.first_at <= to && skip.last_at >= from;
        let mut found: Vec<Skip> = state.skips.iter().filter(wanted).cloned().collect();
        found.sort_by_key(|skip| skip.first_at);
        found.truncate(limit);
        Ok(found)
    }

    async fn reruns(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<Rerun>, Trouble> {
        let state = self.state();
        let all = state.reruns.range((job, Timestamp::MIN)..=(job, Timestamp::MAX));
        let all = all.map(|(&(_, run_at), &of_at)| Rerun { run_at, of_at });
        let touches = |rerun: &Rerun| [rerun.run_at, rerun.of_at].iter().any(|at| (from..=to).contains(at));
        Ok(all.filter(touches).take(limit).collect())
    }

    async fn pruned_before(&self, job: JobId) -> Result<Option<Timestamp>, Trouble> {
        let state = self.state();
        let capped = state.capped.contains_key(&job);
        let records = state.records.values().filter(|record| capped && record.job == job);
        let oldest = records.map(|record| record.started_at).min();
        Ok(state.pruned_before.max(oldest))
    }

    async fn prune(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        let mut state = self.state();
        let mut old: Vec<(Timestamp, i64)> = state
            .records
            .iter()
            .filter(|(_, record)| record.ended_at < before)
            .map(|(sequence, record)| (record.ended_at, *sequence))
            .collect();
        old.sort_unstable();
        old.truncate(limit);
        if !old.is_empty() {
            state.pruned_before = state.pruned_before.max(Some(before));
        }
        old.iter().for_each(|(_, sequence)| state.forget(*sequence));

        let count = state.skips.len();
        let mut left = limit;
        state.skips.retain(|skip| {
            let goes = skip.decided_at < before && left > 0;
            left -= usize::from(goes);
            !goes
        });
        let skips = count - state.skips.len();
        let old_reruns = state.reruns.keys().filter(|(_, run_at)| *run_at < before);
        let old_reruns: Vec<(JobId, Timestamp)> = old_reruns.take(limit).copied().collect();
        for key in &old_reruns {
            state.reruns.remove(key);
        }
        Ok(old.len() + skips + old_reruns.len())
    }

    async fn prune_to(&self, keep: u32, limit: usize) -> Result<usize, Trouble> {
        let mut state = self.state();
        let mut by_job: BTreeMap<JobId, Vec<(Timestamp, i64)>> = BTreeMap::new();
        for (sequence, record) in &state.records {
            by_job.entry(record.job).or_default().push((record.started_at, *sequence));
        }
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        let mut surplus = Vec::new();
        for records in by_job.values_mut() {
            records.sort_unstable();
            let count = records.len().saturating_sub(keep);
            surplus.extend(records[..count].iter().map(|(_, sequence)| *sequence));
        }
        surplus.truncate(limit);
        state.note_capped(&surplus);
        surplus.iter().for_each(|sequence| state.forget(*sequence));
        Ok(surplus.len())
    }

    async fn purge(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        let mut state = self.state();
        let mut ended: Vec<(Timestamp, JobKey)> = state
            .jobs
            .values()
            .filter(|job| job.progress.entry.is_none())
            .filter_map(|job| Some((job.progress.ended_at.filter(|at| *at < before)?, job.key.clone())))
            .collect();
        ended.sort_unstable();
        ended.truncate(limit);
        ended.iter().for_each(|(_, key)| {
            state.remove_job(key);
        });
        Ok(ended.len())
    }
}
