//! `POST …/jobs/{job}/run`: once, now, whatever the schedule says

use http::StatusCode;
use punctual_arm::ApiError;
use punctual_model::{JobKey, decide};

use super::find;
use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;
use crate::write::{until_written, write_job};

pub(crate) async fn run(state: &ApiState, call: &Call<'_>, key: &JobKey) -> Result<Answer, ApiError> {
    call.version()?;
    let written = until_written(async || {
        let (collection, job) = find(state, key).await?;
        if !collection.enabled() {
            return Err(ApiError::collection_not_enabled(&collection.key).into());
        }
        let job = decide::run(&job, state.now());
        let job = job.ok_or_else(ApiError::too_many_requests)?;
        write_job(state, job, Vec::new(), &collection).await
    });
    written.await?;
    Answer::empty(StatusCode::OK)
}
