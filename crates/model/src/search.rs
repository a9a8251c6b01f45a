//! What a search for jobs asks for.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::{ActionType, JobId, JobState};

/// What a job must be to be found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// In this state.
    pub state: Option<JobState>,
    /// With a main action of this kind.
    pub action_type: Option<ActionType>,
    /// With a main action that calls this host and port, this host at any port, or this part of a service; in lower case.
    pub target: Option<String>,
    /// Failing.
    pub failing: bool,
    /// With this text in its name, in any letter case.
    pub text: Option<String>,
    /// With an entry that is due before this instant.
    pub due_before: Option<Timestamp>,
}

impl JobFilter {
    /// Whether it needs to know the action of a job.
    pub fn needs_action(&self) -> bool {
        self.action_type.is_some() || self.target.is_some()
    }
}

/// The order of the jobs that a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobSort {
    /// By name, then by id. Jobs that change keep their places.
    Name,
    /// By when they are due, then by id; those without an entry come last, by id. A job that fires between two pages may be on both.
    Next,
}

/// A place in the order of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchPlace {
    /// Behind a job of this name, in lower case.
    Name(String, JobId),
    /// Behind a job that is due then; none if it has no entry.
    Due(Option<Timestamp>, JobId),
}

impl SearchPlace {
    /// The order of the list. Of two places in different orders, the one by name is later.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Name(name, job), Self::Name(other, behind)) => (name, job).cmp(&(other, behind)),
            (Self::Due(due_at, job), Self::Due(other, behind)) => {
                // Without an entry comes last.
                (due_at.is_none(), due_at, job).cmp(&(other.is_none(), other, behind))
            }
            (Self::Name(..), Self::Due(..)) => Ordering::Greater,
            (Self::Due(..), Self::Name(..)) => Ordering::Less,
        }
    }
}
