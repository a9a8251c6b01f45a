//! Jobs: from a request to what was asked for, and from a stored job to an answer.

mod read;

use jiff::Timestamp;
use punctual_model::{Job, JobSpec, JobState};
use serde_json::{Map, Value};

pub(crate) use read::JOB_BYTES_MAX;
pub use read::{JobContext, read_patch, read_put};

use crate::{ApiVersion, Dialect, action, id, recurrence, time};

/// Renders a job. `next_at` is when it runs next, as decided by the caller: nothing if its collection is
/// not enabled. A job that is not enabled never shows one.
pub fn render(job: &Job, next_at: Option<Timestamp>, version: ApiVersion, dialect: Dialect) -> Value {
    let mut properties = render_spec(&job.spec, version, dialect);
    properties.insert("state".into(), state_name(job.state).into());
    if let Some(status) = render_status(job, next_at) {
        properties.insert("status".into(), status);
    }
    let mut members = Map::new();
    members.insert("id".into(), id::job(&job.key).into());
    members.insert("type".into(), id::JOB_TYPE.into());
    members.insert("name".into(), id::job_name(&job.key).into());
    members.insert("properties".into(), properties.into());
    members.into()
}

/// The definition: start time, action, recurrence. No secrets.
fn render_spec(spec: &JobSpec, version: ApiVersion, dialect: Dialect) -> Map<String, Value> {
    let mut properties = Map::new();
    if let Some(start_at) = spec.start_at {
        properties.insert("startTime".into(), time::instant(start_at).into());
    }
    properties.insert("action".into(), action::render(&spec.action, dialect));
    if let Some(rule) = &spec.recurrence {
        properties.insert("recurrence".into(), recurrence::render(rule, version, dialect));
    }
    properties
}

fn render_status(job: &Job, next_at: Option<Timestamp>) -> Option<Value> {
    let ran = job.last_started_at.is_some() || job.counters.execution > 0;
    if job.state == JobState::Disabled && !ran {
        return None;
    }
    let mut status = Map::new();
    if let Some(last_at) = job.last_started_at {
        status.insert("lastExecutionTime".into(), time::instant(last_at).into());
    }
    if let Some(next_at) = next_at.filter(|_| job.state == JobState::Enabled) {
        status.insert("nextExecutionTime".into(), time::instant(next_at).into());
    }
    status.insert("executionCount".into(), job.counters.execution.into());
    status.insert("failureCount".into(), job.counters.failure.into());
    status.insert("faultedCount".into(), job.counters.faulted.into());
    Some(status.into())
}

/// A job's state as it is written: in lower case.
pub(crate) fn state_name(state: JobState) -> &'static str {
    match state {
        JobState::Enabled => "enabled",
        JobState::Disabled => "disabled",
        JobState::Completed => "completed",
        JobState::Faulted => "faulted",
    }
}
