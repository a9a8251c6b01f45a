//! The words of the Azure Resource Manager API.
//!
//! Nothing else in the project knows JSON names, letter cases, api-versions or resource ids. The API reads a
//! request into the model with this crate, decides and stores, and renders the answer with it:
//!
//! ```text
//!   bytes ──read_put──> model ──(decide, store)──> model ──render──> JSON
//! ```
//!
//! Everything here is a pure function: no clock, no runtime, no store. Every `read` turns JSON into a value of
//! the model and reports all problems at once with their JSON paths; secrets go in and are never rendered.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod action;
pub mod agenda;
pub mod audit;
pub mod challenge;
pub mod collection;
mod dialect;
mod error;
pub mod history;
pub mod id;
pub mod job;
pub mod job_row;
mod json;
mod location;
pub mod me;
mod merge;
pub mod occurrence;
pub mod page;
pub mod preview;
pub mod provider;
mod query;
pub mod quota;
mod reader;
pub mod recurrence;
pub mod resource;
mod scope;
pub mod session;
mod shape;
pub mod sign_in;
pub mod stats;
pub mod subscription;
mod suggestion;
pub mod time;
pub mod token;
mod version;
mod view_query;

pub use agenda::{AgendaCounts, AgendaJobsQuery, AgendaQuery};
pub use audit::AuditQuery;
pub use collection::CollectionContext;
pub use dialect::Dialect;
pub use error::ApiError;
pub use job::JobContext;
pub use job_row::JobsQuery;
pub use json::{Json, Members};
pub use location::Locations;
pub use occurrence::OccurrencesPage;
pub use page::{CollectionsPage, HistoryPage, JobsPage, SessionsPage, TokensPage};
pub use preview::{Preview, read_preview};
pub use punctual_recurrence::Problem;
pub use query::Query;
pub use resource::ResourcesPage;
pub use scope::{collapsed, read_scope, split_path};
pub use stats::StatsQuery;
pub use token::{NewExpiry, NewToken};
pub use version::ApiVersion;
