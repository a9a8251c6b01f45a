//! Deletes what is too old, in bounded pieces.

use punctual_model::JobId;
use rusqlite::params;

use super::WriterState;
use crate::error::SqliteError;
use crate::query;
use crate::row;

/// The most records of deleted jobs that are deleted in one transaction: some milliseconds of work.
const SWEEP: usize = 200;

impl WriterState {
    pub(crate) fn prune(&mut self, before: i64, limit: usize) -> Result<usize, SqliteError> {
        let records =
            self.conn.prepare_cached(query::prune_history)?.execute(params![before, row::bound(limit)])?;
        if records > 0 {
            self.conn.prepare_cached(query::set_pruned_before)?.execute([before])?;
        }
        let skips =
            self.conn.prepare_cached(query::prune_skips)?.execute(params![before, row::bound(limit)])?;
        let reruns =
            self.conn.prepare_cached(query::prune_reruns)?.execute(params![before, row::bound(limit)])?;
        Ok(records + skips + reruns)
    }

    /// Deletes the oldest records of the given jobs down to `keep` each, and corrects their trace counts.
    pub(crate) fn prune_to(&mut self, jobs: &[JobId], keep: u32, limit: usize) -> Result<usize, SqliteError> {
        let mut gone = 0;
        for job in jobs {
            let count = row::number(&self.conn, query::record_count, [job.0])?.unwrap_or(0);
            let surplus = usize::try_from(count - i64::from(keep)).unwrap_or(0).min(limit - gone);
            if surplus > 0 {
                gone += self
                    .conn
                    .prepare_cached(query::prune_job)?
                    .execute(params![job.0, row::bound(surplus)])?;
                self.conn.prepare_cached(query::set_capped)?.execute([job.0])?;
            }
            // At least 1, since there may be skips, which are deleted with the job.
            let left = (count - i64::try_from(surplus).unwrap_or(0)).max(1);
            self.conn.prepare_cached(query::set_trace_count)?.execute(params![job.0, left])?;
            if gone == limit {
                break;
            }
        }
        Ok(gone)
    }

    pub(crate) fn purge(&mut self, before: i64, limit: usize) -> Result<usize, SqliteError> {
        let ended = row::many(&self.conn, query::ended, params![before, row::bound(limit)], |row| {
            Ok((JobId(row.get(0)?), row.get(1)?))
        })?;
        for (job, trace_count) in &ended {
            self.remove_job(*job, *trace_count)?;
            self.shared_claims.lock().take_back(*job);
        }
        self.collection_cache.clear();
        Ok(ended.len())
    }

    /// Deletes a piece of the history of a deleted job, if there is one left.
    pub(crate) fn sweep(&mut self) -> Result<(), SqliteError> {
        let Some(job) = row::number(&self.conn, query::grave, [])? else {
            self.has_orphaned_history = false;
            return Ok(());
        };
        let piece = params![job, row::bound(SWEEP)];
        let records = self.conn.prepare_cached(query::prune_job)?.execute(piece)?;
        let skips = self.conn.prepare_cached(query::sweep_skips)?.execute(piece)?;
        if records < SWEEP && skips < SWEEP {
            self.conn.prepare_cached(query::delete_grave)?.execute([job])?;
        }
        Ok(())
    }
}
