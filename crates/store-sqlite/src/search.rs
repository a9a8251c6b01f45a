//! Finds jobs across collections within a budget.

use std::collections::HashMap;

use punctual_model::inspect::Subject;
use punctual_model::{Collection, CollectionKey, JobId, JobState, RecentPast, Scope, SearchPlace};
use punctual_store::codec::{self, Number};
use punctual_store::{
    Candidate, JobSearch, JobSearchPage, PIECE_MAX, PIECE_MIN, Picker, Unreadable, Vault, WalkPlace,
};
use rusqlite::{Connection, Row, params};

use crate::error::SqliteError;
use crate::query;
use crate::row::{self, Last, bound};
use crate::standing::instant;

/// What a search picks: the jobs, where the next page begins, and how many were looked at.
pub(crate) type Picked = (Vec<JobId>, Option<SearchPlace>, usize);

/// A page of jobs with their collections.
pub(crate) fn page(
    conn: &Connection,
    search: &JobSearch,
    vault: &Vault,
) -> Result<JobSearchPage, SqliteError> {
    let (picked, next, visited) = pick(conn, search, search.limit)?;
    let mut page =
        JobSearchPage { jobs: Vec::with_capacity(picked.len()), unreadable: Vec::new(), next, visited };
    let mut last = Last::default();
    let mut collections: HashMap<CollectionKey, Collection> = HashMap::new();
    for id in picked {
        let job = row::one(conn, query::job_by_id, [id.0], |row| Ok(row::job(row, vault, &mut last)?.job));
        let subject = Subject::Job(id);
        let Some(job) = readable(job, subject, &mut page.unreadable)?.flatten() else { continue };
        if !collections.contains_key(&job.key.collection) {
            let params = row::collection_params(&job.key.collection);
            let found = row::one(conn, query::collection, params, row::collection);
            let subject = Subject::Collection(job.key.collection.clone());
            let Some(Some((_, found))) = readable(found, subject, &mut page.unreadable)? else { continue };
            collections.insert(job.key.collection.clone(), found);
        }
        let collection = collections[&job.key.collection].clone();
        page.jobs.push((job, collection));
    }
    Ok(page)
}

/// What was read; none if the row can't be read, which is noted.
fn readable<T>(
    read: Result<T, SqliteError>,
    subject: Subject,
    unreadable: &mut Vec<Unreadable>,
) -> Result<Option<T>, SqliteError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(SqliteError::Unreadable { what, detail }) => {
            unreadable.push(Unreadable { subject, what, detail });
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// Picks the jobs of a page.
pub(crate) fn pick(conn: &Connection, search: &JobSearch, limit: usize) -> Result<Picked, SqliteError> {
    let mut picker = Picker::new(search, limit);
    match gather(conn, search)? {
        Some(jobs) => picker.offer_all(jobs),
        None => walk(conn, search, &mut picker)?,
    }
    Ok(picker.finish())
}

/// A row of a search: the job and the number of its collection.
type Found = (Candidate, i64);

/// All jobs of the scopes; none if there are more than may be looked at.
fn gather(conn: &Connection, search: &JobSearch) -> Result<Option<Vec<Candidate>>, SqliteError> {
    let mut jobs = Vec::new();
    for scope in &search.scopes {
        let Some(subscription) = scope.subscription() else { return Ok(None) };
        let group = scope.group().map(|key| key.name.folded());
        let name = scope.collection().map(|key| key.name.folded());
        let left = bound(search.visit_max.saturating_sub(jobs.len()).saturating_add(1));
        let facts = search.filter.needs_action();
        let params = params![subscription.folded(), group, name, left, facts];
        let found = row::many(conn, query::search_scope, params, candidate)?;
        jobs.extend(found.into_iter().map(|(job, _)| job));
        if jobs.len() > search.visit_max {
            return Ok(None);
        }
    }
    Ok(Some(jobs))
}

/// Walks over all jobs in the order of the search.
fn walk(conn: &Connection, search: &JobSearch, picker: &mut Picker<'_>) -> Result<(), SqliteError> {
    let mut scopes = Scopes { scopes: &search.scopes, known: HashMap::new() };
    let facts = search.filter.needs_action();
    let mut place = WalkPlace::first(search);
    let mut piece = PIECE_MIN;
    loop {
        let limit = bound(piece);
        let found = match &place {
            WalkPlace::Name(name, job) => {
                row::many(conn, query::search_by_name, params![name, job, limit, facts], candidate)?
            }
            WalkPlace::Due(due_at, job) => {
                row::many(conn, query::search_by_due, params![due_at, job, limit, facts], candidate)?
            }
            WalkPlace::Resting(job) => {
                row::many(conn, query::search_resting, params![job, limit, facts], candidate)?
            }
        };
        for (job, collection) in &found {
            let in_scope = scopes.has(conn, *collection)?;
            if !picker.offer(job, in_scope) {
                return Ok(());
            }
        }
        let last = found.last().filter(|_| found.len() == piece);
        match place.behind(last.map(|(job, _)| job)) {
            Some(next) => place = next,
            None => return Ok(()),
        }
        piece = (piece * 4).min(PIECE_MAX);
    }
}

/// Which collections are in the scopes of a search, by their numbers.
struct Scopes<'a> {
    scopes: &'a [Scope],
    known: HashMap<i64, bool>,
}

impl Scopes<'_> {
    fn has(&mut self, conn: &Connection, collection: i64) -> Result<bool, SqliteError> {
        if self.scopes.contains(&Scope::Everything) {
            return Ok(true);
        }
        if let Some(known) = self.known.get(&collection) {
            return Ok(*known);
        }
        let key = row::one(conn, query::collection_by_id, [collection], row::collection_key)?;
        let has = key.is_some_and(|key| {
            let scope = Scope::Collection(key);
            self.scopes.iter().any(|one| one.covers(&scope))
        });
        self.known.insert(collection, has);
        Ok(has)
    }
}

/// A row of a search.
fn candidate(row: &Row<'_>) -> Result<Found, SqliteError> {
    let document = row.get_ref(6)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
    let due_at: Option<i64> = row.get(5)?;
    let job = Candidate {
        job: JobId(row.get(0)?),
        name: row.get(2)?,
        state: JobState::from_number(row.get(3)?),
        failing: row.get(4)?,
        due_at: due_at.map(instant).transpose()?,
        action: document.and_then(|document| codec::action_facts(document).ok()),
    };
    Ok((job, row.get(1)?))
}

/// The latest records and skips of a job.
pub(crate) fn recent(conn: &Connection, job: JobId, limit: usize) -> Result<RecentPast, SqliteError> {
    let params = params![job.0, bound(limit.saturating_add(1))];
    let mut records = row::many(conn, query::recent_records, params, row::record)?;
    let cut = records.len() > limit;
    records.truncate(limit);
    let skips = row::many(conn, query::recent_skips, params![job.0, bound(limit)], row::skip)?;
    Ok(RecentPast { records: records.into_iter().map(|stored| stored.record).collect(), cut, skips })
}
