//! Reads statistics, the latest first and within a budget of rows.

use jiff::{SignedDuration, Timestamp};
use punctual_model::Scope;
use punctual_store::columns::statistics_from;
use punctual_store::instant::to_ticks;
use punctual_store::{HOUR, StatsAsk, StatsPage, windows};
use rusqlite::{Connection, params};

use crate::error::SqliteError;
use crate::query;
use crate::row::{self, bound};
use crate::standing::instant;

/// The number under which all collections are counted together.
pub(crate) const ALL: i64 = 0;

/// The most collections whose statistics are added up.
const COLLECTIONS_MAX: usize = 10_000;

/// How much of the minutes, and of the hours, is read at once.
const MINUTES_WINDOW: SignedDuration = HOUR;
const HOURS_WINDOW: SignedDuration = SignedDuration::from_hours(10 * 24);

pub(crate) fn page(conn: &Connection, ask: &StatsAsk) -> Result<StatsPage, SqliteError> {
    let collections = collections(conn, &ask.scopes)?;
    let mut page = StatsPage::default();
    let mut query_count = 0_usize;
    // Minutes are later than hours.
    for (sql, extent, length) in [
        (query::stats_minutes_between, query::stats_minutes_extent, MINUTES_WINDOW),
        (query::stats_hours_between, query::stats_hours_extent, HOURS_WINDOW),
    ] {
        let Some(there) = row::one(conn, extent, [], |row| Ok((row.get(0)?, row.get(1)?)))? else { continue };
        let Some((first, end)) = ask.within(there) else { continue };
        for (from, to) in windows(first, end, length) {
            // Windows without rows cost something, too.
            query_count += collections.len();
            let affordable = query_count <= ask.row_max.max(collections.len());
            if !affordable || !read(conn, sql, &collections, (from, to), ask, &mut page)? {
                page.unread_before = Some(to);
                return Ok(page);
            }
        }
    }
    Ok(page)
}

/// Reads a window; false if there are more rows than may be read.
fn read(
    conn: &Connection,
    sql: &str,
    collections: &[i64],
    (from, to): (Timestamp, Timestamp),
    ask: &StatsAsk,
    page: &mut StatsPage,
) -> Result<bool, SqliteError> {
    let mut rows = Vec::new();
    for collection in collections {
        let left = ask.row_max.saturating_sub(page.row_count + rows.len());
        let params = params![collection, to_ticks(from), to_ticks(to), bound(left.saturating_add(1))];
        let found = row::many(conn, sql, params, |row| {
            let counts = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let counts = statistics_from(counts).ok_or(SqliteError::invalid("statistics"))?;
            Ok((instant(row.get(0)?)?, counts))
        })?;
        if found.len() > left {
            return Ok(false);
        }
        rows.extend(found);
    }
    for (at, statistics) in rows {
        page.add(at, &statistics, ask.step);
    }
    Ok(true)
}

/// The numbers of the collections in some scopes.
fn collections(conn: &Connection, scopes: &[Scope]) -> Result<Vec<i64>, SqliteError> {
    let mut found = Vec::new();
    for scope in scopes {
        let Some(subscription) = scope.subscription() else { return Ok(vec![ALL]) };
        let group = scope.group().map(|key| key.name.folded());
        let name = scope.collection().map(|key| key.name.folded());
        let left = bound(COLLECTIONS_MAX.saturating_sub(found.len()));
        let params = params![subscription.folded(), group, name, left];
        found.extend(row::many(conn, query::scope_collections, params, |row| Ok(row.get::<_, i64>(0)?))?);
    }
    Ok(found)
}
