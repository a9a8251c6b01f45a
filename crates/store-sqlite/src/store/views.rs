//! What live views ask for.

use async_trait::async_trait;
use punctual_model::{JobId, RecentPast};
use punctual_store::{COUNTED_MAX, JobCount, JobSearch, JobSearchPage, Trouble, Views};

use super::SqliteStore;
use crate::search;

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
}
