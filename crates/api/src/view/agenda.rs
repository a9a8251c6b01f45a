//! `GET /agenda`: how many jobs are due when; and `GET /agenda/jobs`: which are due in a minute
//!
//! Both look at jobs in the order in which they are due, page by page, and stop at a number of jobs and of occurrences. What is computed
//! from rules is computed on threads that serve nobody, for a few requests at a time.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jiff::Timestamp;
use punctual_arm::agenda::{self as arm_agenda, AgendaCounts, AgendaJobsQuery, AgendaQuery, BusyStep};
use punctual_arm::{ApiError, job_row};
use punctual_model::statistics::{MINUTE, floor};
use punctual_model::{
    Collection, CollectionKey, Forecast, Job, JobFilter, JobSort, JobState, Scope, SearchPlace,
};
use punctual_store::{JobSearch, JobSearchPage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::jobs::{Rows, VISIT_MAX};
use super::{aside, readable};
use crate::answer::{Answer, trouble};
use crate::operation::Operation;
use crate::request::Call;
use crate::state::ApiState;
use crate::unreadable;

/// How many requests compute at once: on a small machine they leave room for what is due.
static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(2)));

/// A turn to compute. Whatever computes has it, since that goes on although the caller has gone.
type Turn = Arc<OwnedSemaphorePermit>;

/// How long a request waits for its turn.
const TURN_TIME_MAX: Duration = Duration::from_secs(10);

/// The most jobs that one agenda looks at.
const JOBS_MAX: usize = 10_000;

/// The most occurrences that one agenda counts: those of a thousand jobs that run each minute of a day.
const OCCURRENCES_MAX: usize = 1_500_000;

/// How many jobs are read at once.
const PIECE: usize = 1_000;

/// How many of the busiest steps are told, and how many collections of each.
const BUSIEST_MAX: usize = 5;
const COLLECTIONS_MAX: usize = 10;

/// How many jobs one request for the jobs of a minute looks at.
const LOOKED_AT_MAX: usize = 4_000;

pub(crate) async fn agenda(state: &ApiState, asked: &Operation, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("agenda")?;
    let query = AgendaQuery::read(&call.query, state.now())?;
    let scopes = readable(asked, call, &query.scope)?;
    let turn = turn().await?;
    let mut search = due_before(scopes, query.to, PIECE);
    let mut count = Counting::new(query.clone());
    loop {
        let page = find(state, &search).await?;
        let next = page.next;
        count = in_turn(&turn, move || count.add(&page.jobs)).await?;
        match next {
            None => break,
            Some(_) if count.is_full() => {
                count.counts.estimate = true;
                break;
            }
            next => search.after = next,
        }
    }
    count.counts.job_total = count.counts.job_count;
    if count.counts.estimate {
        let all = state.store.search_count(&search).await.map_err(|error| trouble(&error))?;
        count.counts.job_total = all.number.max(count.counts.job_count);
    }
    let counts = in_turn(&turn, move || count.finish()).await?;
    Answer::ok(&arm_agenda::answer(&query, &counts))
}

pub(crate) async fn agenda_jobs(
    state: &ApiState,
    asked: &Operation,
    call: &Call<'_>,
) -> Result<Answer, ApiError> {
    call.own_version("agenda")?;
    let AgendaJobsQuery { scope, at, after, limit } = AgendaJobsQuery::read(&call.query)?;
    let scopes = readable(asked, call, &scope)?;
    let turn = turn().await?;
    let end = at.checked_add(MINUTE).unwrap_or(Timestamp::MAX);
    let mut search = JobSearch { after, ..due_before(scopes, end, PIECE) };
    let (mut found, mut damaged, mut looked_at) = (Vec::new(), Vec::new(), 0);
    let next = loop {
        let page = find(state, &search).await?;
        looked_at += page.jobs.len();
        damaged.extend(page.unreadable);
        let due = in_turn(&turn, move || due_within(page.jobs, at, end)).await?;
        let left = limit - found.len();
        if due.len() > left {
            found.extend(due.into_iter().take(left));
            break found.last().map(|(job, ..)| place(job));
        }
        found.extend(due);
        match page.next {
            None => break None,
            Some(next) if looked_at >= LOOKED_AT_MAX => break Some(next),
            next => search.after = next,
        }
    };
    let rows = Rows::read(state, found, false).await?;
    let now = state.now();
    let render = move || job_row::answer_list(rows.render(now), next.as_ref(), None).to_value();
    let body = in_turn(&turn, render).await?;
    Ok(unreadable::tell(state, Answer::ok(&body)?, &damaged))
}

