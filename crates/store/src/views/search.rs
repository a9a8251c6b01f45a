//! Chooses among the jobs that a store walks over, so that all stores find the same.
//!
//! A store walks in the order of the search, piece by piece, and offers what it meets to a [`Picker`]. If the scopes have no more jobs
//! than may be looked at, the store gathers all of them and has them sorted instead: then other jobs cost nothing.
//!
//! Where a page ends must not name a job that the caller may not read. So a page only ends behind a job in scope, even if more
//! jobs than that have to be looked at to find the first one.

use std::cmp::Ordering;

use jiff::Timestamp;
use punctual_model::{JobFilter, JobId, JobSort, JobState, SearchPlace};

use super::JobSearch;
use crate::codec::ActionFacts;
use crate::instant::to_ticks;

/// How many jobs a store reads at first; each further piece is four times as long, up to [`PIECE_MAX`].
pub const PIECE_MIN: usize = 256;

/// The most jobs that a store reads at once.
pub const PIECE_MAX: usize = 4_096;

/// What a search looks at of a job.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The job.
    pub job: JobId,
    /// Its name in lower case.
    pub name: String,
    /// Its state; none if that can't be read.
    pub state: Option<JobState>,
    /// Whether it is failing.
    pub failing: bool,
    /// When its entry is due.
    pub due_at: Option<Timestamp>,
    /// Its main action, if the filter asks for it and it can be read.
    pub action: Option<ActionFacts>,
}

/// Whether a filter admits a job.
fn admits(filter: &JobFilter, job: &Candidate) -> bool {
    filter.state.is_none_or(|state| job.state == Some(state))
        && (!filter.failing || job.failing)
        && filter.due_before.is_none_or(|before| job.due_at.is_some_and(|due_at| due_at < before))
        && filter.text.as_deref().is_none_or(|text| job.name.contains(text))
        && (!filter.needs_action() || job.action.as_ref().is_some_and(|action| admits_action(filter, action)))
}

fn admits_action(filter: &JobFilter, action: &ActionFacts) -> bool {
    let at_any_port = |host: &str| action.target.strip_prefix(host).is_some_and(|rest| rest.starts_with(':'));
    filter.action_type.is_none_or(|action_type| action.action_type == action_type)
        && filter.target.as_deref().is_none_or(|target| action.target == target || at_any_port(target))
}

impl JobSearch {
    /// The place of a job in its order.
    fn place(&self, job: &Candidate) -> SearchPlace {
        match self.sort {
            JobSort::Name => SearchPlace::Name(job.name.clone(), job.job),
            JobSort::Next => SearchPlace::Due(job.due_at, job.job),
        }
    }

    /// Whether no job from this one on can be found.
    fn ends_before(&self, job: &Candidate) -> bool {
        self.sort == JobSort::Next
            && self.filter.due_before.is_some_and(|before| job.due_at.is_none_or(|due_at| due_at >= before))
    }
}

/// Where a piece of a walk over all jobs begins, with instants in ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalkPlace {
    /// Behind this name and this job, by name.
    Name(String, i64),
    /// Behind this instant and this job, among those with an entry.
    Due(i64, i64),
    /// Behind this job, among those without one.
    Resting(i64),
}

impl WalkPlace {
    /// Where the walk of a search begins.
    pub fn first(search: &JobSearch) -> Self {
        match (&search.after, search.sort) {
            (Some(SearchPlace::Name(name, job)), JobSort::Name) => Self::Name(name.clone(), job.0),
            (Some(SearchPlace::Due(Some(due_at), job)), JobSort::Next) => Self::Due(to_ticks(*due_at), job.0),
            (Some(SearchPlace::Due(None, job)), JobSort::Next) => Self::Resting(job.0),
            (_, JobSort::Name) => Self::Name(String::new(), 0),
            (_, JobSort::Next) => Self::Due(i64::MIN, 0),
        }
    }

    /// Where it goes on behind the last job of a full piece, or behind a piece that was not full (none); none at the end.
    pub fn behind(&self, last: Option<&Candidate>) -> Option<Self> {
        match (self, last) {
            (Self::Name(..), Some(last)) => Some(Self::Name(last.name.clone(), last.job.0)),
            (Self::Due(..), Some(last)) => {
                Some(Self::Due(last.due_at.map_or(i64::MAX, to_ticks), last.job.0))
            }
            (Self::Due(..), None) => Some(Self::Resting(0)),
            (Self::Resting(_), Some(last)) => Some(Self::Resting(last.job.0)),
            (Self::Name(..) | Self::Resting(_), None) => None,
        }
    }
}

/// Chooses the jobs of a page among those that are offered in order.
pub struct Picker<'a> {
    search: &'a JobSearch,
    limit: usize,
    picked: Vec<JobId>,
    last: Option<SearchPlace>,
    visited: usize,
    more: bool,
}

impl<'a> Picker<'a> {
    /// For a page of at most `limit` jobs.
    pub fn new(search: &'a JobSearch, limit: usize) -> Self {
        Self { search, limit, picked: Vec::new(), last: None, visited: 0, more: false }
    }

    /// Offers the next job of the walk. False if the page ends before it.
    pub fn offer(&mut self, job: &Candidate, in_scope: bool) -> bool {
        if self.search.ends_before(job) {
            return false;
        }
        let found = in_scope && admits(&self.search.filter, job);
        let used_up = self.visited >= self.search.visit_max && self.last.is_some();
        if used_up || (found && self.picked.len() >= self.limit) {
            self.more = true;
            return false;
        }
        self.visited += 1;
        if found {
            self.picked.push(job.job);
        }
        if in_scope {
            self.last = Some(self.search.place(job));
        }
        true
    }

    /// Sorts the jobs of a narrow scope and offers those behind the beginning of the page. All of them count as visited.
    pub fn offer_all(&mut self, mut jobs: Vec<Candidate>) {
        let visited = jobs.len();
        let search = self.search;
        if let Some(after) = &search.after {
            jobs.retain(|job| search.place(job).compare(after) == Ordering::Greater);
        }
        match search.sort {
            JobSort::Name => jobs.sort_by(|one, other| (&one.name, one.job).cmp(&(&other.name, other.job))),
            JobSort::Next => jobs.sort_by_key(|job| (job.due_at.is_none(), job.due_at, job.job)),
        }
        for job in &jobs {
            if !self.offer(job, true) {
                break;
            }
        }
        self.visited = visited;
    }

    /// The jobs of the page, where the next one begins, and how many jobs were looked at.
    pub fn finish(self) -> (Vec<JobId>, Option<SearchPlace>, usize) {
        // A page that ends before its first job goes on where it began.
        let next = self.last.or_else(|| self.search.after.clone());
        (self.picked, next.filter(|_| self.more), self.visited)
    }
}
