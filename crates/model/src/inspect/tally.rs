//! Counts the attempts of a history.

use std::collections::BTreeMap;

use crate::{Counters, Entry, RecordStatus};

/// The members of a record that counters depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordFacts {
    /// The generation of the job that it belongs to.
    pub generation: u32,
    /// The ordinal of its occurrence.
    pub ordinal: u32,
    /// 0 for the main action.
    pub step: u8,
    /// How it ended.
    pub status: RecordStatus,
}

/// Counts the attempts of one generation of a job, added in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// For each occurrence whether its main action succeeded.
    occurrences: BTreeMap<u32, bool>,
    failure_count: u32,
}

impl Tally {
    /// Adds a record of the generation.
    pub fn add(&mut self, trace: RecordFacts) {
        let succeeded = match trace.status {
            // The occurrence waited, and has other records if it ran.
            RecordStatus::Postponed => return,
            RecordStatus::Completed => true,
            RecordStatus::Failed => false,
        };
        let main = self.occurrences.entry(trace.ordinal).or_default();
        if trace.step == 0 {
            *main |= succeeded;
            self.failure_count += u32::from(!succeeded);
        }
    }

    /// The counters of a job with this history and this entry. An occurrence whose main action is being retried
    /// has not failed yet.
    pub fn counters(&self, entry: Option<Entry>) -> Counters {
        let pending = entry.filter(|entry| entry.started() && entry.step == 0).map(|entry| entry.ordinal);
        let failed = |(ordinal, succeeded): &(&u32, &bool)| !**succeeded && Some(**ordinal) != pending;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Counters {
            execution: count(self.occurrences.len()),
            failure: self.failure_count,
            faulted: count(self.occurrences.iter().filter(failed).count()),
        }
    }
}
