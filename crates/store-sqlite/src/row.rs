//! Reads rows into values of the model.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_model::access::{Session, SessionId, Token, TokenHash, TokenId};
use punctual_model::inspect::Subject;
use punctual_model::{
    Cause, Collection, CollectionKey, GroupKey, Job, JobId, JobKey, Name, Record, RecordStatus, Skip,
    SkipReason, Sku,
};
use punctual_store::codec::{self, Number};
use punctual_store::instant::from_ticks;
use punctual_store::{FoundJob, Group, HistoryCursor, Page, PageRow, StoredRecord, Unreadable, Vault};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::error::SqliteError;
use crate::standing::{StandingColumns, instant};

/// Runs a query for at most one row.
pub(crate) fn one<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, SqliteError>,
) -> Result<Option<T>, SqliteError> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    rows.next()?.map(read).transpose()
}

/// Runs a query for many rows; it has a LIMIT.
pub(crate) fn many<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, SqliteError>,
) -> Result<Vec<T>, SqliteError> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Runs a query for a page of at most `limit` rows; it finds one more if there are more. A row that can't be
/// read is returned beside the others.
pub(crate) fn page<T, C>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    limit: usize,
    mut read: impl FnMut(&Row<'_>) -> (Option<C>, Subject, Result<T, SqliteError>),
) -> Result<Page<T, C>, SqliteError> {
    let rows = many(conn, sql, params, |row| {
        let (cursor, subject, item) = read(row);
        let item = match item {
            Ok(item) => Ok(item),
            Err(SqliteError::Unreadable { what, detail }) => Err(Unreadable { subject, what, detail }),
            Err(failure) => return Err(failure),
        };
        Ok(PageRow { item, cursor })
    });
    Ok(Page::new(rows?, limit))
}

/// Runs a query for one number.
pub(crate) fn number(conn: &Connection, sql: &str, params: impl Params) -> Result<Option<i64>, SqliteError> {
    Ok(conn.prepare_cached(sql)?.query_row(params, |row| row.get(0)).optional()?)
}

/// A limit as SQLite takes it.
pub(crate) fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A job with what a claim needs of its collection.
pub(crate) struct JobRow {
    pub(crate) job: Job,
    pub(crate) region: Arc<str>,
    pub(crate) sku: Sku,
}

/// The collection of the row before: jobs that are read together are mostly in the same one, and share its
/// names.
#[derive(Default)]
pub(crate) struct Last(Option<(CollectionKey, Arc<str>)>);

impl Last {
    /// Key and region of the collection of a row.
    fn collection(&mut self, row: &Row<'_>) -> Result<(CollectionKey, Arc<str>), SqliteError> {
        let (subscription, group) = (text(row, 4)?, text(row, 5)?);
        let (name, region) = (text(row, 6)?, text(row, 29)?);
        if let Some((key, its_region)) = &self.0
            && key.name.as_str() == name
            && key.group.name.as_str() == group
            && key.group.subscription.as_str() == subscription
            && **its_region == *region
        {
            return Ok((key.clone(), Arc::clone(its_region)));
        }
        let found = (CollectionKey::new(subscription, group, name), Arc::from(region));
        self.0 = Some(found.clone());
        Ok(found)
    }
}

/// A row of `job.sql`, `jobs.sql` or `job_by_id.sql`.
pub(crate) fn job(row: &Row<'_>, vault: &Vault, last: &mut Last) -> Result<JobRow, SqliteError> {
    read_job(row, vault, last)
        .map_err(|failure| failure.of(|| format!("job {}{}", number_of(row), called(row, &[6, 1]))))
}

