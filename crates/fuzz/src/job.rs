//! Bodies of jobs: what is accepted is shown without its secrets, and what is shown says what was stored.

use jiff::Timestamp;
use punctual_arm::job::{Opening, try_read_patch, try_read_put};
use punctual_arm::{ApiVersion, Dialect, JobContext, job};
use punctual_model::{
    ActionKind, Authentication, CollectionKey, Counters, CredentialHeaders, HeaderText, Job, JobId, JobKey,
    JobSpec, JobState, Limits, Progress, Secret, Sku,
};
use punctual_recurrence::{Start, Timetable};
use serde_json::{Value, json};

use crate::{recurrence, stored};

fn now() -> Timestamp {
    Timestamp::from_second(1_794_744_000).expect("it is a time")
}

fn key() -> JobKey {
    CollectionKey::new("s", "Rg", "Jc").job("J1")
}

fn context(version: ApiVersion) -> JobContext {
    JobContext {
        version,
        sku: Sku::P20Premium,
        limits: Limits::default(),
        now: now(),
        put_at: now(),
        credential_headers: CredentialHeaders::default(),
    }
}

fn shown(spec: &JobSpec, version: ApiVersion) -> Value {
    let job = Job {
        id: JobId(1),
        key: key(),
        state: if spec.enabled { JobState::Enabled } else { JobState::Disabled },
        spec: spec.clone().into(),
        generation: 1,
        put_at: now(),
        counters: Counters::default(),
        last_started_at: None,
        progress: Progress::default(),
        revision: 1,
    };
    let shown = job::answer(&job, None, version, Dialect::default());
    let bytes = shown.to_bytes();
    let read: Value = serde_json::from_slice(&bytes).expect("an answer is JSON");
    assert_eq!(read, shown.to_value());
    read
}

pub(crate) fn run(bytes: &[u8]) {
    for version in ApiVersion::ALL {
        let _ = job::ignored(bytes, version);
        let context = context(version);
        // Opening a certificate is what `pfx` is for.
        let Ok(spec) = try_read_put(bytes, &key(), None, &context, Opening::Denied) else { continue };
        check(&spec, bytes);
        // The same request again, as a PATCH of what it made.
        if let Ok(patched) = try_read_patch(bytes, &key(), &spec, &context, Opening::Denied) {
            check(&patched, bytes);
        }
    }
}

fn check(spec: &JobSpec, bytes: &[u8]) {
    let shown_body = |version| {
        let mut shown = shown(spec, version);
        shown["properties"].as_object_mut().expect("a job has properties").remove("status");
        shown
    };
    let newest = ApiVersion::V2026_11;
    let body = json!({"properties": shown_body(newest)["properties"]});
    let read = try_read_patch(body.to_string().as_bytes(), &key(), spec, &context(newest), Opening::Denied);
    let read = read
        .unwrap_or_else(|unread| panic!("{} is shown as {body}, which is not read: {unread:?}", text(bytes)));
    assert_eq!(&read, spec, "{} is shown as {body}", text(bytes));
    // What is shown does not depend on secrets.
    let other = with_other_secrets(spec.clone());
    for version in ApiVersion::ALL {
        assert_eq!(shown(spec, version), shown(&other, version), "{}", text(bytes));
    }
    stored::check_spec(spec);
    if let Some(rule) = &spec.recurrence {
        let start = Start { start_at: spec.start_at, put_at: now() };
        recurrence::walk(&rule.check().expect("what was read was checked").timetable(start));
    } else {
        recurrence::walk(&Timetable::once(Start { start_at: spec.start_at, put_at: now() }));
    }
}

/// The same definition with other secrets.
fn with_other_secrets(mut spec: JobSpec) -> JobSpec {
    let other = || Secret::new("something else");
    let mut next = Some(&mut spec.action);
    while let Some(action) = next {
        match &mut action.kind {
            ActionKind::Http(http) => {
                http.user_info = http.user_info.as_ref().map(|_| other());
                for (_, value) in &mut http.headers {
                    if let HeaderText::Credential(secret) = value {
                        *secret = other();
                    }
                }
                match &mut http.authentication {
                    Some(Authentication::Basic { password, .. }) => *password = other(),
                    Some(Authentication::ActiveDirectoryOAuth { secret, .. }) => *secret = other(),
                    Some(Authentication::ClientCertificate { pfx, password, .. }) => {
                        (*pfx, *password) = (other(), other());
                    }
                    None => {}
                }
            }
            ActionKind::StorageQueue(message) => message.sas_token = other(),
            ActionKind::ServiceBusQueue(message) | ActionKind::ServiceBusTopic(message) => {
                if let Some(key) = message.authentication.as_mut().and_then(|given| given.sas_key.as_mut()) {
                    *key = other();
                }
            }
        }
        next = action.error_action.as_deref_mut();
    }
    spec
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
