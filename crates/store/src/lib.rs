//! The store interface: what Punctual asks of whatever keeps its jobs.
//!
//! Ten traits by who needs them: [`Resources`] for the API, [`Agenda`] and [`Roster`] for the runner,
//! [`Archive`] for readers of history, [`Survey`] for the inspector, [`Callers`] and [`Sessions`] for authentication,
//! [`AuditLog`] for the audit log, [`Seals`] for whoever rotates keys, [`Views`] for what pages show while it changes. Every
//! method is one transaction; every list is bounded; the time is always an argument. The conformance suite, not
//! these comments, defines a store.
//!
//! Besides the traits: a `MemoryStore` as the reference (feature `memory`), and what stores share so that they can't differ: the
//! [`codec`] of stored documents, the bytes of [`columns`], the [`Vault`] that seals secrets, the [`claims`], and the integers that
//! represent [`instant`]s. And [`copy`], which moves everything from one store to another.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod agenda;
mod archive;
mod audit;
mod callers;
pub mod claims;
pub mod codec;
pub mod columns;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod copy;
mod error;
pub mod instant;
mod key_ring;
#[cfg(feature = "memory")]
mod layer;
#[cfg(feature = "memory")]
mod leased;
#[cfg(feature = "memory")]
mod memory;
mod page;
mod repair;
mod resources;
mod roster;
mod seals;
mod sessions;
mod survey;
mod target;
#[cfg(test)]
mod testing;
mod vault;
mod views;

pub use agenda::{
    Agenda, BEGUN_IS_GOOD_FOR, Claim, ClaimAsk, DueCountAsk, Fence, Settled, Settlement, target_of,
};
pub use archive::{Archive, HistoryAsk, HistoryCursor, StoredRecord};
pub use audit::{
    AUDIT_SCAN_MAX, AuditAsk, AuditKey, AuditLog, AuditPage, AuditPiece, AuditProblem, AuditVerification,
    StoredEntry, audit_code_text, seal_piece, verify_piece,
};
pub use callers::{Callers, TOKENS_MAX};
pub use error::{Refusal, Trouble, WriteError};
pub use key_ring::{KeyRing, KeyRingError};
#[cfg(feature = "memory")]
pub use layer::Layer;
#[cfg(feature = "memory")]
pub use leased::{Cluster, LeasedStore};
#[cfg(feature = "memory")]
pub use memory::MemoryStore;
pub use page::{Page, PageRow, Unreadable};
pub use repair::{AheadAsk, AheadPage, Repaired};
pub use resources::{
    CollectionDecision, CollectionWrite, CollectionsAsk, FoundJob, Group, JobWrite, JobsAsk, Resources,
    SUBSCRIPTIONS_MAX,
};
pub use roster::{BootInstant, Node, NodeReport, NodeStanding, Roster};
pub use seals::{KeyError, KeyUse, Resealing, Seals};
pub use sessions::{SESSIONS_MAX, SESSIONS_PER_CALLER_MAX, Sessions};
pub use survey::{
    CollectionEvidence, Extent, FAULTED_COUNT_MAX, HeldClaim, Survey, SurveyAsk, Unclaimed, UnclaimedAsk,
};
pub use target::shown_target;
pub use vault::{SealContext, Vault, VaultError};
pub use views::{
    COUNTED_MAX, Candidate, HOUR, HOURS_KEPT, JobCount, JobSearch, JobSearchPage, MINUTES_KEPT, PIECE_MAX,
    PIECE_MIN, Picker, StatsAsk, StatsPage, Views, WalkPlace, windows,
};

/// All that concerns jobs. Tokens are not part of it: who runs jobs has no business with them.
pub trait Store: Resources + Agenda + Archive + Survey + Roster + Views {}

impl<T: Resources + Agenda + Archive + Survey + Roster + Views> Store for T {}
