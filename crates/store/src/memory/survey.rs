//! The facts for the inspector, in memory.

use std::cmp::Reverse;
use std::collections::HashSet;

use async_trait::async_trait;
use punctual_model::inspect::{
    Census, DueEntry, Evidence, FaultedJob, HistoryEvidence, RecordFacts, Standing, Subject, Tally,
};
use punctual_model::{Job, JobId, JobState, Record};

use super::{MemoryStore, State};
use crate::{
    CollectionEvidence, Extent, FAULTED_COUNT_MAX, HeldClaim, HistoryCursor, Survey, SurveyAsk, Trouble,
    Unclaimed, UnclaimedAsk, target_of,
};

#[async_trait]
impl Survey for MemoryStore {
    async fn extent(&self) -> Result<Extent, Trouble> {
        Ok(Extent { schema_version: 0, last_job: JobId(self.state().last_job) })
    }

    async fn census(&self, faulted_limit: usize) -> Result<Census, Trouble> {
        let state = self.state();
        let faulted = state.jobs.values().filter(|job| job.state == JobState::Faulted);
        let ended = |job: &Job| {
            let (key, ended_at) = (job.key.clone(), job.progress.ended_at?);
            Some(FaultedJob { job: job.id, key, ended_at })
        };
        let mut faulted: Vec<FaultedJob> = faulted.filter_map(ended).collect();
        let faulted_count = faulted.len().min(FAULTED_COUNT_MAX) as u64;
        faulted.sort_by_key(|one| Reverse((one.ended_at, one.job)));
        faulted.truncate(faulted_limit);
        Ok(Census { job_count: state.jobs.len() as u64, faulted_count, faulted })
    }

    async fn survey(&self, ask: &SurveyAsk) -> Result<Vec<Evidence>, Trouble> {
        let state = self.state();
        let mut ids: Vec<JobId> =
            state.keys.keys().copied().filter(|id| ask.after.is_none_or(|after| *id > after)).collect();
        ids.sort_unstable();
        let mut page = Vec::new();
        let mut left = ask.record_limit;
        for job in ids.into_iter().take(ask.job_limit).filter_map(|id| state.job_by_id(id)) {
            let records = state.records.values().filter(|record| record.job == job.id).count();
            if records > left && left < ask.record_limit {
                break;
            }
            page.push(state.evidence(job, left));
            if records > left {
                break;
            }
            left -= records;
        }
        Ok(page)
    }

    async fn survey_collections(&self, after: i64, limit: usize) -> Result<Vec<CollectionEvidence>, Trouble> {
        let state = self.state();
        let numbered = (1..).zip(state.collections.keys()).filter(|(number, _)| *number > after);
        let told =
            numbered.map(|(number, key)| CollectionEvidence { number, key: key.clone(), unreadable: None });
        Ok(told.take(limit).collect())
    }

    /// Everything in memory can be read.
    async fn damage(&self, _subject: &Subject) -> Result<Option<String>, Trouble> {
        Ok(None)
    }

    async fn record_facts(
        &self,
        job: JobId,
        after: Option<HistoryCursor>,
        limit: usize,
    ) -> Result<Vec<(HistoryCursor, RecordFacts)>, Trouble> {
        let state = self.state();
        let place = |cursor: &HistoryCursor| (cursor.started_at, cursor.sequence);
        let mut found: Vec<(HistoryCursor, RecordFacts)> = state
            .records
            .iter()
            .filter(|(_, record)| record.job == job)
            .map(|(&sequence, record)| {
                (HistoryCursor { started_at: record.started_at, sequence }, trace(record))
            })
            .filter(|(cursor, _)| after.is_none_or(|after| place(cursor) < place(&after)))
            .collect();
        found.sort_by_key(|(cursor, _)| Reverse(place(cursor)));
        found.truncate(limit);
        Ok(found)
    }

    async fn unclaimed(&self, ask: &UnclaimedAsk) -> Result<Vec<Unclaimed>, Trouble> {
        let state = self.state();
        let due = state.agenda.iter().take_while(|(due_at, _)| *due_at <= ask.until);
        let free = due.filter(|(_, job)| state.claims.free(*job)).take(ask.limit);
        let target_full =
            |job| state.job_by_id(job).is_some_and(|job| ask.full_targets.contains(&target_of(job)));
        Ok(free
            .map(|&(due_at, job)| Unclaimed { due: DueEntry { job, due_at }, target_full: target_full(job) })
            .collect())
    }

    async fn held(&self) -> Result<Vec<HeldClaim>, Trouble> {
        Ok(self.state().claims.held().collect())
    }
}

impl State {
    fn evidence(&self, job: &Job, record_limit: usize) -> Evidence {
        let standing = Standing {
            state: job.state,
            generation: job.generation,
            put_at: job.put_at,
            counters: job.counters,
            entry: job.progress.entry,
            past_at: job.progress.past_at,
            revision: job.revision,
        };
        let capped = self.capped.get(&job.id) == Some(&job.generation);
        let collection = self.collections.get(&job.key.collection);
        Evidence {
            job: job.id,
            key: Some(job.key.clone()),
            defined: true,
            collection_enabled: collection.map(punctual_model::Collection::enabled),
            standing: Some(standing),
            unreadable: None,
            unreadable_records: Vec::new(),
            claimed: self.claims.claimed(job.id),
            history: if standing.has_whole_history(self.pruned_before, capped) {
                self.history_evidence(job, record_limit)
            } else {
                HistoryEvidence::Pruned
            },
        }
    }

    fn history_evidence(&self, job: &Job, record_limit: usize) -> HistoryEvidence {
        let mut tally = Tally::default();
        let records = self.records.values().filter(|record| record.job == job.id);
        for (count, record) in records.enumerate() {
            if count == record_limit {
                return HistoryEvidence::Long;
            }
            if record.generation == job.generation {
                tally.add(trace(record));
            }
        }
        HistoryEvidence::Whole(tally)
    }

    /// Remembers the jobs of records that are about to be deleted.
    pub(super) fn note_capped(&mut self, sequences: &[i64]) {
        let jobs: HashSet<JobId> =
            sequences.iter().filter_map(|sequence| Some(self.records.get(sequence)?.job)).collect();
        for id in jobs {
            let generation = self.job_by_id(id).map(|job| job.generation);
            self.capped.extend(generation.map(|generation| (id, generation)));
        }
    }
}

fn trace(record: &Record) -> RecordFacts {
    let Record { generation, ordinal, step, status, .. } = *record;
    RecordFacts { generation, ordinal, step, status }
}
