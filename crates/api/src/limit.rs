//! Limits per caller: how often it may ask, how much it may send, how much of it may be under way.
//!
//! They are per caller and not for all together, so that the flood of one leaves the others served. Whoever needs no
//! token is not limited: that is on the machine itself.

mod bucket;
mod failures;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderName, Method, header};
use jiff::Timestamp;
use punctual_arm::ApiError;
use punctual_model::access::{Caller, CallerKind};
use tokio::sync::Semaphore;

use self::bucket::Bucket;
pub use self::bucket::Rate;
use self::failures::Failures;
use crate::answer::Answer;
use crate::source::Source;

/// From so many callers on, those that have everything left are forgotten. A server has at most 10,000 tokens.
const CALLERS_MAX: usize = 20_000;

/// How long the answer to a caller is held back that fails to sign in too often, and how many are held back at once.
const HELD_BACK_TIME: Duration = Duration::from_secs(1);
const HELD_BACK_MAX: usize = 64;

/// What each caller may do. None is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallerLimits {
    /// Requests that read.
    pub reads: Option<Rate>,
    /// Requests that may change something.
    pub writes: Option<Rate>,
    /// Bytes of bodies.
    pub body_bytes: Option<Rate>,
    /// Requests under way.
    pub in_flight_max: Option<usize>,
    /// Failures to sign in, from one source.
    pub sign_in_failures: Option<Rate>,
}

/// Holds callers to their limits.
pub struct Limiter {
    limits: CallerLimits,
    callers: Mutex<HashMap<Key, Usage>>,
    failures: Failures,
    held_back: Semaphore,
}

/// Whether the caller is one of an issuer, which chooses the ids of those, and its id.
type Key = (bool, Arc<str>);

/// What a caller has used.
struct Usage {
    reads: Option<Bucket>,
    writes: Option<Bucket>,
    body_bytes: Option<Bucket>,
    in_flight: usize,
}

/// The request of a caller: for its limits, two methods that differ in nothing else are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Read,
    /// DELETE and POST.
    Write,
    /// PUT and PATCH.
    Put,
}

impl Class {
    fn of(method: &Method) -> Self {
        match *method {
            Method::GET | Method::HEAD => Self::Read,
            Method::PUT | Method::PATCH => Self::Put,
            _ => Self::Write,
        }
    }

    /// The headers that say how many requests are left.
    fn headers(self) -> [HeaderName; 2] {
        let names = match self {
            Self::Read => [
                "x-ms-ratelimit-remaining-subscription-reads",
                "x-ms-ratelimit-burst-remaining-scheduler-reads",
            ],
            Self::Write => [
                "x-ms-ratelimit-remaining-subscription-writes",
                "x-ms-ratelimit-burst-remaining-scheduler-writes",
            ],
            Self::Put => [
                "x-ms-ratelimit-remaining-subscription-resource-requests",
                "x-ms-ratelimit-burst-remaining-scheduler-writes",
            ],
        };
        names.map(HeaderName::from_static)
    }
}

impl Limiter {
    /// Nobody has used anything yet.
    pub fn new(limits: CallerLimits) -> Self {
        let failures = Failures::new(limits.sign_in_failures);
        Self { limits, callers: Mutex::default(), failures, held_back: Semaphore::new(HELD_BACK_MAX) }
    }

