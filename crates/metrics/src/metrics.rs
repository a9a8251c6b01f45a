//! The figures that are counted while something happens.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use punctual_model::{ActionKind, Outcome, SkipReason};

use crate::format::Format;
use crate::label;
use crate::sample::Sample;
use crate::table::Table;

/// Bounds of lateness, in seconds: from what a quiet server does to what nobody wants to see.
const LATENESS: [f64; 19] = [
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0,
    900.0, 3600.0,
];

/// Bounds of the duration of an attempt, in seconds.
const ATTEMPT_DURATION: [f64; 15] =
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// Bounds of the duration of a write, in seconds.
const WRITE_DURATION: [f64; 12] =
    [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0];

/// Bounds of the size of a batch.
const BATCH: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];

/// Bounds of the duration of a request, in seconds. There are few, because each operation has them all.
const REQUEST_DURATION: [f64; 7] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0];

/// The operation of a request that has none.
const NO_OPERATION: &str = "none";

/// What was counted since the start. The registry of the library is the one place that says how each is called.
pub struct Metrics {
    registry: Registry,
    lateness: Table<Histogram, 1>,
    attempts: Table<Counter, 4>,
    attempt_duration: Table<Histogram, 1>,
    failures: Table<Counter, 1>,
    skips: Table<Counter, 1>,
    claims: Counter,
    claim_ends: Table<Counter, 1>,
    batch_duration: Histogram,
    batch_size: Histogram,
    batch_failures: Counter,
    commit_duration: Histogram,
    commit_size: Histogram,
    requests: Table<Counter, 2>,
    request_duration: Table<Histogram, 1>,
    /// The position of each operation.
    operations: HashMap<&'static str, usize>,
}

/// An attempt that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// What was carried out.
    pub action: &'a ActionKind,
    /// 0 for the main action.
    pub step: u8,
    /// 0 for the first try.
    pub attempt: u32,
    /// How it ended.
    pub outcome: &'a Outcome,
    /// How long it took.
    pub took: SignedDuration,
}

/// How a claim ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimEnd {
    /// Its outcome was recorded.
    Settled = 0,
    /// It was given back unsettled.
    GivenBack = 1,
    /// An edit took it back before it was begun.
    TakenBack = 2,
    /// Its job was deleted while it was in flight.
    Deleted = 3,
    /// Somebody else settled it, or claimed it again.
    Fenced = 4,
}

