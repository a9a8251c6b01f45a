//! What live views ask for.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::{JobId, RecentPast};
use punctual_store::instant::to_ticks;
use punctual_store::{COUNTED_MAX, JobCount, JobSearch, JobSearchPage, StatsAsk, StatsPage, Trouble, Views};

use super::PostgresStore;
use crate::pool::work;
use crate::{search, stats};

#[async_trait]
impl Views for PostgresStore {
    async fn search(&self, search: &JobSearch) -> Result<JobSearchPage, Trouble> {
        let (search, vault) = (Arc::new(search.clone()), Arc::clone(&self.inner.vault));
        let read = work!(|connection| with search, vault; search::page(connection, &search, &vault).await);
        self.inner.api.run(read).await.map_err(|error| error.trouble("search for jobs"))
    }

    async fn search_count(&self, search: &JobSearch) -> Result<JobCount, Trouble> {
        let search = Arc::new(JobSearch { after: None, ..search.clone() });
        let read = work!(|connection| with search; {
            let (picked, next, _) = search::pick(connection, &search, COUNTED_MAX).await?;
            Ok(JobCount { number: picked.len(), capped: next.is_some() })
        });
        self.inner.api.run(read).await.map_err(|error: crate::error::PgError| error.trouble("count jobs"))
    }

    async fn recent(&self, jobs: &[JobId], limit: usize) -> Result<Vec<RecentPast>, Trouble> {
        let jobs: Vec<i64> = jobs.iter().map(|job| job.0).collect();
        let read = work!(|connection| with jobs; search::recent(connection, jobs, limit).await);
        self.inner.api.run(read).await.map_err(|error| error.trouble("read the latest outcomes"))
    }

    async fn stats(&self, ask: &StatsAsk) -> Result<StatsPage, Trouble> {
        let ask = Arc::new(ask.clone());
        let read = work!(|connection| with ask; stats::page(connection, &ask).await);
        self.inner.api.run(read).await.map_err(|error| error.trouble("read statistics"))
    }

    async fn roll_up_stats(
        &self,
        minutes_before: Timestamp,
        hours_before: Timestamp,
        limit: usize,
    ) -> Result<usize, Trouble> {
        let (minutes, hours) = (to_ticks(minutes_before), to_ticks(hours_before));
        let roll = work!(|connection| stats::roll_up(connection, minutes, hours, limit).await);
        self.inner.api.run(roll).await.map_err(|error| error.trouble("roll up statistics"))
    }
}
