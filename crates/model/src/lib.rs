//! The nouns of a scheduler, and the decisions about them as pure functions.
//!
//! Nothing here knows JSON, HTTP, SQL or an async runtime, reads a clock or draws a random number:
//! time and identity are arguments. That is what makes every rule of the contract a test without a
//! server.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

pub mod access;
mod action;
pub mod audit;
mod chain;
mod clock;
mod collection;
mod credential;
pub mod decide;
mod firing;
mod forecast;
mod go;
mod hex;
mod history;
pub mod inspect;
mod job;
mod key;
pub mod ledger;
mod plan;
pub mod preview;
mod recent;
mod scope;
mod search;
mod secret;
pub mod statistics;
mod uri;
mod watch;

pub use action::{
    Action, ActionKind, ActionType, Authentication, BrokeredProperties, Certificate, ERROR_ACTION_DEPTH_MAX,
    HttpAction, QueueMessage, Retries, RetryPolicy, ServiceBusAuthentication, ServiceBusMessage, Target,
    Transport,
};
pub use chain::Chain;
pub use clock::{Clock, ClockPause, RandomSource, guid};
pub use collection::{Collection, CollectionState, MaxRecurrence, Quota};
pub use credential::{CredentialHeaders, HeaderText, MASK};
pub use firing::{ExecutionTag, Firing, Outcome, OutcomeKind};
pub use forecast::Forecast;
pub use go::{Asked, Go, Permission};
pub use history::{Record, RecordStatus, Rerun, Skip, SkipReason};
pub use job::{Cause, Counters, Entry, Job, JobSpec, JobState, OccurrenceRange, Progress};
pub use key::{CollectionKey, GroupKey, JobId, JobKey, Name};
pub use plan::{COLLECTIONS_PER_SUBSCRIPTION_MAX, JOBS_PER_COLLECTION_MAX, Limits, PlanLimits, Sku};
pub use punctual_recurrence::TICK;
pub use recent::{RecentOutcome, RecentPast};
pub use scope::{Level, Scope};
pub use search::{JobFilter, JobSort, SearchPlace};
pub use secret::Secret;
pub use uri::{split_user_info, usual_authority, with_user_info};
pub use watch::{ClockEvent, ClockNews, ClockReading, ClockWatch};