fn read_job(row: &Row<'_>, vault: &Vault, last: &mut Last) -> Result<JobRow, SqliteError> {
    let id = JobId(row.get(0)?);
    let sealed = match row.get_ref(3)? {
        ValueRef::Null => None,
        sealed => Some(sealed.as_blob().map_err(rusqlite::Error::from)?),
    };
    let document = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
    let spec = codec::decode_spec(document, sealed, id, vault)
        .map_err(|error| SqliteError::unreadable("its definition", &error))?;
    let (collection, region) = last.collection(row)?;
    let key = JobKey { collection, name: name(row, 1)? };
    let StandingColumns { progress, state, generation, put_at, counters, last_started_at, revision } =
        StandingColumns::read(row, 7)?;
    let spec = Arc::new(spec);
    let job = Job { id, key, spec, state, generation, put_at, counters, last_started_at, progress, revision };
    let sku = Sku::from_number(row.get(30)?).ok_or(SqliteError::invalid("the plan of its collection"))?;
    Ok(JobRow { job, region, sku })
}

/// The key of the job in a row of `faulted.sql`.
pub(crate) fn key_of_faulted(row: &Row<'_>) -> Result<JobKey, SqliteError> {
    Ok(CollectionKey::new(name(row, 2)?, name(row, 3)?, name(row, 4)?).job(name(row, 5)?))
}

/// A row of `find_job.sql`: the collection exists, the job perhaps.
pub(crate) fn found_job(row: &Row<'_>) -> Result<FoundJob, SqliteError> {
    let Some(id) = row.get::<_, Option<i64>>(0)? else { return Ok(FoundJob::NoJob) };
    let collection = CollectionKey::new(name(row, 2)?, name(row, 3)?, name(row, 4)?);
    Ok(FoundJob::Job { id: JobId(id), key: JobKey { collection, name: name(row, 1)? } })
}

/// A row of `collection.sql` or a similar query: its number and the collection.
pub(crate) fn collection(row: &Row<'_>) -> Result<(i64, Collection), SqliteError> {
    let read = || {
        let document = row.get_ref(4)?.as_blob().map_err(rusqlite::Error::from)?;
        let collection = codec::decode_collection(document, collection_key(row)?, row.get(5)?)
            .map_err(|error| SqliteError::unreadable("its document", &error))?;
        Ok((row.get(0)?, collection))
    };
    read().map_err(|failure: SqliteError| {
        failure.of(|| format!("collection {}{}", number_of(row), called(row, &[2, 3])))
    })
}

/// The parameters by which a collection is found.
pub(crate) fn collection_params(key: &CollectionKey) -> [&str; 3] {
    [key.group.subscription.folded(), key.group.name.folded(), key.name.folded()]
}

/// The key of the collection in such a row.
pub(crate) fn collection_key(row: &Row<'_>) -> Result<CollectionKey, SqliteError> {
    Ok(CollectionKey::new(name(row, 1)?, name(row, 2)?, name(row, 3)?))
}

/// A row of `group.sql` or `groups.sql`.
pub(crate) fn group(row: &Row<'_>) -> Result<Group, SqliteError> {
    let read = || {
        let tags: String = row.get(3)?;
        Ok(Group {
            key: group_key(row)?,
            location: row.get(2)?,
            tags: serde_json::from_str(&tags).map_err(|_| SqliteError::invalid("its tags"))?,
            created_at: instant(row.get(4)?)?,
        })
    };
    read().map_err(|failure: SqliteError| failure.of(|| format!("resource group{}", called(row, &[1]))))
}

/// The key of the group in such a row.
pub(crate) fn group_key(row: &Row<'_>) -> Result<GroupKey, SqliteError> {
    Ok(GroupKey { subscription: name(row, 0)?, name: name(row, 1)? })
}

/// A row of `history.sql` or `records_between.sql`.
pub(crate) fn record(row: &Row<'_>) -> Result<StoredRecord, SqliteError> {
    read_record(row).map_err(|failure| {
        failure.of(|| format!("record {} of job {}", number_of(row), row.get(1).unwrap_or(0_i64)))
    })
}

