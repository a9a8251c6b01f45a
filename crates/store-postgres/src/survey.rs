//! Reads the facts of each job.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_model::inspect::{
    Census, Evidence, FaultedJob, HistoryEvidence, RecordFacts, Standing, Subject, Tally,
};
use punctual_model::{CollectionKey, GroupKey, JobId, Progress, RecordStatus};
use punctual_store::codec::{self, Number};
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::{CollectionEvidence, Extent, FAULTED_COUNT_MAX, HistoryCursor, SurveyAsk, Vault};
use tokio_postgres::Row;

use crate::columns::{self, instant, step, unsigned};
use crate::connection::Connection;
use crate::edit::folded;
use crate::error::PgError;
use crate::param::params;
use crate::query;
use crate::row::{self, bound};

/// The first column of a job's standing in a row of `survey.sql`, the one that says whether it is claimed, and that of its
/// definition.
const STANDING: usize = 5;
const CLAIMED: usize = STANDING + 22;
const DEFINITION: usize = CLAIMED + 1;

pub(crate) async fn extent(connection: &Connection) -> Result<Extent, PgError> {
    let row = connection.one(query::schema_version, &[]).await?.ok_or(PgError::Rows(0))?;
    let version: i32 = row.try_get(0)?;
    let last_job = connection.number(query::last_job, &[]).await?.unwrap_or(0);
    Ok(Extent { schema_version: u32::try_from(version).unwrap_or(0), last_job: JobId(last_job) })
}

/// How many jobs there are, and the latest faulted ones.
pub(crate) async fn census(connection: &Connection, faulted_limit: usize) -> Result<Census, PgError> {
    let count = |number: Option<i64>| u64::try_from(number.unwrap_or(0)).unwrap_or(0);
    let job_count = connection.number(query::job_count_now, &[]).await?;
    let faulted_count =
        connection.number(query::faulted_count, params![i64::MIN, bound(FAULTED_COUNT_MAX)]).await?;
    let mut faulted = Vec::new();
    for row in connection.rows(query::faulted, params![i64::MIN, bound(faulted_limit)]).await? {
        // An unreadable name is reported when its job is surveyed.
        let (key, ended_at) = (row::key_of_faulted(&row).ok(), from_ticks(row.try_get(1)?));
        let job = JobId(row::number_of(&row));
        faulted.extend(key.zip(ended_at).map(|(key, ended_at)| FaultedJob { job, key, ended_at }));
    }
    Ok(Census { job_count: count(job_count), faulted_count: count(faulted_count), faulted })
}

/// A page of jobs.
pub(crate) async fn page(
    connection: &Connection,
    ask: &SurveyAsk,
    vault: &Vault,
) -> Result<Vec<Evidence>, PgError> {
    let after = ask.after.map_or(i64::MIN, |after| after.0);
    let limit = bound(ask.job_limit);
    let rows = connection.rows(query::survey, params![after, limit]).await?;
    let mut found: Vec<Found> = rows.iter().map(|row| defined(row, vault)).collect::<Result<_, _>>()?;
    let until =
        if found.len() < ask.job_limit { i64::MAX } else { found.last().map_or(after, |last| last.job) };
    let rows = connection.rows(query::survey_orphans, params![after, until, limit]).await?;
    let orphans: Vec<Found> = rows.iter().map(orphan).collect::<Result<_, _>>()?;
    if let Some(last) = orphans.last().filter(|_| orphans.len() == ask.job_limit) {
        found.retain(|one| one.job < last.job);
    }
    found.extend(orphans);
    found.sort_by_key(|one| one.job);
    found.truncate(ask.job_limit);
    let pruned_before = pruned_before(connection).await?;
    Reading { connection, pruned_before, collections: HashMap::new() }.tell(found, ask).await
}

/// What counts of a job's records, newest first.
pub(crate) async fn record_facts(
    connection: &Connection,
    job: i64,
    after: Option<HistoryCursor>,
    limit: usize,
) -> Result<Vec<(HistoryCursor, RecordFacts)>, PgError> {
    let (started_at, sequence) =
        after.map_or((i64::MAX, i64::MAX), |after| (to_ticks(after.started_at), after.sequence));
    let rows =
        connection.rows(query::survey_traces, params![job, started_at, sequence, bound(limit)]).await?;
    let read = |row: &Row| {
        let cursor = HistoryCursor { started_at: instant(row.try_get(0)?)?, sequence: row.try_get(1)? };
        Ok((cursor, trace(row)?))
    };
    rows.iter().map(read).collect()
}

