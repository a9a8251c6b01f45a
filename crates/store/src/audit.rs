//! The audit log: entries, and the chain that shows if one was changed or taken away.
//!
//! Entries are only ever appended. Within a minute what is new is sealed as a *piece*: the code of each of its entries
//! and a code over all of them and the piece before, made with a key of the server's own. Whoever changes the file
//! without the key can't make codes that fit. What is written between two pieces is covered by the next one, so that
//! writing needs no order. When old pieces are deleted, the last of them is kept as the anchor that the chain
//! begins with.

mod chain;
mod key;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::Scope;
use punctual_model::audit::AuditEntry;

pub use chain::{AuditPiece, AuditProblem, AuditVerification, seal_piece, verify_piece};
pub use key::AuditKey;

use crate::Trouble;

/// How many entries one call looks at, at most, for those that fit.
pub const AUDIT_SCAN_MAX: usize = 10_000;

/// What keeps the audit log.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// The key of digests and of the chain. It belongs to the store and never changes.
    fn audit_key(&self) -> &AuditKey;

    /// Appends entries that are about no change: what was refused, and who signed in.
    async fn append_audit(&self, entries: Vec<AuditEntry>) -> Result<(), Trouble>;

    /// Entries, the latest first. A page may have fewer than were asked for, or none, although there are more: at most
    /// [`AUDIT_SCAN_MAX`] are looked at.
    async fn audit(&self, ask: &AuditAsk) -> Result<AuditPage, Trouble>;

    /// Seals entries that are not sealed yet, up to `limit`; returns how many.
    async fn seal_audit(&self, at: Timestamp, limit: usize) -> Result<usize, Trouble>;

    /// Checks the next pieces after this one, up to `limit` entries, and at the end of the chain what no piece has.
    async fn verify_audit(&self, after: Option<i64>, limit: usize) -> Result<AuditVerification, Trouble>;

    /// The code of a piece, as hexadecimal digits; none if there is no such piece.
    async fn audit_piece_code(&self, piece: i64) -> Result<Option<String>, Trouble>;

    /// Deletes pieces that were sealed before an instant, up to `limit` entries, and keeps the anchor; returns how
    /// many entries were deleted.
    async fn prune_audit(&self, before: Timestamp, limit: usize) -> Result<usize, Trouble>;
}

/// A code as hexadecimal digits.
pub fn audit_code_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Which entries are asked for.
#[derive(Clone, Debug, Default)]
pub struct AuditAsk {
    /// Only those about these scopes or something in them; all if none.
    pub scopes: Option<Vec<Scope>>,
    /// Only those of this caller, by id or name.
    pub caller: Option<String>,
    /// Only those at this time or later.
    pub from: Option<Timestamp>,
    /// Only those before this time.
    pub to: Option<Timestamp>,
    /// Only those before this one.
    pub before: Option<i64>,
    /// How many at most.
    pub limit: usize,
}

impl AuditAsk {
    /// Whether every entry fits.
    pub fn takes_all(&self) -> bool {
        let everywhere = self.scopes.as_ref().is_none_or(|scopes| scopes.contains(&Scope::Everything));
        everywhere && self.caller.is_none() && self.from.is_none() && self.to.is_none()
    }

    /// Whether an entry is asked for.
    pub fn fits(&self, entry: &AuditEntry) -> bool {
        self.scopes.as_ref().is_none_or(|scopes| scopes.iter().any(|scope| scope.covers(&entry.scope)))
            && self
                .caller
                .as_ref()
                .is_none_or(|caller| *caller == *entry.caller_id || *caller == *entry.caller_name)
            && self.from.is_none_or(|from| entry.at >= from)
            && self.to.is_none_or(|to| entry.at < to)
    }
}

/// Entries that fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// The latest first.
    pub entries: Vec<StoredEntry>,
    /// Numbers of entries that can't be read.
    pub unreadable: Vec<i64>,
    /// Where to go on; none at the end.
    pub next: Option<i64>,
}

impl AuditPage {
    /// Takes what fits from entries that come the latest first. `Err` is the number of one that can't be read.
    /// `more` is whether there are others behind them. Entries that don't fit make no other difference, so that whoever may
    /// not see them does not find out by where a page ends.
    pub fn collect(
        ask: &AuditAsk,
        entries: impl Iterator<Item = Result<StoredEntry, i64>>,
        more: bool,
    ) -> Self {
        let mut page = Self::default();
        let mut entries = entries;
        let mut last = None;
        while page.entries.len() < ask.limit
            && let Some(entry) = entries.next()
        {
            match entry {
                Ok(stored) => {
                    last = Some(stored.number);
                    if ask.fits(&stored.entry) {
                        page.entries.push(stored);
                    }
                }
                Err(number) => {
                    last = Some(number);
                    page.unreadable.push(number);
                }
            }
        }
        let fits = |entry: Result<StoredEntry, i64>| entry.map_or(true, |stored| ask.fits(&stored.entry));
        page.next = last.filter(|_| more || entries.any(fits));
        page
    }
}

/// An entry, and its number, which grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// Its number.
    pub number: i64,
    /// The entry.
    pub entry: AuditEntry,
}
