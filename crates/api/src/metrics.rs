//! `GET /metrics`: the figures for Prometheus.

use http::header;
use punctual_arm::ApiError;
use punctual_metrics::Format;

use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn get(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    let accept: Vec<&str> =
        call.headers().get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let format = Format::preferred(&accept.join(","));
    let sample = state.sampler.sample().await;
    let text = state.metrics.encode(&sample, format);
    Ok(Answer::content(format.content_type(), text)?.with_header(header::VARY, "Accept"))
}