impl Metrics {
    /// Nothing is counted yet. `operations` are the names of the operations of the API.
    pub fn new(operations: impl IntoIterator<Item = &'static str>) -> Self {
        let operations: Vec<&'static str> = operations.into_iter().chain([NO_OPERATION]).collect();
        let by_action = ("action", &label::ACTIONS[..]);
        let metrics = Self {
            registry: Registry::default(),
            lateness: Table::new([by_action], |_| Histogram::new(LATENESS)),
            attempts: Table::new(
                [
                    by_action,
                    ("step", &label::STEPS[..]),
                    ("try", &label::TRIES[..]),
                    ("outcome", &label::OUTCOMES[..]),
                ],
                |_| Counter::default(),
            ),
            attempt_duration: Table::new([by_action], |_| Histogram::new(ATTEMPT_DURATION)),
            failures: Table::new([("reason", &label::FAILURES[..])], |_| Counter::default()),
            skips: Table::new([("reason", &label::SKIPS[..])], |_| Counter::default()),
            claims: Counter::default(),
            claim_ends: Table::new([("ending", &label::CLAIM_ENDS[..])], |_| Counter::default()),
            batch_duration: Histogram::new(WRITE_DURATION),
            batch_size: Histogram::new(BATCH),
            batch_failures: Counter::default(),
            commit_duration: Histogram::new(WRITE_DURATION),
            commit_size: Histogram::new(BATCH),
            requests: Table::new([("operation", &operations[..]), ("status", &label::STATUSES[..])], |_| {
                Counter::default()
            }),
            request_duration: Table::new([("operation", &operations[..])], |_| {
                Histogram::new(REQUEST_DURATION)
            }),
            operations: operations.into_iter().enumerate().map(|(at, name)| (name, at)).collect(),
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register_with_unit(
            "punctual_firing_lateness",
            "How much later than due attempts began, by the schedule's clock. Retries are due when their interval is over",
            Unit::Seconds,
            self.lateness.clone(),
        );
        registry.register(
            "punctual_attempts",
            "Attempts that have ended: of the main action or an error action, the first try of that or a retry",
            self.attempts.clone(),
        );
        registry.register_with_unit(
            "punctual_attempt_duration",
            "How long attempts took, from their begin to the end of the answer",
            Unit::Seconds,
            self.attempt_duration.clone(),
        );
        registry.register(
            "punctual_attempt_failures",
            "Failed attempts by the class of the HTTP status, or by the word that log and history have for the reason",
            self.failures.clone(),
        );
        registry.register(
            "punctual_occurrences_skipped",
            "Occurrences that were recorded as skipped when an attempt was: the one before was not over, or nobody fired in \
             time",
            self.skips.clone(),
        );
        registry.register("punctual_claims", "Entries of the agenda that were claimed", self.claims.clone());
        registry.register(
            "punctual_claims_ended",
            "Claims by how they ended: settled, given back to be claimed again, taken back by an edit, deleted with \
             their job, or fenced: claimed again by somebody else",
            self.claim_ends.clone(),
        );
        registry.register_with_unit(
            "punctual_record_batch_duration",
            "How long the store took to record a batch of attempts, including the wait for other writes",
            Unit::Seconds,
            self.batch_duration.clone(),
        );
        registry.register(
            "punctual_record_batch_size",
            "Attempts in a batch that was recorded",
            self.batch_size.clone(),
        );
        registry.register(
            "punctual_record_batch_failures",
            "Batches that the store did not take; they are tried again",
            self.batch_failures.clone(),
        );
        registry.register_with_unit(
            "punctual_store_commit_duration",
            "How long the store's writer took to make a group of writes durable",
            Unit::Seconds,
            self.commit_duration.clone(),
        );
        registry.register(
            "punctual_store_commit_size",
            "Writes in a group that was committed",
            self.commit_size.clone(),
        );
        registry.register(
            "punctual_api_requests",
            "Requests that were answered, by operation and class of the status; operation none: no such path or method",
            self.requests.clone(),
        );
        registry.register_with_unit(
            "punctual_api_request_duration",
            "How long requests took until their answer began",
            Unit::Seconds,
            self.request_duration.clone(),
        );
        self
    }

    /// An attempt begins, so much later than due.
    pub fn fired(&self, action: &ActionKind, lateness: SignedDuration) {
        self.lateness.at([label::action(action)]).observe(seconds(lateness));
    }

    /// An attempt has ended.
    pub fn attempt(&self, attempt: &Attempt<'_>) {
        let Attempt { action, step, attempt, outcome, took } = *attempt;
        let action = label::action(action);
        let place =
            [action, usize::from(step > 0), usize::from(attempt > 0), usize::from(!outcome.succeeded)];
        self.attempts.at(place).inc();
        self.attempt_duration.at([action]).observe(seconds(took));
        if !outcome.succeeded {
            self.failures.at([label::failure(outcome)]).inc();
        }
    }

    /// Occurrences are recorded as skipped.
    pub fn skipped(&self, reason: SkipReason, count: u64) {
        self.skips.at([label::skip(reason)]).inc_by(count);
    }

    /// An entry was claimed.
    pub fn claimed(&self) {
        self.claims.inc();
    }

    /// A claim has ended.
    pub fn claim_ended(&self, how: ClaimEnd) {
        self.claim_ends.at([how as usize]).inc();
    }

    /// The store has answered a batch of attempts to record.
    pub fn batch(&self, size: usize, took: Duration, recorded: bool) {
        if recorded {
            self.batch_duration.observe(took.as_secs_f64());
            self.batch_size.observe(number(size));
        } else {
            self.batch_failures.inc();
        }
    }

    /// The store's writer has made a group of writes durable.
    pub fn commit(&self, size: usize, took: Duration) {
        self.commit_duration.observe(took.as_secs_f64());
        self.commit_size.observe(number(size));
    }

    /// A request was answered. An operation that was not named at the start counts as none.
    pub fn request(&self, operation: Option<&str>, status: u16, took: Duration) {
        let none = self.operations.len() - 1;
        let operation = operation.and_then(|name| self.operations.get(name)).copied().unwrap_or(none);
        self.requests.at([operation, label::status(status)]).inc();
        self.request_duration.at([operation]).observe(took.as_secs_f64());
    }

    /// Everything as text.
    pub fn encode(&self, sample: &Sample, format: Format) -> String {
        let mut text = String::new();
        let encoded = text::encode_registry(&mut text, &self.registry)
            .and_then(|()| text::encode(&mut text, &sample.registry()));
        encoded.expect("a text takes whatever is written to it");
        format.of_open_metrics(text)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// A clock that was set back must not make a duration negative.
fn seconds(duration: SignedDuration) -> f64 {
    duration.as_secs_f64().max(0.0)
}

#[expect(clippy::cast_precision_loss, reason = "batches are far smaller than 2^52")]
fn number(count: usize) -> f64 {
    count as f64
}
