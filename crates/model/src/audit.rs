//! The audit log: who did what, from where, and what came of it.
//!
//! A change is noted in the transaction that makes it, so that there is none without its entry and no entry
//! without its change. What was refused is noted soon after.

use std::sync::Arc;

use jiff::Timestamp;

use crate::access::{Caller, CallerKind};
use crate::{Scope, hex};

/// Who asks for something, and how the request came here.
#[derive(Clone, Debug)]
pub struct Author {
    /// Who.
    pub caller: Caller,
    /// The address that the request came from; empty if it did not come over a network.
    pub source: Arc<str>,
    /// The id that the answer has, too.
    pub request_id: Arc<str>,
    /// What is asked for, as ARM calls it, such as `Microsoft.Scheduler/jobcollections/jobs/write`.
    pub action: Arc<str>,
    /// When, by the real clock.
    pub at: Timestamp,
}

impl Author {
    /// Somebody who did not come over a network, or of whom nothing more is known yet.
    pub fn of(caller: Caller, at: Timestamp) -> Self {
        let (source, request_id, action) = Default::default();
        Self { caller, source, request_id, action, at }
    }

    /// An entry about something that this author did to a scope.
    pub fn entry(&self, scope: Scope, outcome: AuditOutcome) -> AuditEntry {
        AuditEntry {
            at: self.at,
            caller_id: Arc::clone(&self.caller.id),
            caller_name: Arc::clone(&self.caller.name),
            kind: self.caller.kind,
            source: Arc::clone(&self.source),
            action: Arc::clone(&self.action),
            scope,
            subject: Arc::default(),
            outcome,
            request_id: Arc::clone(&self.request_id),
            count: 1,
            before: None,
            after: None,
        }
    }
}

/// One line of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// The id of the caller.
    pub caller_id: Arc<str>,
    /// The name of the caller at that time.
    pub caller_name: Arc<str>,
    /// How the caller authenticated.
    pub kind: CallerKind,
    /// The address that the request came from.
    pub source: Arc<str>,
    /// What was asked for, as ARM calls it.
    pub action: Arc<str>,
    /// What it was about.
    pub scope: Scope,
    /// What it was about where the scope does not say it, such as the id of a token; empty otherwise.
    pub subject: Arc<str>,
    /// What came of it.
    pub outcome: AuditOutcome,
    /// The id of the request; of the last one if there were several.
    pub request_id: Arc<str>,
    /// How many requests the entry stands for.
    pub count: u32,
    /// What was there before, as a keyed digest; none if nothing was.
    pub before: Option<Digest>,
    /// What is there now, as a keyed digest; none if nothing is.
    pub after: Option<Digest>,
}

impl AuditEntry {
    /// The same entry with what was there before and is there now.
    #[must_use]
    pub fn with_digests(self, before: Option<Digest>, after: Option<Digest>) -> Self {
        Self { before, after, ..self }
    }
}

/// A keyed digest of a definition: equal definitions have equal ones, and without the key nobody can find out by
/// guessing which definition has which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// Its hexadecimal digits.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(32);
        self.0.iter().for_each(|byte| hex::push(*byte, &mut text));
        text
    }
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuditOutcome {
    /// It was done.
    Done,
    /// The caller may not.
    Denied,
    /// The caller did not show who it is.
    Unauthenticated,
    /// The caller signed in.
    SignedIn,
    /// The caller tried to sign in, and could not.
    SignInFailed,
}

impl AuditOutcome {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] =
        [Self::Done, Self::Denied, Self::Unauthenticated, Self::SignedIn, Self::SignInFailed];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Denied => "denied",
            Self::Unauthenticated => "unauthenticated",
            Self::SignedIn => "signedIn",
            Self::SignInFailed => "signInFailed",
        }
    }
}
