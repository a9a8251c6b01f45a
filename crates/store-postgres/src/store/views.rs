//! What live views ask for.

use std::sync::Arc;

use async_trait::async_trait;
use punctual_model::{JobId, RecentPast};
use punctual_store::{COUNTED_MAX, JobCount, JobSearch, JobSearchPage, Trouble, Views};

use super::PostgresStore;
use crate::pool::work;
use crate::search;

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
}
