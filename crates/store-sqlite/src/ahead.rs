//! Reads jobs that may be ahead of the clock.

use jiff::Timestamp;
use punctual_model::decide::{Ahead, Marks, STARTED_MAX};
use punctual_model::{Cause, Entry, JobId};
use punctual_store::codec::Number;
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::{AheadAsk, AheadPage, Vault};
use rusqlite::{Connection, Row, params};

use crate::error::SqliteError;
use crate::query;
use crate::row::{self, JobRow, Last, bound};
use crate::standing::instant;

/// The most skips that are read which begin before now and end after it: usually there is one, or one per edit.
const SKIPS_MAX: usize = 1_000;

pub(crate) fn page(conn: &Connection, ask: &AheadAsk, vault: &Vault) -> Result<AheadPage, SqliteError> {
    let after = ask.after.map_or(i64::MIN, |after| after.0);
    let rows = row::many(conn, query::marks, params![after, bound(ask.job_limit)], marks)?;
    let more = rows.len() == ask.job_limit;
    let mut page = AheadPage::default();
    let mut started_count = 0;
    for (job, marks) in rows {
        if page.found.len() == ask.found_limit || started_count >= STARTED_MAX {
            return Ok(page);
        }
        page.last = Some(job);
        if marks.is_none_or(|marks| !marks.may_be_ahead(ask.now)) {
            continue;
        }
        match one(conn, job, ask.now, vault) {
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

/// A row of `marks.sql`; no marks if they can't be read.
fn marks(row: &Row<'_>) -> Result<(JobId, Option<Marks>), SqliteError> {
    let job = JobId(row.get(0)?);
    Ok((job, read_marks(row).ok()))
}

fn read_marks(row: &Row<'_>) -> Result<Marks, SqliteError> {
    let at = |place: usize| Ok::<_, SqliteError>(row.get::<_, Option<i64>>(place)?.and_then(from_ticks));
    let entry = match (at(5)?, at(6)?) {
        (Some(due_at), Some(nominal_at)) => Some(Entry {
            due_at,
            nominal_at,
            cause: Cause::from_number(row.get(7)?).ok_or(SqliteError::invalid("the cause of an entry"))?,
            step: row.get(8)?,
            attempt: row.get(9)?,
            ordinal: row.get(10)?,
        }),
        (_, _) => None,
    };
    let put_at = at(3)?.ok_or(SqliteError::invalid("the time of a PUT"))?;
    Ok(Marks { past_at: at(1)?, floor_at: at(2)?, put_at, ended_at: at(4)?, entry })
}

/// All that is needed to decide on a job; none if a part of it is missing.
fn one(conn: &Connection, id: JobId, now: Timestamp, vault: &Vault) -> Result<Option<Ahead>, SqliteError> {
    let found = row::one(conn, query::job_by_id, [id.0], |row| row::job(row, vault, &mut Last::default()))?;
    let Some(JobRow { job, sku, .. }) = found else { return Ok(None) };
    let key = &job.key.collection;
    let names = [key.group.subscription.folded(), key.group.name.folded(), key.name.folded()];
    let Some((_, collection)) = row::one(conn, query::collection, names, row::collection)? else {
        return Ok(None);
    };
    let (ticks, scheduled) = (to_ticks(now), Cause::Schedule.number());
    let starts = params![id.0, ticks, scheduled, job.generation, bound(STARTED_MAX)];
    let started = row::many(conn, query::started_after, starts, |row| instant(row.get(0)?))?;
    let touching = params![id.0, ticks + 1, ticks, bound(SKIPS_MAX)];
    let skips = row::many(conn, query::skips, touching, row::skip)?;
    let retry = job.progress.entry.filter(|entry| entry.attempt > 0);
    let tried_at = retry.map(|entry| {
        let (nominal_at, cause) = (to_ticks(entry.nominal_at), entry.cause.number());
        let before = params![id.0, nominal_at, cause, entry.step, entry.attempt - 1, job.generation];
        row::number(conn, query::tried_at, before)?.map(instant).transpose()
    });
    let tried_at = tried_at.transpose()?.flatten();
    Ok(Some(Ahead { collection_enabled: collection.enabled(), job, sku, started, skips, tried_at }))
}
