//! Deletes what is too old, in bounded pieces.

use std::collections::BTreeMap;
use std::sync::Arc;

use punctual_model::JobId;

use super::{Taken, remove_jobs};
use crate::connection::Connection;
use crate::error::PgError;
use crate::param::params;
use crate::pool::work;
use crate::query;
use crate::row::bound;
use crate::store::Inner;

/// The most jobs that `prune_to` looks at in one transaction.
const JOBS_PER_PRUNE_MAX: usize = 256;

/// So many receipts go for each record that may.
const RECEIPTS_FACTOR: i64 = 10;

impl Inner {
    /// Deletes old records and skips, and sweeps what deleted jobs have left.
    pub(crate) async fn prune(self: &Arc<Self>, before: i64, limit: usize) -> Result<usize, PgError> {
        let rows = bound(limit);
        let prune = work!(|connection| {
            connection.begin().await?;
            let records = connection.execute(query::prune_history, params![before, rows]).await?;
            if records > 0 {
                connection.execute(query::set_pruned_before, params![before]).await?;
            }
            let skips = connection.execute(query::prune_skips, params![before, rows]).await?;
            let reruns = connection.execute(query::prune_reruns, params![before, rows]).await?;
            connection.commit().await?;
            let swept = sweep(connection, rows).await?;
            // Each edit leaves one, so there may be many more than records.
            let most = rows.saturating_mul(RECEIPTS_FACTOR);
            let receipts = connection.write(query::prune_receipts, params![most]).await?;
            let more = if receipts >= u64::try_from(most).unwrap_or(u64::MAX) { receipts } else { 0 };
            Ok(records + skips + reruns + swept + more)
        });
        Ok(usize::try_from(self.api.run(prune).await?).unwrap_or(usize::MAX))
    }

    /// Deletes the oldest records of jobs that have more than `keep`.
    pub(crate) async fn prune_to(self: &Arc<Self>, keep: u32, limit: usize) -> Result<usize, PgError> {
        let (mut gone, mut behind) = (0, i64::MIN);
        while gone < limit {
            let (most, left) = (i64::from(keep), limit - gone);
            let prune = work!(|connection| {
                let rows = connection
                    .rows(query::jobs_over_cap, params![most, behind, bound(JOBS_PER_PRUNE_MAX)])
                    .await?;
                let jobs: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
                let gone = prune_jobs(connection, &jobs, most, left).await?;
                Ok((jobs.last().copied(), gone))
            });
            let (last, count) = self.api.run(prune).await?;
            gone += count;
            match last {
                Some(last) => behind = last,
                None => break,
            }
        }
        Ok(gone)
    }

    /// Deletes jobs that ended before an instant.
    pub(crate) async fn purge(self: &Arc<Self>, before: i64, limit: usize) -> Result<usize, PgError> {
        let taken = Taken::default();
        let (inner, mine) = (Arc::clone(self), taken.clone());
        let edit = work!(|connection| with inner, mine; {
            let rows = connection.rows(query::ended, params![before, bound(limit)]).await?;
            let mut ended = BTreeMap::new();
            for row in &rows {
                ended.insert(row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(1)?);
            }
            let mut collections: Vec<i64> = ended.values().copied().collect();
            collections.sort_unstable();
            collections.dedup();
            connection.rows(query::collections_by_ids_locked, params![collections]).await?;
            let jobs: Vec<i64> = ended.keys().copied().collect();
            let rows = connection.rows(query::ended_locked, params![jobs, before]).await?;
            let gone = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
            let gone: Vec<(i64, i64)> = gone.collect::<Result<_, PgError>>()?;
            let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
            for (job, _) in &gone {
                mine.take(&inner, JobId(*job));
                *counts.entry(ended[job]).or_default() += 1;
            }
            remove_jobs(connection, &gone).await?;
            let (ids, counts): (Vec<i64>, Vec<i64>) = counts.into_iter().unzip();
            connection.execute(query::discount_jobs, params![ids, counts]).await?;
            Ok(gone.len())
        });
        self.edit(&taken, edit).await
    }
}

/// Deletes the oldest records of these jobs down to `keep` each, at most `limit`, and corrects their trace counts.
async fn prune_jobs(
    connection: &Connection,
    jobs: &[i64],
    keep: i64,
    limit: usize,
) -> Result<usize, PgError> {
    let mut gone = 0;
    for job in jobs {
        connection.begin().await?;
        // Settlements of the job wait meanwhile, so that none is left out of the count.
        connection.number(query::trace_count_locked, params![*job]).await?;
        let count = connection.number(query::record_count, params![*job]).await?.unwrap_or(0);
        let surplus = usize::try_from(count - keep).unwrap_or(0).min(limit - gone);
        if surplus > 0 {
            // Noted before they go: whoever compares counters with records takes no snapshot between the two.
            connection.execute(query::set_capped, params![*job]).await?;
            connection.execute(query::prune_job, params![*job, bound(surplus)]).await?;
            gone += surplus;
        }
        // At least 1, since there may be skips, which are deleted with the job.
        let left = (count - bound(surplus)).max(1);
        connection.execute(query::set_trace_count, params![*job, left]).await?;
        connection.commit().await?;
        if gone == limit {
            break;
        }
    }
    Ok(gone)
}

/// Deletes a piece of what deleted jobs have left; returns how many rows.
async fn sweep(connection: &Connection, limit: i64) -> Result<u64, PgError> {
    let mut swept = 0;
    for row in connection.rows(query::graves, params![bound(JOBS_PER_PRUNE_MAX)]).await? {
        let job: i64 = row.try_get(0)?;
        let piece = limit - i64::try_from(swept).unwrap_or(limit);
        if piece <= 0 {
            break;
        }
        let records = connection.write(query::prune_job, params![job, piece]).await?;
        let skips = connection.write(query::sweep_skips, params![job, piece]).await?;
        swept += records + skips;
        if i64::try_from(records.max(skips)).is_ok_and(|most| most < piece) {
            connection.write(query::delete_grave, params![job]).await?;
        }
    }
    Ok(swept)
}
