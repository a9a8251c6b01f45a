//! What the jobs of the crash test are: as a body for the API, and as the oracle knows it.

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Action, ActionKind, HttpAction, JobSpec, RetryPolicy};
use punctual_recurrence::{Frequency, Rule};
use serde_json::{Value, json};

use crate::receiver::Hit;

/// The definition of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    /// How the receiver answers its main action: `ok`, `slow`, `fail` or `flaky`.
    pub(crate) kind: &'static str,
    pub(crate) start_at: Option<Timestamp>,
    /// How many minutes lie between two occurrences; once without.
    pub(crate) minutes: Option<i64>,
    pub(crate) count: Option<i64>,
    pub(crate) retry_count: u32,
    /// How many error actions follow; all but the last of them fail.
    pub(crate) errors: u8,
    pub(crate) on: bool,
}

/// Where a definition's requests go, so that each of them says whose it is.
pub(crate) struct SealContext<'a> {
    /// The address of the receiver.
    pub(crate) url: &'a str,
    /// The index of the job.
    pub(crate) job: usize,
    /// The index of the definition among those of its job.
    pub(crate) spec: usize,
}

/// The interval of all retries: the shortest there is.
const RETRY: SignedDuration = SignedDuration::from_secs(15);

impl Definition {
    fn path(&self, place: &SealContext<'_>, step: u8) -> String {
        let kind = match step {
            0 => self.kind,
            step if step == self.errors => "ok",
            _ => "fail",
        };
        format!("{}/{kind}-{}-{}-{step}", place.url, place.job, place.spec)
    }

    /// The properties of a PUT, and of a PATCH: what is absent is removed.
    pub(crate) fn body(&self, place: &SealContext<'_>) -> Value {
        let retry = if self.retry_count == 0 {
            json!({"retryType": "none"})
        } else {
            json!({"retryType": "fixed", "retryInterval": "00:00:15", "retryCount": self.retry_count})
        };
        let mut error = Value::Null;
        for step in (1..=self.errors).rev() {
            error = json!({"type": "Http", "errorAction": error,
                           "request": {"method": "GET", "uri": self.path(place, step)}});
        }
        let request = json!({"method": "GET", "uri": self.path(place, 0)});
        let action = json!({"type": "Http", "request": request, "retryPolicy": retry, "errorAction": error});
        let recurrence = self
            .minutes
            .map(|minutes| json!({"frequency": "minute", "interval": minutes, "count": self.count}));
        let state = if self.on { "enabled" } else { "disabled" };
        let start = self.start_at.map(|at| at.to_string());
        json!({"properties": {"startTime": start, "action": action, "recurrence": recurrence, "state": state}})
    }

    /// The same as the oracle knows it.
    pub(crate) fn spec(&self, place: &SealContext<'_>) -> JobSpec {
        let mut error_action = None;
        for step in (1..=self.errors).rev() {
            let kind = http(self.path(place, step));
            error_action = Some(Box::new(Action { kind, retry: None, error_action }));
        }
        let retry =
            RetryPolicy { fixed: self.retry_count > 0, interval: Some(RETRY), count: Some(self.retry_count) };
        let action = Action { kind: http(self.path(place, 0)), retry: Some(retry), error_action };
        let rule = |minutes| Rule { count: self.count, ..Rule::every(minutes, Frequency::Minute) };
        JobSpec { start_at: self.start_at, action, recurrence: self.minutes.map(rule), enabled: self.on }
    }
}

fn http(uri: String) -> ActionKind {
    let method = "GET".to_owned();
    ActionKind::Http(HttpAction {
        declared_https: false,
        uri,
        user_info: None,
        method,
        headers: Vec::new(),
        body: None,
        authentication: None,
    })
}

/// What the path of a request says: job, definition, step.
pub(crate) fn place_of(path: &str) -> (usize, usize, u8) {
    let mut parts = path.rsplit('/').next().unwrap_or_default().split('-').skip(1);
    let mut number =
        || parts.next().and_then(|part| part.parse::<usize>().ok()).expect("paths are made here");
    (number(), number(), u8::try_from(number()).unwrap())
}

/// How the receiver answers a request; see there.
pub(crate) fn succeeds(hit: &Hit) -> bool {
    match hit.path.trim_start_matches('/').split('-').next() {
        Some("ok" | "slow") => true,
        Some("flaky") => !(hit.expected_at().as_second() / 60 % 60).rem_euclid(3).eq(&0) || hit.attempt() > 0,
        _ => false,
    }
}