fn read_record(row: &Row<'_>) -> Result<StoredRecord, SqliteError> {
    let record = Record {
        job: JobId(row.get(1)?),
        generation: row.get(2)?,
        nominal_at: instant(row.get(3)?)?,
        cause: Cause::from_number(row.get(4)?).ok_or(SqliteError::invalid("its cause"))?,
        step: row.get(5)?,
        attempt: row.get(6)?,
        ordinal: row.get(7)?,
        started_at: instant(row.get(8)?)?,
        ended_at: instant(row.get(9)?)?,
        status: RecordStatus::from_number(row.get(10)?).ok_or(SqliteError::invalid("its status"))?,
        message: row.get(11)?,
    };
    Ok(StoredRecord { sequence: row.get(0)?, record })
}

/// The cursor of such a row. Ticks that are no instant are before or after all others.
pub(crate) fn record_cursor(row: &Row<'_>) -> Option<HistoryCursor> {
    let (sequence, ticks): (i64, i64) = (row.get(0).ok()?, row.get(8).ok()?);
    let beyond = if ticks > 0 { Timestamp::MAX } else { Timestamp::MIN };
    Some(HistoryCursor { started_at: from_ticks(ticks).unwrap_or(beyond), sequence })
}

/// A row of `tokens.sql`.
pub(crate) fn token(row: &Row<'_>) -> Result<Token, SqliteError> {
    let id: String = row.get(0)?;
    let grants = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
    let grants = codec::decode_grants(grants)
        .map_err(|error| SqliteError::unreadable("the grants of a token", &error))?;
    Ok(Token {
        id: TokenId(id),
        name: row.get(1)?,
        hash: TokenHash(row.get(2)?),
        grants,
        created_at: instant(row.get(4)?)?,
        expires_at: row.get::<_, Option<i64>>(5)?.map(instant).transpose()?,
        last_used_at: row.get::<_, Option<i64>>(6)?.map(instant).transpose()?,
    })
}

/// A row of `session.sql` or `sessions.sql`.
pub(crate) fn session(row: &Row<'_>) -> Result<Session, SqliteError> {
    let holder = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
    let holder = codec::decode_session_holder(holder)
        .map_err(|error| SqliteError::unreadable("the holder of a session", &error))?;
    Ok(Session {
        id: SessionId(row.get(0)?),
        hash: TokenHash(row.get(1)?),
        holder,
        created_at: instant(row.get(3)?)?,
        last_used_at: instant(row.get(4)?)?,
        expires_at: instant(row.get(5)?)?,
    })
}

/// A row of `skips.sql`.
pub(crate) fn skip(row: &Row<'_>) -> Result<Skip, SqliteError> {
    read_skip(row).map_err(|failure| failure.of(|| format!("a skip of job {}", number_of(row))))
}

fn read_skip(row: &Row<'_>) -> Result<Skip, SqliteError> {
    Ok(Skip {
        job: JobId(row.get(0)?),
        generation: row.get(1)?,
        first_at: instant(row.get(2)?)?,
        last_at: instant(row.get(3)?)?,
        count: u64::try_from(row.get::<_, i64>(4)?).map_err(|_| SqliteError::invalid("its count"))?,
        reason: SkipReason::from_number(row.get(5)?).ok_or(SqliteError::invalid("its reason"))?,
        decided_at: instant(row.get(6)?)?,
    })
}

/// The number in the first column, which identifies the row.
pub(crate) fn number_of(row: &Row<'_>) -> i64 {
    row.get(0).unwrap_or(0)
}

/// The names in some columns, in quotes; empty if one of them can't be read.
fn called(row: &Row<'_>, columns: &[usize]) -> String {
    let names: Result<Vec<&str>, SqliteError> = columns.iter().map(|column| text(row, *column)).collect();
    names.map_or_else(|_| String::new(), |names| format!(" '{}'", names.join("/")))
}

fn name(row: &Row<'_>, column: usize) -> Result<Name, SqliteError> {
    Ok(Name::new(text(row, column)?))
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, SqliteError> {
    Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
}
