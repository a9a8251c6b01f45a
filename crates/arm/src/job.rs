//! Jobs: from a request to a definition, and from a stored job to an answer.

mod draft;
mod read;

use crate::json::{Json, Members};
use jiff::Timestamp;
use punctual_model::{Job, JobSpec, JobState};

pub use draft::{Draft, DraftMethod, read_draft};
pub(crate) use read::JOB_BYTES_MAX;
pub use read::{
    JobContext, Opening, Unread, ignored, read_patch, read_put, sends_secrets, try_read_patch, try_read_put,
};

use crate::{ApiVersion, Dialect, action, id, recurrence, time};

/// Renders a job. `next_at` is when it runs next, as decided by the caller: none if its collection is not
/// enabled. A job that is not enabled never shows one.
pub fn answer(job: &Job, next_at: Option<Timestamp>, version: ApiVersion, dialect: Dialect) -> Json<'_> {
    let mut properties = render_spec(&job.spec, version, dialect);
    properties.insert("state", state_name(job.state).into());
    if let Some(status) = render_status(job, next_at) {
        properties.insert("status", status);
    }
    let mut members = Members::new();
    members.insert("id", id::job(&job.key).into());
    members.insert("type", id::JOB_TYPE.into());
    members.insert("name", id::job_name(&job.key).into());
    members.insert("properties", properties.into());
    members.into()
}

/// The definition: start time, action, recurrence. No secrets.
fn render_spec(spec: &JobSpec, version: ApiVersion, dialect: Dialect) -> Members<'_> {
    let mut properties = Members::new();
    if let Some(start_at) = spec.start_at {
        properties.insert("startTime", time::instant(start_at).into());
    }
    properties.insert("action", action::render(&spec.action, dialect));
    if let Some(rule) = &spec.recurrence {
        properties.insert("recurrence", recurrence::render(rule, version, dialect));
    }
    properties
}

fn render_status(job: &Job, next_at: Option<Timestamp>) -> Option<Json<'static>> {
    let ran = job.last_started_at.is_some() || job.counters.execution > 0;
    if job.state == JobState::Disabled && !ran {
        return None;
    }
    let mut status = Members::new();
    if let Some(last_at) = job.last_started_at {
        status.insert("lastExecutionTime", time::instant(last_at).into());
    }
    if let Some(next_at) = next_at.filter(|_| job.state == JobState::Enabled) {
        status.insert("nextExecutionTime", time::instant(next_at).into());
    }
    status.insert("executionCount", job.counters.execution.into());
    status.insert("failureCount", job.counters.failure.into());
    status.insert("faultedCount", job.counters.faulted.into());
    Some(status.into())
}

/// The name of a state, in lower case.
pub(crate) fn state_name(state: JobState) -> &'static str {
    match state {
        JobState::Enabled => "enabled",
        JobState::Disabled => "disabled",
        JobState::Completed => "completed",
        JobState::Faulted => "faulted",
    }
}
