//! The scheduled occurrences that a job has before it, and which of them a change adds or takes away.

use std::cmp::Ordering;

use jiff::Timestamp;
use punctual_recurrence::Timetable;

use super::ahead;
use super::next::{next_occurrence, timetable};
use crate::{Cause, Job, JobState, OccurrenceRange};

/// The most occurrences of two jobs that are compared. No rule yields more than one a minute, so this is enough for 60 days.
const COMPARED_MAX: u32 = 200_000;

/// The scheduled occurrences that a job has before it, in order, as many as `count` leaves.
#[derive(Clone, Debug)]
pub struct Upcoming {
    timetable: Timetable,
    ahead: Vec<OccurrenceRange>,
    next_at: Option<Timestamp>,
    left: u32,
}

/// The scheduled occurrences that a job has before it: none while it or its collection is not enabled.
pub fn upcoming(job: &Job, collection_enabled: bool) -> Upcoming {
    let timetable = timetable(job);
    let entry = job.progress.entry.filter(|entry| entry.cause == Cause::Schedule && !entry.started());
    let enabled = job.state == JobState::Enabled && collection_enabled;
    let next_at = entry.map(|entry| entry.nominal_at).or_else(|| next_occurrence(job, &timetable));
    let left = timetable.count().map_or(u32::MAX, |count| count.saturating_sub(job.progress.started_count));
    Upcoming { next_at: next_at.filter(|_| enabled), ahead: job.progress.ahead.clone(), left, timetable }
}

impl Iterator for Upcoming {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        self.left = self.left.checked_sub(1)?;
        let at = self.next_at.take()?;
        let following = self.timetable.next_after(at);
        self.next_at = following.and_then(|next| ahead::pass(&self.ahead, &self.timetable, next));
        Some(at)
    }
}

/// Which occurrences a change adds and takes away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Those that only the changed job has.
    pub added: Instants,
    /// Those that only the job as it was has.
    pub removed: Instants,
}

/// Instants, counted and the first of them listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instants {
    /// How many there are.
    pub count: u64,
    /// The first of them, in order.
    pub first: Vec<Timestamp>,
}

impl Instants {
    fn add(&mut self, at: Timestamp, listed_max: usize) {
        self.count += 1;
        if self.first.len() < listed_max {
            self.first.push(at);
        }
    }
}

/// Compares the occurrences of a job as it was and as it will be, from one instant to another; of each at most `listed_max`
/// are listed.
pub fn difference(
    old: Upcoming,
    new: Upcoming,
    (from, until): (Timestamp, Timestamp),
    listed_max: usize,
) -> Difference {
    let within = |all: Upcoming| all.skip_while(move |&at| at < from).take_while(move |&at| at <= until);
    let (mut old, mut new) = (within(old).peekable(), within(new).peekable());
    let mut found = Difference::default();
    for _ in 0..COMPARED_MAX {
        let order = match (old.peek(), new.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.cmp(new),
        };
        let removed = if order.is_le() { old.next() } else { None };
        let added = if order.is_ge() { new.next() } else { None };
        match (removed, added) {
            (Some(at), None) => found.removed.add(at, listed_max),
            (None, Some(at)) => found.added.add(at, listed_max),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    found
}
