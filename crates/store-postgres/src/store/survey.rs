//! The facts of a running store.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::JobId;
use punctual_model::inspect::{Census, DueEntry, Evidence, RecordFacts, Subject};
use punctual_store::columns::target_hash;
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::{
    CollectionEvidence, Extent, HeldClaim, HistoryCursor, Survey, SurveyAsk, Trouble, Unclaimed, UnclaimedAsk,
};

use super::PostgresStore;
use crate::error::PgError;
use crate::param::params;
use crate::pool::work;
use crate::row::bound;
use crate::{query, survey};

#[async_trait]
impl Survey for PostgresStore {
    async fn extent(&self) -> Result<Extent, Trouble> {
        let read = work!(|connection| survey::extent(connection).await);
        self.inner.api.run(read).await.map_err(|error| error.trouble("read the extent of the store"))
    }

    async fn census(&self, faulted_limit: usize) -> Result<Census, Trouble> {
        let read = work!(|connection| {
            connection.begin_read().await?;
            let census = survey::census(connection, faulted_limit).await?;
            connection.roll_back().await?;
            Ok(census)
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("count jobs"))
    }

    async fn survey(&self, ask: &SurveyAsk) -> Result<Vec<Evidence>, Trouble> {
        let (ask, vault) = (*ask, Arc::clone(&self.inner.vault));
        let read = work!(|connection| with vault; {
            connection.begin_read().await?;
            let page = survey::page(connection, &ask, &vault).await?;
            connection.roll_back().await?;
            Ok(page)
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("look at jobs"))
    }

    async fn survey_collections(&self, after: i64, limit: usize) -> Result<Vec<CollectionEvidence>, Trouble> {
        let read = work!(|connection| survey::collections(connection, after, limit).await);
        self.inner.api.run(read).await.map_err(|error| error.trouble("look at collections"))
    }

    async fn damage(&self, subject: &Subject) -> Result<Option<String>, Trouble> {
        let subject = subject.clone();
        let read = work!(|connection| with subject; survey::damage_of(connection, &subject).await);
        self.inner.api.run(read).await.map_err(|error| error.trouble("look at a row"))
    }

    async fn record_facts(
        &self,
        job: JobId,
        after: Option<HistoryCursor>,
        limit: usize,
    ) -> Result<Vec<(HistoryCursor, RecordFacts)>, Trouble> {
        let read = work!(|connection| survey::record_facts(connection, job.0, after, limit).await);
        self.inner.api.run(read).await.map_err(|error| error.trouble("look at history"))
    }

    async fn unclaimed(&self, ask: &UnclaimedAsk) -> Result<Vec<Unclaimed>, Trouble> {
        let (until, limit, left_out) =
            (to_ticks(ask.until), bound(ask.limit), self.inner.node_claims().left_out());
        let full: HashSet<i64> = ask.full_targets.iter().map(|target| target_hash(target)).collect();
        let read = work!(|connection| with full, left_out; {
            let rows = connection.rows(query::unclaimed, params![until, limit, left_out]).await?;
            let mut found = Vec::with_capacity(rows.len());
            for row in rows {
                let (due_at, job, target): (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
                // Ticks that are no instant are reported when the job is read.
                let due_at = from_ticks(due_at).unwrap_or(Timestamp::MIN);
                let due = DueEntry { job: JobId(job), due_at };
                found.push(Unclaimed { due, target_full: full.contains(&target) });
            }
            Ok::<_, PgError>(found)
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("look at what is due"))
    }

    async fn held(&self) -> Result<Vec<HeldClaim>, Trouble> {
        Ok(self.inner.node_claims().claims())
    }

    async fn left_out(&self) -> Result<Vec<JobId>, Trouble> {
        Ok(self.inner.node_claims().left_out().into_iter().map(JobId).collect())
    }

    fn outage(&self) -> Option<Trouble> {
        self.inner.outage.trouble()
    }

    async fn problems(&self) -> Result<Vec<String>, Trouble> {
        let problem = self.inner.lease.problem();
        let mut problems: Vec<String> =
            problem.map(|problem| format!("This node fires nothing: {problem}.")).into_iter().collect();
        let inner = Arc::clone(&self.inner);
        // It reads files.
        let others = tokio::task::spawn_blocking(move || inner.watched.get().map(|others| others())).await;
        problems.extend(others.ok().flatten().unwrap_or_default());
        Ok(problems)
    }
}
