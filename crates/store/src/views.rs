//! What live views ask for: jobs across collections, found within a budget.
//!
//! Whatever the number of jobs, a call visits at most as many as it is told to. A page that ends because of that says where to go on,
//! so that a filter which matches little takes several calls, none of them long.

mod search;
mod stats;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::{Collection, Job, JobFilter, JobId, JobSort, RecentPast, Scope, SearchPlace};

use crate::{Trouble, Unreadable};

pub use search::{Candidate, PIECE_MAX, PIECE_MIN, Picker, WalkPlace};
pub use stats::{HOUR, HOURS_KEPT, MINUTES_KEPT, StatsAsk, StatsPage, windows};

/// The most jobs that a search counts.
pub const COUNTED_MAX: usize = 10_000;

/// Reads what live views show.
#[async_trait]
pub trait Views: Send + Sync {
    /// A page of the jobs that a search finds, in its order.
    async fn search(&self, search: &JobSearch) -> Result<JobSearchPage, Trouble>;

    /// How many jobs a search finds, at most [`COUNTED_MAX`]; where it begins and its limit don't matter.
    async fn search_count(&self, search: &JobSearch) -> Result<JobCount, Trouble>;

    /// The latest records and skips of jobs, in the order of the jobs; of each at most so many records and skips.
    async fn recent(&self, jobs: &[JobId], limit: usize) -> Result<Vec<RecentPast>, Trouble>;

    /// Statistics of what was settled, by the time when it was due. Of a stretch that was made of minutes to hours, all is told at
    /// the beginning of the hour.
    async fn stats(&self, ask: &StatsAsk) -> Result<StatsPage, Trouble>;

    /// Makes hours of statistics by the minute that begin before one instant, and deletes hours that begin before another; at most
    /// `limit` rows of each. Returns how many rows went.
    async fn roll_up_stats(
        &self,
        minutes_before: Timestamp,
        hours_before: Timestamp,
        limit: usize,
    ) -> Result<usize, Trouble>;
}

/// Which jobs to find.
#[derive(Clone, Debug)]
pub struct JobSearch {
    /// In these scopes; none of them is in another.
    pub scopes: Vec<Scope>,
    /// Which of them.
    pub filter: JobFilter,
    /// In this order.
    pub sort: JobSort,
    /// Behind this place.
    pub after: Option<SearchPlace>,
    /// The most jobs of the page.
    pub limit: usize,
    /// The most jobs to look at, and at least one.
    pub visit_max: usize,
}

/// A page of what a search finds.
#[derive(Clone, Debug)]
pub struct JobSearchPage {
    /// The jobs, in order, each with its collection.
    pub jobs: Vec<(Job, Collection)>,
    /// Jobs of the page that can't be read.
    pub unreadable: Vec<Unreadable>,
    /// Where the next page begins; none if there is no more.
    pub next: Option<SearchPlace>,
    /// How many jobs were looked at.
    pub visited: usize,
}

/// How many jobs a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCount {
    /// So many.
    pub number: usize,
    /// There may be more: [`COUNTED_MAX`] is reached, or the most jobs to look at.
    pub capped: bool,
}
