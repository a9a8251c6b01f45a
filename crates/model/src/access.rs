//! Access: callers, their grants, and the decision whether they may do something.
//!
//! A grant is a role on a scope. Scopes form a tree (everything, subscription, group, collection) and a grant
//! covers its scope with everything below it. Each role includes the ones before it. What is not granted is
//! denied.

mod caller;
mod secret_text;
mod session;
mod token;

pub use caller::{Caller, CallerKind, Grant, Role};
pub use session::{Session, SessionHolder, SessionId, SessionSecret};
pub use token::{Token, TokenHash, TokenId, TokenSecret};
