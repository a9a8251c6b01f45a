//! The jobs of a workload, and the requests that create them.

use std::fmt::Write as _;
use std::net::SocketAddr;

use crate::clock;
use crate::load::{Load, Sent};

/// What a collection of the largest plan holds.
pub(crate) const JOBS_OF_COLLECTION: usize = 1_000;
/// How many connections write.
pub(crate) const CONNECTIONS: usize = 16;

pub(crate) const COLLECTIONS: &str = "/subscriptions/5f0c9c8e-1f0b-4b0e-9d64-0d1f6a2f7c11/resourceGroups/bench/providers/Microsoft.Scheduler/jobCollections";
const VERSION: &str = "api-version=2016-03-01";
const DAY_NANOS: u64 = 86_400_000_000_000;

/// The path of a collection.
pub(crate) fn collection(number: usize) -> String {
    format!("{COLLECTIONS}/c{number:04}")
}

/// The path of a job. One collection after the other is filled.
pub(crate) fn job(number: usize) -> String {
    format!("{}/jobs/job-{number:07}", collection(number / JOBS_OF_COLLECTION))
}

/// Writes a request.
pub(crate) fn write(method: &str, path: &str, query: &str, body: &str, into: &mut Vec<u8>) {
    let mut text = String::with_capacity(512 + body.len());
    // Writing to a string can't fail.
    let _ = write!(text, "{method} {path}?{VERSION}{query} HTTP/1.1\r\nhost: localhost\r\n");
    if !body.is_empty() {
        let _ = write!(text, "content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    }
    let _ = write!(text, "\r\n{body}");
    into.extend_from_slice(text.as_bytes());
}

/// Creates enough collections for this many jobs.
pub(crate) fn make_collections(address: SocketAddr, job_count: usize) -> anyhow::Result<()> {
    let count = job_count.div_ceil(JOBS_OF_COLLECTION);
    let body = r#"{"location":"West US","properties":{"sku":{"name":"P20Premium"}}}"#;
    let load = Load { address, connections: CONNECTIONS.min(count), count, status: 201 };
    load.send(Box::new(move |number, into| write("PUT", &collection(number), "", body, into)))?;
    Ok(())
}

/// Puts jobs `first` to `first + count`, which must be new.
pub(crate) fn put_jobs(
    address: SocketAddr,
    first: usize,
    count: usize,
    body: impl Fn(usize) -> String + Send + Sync + 'static,
) -> anyhow::Result<Sent> {
    let load = Load { address, connections: CONNECTIONS, count, status: 201 };
    load.send(Box::new(move |number, into| {
        let number = first + number;
        write("PUT", &job(number), "", &body(number), into);
    }))
}

/// A usual job: it posts something once a day, and begins in ten months.
pub(crate) fn idle_job(number: usize) -> String {
    let start = clock::text((clock::wall_nanos() / DAY_NANOS + 300) * DAY_NANOS);
    let (hour, minute) = (number / 60 % 24, number % 60);
    format!(
        r#"{{"properties":{{"startTime":"{start}","action":{{"type":"Http","request":{{"uri":"http://127.0.0.1:9/hooks/{number}","method":"POST","headers":{{"content-type":"application/json"}},"body":"{{\"report\":\"nightly\",\"number\":{number}}}"}}}},"recurrence":{{"frequency":"Day","interval":1,"schedule":{{"hours":[{hour}],"minutes":[{minute}]}}}},"state":"Enabled"}}}}"#
    )
}

/// A job that posts once, without retries, so that a lost firing shows.
pub(crate) fn once_job(url: &str, start: &str) -> String {
    format!(
        r#"{{"properties":{{"startTime":"{start}","action":{{"type":"Http","request":{{"uri":"{url}","method":"POST","headers":{{"content-type":"application/json"}},"body":"{{\"event\":\"due\"}}"}},"retryPolicy":{{"retryType":"None"}}}},"state":"Enabled"}}}}"#
    )
}

/// A job that posts every minute from a start on.
pub(crate) fn minute_job(url: &str, start: &str) -> String {
    format!(
        r#"{{"properties":{{"startTime":"{start}","action":{{"type":"Http","request":{{"uri":"{url}","method":"POST","body":"due"}},"retryPolicy":{{"retryType":"None"}}}},"recurrence":{{"frequency":"Minute","interval":1}},"state":"Enabled"}}}}"#
    )
}
