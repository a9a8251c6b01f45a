//! The tokens that are known, by the hash of their secret, and when each was last used.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use punctual_model::access::{Caller, CallerKind, Token, TokenHash, TokenId};

/// The tokens that are known.
#[derive(Default)]
pub(super) struct Known {
    by_hash: HashMap<TokenHash, Entry>,
    by_id: HashMap<TokenId, TokenHash>,
}

/// A token that is known.
pub(super) struct Entry {
    pub(super) id: TokenId,
    pub(super) caller: Caller,
    /// Tells its secret from others that it had.
    pub(super) fingerprint: String,
    pub(super) expires_at: Option<Timestamp>,
    uses: Arc<Uses>,
}

/// In seconds since 1970; [`NEVER`] for none.
struct Uses {
    last: AtomicI64,
    noted: AtomicI64,
}

const NEVER: i64 = i64::MIN;

impl Known {
    /// These tokens; uses go on being counted where they were.
    pub(super) fn new(tokens: Vec<Token>, before: &Self) -> Self {
        let entry = |token: Token| {
            let uses = match before.by_hash.get(&token.hash) {
                Some(known) => Arc::clone(&known.uses),
                None => {
                    let stored = token.last_used_at.map_or(NEVER, Timestamp::as_second);
                    Arc::new(Uses { last: AtomicI64::new(stored), noted: AtomicI64::new(stored) })
                }
            };
            let caller = Caller {
                name: token.name.into(),
                id: token.id.0.as_str().into(),
                kind: CallerKind::Token,
                grants: token.grants.into(),
            };
            let fingerprint = token.hash.fingerprint();
            (token.hash, Entry { id: token.id, caller, fingerprint, expires_at: token.expires_at, uses })
        };
        let by_id = tokens.iter().map(|token| (token.id.clone(), token.hash)).collect();
        Self { by_hash: tokens.into_iter().map(entry).collect(), by_id }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    pub(super) fn find(&self, hash: &TokenHash) -> Option<&Entry> {
        self.by_hash.get(hash)
    }

    pub(super) fn find_by_id(&self, id: &str) -> Option<&Entry> {
        self.by_hash.get(self.by_id.get(&TokenId(id.to_owned()))?)
    }

    /// When a token was last used, to the second.
    pub(super) fn last_use(&self, hash: &TokenHash) -> Option<Timestamp> {
        let last = self.by_hash.get(hash)?.uses.last.load(Ordering::Relaxed);
        Timestamp::from_second(last).ok()
    }

    /// The uses that were not noted yet.
    pub(super) fn unnoted(&self) -> Vec<(TokenId, Timestamp)> {
        let unnoted = |entry: &Entry| {
            let last = entry.uses.last.load(Ordering::Relaxed);
            let new = last > entry.uses.noted.load(Ordering::Relaxed);
            new.then(|| Timestamp::from_second(last).ok()).flatten().map(|at| (entry.id.clone(), at))
        };
        self.by_hash.values().filter_map(unnoted).collect()
    }

    /// Remembers that these were noted.
    pub(super) fn noted(&self, uses: &[(TokenId, Timestamp)]) {
        let noted: HashMap<&TokenId, i64> = uses.iter().map(|(id, at)| (id, at.as_second())).collect();
        for entry in self.by_hash.values() {
            if let Some(at) = noted.get(&entry.id) {
                entry.uses.noted.fetch_max(*at, Ordering::Relaxed);
            }
        }
    }
}

impl Entry {
    pub(super) fn used(&self, now: Timestamp) {
        self.uses.last.fetch_max(now.as_second(), Ordering::Relaxed);
    }
}
