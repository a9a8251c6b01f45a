//! Reads the facts of each job: the same for a running store and for the data of a stopped one.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use punctual_model::inspect::{
    Census, DueEntry, Evidence, FaultedJob, HistoryEvidence, RecordFacts, Standing, Subject, Tally,
};
use punctual_model::{CollectionKey, GroupKey, JobId, Progress, RecordStatus};
use punctual_store::codec::{self, Number};
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::{CollectionEvidence, Extent, FAULTED_COUNT_MAX, HistoryCursor, SurveyAsk, Vault};
use rusqlite::{Connection, Row, params};

use crate::error::SqliteError;
use crate::query;
use crate::row::{self, bound};
use crate::standing::{StandingColumns, instant};

/// The first column of a job's standing in a row of `survey.sql`.
const STANDING: usize = 5;

pub(crate) fn extent(conn: &Connection) -> Result<Extent, SqliteError> {
    let version = row::number(conn, query::schema_version, [])?.unwrap_or(0);
    let last_job = row::number(conn, query::last_job, [])?.unwrap_or(0);
    Ok(Extent { schema_version: u32::try_from(version).unwrap_or(u32::MAX), last_job: JobId(last_job) })
}

/// How many jobs there are, and the latest faulted ones.
pub(crate) fn census(conn: &Connection, faulted_limit: usize) -> Result<Census, SqliteError> {
    let count = |number: Option<i64>| u64::try_from(number.unwrap_or(0)).unwrap_or(0);
    let job_count = row::number(conn, query::job_count_now, [])?;
    let faulted_count = row::number(conn, query::faulted_count, params![i64::MIN, bound(FAULTED_COUNT_MAX)])?;
    let faulted = row::many(conn, query::faulted, params![i64::MIN, bound(faulted_limit)], |row| {
        // An unreadable name is reported when its job is surveyed.
        let key = row::key_of_faulted(row).ok();
        let at = from_ticks(row.get(1)?);
        Ok(key.zip(at).map(|(key, ended_at)| FaultedJob { job: JobId(row::number_of(row)), key, ended_at }))
    })?;
    Ok(Census {
        job_count: count(job_count),
        faulted_count: count(faulted_count),
        faulted: faulted.into_iter().flatten().collect(),
    })
}

/// The column of a job's definition in such a row.
const DEFINITION: usize = STANDING + 22;

/// A page of jobs, none of which is marked as claimed. Definitions are read only with a vault.
pub(crate) fn page(
    conn: &Connection,
    ask: &SurveyAsk,
    vault: Option<&Vault>,
) -> Result<Vec<Evidence>, SqliteError> {
    let after = ask.after.map_or(i64::MIN, |after| after.0);
    let limit = bound(ask.job_limit);
    let mut found = row::many(conn, query::survey, params![after, limit], |row| defined(row, vault))?;
    let until =
        if found.len() < ask.job_limit { i64::MAX } else { found.last().map_or(after, |last| last.job) };
    let orphans = row::many(conn, query::survey_orphans, params![after, until, limit], orphan)?;
    if let Some(last) = orphans.last().filter(|_| orphans.len() == ask.job_limit) {
        found.retain(|one| one.job < last.job);
    }
    found.extend(orphans);
    found.sort_by_key(|one| one.job);
    found.truncate(ask.job_limit);
    Reading { conn, pruned_before: pruned_before(conn)?, collections: HashMap::new() }.tell(found, ask)
}

/// What counts of a job's records, newest first.
pub(crate) fn record_facts(
    conn: &Connection,
    job: i64,
    after: Option<HistoryCursor>,
    limit: usize,
) -> Result<Vec<(HistoryCursor, RecordFacts)>, SqliteError> {
    let (started_at, sequence) =
        after.map_or((i64::MAX, i64::MAX), |after| (to_ticks(after.started_at), after.sequence));
    row::many(conn, query::survey_traces, params![job, started_at, sequence, bound(limit)], |row| {
        let cursor = HistoryCursor { started_at: instant(row.get(0)?)?, sequence: row.get(1)? };
        Ok((cursor, trace(row)?))
    })
}

