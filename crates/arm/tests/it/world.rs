//! A small world: a collection, a job key, a clock that stands still.

use jiff::Timestamp;
use punctual_arm::{ApiError, ApiVersion, CollectionContext, Dialect, JobContext, Locations, job};
use punctual_model::{
    CollectionKey, Counters, CredentialHeaders, Job, JobId, JobKey, JobSpec, JobState, Limits, Progress, Sku,
};
use serde_json::{Value, json};

pub(crate) const VERSION: ApiVersion = ApiVersion::V2016_03;

pub(crate) fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

pub(crate) fn collection_key() -> CollectionKey {
    CollectionKey::new("s", "Rg", "Jc")
}

pub(crate) fn job_key() -> JobKey {
    collection_key().job("J1")
}

pub(crate) fn context(version: ApiVersion) -> JobContext {
    JobContext {
        version,
        sku: Sku::Standard,
        limits: Limits::default(),
        now: now(),
        put_at: now(),
        credential_headers: CredentialHeaders::default(),
    }
}

pub(crate) fn collection_context(version: ApiVersion, locations: &Locations) -> CollectionContext<'_> {
    CollectionContext { version, locations, limits: Limits::default(), now: now() }
}

/// Reads a PUT of a job that does not exist yet.
pub(crate) fn put(body: &Value) -> Result<JobSpec, ApiError> {
    job::read_put(body.to_string().as_bytes(), &job_key(), None, &context(VERSION))
}

/// The properties of a PUT, read or not.
pub(crate) fn put_properties(properties: Value) -> Result<JobSpec, ApiError> {
    put(&json!({ "properties": properties }))
}

/// Reads a PATCH with the given properties.
pub(crate) fn patch(existing: &JobSpec, properties: Value) -> Result<JobSpec, ApiError> {
    patch_as(VERSION, existing, properties)
}

pub(crate) fn patch_as(
    version: ApiVersion,
    existing: &JobSpec,
    properties: Value,
) -> Result<JobSpec, ApiError> {
    let body = json!({ "properties": properties }).to_string();
    job::read_patch(body.as_bytes(), &job_key(), existing, &context(version))
}

/// A job as it was just put.
pub(crate) fn a_job(spec: JobSpec) -> Job {
    Job {
        id: JobId(1),
        key: job_key(),
        state: if spec.enabled { JobState::Enabled } else { JobState::Disabled },
        spec: spec.into(),
        generation: 1,
        put_at: now(),
        counters: Counters::default(),
        last_started_at: None,
        progress: Progress::default(),
        revision: 1,
    }
}

/// The properties as they are answered.
pub(crate) fn shown(spec: &JobSpec) -> Value {
    shown_as(spec, VERSION, Dialect::default())
}

pub(crate) fn shown_as(spec: &JobSpec, version: ApiVersion, dialect: Dialect) -> Value {
    let mut shown = job::answer(&a_job(spec.clone()), None, version, dialect).to_value();
    let mut properties = shown["properties"].take();
    properties.as_object_mut().unwrap().remove("status");
    properties
}

pub(crate) fn http(uri: &str) -> Value {
    json!({"type": "Http", "request": {"uri": uri, "method": "GET"}})
}
