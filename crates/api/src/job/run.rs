//! `POST …/jobs/{job}/run`: once, now, whatever the schedule says

use http::StatusCode;
use punctual_arm::ApiError;
use punctual_model::JobKey;

use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn run(state: &ApiState, call: &Call<'_>, key: &JobKey) -> Result<Answer, ApiError> {
    call.version()?;
    state.editor(&call.author).run_job(key).await.map_err(|error| state.refused(error))?;
    Answer::empty(StatusCode::OK)
}
