//! History.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::inspect::Subject;
use punctual_model::{JobId, RecordStatus, Rerun, Skip};
use punctual_store::codec::Number;
use punctual_store::instant::to_ticks;
use punctual_store::{Archive, HistoryAsk, HistoryCursor, Page, StoredRecord, Trouble};

use super::PostgresStore;
use crate::columns::instant;
use crate::error::PgError;
use crate::param::params;
use crate::pool::work;
use crate::row::{bound, one_more};
use crate::{query, row, survey};

#[async_trait]
impl Archive for PostgresStore {
    async fn history(&self, ask: &HistoryAsk) -> Result<Page<StoredRecord, HistoryCursor>, Trouble> {
        let ask = ask.clone();
        let read = work!(|connection| with ask; {
            let (started_at, sequence) =
                ask.after.map_or((i64::MAX, i64::MAX), |after| (to_ticks(after.started_at), after.sequence));
            let (limit, skip) = (one_more(ask.limit), bound(ask.skip));
            let rows = connection.rows(query::history, params![ask.job.0, started_at, sequence, mask(&ask.statuses), limit, skip]).await?;
            row::page(&rows, ask.limit, |row| {
                let sequence = row::number_of(row);
                (row::record_cursor(row), Subject::Record(ask.job, sequence), row::record(row))
            })
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("read history"))
    }

    async fn records_between(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, Trouble> {
        let read = work!(|connection| {
            let rows = connection
                .rows(query::records_between, params![job.0, to_ticks(from), to_ticks(to), bound(limit)])
                .await?;
            rows.iter().map(row::record).collect::<Result<Vec<_>, _>>()
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("read records"))
    }

    async fn skips(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<Skip>, Trouble> {
        let read = work!(|connection| {
            let rows = connection
                .rows(query::skips, params![job.0, to_ticks(from), to_ticks(to), bound(limit)])
                .await?;
            rows.iter().map(row::skip).collect::<Result<Vec<_>, _>>()
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("read skips"))
    }

    async fn reruns(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<Rerun>, Trouble> {
        let (from, to, limit) = (to_ticks(from), to_ticks(to), bound(limit));
        let read = work!(|connection| {
            let rows = connection.rows(query::reruns, params![job.0, from, to, limit]).await?;
            let read = |row: &tokio_postgres::Row| -> Result<Rerun, PgError> {
                Ok(Rerun { run_at: instant(row.try_get(0)?)?, of_at: instant(row.try_get(1)?)? })
            };
            rows.iter().map(read).collect::<Result<Vec<Rerun>, PgError>>()
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("read reruns"))
    }

    async fn pruned_before(&self, job: JobId) -> Result<Option<Timestamp>, Trouble> {
        let read = work!(|connection| {
            let oldest = connection.number(query::capped_since, params![job.0]).await?;
            Ok::<_, PgError>(survey::pruned_before(connection).await?.max(oldest.map(instant).transpose()?))
        });
        let doing = "read since when the history is whole";
        self.inner.api.run(read).await.map_err(|error| error.trouble(doing))
    }

    async fn prune(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        self.inner.prune(to_ticks(before), limit).await.map_err(|error| error.trouble("prune history"))
    }

    async fn prune_to(&self, keep: u32, limit: usize) -> Result<usize, Trouble> {
        let doing = "prune the history of jobs";
        self.inner.prune_to(keep, limit).await.map_err(|error| error.trouble(doing))
    }

    async fn purge(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        self.inner
            .purge(to_ticks(before), limit)
            .await
            .map_err(|error| error.trouble("purge jobs that ended"))
    }
}

/// The statuses as bits; all bits if there are none, so that a record with an unknown status is included.
fn mask(statuses: &[RecordStatus]) -> i64 {
    let bits = statuses.iter().fold(0, |bits, status| bits | 1 << status.number());
    if bits == 0 { -1 } else { bits }
}
