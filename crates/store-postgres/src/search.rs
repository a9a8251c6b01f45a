//! Finds jobs across collections within a budget.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use punctual_model::inspect::Subject;
use punctual_model::{Collection, CollectionKey, Job, JobId, JobState, RecentPast, Scope, SearchPlace};
use punctual_store::codec::{self, Number};
use punctual_store::{
    Candidate, JobSearch, JobSearchPage, PIECE_MAX, PIECE_MIN, Picker, Unreadable, Vault, WalkPlace,
};
use tokio_postgres::Row;

use crate::columns::optional_instant;
use crate::connection::Connection;
use crate::error::PgError;
use crate::param::params;
use crate::query;
use crate::row::{self, Last, bound, number_of};
use crate::store::decode;

/// What a search picks: the jobs, where the next page begins, and how many were looked at.
pub(crate) type Picked = (Vec<JobId>, Option<SearchPlace>, usize);

/// A page of jobs with their collections.
pub(crate) async fn page(
    connection: &Connection,
    search: &JobSearch,
    vault: &Arc<Vault>,
) -> Result<JobSearchPage, PgError> {
    let (picked, next, visited) = pick(connection, search, search.limit).await?;
    let ids: Vec<i64> = picked.iter().map(|job| job.0).collect();
    let rows = connection.rows(query::jobs_by_ids, params![ids]).await?;
    let collections = connection.rows(query::collections_of_jobs, params![ids]).await?;
    let vault = Arc::clone(vault);
    decode(ids.len(), move || {
        let mut page = JobSearchPage { jobs: Vec::new(), unreadable: Vec::new(), next, visited };
        let mut known: HashMap<CollectionKey, Collection> = HashMap::new();
        for row in &collections {
            let subject = || row::collection_key(row).map_or(Subject::Job(JobId(0)), Subject::Collection);
            if let Some((_, one)) = readable(row::collection(row), subject, &mut page.unreadable)? {
                known.insert(one.key.clone(), one);
            }
        }
        let mut jobs: HashMap<i64, Job> = HashMap::new();
        let mut last = Last::default();
        for row in &rows {
            let subject = || Subject::Job(JobId(number_of(row)));
            if let Some(one) = readable(row::job(row, &vault, &mut last), subject, &mut page.unreadable)? {
                jobs.insert(one.job.id.0, one.job);
            }
        }
        let with_collection = |id: &i64| {
            let job = jobs.remove(id)?;
            Some((known.get(&job.key.collection)?.clone(), job)).map(|(collection, job)| (job, collection))
        };
        page.jobs = ids.iter().filter_map(with_collection).collect();
        Ok(page)
    })
    .await
}

