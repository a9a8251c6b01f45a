//! History.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::inspect::Subject;
use punctual_model::{JobId, RecordStatus, Rerun, Skip};
use punctual_store::codec::Number;
use punctual_store::instant::to_ticks;
use punctual_store::{Archive, HistoryAsk, HistoryCursor, Page, StoredRecord, Trouble};
use rusqlite::params;

use super::SqliteStore;
use super::resources::one_more;
use crate::row::bound;
use crate::standing::instant;
use crate::{query, row, survey};

/// The most jobs per transaction of `prune_to`.
const JOBS_PER_PRUNE_MAX: usize = 256;

#[async_trait]
impl Archive for SqliteStore {
    async fn history(&self, ask: &HistoryAsk) -> Result<Page<StoredRecord, HistoryCursor>, Trouble> {
        let ask = ask.clone();
        let read = self.readers.call_long("read history", move |conn| {
            let (started_at, sequence) =
                ask.after.map_or((i64::MAX, i64::MAX), |after| (to_ticks(after.started_at), after.sequence));
            let (limit, skip) = (one_more(ask.limit), bound(ask.skip));
            let params = params![ask.job.0, started_at, sequence, mask(&ask.statuses), limit, skip];
            row::page(conn, query::history, params, ask.limit, |row| {
                let sequence = row::number_of(row);
                (row::record_cursor(row), Subject::Record(ask.job, sequence), row::record(row))
            })
        });
        read.await
    }

    async fn records_between(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, Trouble> {
        let read = self.readers.call_long("read records", move |conn| {
            let params = params![job.0, to_ticks(from), to_ticks(to), bound(limit)];
            row::many(conn, query::records_between, params, row::record)
        });
        read.await
    }

    async fn skips(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<Skip>, Trouble> {
        let read = self.readers.call_long("read skips", move |conn| {
            let params = params![job.0, to_ticks(from), to_ticks(to), bound(limit)];
            row::many(conn, query::skips, params, row::skip)
        });
        read.await
    }

    async fn reruns(
        &self,
        job: JobId,
        from: Timestamp,
        to: Timestamp,
        limit: usize,
    ) -> Result<Vec<Rerun>, Trouble> {
        let read = self.readers.call_long("read reruns", move |conn| {
            let params = params![job.0, to_ticks(from), to_ticks(to), bound(limit)];
            row::many(conn, query::reruns, params, |row| {
                Ok(Rerun { run_at: instant(row.get(0)?)?, of_at: instant(row.get(1)?)? })
            })
        });
        read.await
    }

    async fn pruned_before(&self, job: JobId) -> Result<Option<Timestamp>, Trouble> {
        let read = self.readers.call("read since when the history is whole", move |conn| {
            let oldest = row::number(conn, query::capped_since, [job.0])?;
            Ok(survey::pruned_before(conn)?.max(oldest.map(instant).transpose()?))
        });
        read.await
    }

    async fn prune(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        let before = to_ticks(before);
        self.writer.call("prune history", move |state| state.prune(before, limit)).await
    }

    /// A reader finds jobs with too many records, which is a scan; the writer deletes.
    async fn prune_to(&self, keep: u32, limit: usize) -> Result<usize, Trouble> {
        let mut gone = 0;
        let mut behind = 0;
        while gone < limit {
            let find = self.readers.call_long("find jobs with a long history", move |conn| {
                let params = params![keep, behind, bound(JOBS_PER_PRUNE_MAX)];
                row::many(conn, query::jobs_over_cap, params, |row| Ok(JobId(row.get(0)?)))
            });
            let jobs = find.await?;
            let Some(last) = jobs.last() else { break };
            behind = last.0;
            let left = limit - gone;
            let prune =
                self.writer.call("prune the history of jobs", move |state| state.prune_to(&jobs, keep, left));
            gone += prune.await?;
        }
        Ok(gone)
    }

    async fn purge(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble> {
        let before = to_ticks(before);
        self.writer.call("purge jobs that ended", move |state| state.purge(before, limit)).await
    }
}

/// The statuses as bits; all bits if there are none, so that a record with an unknown status is included.
fn mask(statuses: &[RecordStatus]) -> i64 {
    let bits = statuses.iter().fold(0, |bits, status| bits | 1 << status.number());
    if bits == 0 { -1 } else { bits }
}