/// Collections after one, by number.
pub(crate) async fn collections(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> Result<Vec<CollectionEvidence>, PgError> {
    let rows = connection.rows(query::survey_collections, params![after, bound(limit)]).await?;
    let read = |row: &Row| {
        let key = row::collection_key(row).unwrap_or_else(|_| CollectionKey::new("", "", ""));
        let unreadable = damage(row::collection(row))?;
        Ok(CollectionEvidence { number: row.try_get(0)?, key, unreadable })
    };
    rows.iter().map(read).collect()
}

/// Why something can't be read; none if it can, or does not exist.
pub(crate) async fn damage_of(connection: &Connection, subject: &Subject) -> Result<Option<String>, PgError> {
    match subject {
        // The survey reports more about a job.
        Subject::Job(_) | Subject::Clock => Ok(None),
        Subject::Group(GroupKey { subscription, name }) => {
            let row = connection.one(query::group, params![subscription.folded(), name.folded()]).await?;
            row.map_or(Ok(None), |row| damage(row::group(&row)))
        }
        Subject::Collection(key) => {
            let [subscription, group, name] = folded(key);
            let row = connection.one(query::collection, params![subscription, group, name]).await?;
            row.map_or(Ok(None), |row| damage(row::collection(&row)))
        }
        Subject::Record(job, sequence) => {
            let row = connection.one(query::survey_record, params![*sequence, job.0]).await?;
            row.map_or(Ok(None), |row| damage(row::record(&row)))
        }
    }
}

/// Why a row could not be read; none if it could.
fn damage<T>(read: Result<T, PgError>) -> Result<Option<String>, PgError> {
    read.map_or_else(|failure| failure.into_damage().map(Some), |_| Ok(None))
}

/// Records that ended before this instant may have been deleted.
pub(crate) async fn pruned_before(connection: &Connection) -> Result<Option<Timestamp>, PgError> {
    connection.number(query::pruned_before, &[]).await?.map(instant).transpose()
}

/// A row of `survey.sql` or `survey_orphans.sql`.
struct Found {
    job: i64,
    claimed: bool,
    /// The name and the number of the collection; none for an orphan.
    definition: Option<(String, i64)>,
    /// Why the definition can't be read, if it can't.
    illegible: Option<String>,
    /// None if the job has no row of the agenda; a text if that can't be read.
    standing: Option<Result<(Standing, bool), String>>,
}

fn orphan(row: &Row) -> Result<Found, PgError> {
    let there = row.try_get::<_, Option<i64>>(3)?.is_some();
    let standing = there.then(|| standing(row).map_err(|failure| failure.to_string()));
    let claimed = row.try_get(CLAIMED)?;
    Ok(Found { job: row.try_get(0)?, claimed, definition: None, illegible: None, standing })
}

fn defined(row: &Row, vault: &Vault) -> Result<Found, PgError> {
    let found = orphan(row)?;
    let (document, sealed) = (row.try_get(DEFINITION)?, row.try_get(DEFINITION + 1)?);
    let read = codec::decode_spec(document, sealed, JobId(found.job), vault);
    let illegible = read.err().map(|error| PgError::unreadable("its definition", &error).to_string());
    Ok(Found { definition: Some((row.try_get(1)?, row.try_get(2)?)), illegible, ..found })
}

fn standing(row: &Row) -> Result<(Standing, bool), PgError> {
    let capped_generation = unsigned(row.try_get(4)?)?;
    let columns::Standing { progress, state, generation, put_at, counters, revision, .. } =
        columns::Standing::read(row, STANDING)?;
    let Progress { entry, past_at, .. } = progress;
    let standing = Standing { state, generation, put_at, counters, entry, past_at, revision };
    Ok((standing, capped_generation == generation))
}

/// A column of `survey_traces.sql` and those behind it.
fn trace(row: &Row) -> Result<RecordFacts, PgError> {
    Ok(RecordFacts {
        generation: unsigned(row.try_get(2)?)?,
        ordinal: unsigned(row.try_get(3)?)?,
        step: step(row.try_get(4)?)?,
        status: RecordStatus::from_number(row.try_get::<_, i16>(5)?.into())
            .ok_or(PgError::invalid("its status"))?,
    })
}

/// For each collection its key and whether it is enabled; none if it is missing, a text if it can't be read.
type KnownCollection = Result<Option<(CollectionKey, bool)>, String>;

/// What is read besides the rows of a page.
struct Reading<'a> {
    connection: &'a Connection,
    pruned_before: Option<Timestamp>,
    collections: HashMap<i64, KnownCollection>,
}

