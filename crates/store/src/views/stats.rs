//! Statistics of a stretch of time and some scopes.
//!
//! A settlement adds to the row of its collection and minute, and to that of all collections, in its own transaction. Housekeeping
//! makes hours of minutes that are older than [`MINUTES_KEPT`], and deletes hours that are older than [`HOURS_KEPT`].

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use punctual_model::Scope;
use punctual_model::statistics::{Statistics, floor};

use crate::instant::from_ticks;

/// How long statistics are kept by the minute.
pub const MINUTES_KEPT: SignedDuration = SignedDuration::from_hours(3 * 24);

/// How long statistics are kept by the hour.
pub const HOURS_KEPT: SignedDuration = SignedDuration::from_hours(400 * 24);

/// An hour.
pub const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Which statistics to read.
#[derive(Clone, Debug)]
pub struct StatsAsk {
    /// Of these scopes; none of them is in another.
    pub scopes: Vec<Scope>,
    /// From this instant on.
    pub from: Timestamp,
    /// Before this instant.
    pub to: Timestamp,
    /// In stretches of this length, which begin where whole ones from 1970 on do.
    pub step: SignedDuration,
    /// The most rows to read. The latest are read first.
    pub row_max: usize,
}

impl StatsAsk {
    /// The part of the range in which there can be rows, of which the first and the last begin at these ticks; none if there is none.
    pub fn within(&self, (first, last): (Option<i64>, Option<i64>)) -> Option<(Timestamp, Timestamp)> {
        let (first, last) = (from_ticks(first?)?, from_ticks(last?)?);
        let end = last.checked_add(HOUR).unwrap_or(Timestamp::MAX).min(self.to);
        let begin = first.max(self.from);
        (begin < end).then_some((begin, end))
    }
}

/// Statistics by the stretches that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatsPage {
    /// By the beginning of each; those in which nothing happened are left out.
    pub buckets: BTreeMap<Timestamp, Statistics>,
    /// What was before this instant was not read, because there were too many rows; none if everything was.
    pub unread_before: Option<Timestamp>,
    /// How many rows were read.
    pub row_count: usize,
}

impl StatsPage {
    /// Adds a row.
    pub fn add(&mut self, at: Timestamp, statistics: &Statistics, step: SignedDuration) {
        self.buckets.entry(floor(at, step)).or_default().add(statistics);
        self.row_count += 1;
    }
}

/// The windows in which a range is read, the latest first, so that a read that ends early has the latest.
pub fn windows(
    from: Timestamp,
    to: Timestamp,
    length: SignedDuration,
) -> impl Iterator<Item = (Timestamp, Timestamp)> {
    let mut end = to;
    std::iter::from_fn(move || {
        if end <= from {
            return None;
        }
        let begin = end.checked_sub(length).unwrap_or(from).max(from);
        let window = (begin, end);
        end = begin;
        Some(window)
    })
}
