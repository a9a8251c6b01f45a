//! Who may do what: callers, their grants, and the decision.
//!
//! A grant is a role on a scope. Scopes form a tree (everything, subscription, group, collection) and a
//! grant covers its scope with all that is below it. Each role includes the ones before it. Whatever is
//! not granted is denied.

mod caller;
mod token;

pub use caller::{Caller, CallerKind, Grant, Role};
pub use token::{Token, TokenHash, TokenId, TokenSecret};
