//! What live views ask for, in memory: every search looks at all jobs, and takes of them what a store on disk would.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::statistics::{Count, Statistics, floor};
use punctual_model::{CollectionKey, Job, JobId, JobSort, RecentPast, Record, Scope, SearchPlace, Skip};

use super::{MemoryStore, State};
use crate::codec::ActionFacts;
use crate::{
    COUNTED_MAX, Candidate, HOUR, JobCount, JobSearch, JobSearchPage, Picker, StatsAsk, StatsPage, Trouble,
    Views, shown_target,
};

#[async_trait]
impl Views for MemoryStore {
    async fn search(&self, search: &JobSearch) -> Result<JobSearchPage, Trouble> {
        let state = self.state();
        let (picked, next, visited) = state.pick(search, search.limit);
        let read = |id: JobId| {
            let job = state.job_by_id(id)?;
            Some((job.clone(), state.collections.get(&job.key.collection)?.clone()))
        };
        let jobs = picked.into_iter().filter_map(read).collect();
        Ok(JobSearchPage { jobs, unreadable: Vec::new(), next, visited })
    }

    async fn search_count(&self, search: &JobSearch) -> Result<JobCount, Trouble> {
        let search = JobSearch { after: None, ..search.clone() };
        let (picked, next, _) = self.state().pick(&search, COUNTED_MAX);
        Ok(JobCount { number: picked.len(), capped: next.is_some() })
    }

    async fn recent(&self, jobs: &[JobId], limit: usize) -> Result<Vec<RecentPast>, Trouble> {
        let state = self.state();
        Ok(jobs.iter().map(|job| state.recent(*job, limit)).collect())
    }

    async fn stats(&self, ask: &StatsAsk) -> Result<StatsPage, Trouble> {
        Ok(self.state().stats(ask))
    }

    async fn roll_up_stats(
        &self,
        minutes_before: Timestamp,
        hours_before: Timestamp,
        limit: usize,
    ) -> Result<usize, Trouble> {
        Ok(self.state().roll_up(minutes_before, hours_before, limit))
    }
}

/// Statistics by their beginning and collection; none for all collections.
pub(super) type Stats = BTreeMap<(Timestamp, Option<CollectionKey>), Statistics>;

impl State {
    /// Adds what a settlement counts.
    pub(super) fn count(&mut self, collection: &CollectionKey, counts: &[Count]) {
        for count in counts {
            for of in [Some(collection.clone()), None] {
                self.stats_minutes.entry((count.minute_at, of)).or_default().count(count);
            }
        }
    }

    fn stats(&self, ask: &StatsAsk) -> StatsPage {
        let everything = ask.scopes.contains(&Scope::Everything);
        let wanted = |collection: Option<&CollectionKey>| match collection {
            None => everything,
            Some(key) => {
                let scope = Scope::Collection(key.clone());
                !everything && ask.scopes.iter().any(|one| one.covers(&scope))
            }
        };
        let mut page = StatsPage::default();
        for stats in [&self.stats_minutes, &self.stats_hours] {
            for ((at, collection), statistics) in stats.range((ask.from, None)..(ask.to, None)).rev() {
                if !wanted(collection.as_ref()) {
                    continue;
                }
                if page.row_count >= ask.row_max {
                    page.unread_before = Some(*at + HOUR);
                    return page;
                }
                page.add(*at, statistics, ask.step);
            }
        }
        page
    }

    fn roll_up(&mut self, minutes_before: Timestamp, hours_before: Timestamp, limit: usize) -> usize {
        let old: Vec<_> = self
            .stats_minutes
            .range(..(minutes_before, None))
            .take(limit)
            .map(|(key, _)| key.clone())
            .collect();
        for key in &old {
            if let Some(statistics) = self.stats_minutes.remove(key) {
                self.stats_hours.entry((floor(key.0, HOUR), key.1.clone())).or_default().add(&statistics);
            }
        }
        let ancient: Vec<_> =
            self.stats_hours.range(..(hours_before, None)).take(limit).map(|(key, _)| key.clone()).collect();
        for key in &ancient {
            self.stats_hours.remove(key);
        }
        old.len() + ancient.len()
    }

    fn pick(&self, search: &JobSearch, limit: usize) -> (Vec<JobId>, Option<SearchPlace>, usize) {
        let mut jobs: Vec<(Candidate, bool)> = self
            .jobs
            .values()
            .map(|job| {
                let scope = Scope::Collection(job.key.collection.clone());
                (candidate(job), search.scopes.iter().any(|one| one.covers(&scope)))
            })
            .collect();
        let behind = |job: &Candidate| match (&search.after, search.sort) {
            (Some(SearchPlace::Name(name, id)), JobSort::Name) => (&job.name, job.job) > (name, *id),
            (Some(SearchPlace::Due(due_at, id)), JobSort::Next) => {
                (job.due_at.is_none(), job.due_at, job.job) > (due_at.is_none(), *due_at, *id)
            }
            _ => true,
        };
        jobs.retain(|(job, _)| behind(job));
        match search.sort {
            JobSort::Name => {
                jobs.sort_by(|(one, _), (other, _)| (&one.name, one.job).cmp(&(&other.name, other.job)));
            }
            JobSort::Next => jobs.sort_by_key(|(job, _)| (job.due_at.is_none(), job.due_at, job.job)),
        }
        let mut picker = Picker::new(search, limit);
        for (job, in_scope) in &jobs {
            if !picker.offer(job, *in_scope) {
                break;
            }
        }
        picker.finish()
    }

    fn recent(&self, job: JobId, limit: usize) -> RecentPast {
        let records = self.records.values().filter(|record| record.job == job);
        let mut records: Vec<Record> = records.cloned().collect();
        records.sort_by_key(|record| std::cmp::Reverse(record.nominal_at));
        let cut = records.len() > limit;
        records.truncate(limit);
        let mut skips: Vec<Skip> = self.skips.iter().filter(|skip| skip.job == job).cloned().collect();
        skips.sort_by_key(|skip| std::cmp::Reverse(skip.first_at));
        skips.truncate(limit);
        RecentPast { records, cut, skips }
    }
}

fn candidate(job: &Job) -> Candidate {
    let action = &job.spec.action.kind;
    Candidate {
        job: job.id,
        name: job.key.name.folded().to_owned(),
        state: Some(job.state),
        failing: job.failing(),
        due_at: job.progress.entry.map(|entry| entry.due_at),
        action: Some(ActionFacts { action_type: action.action_type(), target: shown_target(action) }),
    }
}