/// Entries due at or before an instant with their targets, earliest first.
pub(crate) fn due(conn: &Connection, until: i64, limit: usize) -> Result<Vec<(DueEntry, i64)>, SqliteError> {
    let mut statement = conn.prepare_cached(query::due)?;
    let mut rows = statement.query(params![i64::MIN, bound(limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (due_at, job, target): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if due_at > until {
            break;
        }
        // Ticks that are no instant are reported when the job is read.
        let due_at = from_ticks(due_at).unwrap_or(Timestamp::MIN);
        found.push((DueEntry { job: JobId(job), due_at }, target));
    }
    Ok(found)
}

/// Collections after one, by number.
pub(crate) fn collections(
    conn: &Connection,
    after: i64,
    limit: usize,
) -> Result<Vec<CollectionEvidence>, SqliteError> {
    row::many(conn, query::survey_collections, params![after, bound(limit)], |row| {
        let key = row::collection_key(row).unwrap_or_else(|_| CollectionKey::new("", "", ""));
        let unreadable = damage(row::collection(row))?;
        Ok(CollectionEvidence { number: row.get(0)?, key, unreadable })
    })
}

/// Why something can't be read; none if it can, or does not exist.
pub(crate) fn damage_of(conn: &Connection, subject: &Subject) -> Result<Option<String>, SqliteError> {
    match subject {
        // The survey reports more about a job.
        Subject::Job(_) | Subject::Clock => Ok(None),
        Subject::Group(GroupKey { subscription, name }) => {
            damage(row::one(conn, query::group, [subscription.folded(), name.folded()], row::group))
        }
        Subject::Collection(key) => {
            damage(row::one(conn, query::collection, row::collection_params(key), row::collection))
        }
        Subject::Record(job, sequence) => {
            damage(row::one(conn, query::survey_record, [*sequence, job.0], row::record))
        }
    }
}

/// Why a row could not be read; none if it could.
fn damage<T>(read: Result<T, SqliteError>) -> Result<Option<String>, SqliteError> {
    read.map_or_else(|failure| failure.into_damage().map(Some), |_| Ok(None))
}

/// Records that ended before this instant may have been deleted.
pub(crate) fn pruned_before(conn: &Connection) -> Result<Option<Timestamp>, SqliteError> {
    let before = row::one(conn, query::pruned_before, [], |row| Ok(row.get::<_, Option<i64>>(0)?))?;
    before.flatten().map(instant).transpose()
}

/// A row of `survey.sql` or `survey_orphans.sql`.
struct Found {
    job: i64,
    /// The name and the number of the collection; none for an orphan.
    definition: Option<(String, i64)>,
    /// Why the definition can't be read, if it can't.
    illegible: Option<String>,
    /// None if the job has no row of the agenda; a text if that can't be read.
    standing: Option<Result<(Standing, bool), String>>,
}

fn orphan(row: &Row<'_>) -> Result<Found, SqliteError> {
    let there = row.get::<_, Option<i64>>(3)?.is_some();
    let standing = there.then(|| standing(row).map_err(|failure| failure.to_string()));
    Ok(Found { job: row.get(0)?, definition: None, illegible: None, standing })
}

fn defined(row: &Row<'_>, vault: Option<&Vault>) -> Result<Found, SqliteError> {
    let found = orphan(row)?;
    let document = row.get_ref(DEFINITION)?.as_blob().map_err(rusqlite::Error::from)?;
    let sealed = row.get_ref(DEFINITION + 1)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
    let read = vault.map(|vault| codec::decode_spec(document, sealed, JobId(found.job), vault));
    let illegible =
        read.and_then(Result::err).map(|error| SqliteError::unreadable("its definition", &error).to_string());
    Ok(Found { definition: Some((row.get(1)?, row.get(2)?)), illegible, ..found })
}

fn standing(row: &Row<'_>) -> Result<(Standing, bool), SqliteError> {
    let capped_generation: u32 = row.get(4)?;
    let StandingColumns { progress, state, generation, put_at, counters, revision, .. } =
        StandingColumns::read(row, STANDING)?;
    let Progress { entry, past_at, .. } = progress;
    let standing = Standing { state, generation, put_at, counters, entry, past_at, revision };
    Ok((standing, capped_generation == generation))
}

/// A column of `survey_traces.sql` and those behind it.
fn trace(row: &Row<'_>) -> Result<RecordFacts, SqliteError> {
    Ok(RecordFacts {
        generation: row.get(2)?,
        ordinal: row.get(3)?,
        step: row.get(4)?,
        status: RecordStatus::from_number(row.get(5)?).ok_or(SqliteError::invalid("its status"))?,
    })
}

/// What is read besides the rows of a page.
struct Reading<'a> {
    conn: &'a Connection,
    pruned_before: Option<Timestamp>,
    /// For each collection its key and whether it is enabled; none if it is missing, a text if it can't be
    /// read.
    collections: HashMap<i64, Result<Option<(CollectionKey, bool)>, String>>,
}

impl Reading<'_> {
    fn tell(mut self, found: Vec<Found>, ask: &SurveyAsk) -> Result<Vec<Evidence>, SqliteError> {
        let mut page = Vec::with_capacity(found.len());
        let mut left = ask.record_limit;
        for one in found {
            let mut evidence = self.evidence(&one)?;
            let Some(Ok((standing, capped))) = one.standing else {
                page.push(evidence);
                continue;
            };
            if !standing.has_whole_history(self.pruned_before, capped) {
                page.push(evidence);
                continue;
            }
            // One more than the limit, to see whether there are more.
            let (read, history) =
                history(self.conn, one.job, standing.generation, left, &mut evidence.unreadable_records)?;
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

    fn evidence(&mut self, found: &Found) -> Result<Evidence, SqliteError> {
        let collection = match &found.definition {
            Some((_, collection)) => self.collection(*collection)?,
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
            claimed: false,
            history: HistoryEvidence::Pruned,
        })
    }

    fn collection(&mut self, id: i64) -> Result<Result<Option<(CollectionKey, bool)>, String>, SqliteError> {
        if let Some(known) = self.collections.get(&id) {
            return Ok(known.clone());
        }
        let read = row::one(self.conn, query::survey_collection, [id], row::collection);
        let known = match read {
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
fn history(
    conn: &Connection,
    job: i64,
    generation: u32,
    limit: usize,
    unreadable: &mut Vec<(i64, String)>,
) -> Result<(usize, HistoryEvidence), SqliteError> {
    let params = params![job, i64::MAX, i64::MAX, bound(limit.saturating_add(1))];
    let record_facts = row::many(conn, query::survey_traces, params, |row| match trace(row) {
        Ok(trace) => Ok(Some(trace)),
        Err(failure) => {
            let detail = failure.into_damage()?;
            unreadable.push((row.get(1)?, detail));
            Ok(None)
        }
    })?;
    if record_facts.len() > limit {
        return Ok((limit, HistoryEvidence::Long));
    }
    let mut tally = Tally::default();
    let of_now = record_facts.iter().flatten().filter(|trace| trace.generation == generation);
    of_now.for_each(|trace| tally.add(*trace));
    let history = if unreadable.is_empty() { HistoryEvidence::Whole(tally) } else { HistoryEvidence::Pruned };
    Ok((record_facts.len(), history))
}

/// Marks jobs that are claimed before or after the snapshot.
pub(crate) fn mark(page: &mut [Evidence], before: &HashSet<JobId>, after: impl Fn(JobId) -> bool) {
    for evidence in page {
        evidence.claimed = before.contains(&evidence.job) || after(evidence.job);
    }
}
