//! Scopes: what an operation is about, from one job up to everything.

use crate::{CollectionKey, GroupKey, JobKey, Name};

/// What an operation is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The server and all that is on it.
    Everything,
    /// A subscription with its groups.
    Subscription(Name),
    /// A resource group with its collections.
    Group(GroupKey),
    /// A collection with its jobs.
    Collection(CollectionKey),
    /// A job.
    Job(JobKey),
}

/// The kind of a scope, from the widest to the narrowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// [`Scope::Everything`].
    Everything,
    /// [`Scope::Subscription`].
    Subscription,
    /// [`Scope::Group`].
    Group,
    /// [`Scope::Collection`].
    Collection,
    /// [`Scope::Job`].
    Job,
}

impl Scope {
    /// Its kind.
    pub fn level(&self) -> Level {
        match self {
            Self::Everything => Level::Everything,
            Self::Subscription(_) => Level::Subscription,
            Self::Group(_) => Level::Group,
            Self::Collection(_) => Level::Collection,
            Self::Job(_) => Level::Job,
        }
    }
}
