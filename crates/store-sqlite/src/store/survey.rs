//! The facts of a running store.

use std::collections::HashSet;

use async_trait::async_trait;
use punctual_model::JobId;
use punctual_model::inspect::{Census, Evidence, RecordFacts, Subject};
use punctual_store::columns::target_hash;
use punctual_store::instant::to_ticks;
use punctual_store::{
    CollectionEvidence, Extent, HeldClaim, HistoryCursor, Survey, SurveyAsk, Trouble, Unclaimed, UnclaimedAsk,
};

use super::SqliteStore;
use crate::survey;

#[async_trait]
impl Survey for SqliteStore {
    async fn extent(&self) -> Result<Extent, Trouble> {
        self.readers.call_long("read the extent of the store", survey::extent).await
    }

    async fn census(&self, faulted_limit: usize) -> Result<Census, Trouble> {
        self.readers.call_long("count jobs", move |conn| survey::census(conn, faulted_limit)).await
    }

    /// Claims are not in the snapshot: a job that is claimed before or after it may be about to change.
    async fn survey(&self, ask: &SurveyAsk) -> Result<Vec<Evidence>, Trouble> {
        let ask = *ask;
        let before = self.claimed();
        let vault = self.vault.clone();
        let read = self.readers.call_long("look at jobs", move |conn| survey::page(conn, &ask, Some(&vault)));
        let mut page = read.await?;
        let claims = self.shared_claims.lock();
        survey::mark(&mut page, &before, |job| claims.claimed(job));
        Ok(page)
    }

    async fn survey_collections(&self, after: i64, limit: usize) -> Result<Vec<CollectionEvidence>, Trouble> {
        let read = self
            .readers
            .call_long("look at collections", move |conn| survey::collections(conn, after, limit));
        read.await
    }

    async fn damage(&self, subject: &Subject) -> Result<Option<String>, Trouble> {
        let subject = subject.clone();
        self.readers.call("look at a row", move |conn| survey::damage_of(conn, &subject)).await
    }

    async fn record_facts(
        &self,
        job: JobId,
        after: Option<HistoryCursor>,
        limit: usize,
    ) -> Result<Vec<(HistoryCursor, RecordFacts)>, Trouble> {
        let read = self
            .readers
            .call_long("look at history", move |conn| survey::record_facts(conn, job.0, after, limit));
        read.await
    }

    async fn unclaimed(&self, ask: &UnclaimedAsk) -> Result<Vec<Unclaimed>, Trouble> {
        let before = self.claimed();
        // Claimed entries are read as well and left out.
        let (until, limit) = (to_ticks(ask.until), ask.limit.saturating_add(before.len()));
        let read = self.readers.call_long("look at what is due", move |conn| survey::due(conn, until, limit));
        let found = read.await?;
        let full_targets: HashSet<i64> = ask.full_targets.iter().map(|target| target_hash(target)).collect();
        let claims = self.shared_claims.lock();
        let free = found
            .into_iter()
            .filter(|(due, _)| !before.contains(&due.job) && claims.free(due.job))
            .map(|(due, target)| Unclaimed { due, target_full: full_targets.contains(&target) });
        Ok(free.take(ask.limit).collect())
    }

    async fn held(&self) -> Result<Vec<HeldClaim>, Trouble> {
        Ok(self.shared_claims.lock().held().collect())
    }

    async fn left_out(&self) -> Result<Vec<JobId>, Trouble> {
        Ok(self.shared_claims.lock().left_out().collect())
    }

    fn outage(&self) -> Option<Trouble> {
        self.outages.check("write").err()
    }

    async fn problems(&self) -> Result<Vec<String>, Trouble> {
        let files = self.files.clone();
        self.readers.call_long("look at the data directory", move |_| Ok(files.problems())).await
    }
}

impl SqliteStore {
    /// The claimed jobs. They are only copied while the claims are locked, because firing waits for that lock.
    fn claimed(&self) -> HashSet<JobId> {
        let jobs: Vec<JobId> = self.shared_claims.lock().held().map(|claim| claim.job).collect();
        jobs.into_iter().collect()
    }
}
