//! The editor, and how often it tries.

use std::future::Future;
use std::sync::Arc;

use punctual_model::access::Role;
use punctual_model::audit::{AuditEntry, AuditOutcome, Author, Digest};
use punctual_model::{Clock, Limits, Scope};
use punctual_store::{AuditKey, Resources, Trouble};

use crate::error::{EditError, Missed};

/// How often a write is tried. Each failure means that somebody else's write succeeded, so only a flood of
/// writes to one resource gets here.
const TRIES_MAX: u32 = 100;

/// Makes changes.
#[derive(Clone, Copy)]
pub struct Editor<'a> {
    /// The store that is changed.
    pub store: &'a dyn Resources,
    /// The clock of schedules: every change is decided at an instant.
    pub clock: &'a Arc<dyn Clock>,
    /// The limits of the plans.
    pub limits: &'a Limits,
    /// Who wants the changes. Whether the caller may ask for them at all was decided before; what depends on what a
    /// change comes to is decided here.
    pub author: &'a Author,
    /// The key of the digests in the audit log; none if no log is kept.
    pub audit_key: Option<&'a AuditKey>,
}

impl Editor<'_> {
    /// Refuses a change of more than the state, by a caller that may change no more.
    pub(crate) fn check_more_than_state<E>(&self, scope: Scope) -> Result<(), EditError<E>> {
        if self.author.caller.may(Role::Contributor, &scope) {
            return Ok(());
        }
        Err(EditError::Denied(Box::new((self.author.caller.clone(), scope))))
    }

    /// What the audit log says of a change of something. `digest` makes the digest of what was there before and of what
    /// is there now.
    pub(crate) fn note<T>(
        &self,
        scope: impl FnOnce() -> Scope,
        before: Option<&T>,
        after: Option<&T>,
        digest: impl Fn(&AuditKey, &T) -> Digest,
    ) -> Option<AuditEntry> {
        note(self.author, self.audit_key, scope, before, after, digest)
    }

    /// Tries until a write succeeds or is refused for good.
    pub(crate) async fn until_written<T, E, F: Future<Output = Result<T, Missed<E>>>>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, EditError<E>> {
        for _ in 0..TRIES_MAX {
            match attempt().await {
                Ok(written) => return Ok(written),
                Err(Missed::Refused(error)) => return Err(error),
                Err(Missed::Stale) => tokio::task::yield_now().await,
            }
        }
        Err(EditError::Contention)
    }
}

/// What the audit log says of a change by an author; nothing if no log is kept.
pub(crate) fn note<T>(
    author: &Author,
    key: Option<&AuditKey>,
    scope: impl FnOnce() -> Scope,
    before: Option<&T>,
    after: Option<&T>,
    digest: impl Fn(&AuditKey, &T) -> Digest,
) -> Option<AuditEntry> {
    let key = key?;
    let digest = |what: &T| digest(key, what);
    Some(author.entry(scope(), AuditOutcome::Done).with_digests(before.map(digest), after.map(digest)))
}

/// What was read, if it can be read: what can't must still be deletable, and the log then has no digest of it.
pub(crate) fn readable<T>(read: Result<T, Trouble>) -> Result<Option<T>, Trouble> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Trouble::Corrupt { .. }) => Ok(None),
        Err(trouble) => Err(trouble),
    }
}