async fn turn() -> Result<Turn, ApiError> {
    match tokio::time::timeout(TURN_TIME_MAX, Arc::clone(&TURNS).acquire_owned()).await {
        Ok(Ok(turn)) => Ok(Arc::new(turn)),
        Ok(Err(_)) | Err(_) => Err(ApiError::too_many_requests()),
    }
}

/// Computes on a thread that serves nobody, and gives the turn back no earlier than that is over.
async fn in_turn<T: Send + 'static>(
    turn: &Turn,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let held = Arc::clone(turn);
    let work = move || {
        let done = work();
        drop(held);
        done
    };
    aside(work).await
}

/// The enabled jobs that are due before an instant, the earliest first.
fn due_before(scopes: Vec<Scope>, to: Timestamp, limit: usize) -> JobSearch {
    let filter = JobFilter { state: Some(JobState::Enabled), due_before: Some(to), ..JobFilter::default() };
    JobSearch { scopes, filter, sort: JobSort::Next, after: None, limit, visit_max: VISIT_MAX }
}

async fn find(state: &ApiState, search: &JobSearch) -> Result<JobSearchPage, ApiError> {
    state.store.search(search).await.map_err(|error| trouble(&error))
}

/// The place of a job in the order in which jobs are due.
fn place(job: &Job) -> SearchPlace {
    SearchPlace::Due(job.progress.entry.map(|entry| entry.due_at), job.id)
}

/// The jobs with an occurrence in a range, each with the first one.
fn due_within(
    jobs: Vec<(Job, Collection)>,
    from: Timestamp,
    to: Timestamp,
) -> Vec<(Job, Collection, Option<Timestamp>)> {
    let due = |(job, collection): (Job, Collection)| {
        let first = Forecast::new(&job, collection.enabled(), from)?.next().filter(|at| *at < to)?;
        Some((job, collection, Some(first)))
    };
    jobs.into_iter().filter_map(due).collect()
}

/// Counts what is due.
struct Counting {
    query: AgendaQuery,
    counts: AgendaCounts,
    /// What each collection has in each step.
    by_collection: HashMap<(Timestamp, CollectionKey), u64>,
    occurrence_count: usize,
}

impl Counting {
    fn new(query: AgendaQuery) -> Self {
        let (counts, by_collection) = (AgendaCounts::default(), HashMap::new());
        Self { query, counts, by_collection, occurrence_count: 0 }
    }

    fn is_full(&self) -> bool {
        self.counts.job_count >= JOBS_MAX || self.occurrence_count >= OCCURRENCES_MAX
    }

    fn add(mut self, jobs: &[(Job, Collection)]) -> Self {
        for (job, collection) in jobs {
            if self.is_full() {
                self.counts.estimate = true;
                break;
            }
            self.counts.job_count += 1;
            let Some(forecast) = Forecast::new(job, collection.enabled(), self.query.from) else { continue };
            for at in forecast.take_while(|at| *at < self.query.to) {
                let start = floor(at, self.query.step);
                *self.counts.buckets.entry(start).or_default() += 1;
                *self.by_collection.entry((start, collection.key.clone())).or_default() += 1;
                self.occurrence_count += 1;
                if self.occurrence_count >= OCCURRENCES_MAX {
                    self.counts.estimate = true;
                    break;
                }
            }
        }
        self
    }

    fn finish(mut self) -> AgendaCounts {
        let mut busiest: Vec<(Timestamp, u64)> =
            self.counts.buckets.iter().map(|(start, count)| (*start, *count)).collect();
        busiest.sort_by_key(|(start, count)| (std::cmp::Reverse(*count), *start));
        busiest.truncate(BUSIEST_MAX);
        let mut collections: HashMap<Timestamp, Vec<(CollectionKey, u64)>> = HashMap::new();
        for ((start, key), count) in self.by_collection {
            if busiest.iter().any(|(busy, _)| *busy == start) {
                collections.entry(start).or_default().push((key, count));
            }
        }
        let told = busiest.into_iter().map(|(start, count)| {
            let mut own = collections.remove(&start).unwrap_or_default();
            own.sort_by(|(key, count), (other, more)| more.cmp(count).then_with(|| key.cmp(other)));
            own.truncate(COLLECTIONS_MAX);
            BusyStep { start_at: start, count, collections: own }
        });
        self.counts.busiest = told.collect();
        self.counts
    }
}
