//! Reads jobs that may be ahead of the clock.

use jiff::Timestamp;
use punctual_model::decide::{Ahead, Marks, STARTED_MAX};
use punctual_model::{Cause, Entry, JobId};
use punctual_store::codec::Number;
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::{AheadAsk, AheadPage, Vault};
use tokio_postgres::Row;

use crate::columns::{instant, step, unsigned};
use crate::connection::Connection;
use crate::edit::folded;
use crate::error::PgError;
use crate::param::params;
use crate::query;
use crate::row::{self, JobRow, Last, bound};

/// The most skips that are read which begin before now and end after it: usually there is one, or one per edit.
const SKIPS_MAX: usize = 1_000;

pub(crate) async fn page(
    connection: &Connection,
    ask: &AheadAsk,
    vault: &Vault,
) -> Result<AheadPage, PgError> {
    let after = ask.after.map_or(i64::MIN, |after| after.0);
    let rows = connection.rows(query::marks, params![after, bound(ask.job_limit)]).await?;
    let more = rows.len() == ask.job_limit;
    let mut page = AheadPage::default();
    let mut started_count = 0;
    for row in &rows {
        if page.found.len() == ask.found_limit || started_count >= STARTED_MAX {
            return Ok(page);
        }
        let job = JobId(row.try_get(0)?);
        page.last = Some(job);
        // The inspector reports marks that can't be read.
        if marks(row).ok().is_none_or(|marks| !marks.may_be_ahead(ask.now)) {
            continue;
        }
        match one(connection, job, ask.now, vault).await {
            Ok(found) => {
                started_count += found.as_ref().map_or(0, |found| found.started.len());
                page.found.extend(found);
            }
            // The inspector reports it.
            Err(failure) => drop(failure.into_damage()?),
        }
    }
    page.last = page.last.filter(|_| more);
    Ok(page)
}

/// A row of `marks.sql`.
fn marks(row: &Row) -> Result<Marks, PgError> {
    let at = |place: usize| Ok::<_, PgError>(row.try_get::<_, Option<i64>>(place)?.and_then(from_ticks));
    let entry = match (at(5)?, at(6)?) {
        (Some(due_at), Some(nominal_at)) => Some(Entry {
            due_at,
            nominal_at,
            cause: Cause::from_number(row.try_get::<_, i16>(7)?.into())
                .ok_or(PgError::invalid("the cause of an entry"))?,
            step: step(row.try_get(8)?)?,
            attempt: unsigned(row.try_get(9)?)?,
            ordinal: unsigned(row.try_get(10)?)?,
        }),
        (_, _) => None,
    };
    let put_at = at(3)?.ok_or(PgError::invalid("the time of a PUT"))?;
    Ok(Marks { past_at: at(1)?, floor_at: at(2)?, put_at, ended_at: at(4)?, entry })
}

/// All that is needed to decide on a job; none if a part of it is missing.
async fn one(
    connection: &Connection,
    id: JobId,
    now: Timestamp,
    vault: &Vault,
) -> Result<Option<Ahead>, PgError> {
    let found = connection.one(query::job_by_id, params![id.0]).await?;
    let Some(found) = found else { return Ok(None) };
    let JobRow { job, sku, .. } = row::job(&found, vault, &mut Last::default())?;
    let [subscription, group, name] = folded(&job.key.collection);
    let found = connection.one(query::collection, params![subscription, group, name]).await?;
    let Some(found) = found else { return Ok(None) };
    let (_, collection) = row::collection(&found)?;
    let (ticks, scheduled) = (to_ticks(now), i16::from(Cause::Schedule.number()));
    let generation = i64::from(job.generation);
    let rows = connection
        .rows(query::started_after, params![id.0, ticks, scheduled, generation, bound(STARTED_MAX)])
        .await?;
    let started = rows.iter().map(|row| instant(row.try_get(0)?)).collect::<Result<Vec<_>, _>>()?;
    let rows = connection.rows(query::skips, params![id.0, ticks + 1, ticks, bound(SKIPS_MAX)]).await?;
    let skips = rows.iter().map(row::skip).collect::<Result<Vec<_>, _>>()?;
    let mut tried_at = None;
    if let Some(entry) = job.progress.entry.filter(|entry| entry.attempt > 0) {
        let (nominal_at, cause) = (to_ticks(entry.nominal_at), i16::from(entry.cause.number()));
        let (step, attempt) = (i16::from(entry.step), i64::from(entry.attempt - 1));
        tried_at = connection
            .number(query::tried_at, params![id.0, nominal_at, cause, step, attempt, generation])
            .await?
            .map(instant)
            .transpose()?;
    }
    Ok(Some(Ahead { collection_enabled: collection.enabled(), job, sku, started, skips, tried_at }))
}
