//! Why a store did not do what it was asked.

use punctual_model::Sku;
use thiserror::Error;

/// A failure of the store that the caller can't avoid.
#[derive(Debug, Error)]
pub enum Trouble {
    /// The store is overloaded or locked; the same call may succeed later.
    #[error("the store is busy while trying to {doing}")]
    Busy {
        /// What was being attempted.
        doing: &'static str,
    },
    /// There is no space left: the disk is full, or a quota is used up.
    #[error("no space was left to {doing}")]
    Full {
        /// What was being attempted.
        doing: &'static str,
    },
    /// Nothing can be written for another reason: the file system is read-only, or the disk fails.
    #[error("could not {doing}: nothing can be written, {why}")]
    Unwritable {
        /// What was being attempted.
        doing: &'static str,
        /// Why, such as "the file system is read-only".
        why: String,
    },
    /// A stored row can't be read.
    #[error("could not read {what}: {detail}")]
    Corrupt {
        /// Which row.
        what: String,
        /// What is wrong with it; never a secret.
        detail: String,
    },
    /// The store is gone: it was closed, its thread died, its connection is lost.
    #[error("the store is closed while trying to {doing}")]
    Closed {
        /// What was being attempted.
        doing: &'static str,
    },
    /// The store was asked and did not answer: what was asked may have happened.
    #[error("the store did not say whether it did what it was asked to: {doing}")]
    Unsure {
        /// What was being attempted.
        doing: &'static str,
    },
    /// Anything else.
    #[error("could not {doing}")]
    Failed {
        /// What was being attempted.
        doing: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Trouble {
    /// Why nothing at all can be written, if this concerns all writes and not only one. The store logs when
    /// such an outage begins and when it is over, so callers, who may fail thousands of times meanwhile, need
    /// not.
    pub fn outage(&self) -> Option<&str> {
        match self {
            Self::Full { .. } => Some("no space is left on the disk"),
            Self::Unwritable { why, .. } => Some(why),
            Self::Busy { .. }
            | Self::Corrupt { .. }
            | Self::Closed { .. }
            | Self::Unsure { .. }
            | Self::Failed { .. } => None,
        }
    }
}

/// Why a write did not happen.
#[derive(Debug, Error)]
pub enum WriteError {
    /// A precondition does not hold.
    #[error("the write was refused: {0:?}")]
    Refused(Refusal),
    /// The store failed.
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

/// A precondition that does not hold. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Somebody else wrote in between: read, decide and write again.
    Stale,
    /// The decision inside the transaction was not to write; the caller knows why.
    Declined,
    /// The collection does not exist.
    NoCollection,
    /// The collection has as many jobs as it may.
    TooManyJobs {
        /// The limit.
        max: u32,
    },
    /// A token has the same name, id or secret.
    TokenExists,
    /// There are as many tokens as there may be.
    TooManyTokens {
        /// How many that is.
        max: usize,
    },
    /// There are as many sessions as there may be.
    TooManySessions {
        /// How many that is.
        max: usize,
    },
    /// The subscription has as many collections of the plan as it may.
    TooManyCollections {
        /// The plan.
        sku: Sku,
        /// How many that is.
        max: u32,
    },
}

impl From<Refusal> for WriteError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
