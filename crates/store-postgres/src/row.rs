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
use tokio_postgres::Row;

use crate::columns::{Standing, instant, optional_instant, step, unsigned};
use crate::error::PgError;

/// A page of at most `limit` rows; the query finds one more if there are more. A row that can't be read is returned
/// beside the others.
pub(crate) fn page<T, C>(
    rows: &[Row],
    limit: usize,
    mut read: impl FnMut(&Row) -> (Option<C>, Subject, Result<T, PgError>),
) -> Result<Page<T, C>, PgError> {
    let rows = rows.iter().map(|row| {
        let (cursor, subject, item) = read(row);
        let item = match item {
            Ok(item) => Ok(item),
            Err(PgError::Unreadable { what, detail }) => Err(Unreadable { subject, what, detail }),
            Err(failure) => return Err(failure),
        };
        Ok(PageRow { item, cursor })
    });
    Ok(Page::new(rows.collect::<Result<_, _>>()?, limit))
}

/// A limit as SQL takes it.
pub(crate) fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// One row more than a page has, which tells whether there are more.
pub(crate) fn one_more(limit: usize) -> i64 {
    bound(limit.saturating_add(1))
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
    fn collection(&mut self, row: &Row) -> Result<(CollectionKey, Arc<str>), PgError> {
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

/// A row that begins as those of `job.sql` do.
pub(crate) fn job(row: &Row, vault: &Vault, last: &mut Last) -> Result<JobRow, PgError> {
    read_job(row, vault, last)
        .map_err(|failure| failure.of(|| format!("job {}{}", number_of(row), called(row, &[6, 1]))))
}

fn read_job(row: &Row, vault: &Vault, last: &mut Last) -> Result<JobRow, PgError> {
    let id = JobId(row.try_get(0)?);
    let document: Option<&[u8]> = row.try_get(2)?;
    let document = document.ok_or(PgError::invalid("its definition"))?;
    let spec = codec::decode_spec(document, row.try_get(3)?, id, vault)
        .map_err(|error| PgError::unreadable("its definition", &error))?;
    let (collection, region) = last.collection(row)?;
    let key = JobKey { collection, name: name(row, 1)? };
    let Standing { progress, state, generation, put_at, counters, last_started_at, revision } =
        Standing::read(row, 7)?;
    let spec = Arc::new(spec);
    let job = Job { id, key, spec, state, generation, put_at, counters, last_started_at, progress, revision };
    let sku = Sku::from_number(row.try_get::<_, i16>(30)?.into())
        .ok_or(PgError::invalid("the plan of its collection"))?;
    Ok(JobRow { job, region, sku })
}

/// The key of the job in a row of `faulted.sql`.
pub(crate) fn key_of_faulted(row: &Row) -> Result<JobKey, PgError> {
    Ok(CollectionKey::new(name(row, 2)?, name(row, 3)?, name(row, 4)?).job(name(row, 5)?))
}

/// A row of `find_job.sql`: the collection exists, the job perhaps.
pub(crate) fn found_job(row: &Row) -> Result<FoundJob, PgError> {
    let Some(id) = row.try_get::<_, Option<i64>>(0)? else { return Ok(FoundJob::NoJob) };
    let collection = CollectionKey::new(name(row, 2)?, name(row, 3)?, name(row, 4)?);
    Ok(FoundJob::Job { id: JobId(id), key: JobKey { collection, name: name(row, 1)? } })
}

/// A row of `collection.sql` or a similar query: its number and the collection.
pub(crate) fn collection(row: &Row) -> Result<(i64, Collection), PgError> {
    let read = || {
        let collection = codec::decode_collection(row.try_get(4)?, collection_key(row)?, row.try_get(5)?)
            .map_err(|error| PgError::unreadable("its document", &error))?;
        Ok((row.try_get(0)?, collection))
    };
    read().map_err(|failure: PgError| {
        failure.of(|| format!("collection {}{}", number_of(row), called(row, &[2, 3])))
    })
}

/// The key of the collection in such a row.
pub(crate) fn collection_key(row: &Row) -> Result<CollectionKey, PgError> {
    Ok(CollectionKey::new(name(row, 1)?, name(row, 2)?, name(row, 3)?))
}

/// A row of `group.sql` or `groups.sql`.
pub(crate) fn group(row: &Row) -> Result<Group, PgError> {
    let read = || {
        Ok(Group {
            key: group_key(row)?,
            location: row.try_get(2)?,
            tags: serde_json::from_str(text(row, 3)?).map_err(|_| PgError::invalid("its tags"))?,
            created_at: instant(row.try_get(4)?)?,
        })
    };
    read().map_err(|failure: PgError| failure.of(|| format!("resource group{}", called(row, &[1]))))
}

/// The key of the group in such a row.
pub(crate) fn group_key(row: &Row) -> Result<GroupKey, PgError> {
    Ok(GroupKey { subscription: name(row, 0)?, name: name(row, 1)? })
}

/// A row of `history.sql` or `records_between.sql`.
pub(crate) fn record(row: &Row) -> Result<StoredRecord, PgError> {
    read_record(row).map_err(|failure| {
        failure.of(|| format!("record {} of job {}", number_of(row), row.try_get(1).unwrap_or(0_i64)))
    })
}

fn read_record(row: &Row) -> Result<StoredRecord, PgError> {
    let small = |column: usize| row.try_get::<_, i16>(column);
    let message = String::from_utf8(row.try_get(11)?).map_err(|_| PgError::invalid("its message"))?;
    let record = Record {
        job: JobId(row.try_get(1)?),
        generation: unsigned(row.try_get(2)?)?,
        nominal_at: instant(row.try_get(3)?)?,
        cause: Cause::from_number(small(4)?.into()).ok_or(PgError::invalid("its cause"))?,
        step: step(small(5)?)?,
        attempt: unsigned(row.try_get(6)?)?,
        ordinal: unsigned(row.try_get(7)?)?,
        started_at: instant(row.try_get(8)?)?,
        ended_at: instant(row.try_get(9)?)?,
        status: RecordStatus::from_number(small(10)?.into()).ok_or(PgError::invalid("its status"))?,
        message,
    };
    Ok(StoredRecord { sequence: row.try_get(0)?, record })
}

/// The cursor of such a row. Ticks that are no instant are before or after all others.
pub(crate) fn record_cursor(row: &Row) -> Option<HistoryCursor> {
    let (sequence, ticks): (i64, i64) = (row.try_get(0).ok()?, row.try_get(8).ok()?);
    let beyond = if ticks > 0 { Timestamp::MAX } else { Timestamp::MIN };
    Some(HistoryCursor { started_at: from_ticks(ticks).unwrap_or(beyond), sequence })
}

/// A row of `tokens.sql`.
pub(crate) fn token(row: &Row) -> Result<Token, PgError> {
    let grants = codec::decode_grants(row.try_get(3)?)
        .map_err(|error| PgError::unreadable("the grants of a token", &error))?;
    Ok(Token {
        id: TokenId(row.try_get(0)?),
        name: row.try_get(1)?,
        hash: hash(row, 2)?,
        grants,
        created_at: instant(row.try_get(4)?)?,
        expires_at: optional_instant(row.try_get(5)?)?,
        last_used_at: optional_instant(row.try_get(6)?)?,
    })
}

fn hash(row: &Row, column: usize) -> Result<TokenHash, PgError> {
    let bytes: &[u8] = row.try_get(column)?;
    bytes.try_into().map(TokenHash).map_err(|_| PgError::invalid("the hash of a secret"))
}

/// A row of `session.sql` or `sessions.sql`.
pub(crate) fn session(row: &Row) -> Result<Session, PgError> {
    let holder = codec::decode_session_holder(row.try_get(2)?)
        .map_err(|error| PgError::unreadable("the holder of a session", &error))?;
    Ok(Session {
        id: SessionId(row.try_get(0)?),
        hash: hash(row, 1)?,
        holder,
        created_at: instant(row.try_get(3)?)?,
        last_used_at: instant(row.try_get(4)?)?,
        expires_at: instant(row.try_get(5)?)?,
    })
}

/// A row of `skips.sql`.
pub(crate) fn skip(row: &Row) -> Result<Skip, PgError> {
    read_skip(row).map_err(|failure| failure.of(|| format!("a skip of job {}", number_of(row))))
}

fn read_skip(row: &Row) -> Result<Skip, PgError> {
    Ok(Skip {
        job: JobId(row.try_get(0)?),
        generation: unsigned(row.try_get(1)?)?,
        first_at: instant(row.try_get(2)?)?,
        last_at: instant(row.try_get(3)?)?,
        count: u64::try_from(row.try_get::<_, i64>(4)?).map_err(|_| PgError::invalid("its count"))?,
        reason: SkipReason::from_number(row.try_get::<_, i16>(5)?.into())
            .ok_or(PgError::invalid("its reason"))?,
        decided_at: instant(row.try_get(6)?)?,
    })
}

/// The number in the first column, which identifies the row.
pub(crate) fn number_of(row: &Row) -> i64 {
    row.try_get(0).unwrap_or(0)
}

/// The names in some columns, in quotes; empty if one of them can't be read.
fn called(row: &Row, columns: &[usize]) -> String {
    let names: Result<Vec<&str>, PgError> = columns.iter().map(|column| text(row, *column)).collect();
    names.map_or_else(|_| String::new(), |names| format!(" '{}'", names.join("/")))
}

fn name(row: &Row, column: usize) -> Result<Name, PgError> {
    Ok(Name::new(text(row, column)?))
}

pub(crate) fn text(row: &Row, column: usize) -> Result<&str, PgError> {
    Ok(row.try_get(column)?)
}
