//! Changes groups, collections and jobs.
//!
//! Every change takes the same way: read what is there, decide what becomes of it, write that, and do it
//! again if somebody else wrote in between. Decisions are made in `punctual_model::decide`, the store applies
//! them; an [`Editor`] brings the two together. It knows no HTTP: the API calls it with what it has read from a
//! request, the simulator calls it directly.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod collection;
mod editor;
mod error;
mod group;
mod job;

pub use collection::Wish;
pub use editor::Editor;
pub use error::EditError;
pub use job::WrittenJob;
