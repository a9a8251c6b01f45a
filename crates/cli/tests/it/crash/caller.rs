//! Calls of the API that may break off in the middle, because the server is killed.

use std::io::{Read, Write};
use std::net::TcpStream;

use jiff::Timestamp;
use punctual_model::{Counters, JobState};
use punctual_sim::evidence::JobView;
use serde_json::Value;

use super::definition::place_of;
use crate::server::SOON;

/// One request; none if no whole answer came.
pub(super) fn exchange(
    address: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Option<(u16, Value)> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(SOON)).ok()?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let head = head.to_lowercase();
    let told: usize =
        head.lines().find_map(|line| line.strip_prefix("content-length:"))?.trim().parse().ok()?;
    let whole = body.len() == told;
    whole.then(|| (status, serde_json::from_str(body).unwrap_or(Value::Null)))
}

/// What an answer shows of a job.
pub(super) fn view(body: &Value) -> JobView {
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
