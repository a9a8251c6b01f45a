//! Builders: only what matters is visible in a test.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_actions::{Actions, Settings, SettingsError};
use punctual_model::{
    Action, ActionKind, Authentication, Cause, Clock, CollectionKey, ExecutionTag, Firing, HeaderText,
    HttpAction, JobId, JobSpec, Outcome, Secret,
};

/// Long enough for anything that is to succeed.
pub(crate) const AMPLE: Duration = Duration::from_secs(10);

/// Short enough to wait for.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

pub(crate) fn settings() -> Settings {
    Settings { timeout: AMPLE, ..Settings::default() }
}

/// The machine's clock.
struct RealClock;

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "tokens expire by the real clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

pub(crate) fn build(settings: Settings) -> Result<Actions, SettingsError> {
    Actions::new(settings, Arc::new(RealClock))
}

pub(crate) fn actions() -> Actions {
    build(settings()).unwrap()
}

pub(crate) fn impatient() -> Actions {
    build(Settings { timeout: SHORT, ..settings() }).unwrap()
}

/// An HTTP action in the making.
pub(crate) struct Http(HttpAction);

pub(crate) fn get(uri: impl Into<String>) -> Http {
    send("GET", uri)
}

pub(crate) fn post(uri: impl Into<String>, body: &str) -> Http {
    send("POST", uri).body(body)
}

pub(crate) fn send(method: &str, uri: impl Into<String>) -> Http {
    Http(HttpAction {
        declared_https: false,
        uri: uri.into(),
        user_info: None,
        method: method.into(),
        headers: vec![],
        body: None,
        authentication: None,
    })
}

impl Http {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.0.headers.push((name.into(), value.into()));
        self
    }

    /// A header that holds a credential.
    pub(crate) fn credential(mut self, name: &str, value: &str) -> Self {
        self.0.headers.push((name.into(), HeaderText::Credential(Secret::new(value))));
        self
    }

    /// User information of the URI.
    pub(crate) fn user_info(mut self, user_info: &str) -> Self {
        self.0.user_info = Some(Secret::new(user_info));
        self
    }

    pub(crate) fn body(mut self, body: &str) -> Self {
        self.0.body = Some(body.into());
        self
    }

    pub(crate) fn authentication(mut self, authentication: Authentication) -> Self {
        self.0.authentication = Some(authentication);
        self
    }

    pub(crate) fn firing(self) -> Firing {
        firing(ActionKind::Http(self.0))
    }

    pub(crate) async fn fire(self, actions: &Actions) -> Outcome {
        actions.fire(&self.firing()).await
    }
}

/// The first attempt of a job named `job` in a collection named `jobs`, due at a fixed time.
pub(crate) fn firing(kind: ActionKind) -> Firing {
    let nominal_at = "2026-03-04T05:06:07.891Z".parse().unwrap();
    Firing {
        job: CollectionKey::new("subscription", "group", "jobs").job("job"),
        region: "West US".into(),
        spec: Arc::new(JobSpec::once(Action { kind, retry: None, error_action: None })),
        step: 0,
        attempt: 0,
        nominal_at,
        tag: ExecutionTag::of(JobId(7), Cause::Schedule, nominal_at, 0),
        client_request_id: "d7737f7c-0880-4072-8b95-f5db2f8ad572".into(),
    }
}

#[track_caller]
pub(crate) fn assert_succeeded(outcome: &Outcome) {
    assert!(outcome.succeeded, "{}", outcome.message);
}

#[track_caller]
pub(crate) fn assert_failed(outcome: &Outcome, message: &str) {
    assert!(!outcome.succeeded, "{}", outcome.message);
    assert_eq!(outcome.message, message);
}
