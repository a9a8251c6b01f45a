//! Notes what was refused, and keeps the audit log: seals it, and deletes what is too old.
//!
//! Changes are noted by the store in their own transactions. Refusals change nothing, so they are gathered here and written
//! later; a kill loses those that wait. A flood of them must not fill the disk. Of callers that did not show who they are,
//! the refusals of a source and a minute are one entry, written when the minute is over. Of others, those of the same action
//! and scope within a second are one, written in that second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::audit::{AuditEntry, AuditOutcome};
use punctual_model::{Clock, Scope};
use punctual_store::{AuditKey, AuditLog, Trouble};
use tokio::time::MissedTickBehavior;

/// How often refusals are written.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// Everything is sealed within a minute: every so many seconds.
const SEAL_SECONDS: u64 = 20;

/// How often old entries are deleted, in seconds.
const PRUNE_SECONDS: u64 = 600;

/// How many refusals wait at most, each of its own kind; beyond that they are counted as those of no source.
const WAITING_MAX: usize = 4_096;

/// How many entries are sealed or deleted in one transaction.
const STEP: usize = 2_000;

/// Notes what was refused, and keeps the audit log.
pub struct Auditor {
    log: Arc<dyn AuditLog>,
    clock: Arc<dyn Clock>,
    enabled: bool,
    /// How long entries are kept; for ever if none.
    retention: Option<SignedDuration>,
    waiting: Mutex<HashMap<Kind, AuditEntry>>,
}

/// Refusals of one kind are one entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kind {
    caller: Arc<str>,
    source: Arc<str>,
    /// Empty if it is not known who called.
    action: Arc<str>,
    /// None if it is not known who called.
    scope: Option<Scope>,
    outcome: AuditOutcome,
    /// The minute if it is not known who called.
    minute: Option<i64>,
}

impl Auditor {
    /// The clock is the real one.
    pub fn new(
        log: Arc<dyn AuditLog>,
        clock: Arc<dyn Clock>,
        enabled: bool,
        retention: Option<SignedDuration>,
    ) -> Self {
        Self { log, clock, enabled, retention, waiting: Mutex::default() }
    }

    /// What keeps the log.
    pub(crate) fn log(&self) -> &dyn AuditLog {
        &*self.log
    }

    /// The key of digests; none if no log is kept.
    pub fn key(&self) -> Option<&AuditKey> {
        self.enabled.then(|| self.log.audit_key())
    }

    /// Notes something that changed nothing. It is written soon.
    pub(crate) fn note(&self, entry: AuditEntry) {
        if !self.enabled {
            return;
        }
        let unknown = matches!(entry.outcome, AuditOutcome::Unauthenticated | AuditOutcome::SignInFailed);
        let mut kind = Kind {
            caller: Arc::clone(&entry.caller_id),
            source: Arc::clone(&entry.source),
            action: if unknown { Arc::default() } else { Arc::clone(&entry.action) },
            scope: (!unknown).then(|| entry.scope.clone()),
            outcome: entry.outcome,
            minute: unknown.then(|| entry.at.as_second().div_euclid(60)),
        };
        let mut waiting = self.waiting();
        if waiting.len() >= WAITING_MAX && !waiting.contains_key(&kind) {
            (kind.source, kind.action, kind.scope) = Default::default();
        }
        let source = Arc::clone(&kind.source);
        let known = waiting.entry(kind).or_insert_with(|| AuditEntry { count: 0, source, ..entry.clone() });
        known.count = known.count.saturating_add(entry.count);
        known.request_id = entry.request_id;
    }

    /// Flushes, seals and deletes, for ever.
    pub async fn attend(&self) {
        let mut ticks = tokio::time::interval(FLUSH_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for second in 0_u64.. {
            ticks.tick().await;
            self.told(self.flush(false).await, "write to the audit log");
            if second.is_multiple_of(SEAL_SECONDS) {
                self.told(self.seal().await, "seal the audit log");
            }
            if second.is_multiple_of(PRUNE_SECONDS) {
                self.told(self.prune().await, "delete old entries of the audit log");
            }
        }
    }

    /// Writes what waits, and seals. To be called when nobody is served any more.
    pub async fn finish(&self) -> Result<(), Trouble> {
        self.flush(true).await?;
        self.seal().await
    }

    /// Writes what waits; refusals of unknown callers wait until their minute is over, unless all is to be written.
    async fn flush(&self, all: bool) -> Result<(), Trouble> {
        let minute = self.now().as_second().div_euclid(60);
        let ripe = |kind: &Kind| all || kind.minute.is_none_or(|of| of < minute);
        let entries: Vec<(Kind, AuditEntry)> = self.waiting().extract_if(|kind, _| ripe(kind)).collect();
        if entries.is_empty() {
            return Ok(());
        }
        let written = self.log.append_audit(entries.iter().map(|(_, entry)| entry.clone()).collect()).await;
        if written.is_err() {
            // They are tried again with the next ones.
            let mut waiting = self.waiting();
            for (kind, entry) in entries {
                let known = waiting.entry(kind).or_insert_with(|| AuditEntry { count: 0, ..entry.clone() });
                known.count = known.count.saturating_add(entry.count);
            }
        }
        written
    }

    /// Seals everything that is there.
    pub(crate) async fn seal(&self) -> Result<(), Trouble> {
        while self.log.seal_audit(self.now(), STEP).await? == STEP {}
        Ok(())
    }

    async fn prune(&self) -> Result<(), Trouble> {
        let Some(before) = self.retention.and_then(|kept| self.now().checked_sub(kept).ok()) else {
            return Ok(());
        };
        while self.log.prune_audit(before, STEP).await? >= STEP {}
        Ok(())
    }

    fn told(&self, done: Result<(), Trouble>, what: &'static str) {
        match done {
            // The store tells of an outage by itself.
            Ok(()) | Err(Trouble::Full { .. }) => {}
            Err(error) => tracing::warn!(%error, "could not {what}; trying again"),
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Kind, AuditEntry>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
