//! Calls of the API that may break off in the middle, because the server is killed.

use jiff::Timestamp;
use punctual_model::{Counters, JobState};
use punctual_sim::evidence::JobView;
use serde_json::Value;

use super::definition::place_of;
use crate::raw;

/// One request; none if no whole answer came.
pub(crate) fn exchange(
    address: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Option<(u16, Value)> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = raw::request(method, address, path, "", &body);
    raw::try_exchange(address, request.as_bytes()).map(|answer| (answer.status, answer.json()))
}

/// What an answer shows of a job.
pub(crate) fn view(body: &Value) -> JobView {
    let properties = &body["properties"];
    let status = &properties["status"];
    let count = |name: &str| u32::try_from(status[name].as_u64().unwrap_or_default()).unwrap();
    let at = |name: &str| status[name].as_str().map(|text| text.parse::<Timestamp>().unwrap());
    JobView {
        spec: place_of(properties["action"]["request"]["uri"].as_str().unwrap()).1,
        state: match properties["state"].as_str().unwrap() {
            "enabled" => JobState::Enabled,
            "disabled" => JobState::Disabled,
            "completed" => JobState::Completed,
            "faulted" => JobState::Faulted,
            other => panic!("{other} is no state"),
        },
        counters: Counters {
            execution: count("executionCount"),
            failure: count("failureCount"),
            faulted: count("faultedCount"),
        },
        last_started_at: at("lastExecutionTime"),
        next_at: at("nextExecutionTime"),
    }
}
