//! Changes groups, collections and jobs.
//!
//! Every change takes the same steps: read the present state, decide, write, and start again if somebody else
//! wrote in between. Decisions are made in `punctual_model::decide` and applied by the store; an [`Editor`]
//! connects the two. It knows no HTTP: the API calls it with what it has read from a request, the simulator
//! calls it directly.

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