impl Reading<'_> {
    async fn tell(mut self, found: Vec<Found>, ask: &SurveyAsk) -> Result<Vec<Evidence>, PgError> {
        let mut page = Vec::with_capacity(found.len());
        let mut left = ask.record_limit;
        for one in found {
            let mut evidence = self.evidence(&one).await?;
            let Some(Ok((standing, capped))) = one.standing else {
                page.push(evidence);
                continue;
            };
            if !standing.has_whole_history(self.pruned_before, capped) {
                page.push(evidence);
                continue;
            }
            // One more than the limit, to see whether there are more.
            let unreadable = &mut evidence.unreadable_records;
            let (read, history) =
                history(self.connection, one.job, standing.generation, left, unreadable).await?;
            let long = history == HistoryEvidence::Long;
            if long && left < ask.record_limit {
                break;
            }
            evidence.history = history;
            page.push(evidence);
            if long {
                break;
            }
            left -= read;
        }
        Ok(page)
    }

    async fn evidence(&mut self, found: &Found) -> Result<Evidence, PgError> {
        let collection = match &found.definition {
            Some((_, collection)) => self.collection(*collection).await?,
            None => Ok(None),
        };
        let unreadable = [
            found.illegible.clone(),
            found.standing.as_ref().and_then(|standing| standing.as_ref().err().cloned()),
            collection.as_ref().err().cloned(),
        ];
        let collection = collection.ok().flatten();
        let name = found.definition.as_ref().map(|(name, _)| name.as_str());
        Ok(Evidence {
            job: JobId(found.job),
            key: name.zip(collection.as_ref()).map(|(name, (key, _))| key.job(name)),
            defined: found.definition.is_some(),
            collection_enabled: collection.map(|(_, enabled)| enabled),
            standing: found.standing.as_ref().and_then(|standing| standing.as_ref().ok()).map(|(it, _)| *it),
            unreadable: unreadable.into_iter().flatten().next(),
            unreadable_records: Vec::new(),
            claimed: found.claimed,
            history: HistoryEvidence::Pruned,
        })
    }

    async fn collection(&mut self, id: i64) -> Result<KnownCollection, PgError> {
        if let Some(known) = self.collections.get(&id) {
            return Ok(known.clone());
        }
        let row = self.connection.one(query::survey_collection, params![id]).await?;
        let known = match row.as_ref().map(row::collection).transpose() {
            Ok(found) => Ok(found.map(|(_, collection)| {
                let enabled = collection.enabled();
                (collection.key, enabled)
            })),
            Err(failure) => Err(failure.into_damage()?),
        };
        self.collections.insert(id, known.clone());
        Ok(known)
    }
}

/// The tally of the records of a generation, and how many were read. Nothing follows from a history with an
/// unreadable record.
async fn history(
    connection: &Connection,
    job: i64,
    generation: u32,
    limit: usize,
    unreadable: &mut Vec<(i64, String)>,
) -> Result<(usize, HistoryEvidence), PgError> {
    let rows = connection
        .rows(query::survey_traces, params![job, i64::MAX, i64::MAX, bound(limit.saturating_add(1))])
        .await?;
    if rows.len() > limit {
        return Ok((limit, HistoryEvidence::Long));
    }
    let mut tally = Tally::default();
    for row in &rows {
        match trace(row) {
            Ok(trace) if trace.generation == generation => tally.add(trace),
            Ok(_) => {}
            Err(failure) => unreadable.push((row.try_get(1)?, failure.into_damage()?)),
        }
    }
    let history = if unreadable.is_empty() { HistoryEvidence::Whole(tally) } else { HistoryEvidence::Pruned };
    Ok((rows.len(), history))
}