    /// Lets a request with a body of so many bytes begin, or says what the caller is told instead.
    pub(crate) fn begin(
        &self,
        caller: &Caller,
        method: &Method,
        body_bytes: u64,
        now: Timestamp,
    ) -> Result<Turn<'_>, Answer> {
        let class = Class::of(method);
        if caller.kind == CallerKind::Anonymous || self.limits.without_any() {
            return Ok(Turn { limiter: self, key: None, class, left: None });
        }
        let key = (caller.kind == CallerKind::OpenId, Arc::clone(&caller.id));
        let mut callers = self.callers();
        if callers.len() >= CALLERS_MAX && !callers.contains_key(&key) {
            callers.retain(|_, usage| usage.counts(&self.limits, now));
        }
        let usage = callers.entry(key.clone()).or_insert_with(|| Usage::new(&self.limits, now));
        match usage.take(&self.limits, class, body_bytes, now) {
            Ok(left) => Ok(Turn { limiter: self, key: Some(key), class, left }),
            Err(over) => Err(over.answer(caller, class)),
        }
    }

    /// Takes note that somebody failed to sign in, and holds back whoever does so too often. What it is told then, if
    /// that is something else than that it failed.
    pub(crate) async fn sign_in_failed(&self, source: Option<Source>, now: Timestamp) -> Option<Answer> {
        let wait = self.failures.note(source?, now)?;
        // Bounded, so that those who fail can't take the connections of others for long.
        if let Ok(_held_back) = self.held_back.try_acquire() {
            tokio::time::sleep(HELD_BACK_TIME).await;
        }
        let seconds = whole_seconds(wait);
        Some(told(&ApiError::too_many_failures(seconds), seconds))
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<Key, Usage>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallerLimits {
    fn without_any(&self) -> bool {
        !self.has_rates() && self.in_flight_max.is_none()
    }

    fn has_rates(&self) -> bool {
        self.reads.is_some() || self.writes.is_some() || self.body_bytes.is_some()
    }
}

impl Usage {
    fn new(limits: &CallerLimits, now: Timestamp) -> Self {
        let full = |rate: Option<Rate>| rate.map(|rate| Bucket::full(rate, now));
        Self {
            reads: full(limits.reads),
            writes: full(limits.writes),
            body_bytes: full(limits.body_bytes),
            in_flight: 0,
        }
    }

    /// Takes what a request takes; how many more requests of its class may follow at once, if that is limited.
    fn take(
        &mut self,
        limits: &CallerLimits,
        class: Class,
        body_bytes: u64,
        now: Timestamp,
    ) -> Result<Option<u64>, Over> {
        let (bucket, rate, setting) = match class {
            Class::Read => (&mut self.reads, limits.reads, "limits.reads_per_second"),
            Class::Write | Class::Put => (&mut self.writes, limits.writes, "limits.writes_per_second"),
        };
        let mut request = bucket.as_mut().zip(rate);
        let left = request.as_mut().map(|(bucket, rate)| whole(bucket.left(*rate, now)));
        if limits.in_flight_max.is_some_and(|max| self.in_flight >= max) {
            return Err(Over { setting: "limits.in_flight", wait: Duration::from_secs(1), left });
        }
        if let Some((bucket, rate)) = &mut request
            && let Some(wait) = bucket.wait(1.0, *rate, now)
        {
            return Err(Over { setting, wait, left });
        }
        #[expect(clippy::cast_precision_loss, reason = "a body is at most 64 KiB")]
        let size = body_bytes as f64;
        if let Some((bucket, rate)) = self.body_bytes.as_mut().zip(limits.body_bytes) {
            if let Some(wait) = bucket.wait(size, rate, now) {
                return Err(Over { setting: "limits.body_bytes_per_second", wait, left });
            }
            bucket.take(size);
        }
        self.in_flight += 1;
        Ok(request.map(|(bucket, rate)| {
            bucket.take(1.0);
            whole(bucket.left(rate, now))
        }))
    }

    /// Whether it makes a difference from a caller that was never seen.
    fn counts(&mut self, limits: &CallerLimits, now: Timestamp) -> bool {
        let used = |bucket: &mut Option<Bucket>, rate: Option<Rate>| {
            bucket.as_mut().zip(rate).is_some_and(|(bucket, rate)| bucket.left(rate, now) < rate.burst)
        };
        self.in_flight > 0
            || used(&mut self.reads, limits.reads)
            || used(&mut self.writes, limits.writes)
            || used(&mut self.body_bytes, limits.body_bytes)
    }
}

/// A request that is above a limit.
struct Over {
    setting: &'static str,
    wait: Duration,
    left: Option<u64>,
}

impl Over {
    fn answer(self, caller: &Caller, class: Class) -> Answer {
        let seconds = whole_seconds(self.wait);
        let answer = told(&ApiError::over_limit(&caller.name, self.setting, seconds), seconds);
        with_left(answer, class, self.left)
    }
}

/// A request that is under way. It ends when this is dropped.
pub(crate) struct Turn<'a> {
    limiter: &'a Limiter,
    /// None if the caller is not limited.
    key: Option<Key>,
    class: Class,
    left: Option<u64>,
}

impl Turn<'_> {
    /// The answer with what the caller has left.
    pub(crate) fn tell(&self, answer: Answer) -> Answer {
        with_left(answer, self.class, self.left)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(key) = &self.key else { return };
        let mut callers = self.limiter.callers();
        if let Some(usage) = callers.get_mut(key) {
            usage.in_flight -= 1;
            // Without rates there is nothing to remember of somebody who does nothing.
            if usage.in_flight == 0 && !self.limiter.limits.has_rates() {
                callers.remove(key);
            }
        }
    }
}

fn with_left(answer: Answer, class: Class, left: Option<u64>) -> Answer {
    let Some(left) = left else { return answer };
    let left = left.to_string();
    class.headers().into_iter().fold(answer, |answer, name| answer.with_header(name, &left))
}

fn told(error: &ApiError, seconds: u64) -> Answer {
    Answer::error(error).with_header(header::RETRY_AFTER, &seconds.to_string())
}

/// Rounded up, and never 0: who is told to wait should.
fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it saturates, which is right here"
)]
fn whole(left: f64) -> u64 {
    (left + 1e-6) as u64
}
