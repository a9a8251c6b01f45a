//! `POST …/jobs/{job}/occurrences/{dueTime}/rerun`: runs a past occurrence again, as a run of its own
//!
//! The run has the definition as it is now, its own instant and its own tag, and is linked to what it repeats in the write
//! that asks for it. It is a run like any other: whatever the state of the job, and as often as somebody asks.

use http::StatusCode;
use percent_encoding::percent_decode_str;
use punctual_arm::{ApiError, occurrence};
use punctual_model::JobKey;
use punctual_model::ledger::OccurrenceOutcome;

use super::find;
use super::occurrences::ledger_page;
use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn rerun(state: &ApiState, call: &Call<'_>, key: &JobKey) -> Result<Answer, ApiError> {
    call.own_version("rerun")?;
    let path = call.path();
    let segment = path.trim_matches('/').rsplit('/').nth(1).unwrap_or_default();
    let due_at = occurrence::read_due_time(&percent_decode_str(segment).decode_utf8_lossy())?;
    let (collection, job) = find(state, key).await?;
    let (page, _) = ledger_page(state, &collection, &job, (due_at, due_at), 1).await?;
    // Of two rows with the same instant the first is that of the schedule.
    let outcome = page.rows.first().map(|row| row.outcome);
    match outcome.ok_or_else(|| ApiError::occurrence_not_found(key, due_at))? {
        OccurrenceOutcome::Pending => return Err(ApiError::occurrence_is_open(key, due_at, "still to come")),
        OccurrenceOutcome::Running => return Err(ApiError::occurrence_is_open(key, due_at, "running")),
        OccurrenceOutcome::Retrying => {
            return Err(ApiError::occurrence_is_open(key, due_at, "being retried"));
        }
        OccurrenceOutcome::Succeeded | OccurrenceOutcome::Failed | OccurrenceOutcome::Skipped(_) => {}
    }
    let editor = state.editor(&call.author);
    let rerun = editor.rerun_job(key, job.id, due_at).await.map_err(|error| state.refused(error))?;
    Ok(Answer::with(StatusCode::ACCEPTED, &occurrence::answer_rerun(rerun)))
}