/// What was read; none if the row can't be read, which is noted.
fn readable<T>(
    read: Result<T, PgError>,
    subject: impl FnOnce() -> Subject,
    unreadable: &mut Vec<Unreadable>,
) -> Result<Option<T>, PgError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(PgError::Unreadable { what, detail }) => {
            unreadable.push(Unreadable { subject: subject(), what, detail });
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// Picks the jobs of a page.
pub(crate) async fn pick(
    connection: &Connection,
    search: &JobSearch,
    limit: usize,
) -> Result<Picked, PgError> {
    let mut picker = Picker::new(search, limit);
    match gather(connection, search).await? {
        Some(jobs) => picker.offer_all(jobs),
        None => walk(connection, search, &mut picker).await?,
    }
    Ok(picker.finish())
}

/// A row of a search: the job and the number of its collection.
type Found = (Candidate, i64);

/// All jobs of the scopes; none if there are more than may be looked at.
async fn gather(connection: &Connection, search: &JobSearch) -> Result<Option<Vec<Candidate>>, PgError> {
    let mut jobs = Vec::new();
    for scope in &search.scopes {
        let Some(subscription) = scope.subscription() else { return Ok(None) };
        let group = scope.group().map(|key| key.name.folded());
        let name = scope.collection().map(|key| key.name.folded());
        let left = bound(search.visit_max.saturating_sub(jobs.len()).saturating_add(1));
        let (subscription, facts) = (subscription.folded(), search.filter.needs_action());
        let rows =
            connection.rows(query::search_scope, params![subscription, group, name, left, facts]).await?;
        let found = rows.iter().map(|row| Ok(candidate(row)?.0));
        jobs.extend(found.collect::<Result<Vec<_>, PgError>>()?);
        if jobs.len() > search.visit_max {
            return Ok(None);
        }
    }
    Ok(Some(jobs))
}

/// Walks over all jobs in the order of the search.
async fn walk(connection: &Connection, search: &JobSearch, picker: &mut Picker<'_>) -> Result<(), PgError> {
    let mut scopes = Scopes { scopes: &search.scopes, known: HashMap::new() };
    let facts = search.filter.needs_action();
    let mut place = WalkPlace::first(search);
    let mut piece = PIECE_MIN;
    loop {
        let limit = bound(piece);
        let rows = match &place {
            WalkPlace::Name(name, job) => {
                connection.rows(query::search_by_name, params![name.as_str(), *job, limit, facts]).await?
            }
            WalkPlace::Due(due_at, job) => {
                connection.rows(query::search_by_due, params![*due_at, *job, limit, facts]).await?
            }
            WalkPlace::Resting(job) => {
                connection.rows(query::search_resting, params![*job, limit, facts]).await?
            }
        };
        let found: Vec<Found> = rows.iter().map(candidate).collect::<Result<_, _>>()?;
        scopes.learn(connection, &found).await?;
        for (job, collection) in &found {
            if !picker.offer(job, scopes.has(*collection)) {
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
    fn has(&self, collection: i64) -> bool {
        self.scopes.contains(&Scope::Everything) || self.known.get(&collection) == Some(&true)
    }

    /// Reads the names of collections that were not met before.
    async fn learn(&mut self, connection: &Connection, found: &[Found]) -> Result<(), PgError> {
        if self.scopes.contains(&Scope::Everything) {
            return Ok(());
        }
        let new: HashSet<i64> =
            found.iter().map(|(_, id)| *id).filter(|id| !self.known.contains_key(id)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let new: Vec<i64> = new.into_iter().collect();
        self.known.extend(new.iter().map(|id| (*id, false)));
        for row in connection.rows(query::collections_by_ids, params![new]).await? {
            let scope = Scope::Collection(row::collection_key(&row)?);
            let has = self.scopes.iter().any(|one| one.covers(&scope));
            self.known.insert(number_of(&row), has);
        }
        Ok(())
    }
}

/// A row of a search.
fn candidate(row: &Row) -> Result<Found, PgError> {
    let document: Option<&[u8]> = row.try_get(6)?;
    let job = Candidate {
        job: JobId(row.try_get(0)?),
        name: row.try_get(2)?,
        state: JobState::from_number(row.try_get::<_, i16>(3)?.into()),
        failing: row.try_get(4)?,
        due_at: optional_instant(row.try_get(5)?)?,
        action: document.and_then(|document| codec::action_facts(document).ok()),
    };
    Ok((job, row.try_get(1)?))
}

/// The latest records and skips of jobs, in their order.
pub(crate) async fn recent(
    connection: &Connection,
    jobs: Vec<i64>,
    limit: usize,
) -> Result<Vec<RecentPast>, PgError> {
    let records =
        connection.rows(query::recent_records, params![jobs, bound(limit.saturating_add(1))]).await?;
    let skips = connection.rows(query::recent_skips, params![jobs, bound(limit)]).await?;
    decode(records.len(), move || {
        let mut found: HashMap<i64, RecentPast> = HashMap::new();
        for row in &records {
            let record = row::record(row)?.record;
            found.entry(record.job.0).or_default().records.push(record);
        }
        for row in &skips {
            let skip = row::skip(row)?;
            found.entry(skip.job.0).or_default().skips.push(skip);
        }
        let finish = |job: &i64| {
            let mut past = found.remove(job).unwrap_or_default();
            past.cut = past.records.len() > limit;
            past.records.truncate(limit);
            past
        };
        Ok(jobs.iter().map(finish).collect())
    })
    .await
}
