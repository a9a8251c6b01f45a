//! What live views ask for.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::{JobId, RecentPast};
use punctual_store::instant::to_ticks;
use punctual_store::{COUNTED_MAX, JobCount, JobSearch, JobSearchPage, StatsAsk, StatsPage, Trouble, Views};

use super::SqliteStore;
use crate::{search, stats};

#[async_trait]
impl Views for SqliteStore {
    async fn search(&self, search: &JobSearch) -> Result<JobSearchPage, Trouble> {
        let (search, vault) = (search.clone(), self.vault.clone());
        let read = self.readers.call_long("search for jobs", move |conn| search::page(conn, &search, &vault));
        read.await
    }

    async fn search_count(&self, search: &JobSearch) -> Result<JobCount, Trouble> {
        let search = JobSearch { after: None, ..search.clone() };
        let read = self.readers.call_long("count jobs", move |conn| {
            let (picked, next, _) = search::pick(conn, &search, COUNTED_MAX)?;
            Ok(JobCount { number: picked.len(), capped: next.is_some() })
        });
        read.await
    }

    async fn recent(&self, jobs: &[JobId], limit: usize) -> Result<Vec<RecentPast>, Trouble> {
        let jobs = jobs.to_vec();
        let read = self.readers.call_long("read the latest outcomes", move |conn| {
            jobs.iter().map(|job| search::recent(conn, *job, limit)).collect()
        });
        read.await
    }

    async fn stats(&self, ask: &StatsAsk) -> Result<StatsPage, Trouble> {
        let ask = ask.clone();
        self.readers.call_long("read statistics", move |conn| stats::page(conn, &ask)).await
    }

    async fn roll_up_stats(
        &self,
        minutes_before: Timestamp,
        hours_before: Timestamp,
        limit: usize,
    ) -> Result<usize, Trouble> {
        let (minutes, hours) = (to_ticks(minutes_before), to_ticks(hours_before));
        let roll =
            self.writer.call("roll up statistics", move |state| state.roll_up_stats(minutes, hours, limit));
        roll.await
    }
}
