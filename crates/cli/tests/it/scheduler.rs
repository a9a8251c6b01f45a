//! A server with a receiver beside it, spoken to in the words of the API.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::receiver::Receiver;
use crate::server::{Answer, SOON, Server, call_at};

/// When the virtual clocks of these tests begin.
pub(crate) const START: &str = "2027-01-01T00:00:00Z";

pub(crate) fn start_at() -> Timestamp {
    START.parse().unwrap()
}

/// An instant so many minutes behind the start.
pub(crate) fn minutes(count: i64) -> Timestamp {
    start_at() + SignedDuration::from_mins(count)
}

/// A server with one collection, `c`.
pub(crate) struct Scheduler {
    pub(crate) server: Server,
    pub(crate) receiver: Receiver,
    pub(crate) folder: TempDir,
}

impl Scheduler {
    /// On a clock that goes so many seconds in one.
    pub(crate) fn start(speed: u32) -> Self {
        Self::start_with(&["--clock-start", START, "--clock-speed", &speed.to_string()])
    }

    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path(), arguments);
        server.put_collection("c");
        Self { server, receiver: Receiver::start(), folder }
    }

    /// Stops the server and starts it again at another time.
    pub(crate) fn restart(self, clock_start: Timestamp, speed: u32) -> Self {
        let Self { server, receiver, folder } = self;
        server.signal("-TERM");
        assert!(server.wait().success());
        let server = started_at(folder.path(), clock_start, speed, &[]);
        Self { server, receiver, folder }
    }

    /// An HTTP action on the receiver, tried once.
    pub(crate) fn action(&self, path: &str) -> Value {
        json!({"type": "Http", "request": {"method": "GET", "uri": self.receiver.url(path)},
               "retryPolicy": {"retryType": "none"}})
    }

    /// A job that does an action every minute from the start of the clock.
    pub(crate) fn minutely(&self, path: &str) -> Value {
        json!({"startTime": START, "action": self.action(path), "recurrence": {"frequency": "minute"}})
    }

    pub(crate) fn call(&self, method: &str, below: &str, body: Option<&Value>) -> Answer {
        self.server.call(method, &Server::path(&format!("/c{below}")), body)
    }

    pub(crate) fn put(&self, job: &str, properties: &Value) -> Value {
        let answer = self.call("PUT", &format!("/jobs/{job}"), Some(&json!({"properties": properties})));
        assert!([200, 201].contains(&answer.status), "{}", answer.body);
        answer.body["properties"].clone()
    }

    pub(crate) fn patch(&self, job: &str, properties: &Value) -> Value {
        let answer = self.call("PATCH", &format!("/jobs/{job}"), Some(&json!({"properties": properties})));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["properties"].clone()
    }

    pub(crate) fn run(&self, job: &str) {
        assert_eq!(self.call("POST", &format!("/jobs/{job}/run"), None).status, 200);
    }

    pub(crate) fn get(&self, job: &str) -> Value {
        let answer = self.call("GET", &format!("/jobs/{job}"), None);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["properties"].clone()
    }

    /// The counters of a job: executions, failures, faulted.
    pub(crate) fn counters(&self, job: &str) -> [u64; 3] {
        let status = self.get(job)["status"].clone();
        ["executionCount", "failureCount", "faultedCount"]
            .map(|name| status[name].as_u64().unwrap_or_default())
    }

    /// Waits until a job is as it should be, and gives it.
    pub(crate) fn wait_until(&self, job: &str, what: &str, reached: impl Fn(&Value) -> bool) -> Value {
        wait_while_it_goes_on(&format!("{job} is {what}"), || {
            let job = self.get(job);
            let answer = reached(&job).then(|| job.clone());
            (job, answer)
        })
    }

    pub(crate) fn wait_for_state(&self, job: &str, state: &str) -> Value {
        self.wait_until(job, state, |job| job["state"] == state)
    }

    /// Waits until a job has been executed so many times and no attempt of it is to come before the next.
    pub(crate) fn wait_for_executions(&self, job: &str, count: u64) -> Value {
        self.wait_until(job, &format!("executed {count} times"), |job| {
            job["status"]["executionCount"].as_u64() >= Some(count)
        })
    }

    /// The properties of all history records that a filter lets through, newest first.
    pub(crate) fn history(&self, job: &str, filter: &str) -> Vec<Value> {
        let mut records = Vec::new();
        loop {
            let below = format!("/jobs/{job}/history?$top=100&$skip={}{filter}", records.len());
            let page = self.call("GET", &below, None);
            assert_eq!(page.status, 200, "{}", page.body);
            let page: Vec<Value> = page.body["value"].as_array().unwrap().clone();
            let done = page.len() < 100;
            records.extend(page.into_iter().map(|record| record["properties"].clone()));
            if done {
                return records;
            }
        }
    }

    /// Waits until a job has so many records, and gives them, newest first.
    pub(crate) fn wait_for_history(&self, job: &str, count: usize) -> Vec<Value> {
        wait_for(&format!("{job} has {count} records"), || {
            Some(self.history(job, "")).filter(|records| records.len() >= count)
        })
    }

    /// The rows of the occurrences API between two instants.
    pub(crate) fn occurrences(&self, job: &str, from: Timestamp, to: Timestamp) -> Vec<Value> {
        occurrences(&self.server.address, ("c", job), from, to)
    }
}

/// The rows of the occurrences API of a job of a collection.
pub(crate) fn occurrences(
    address: &str,
    (collection, job): (&str, &str),
    from: Timestamp,
    to: Timestamp,
) -> Vec<Value> {
    let mut path = Server::path(&format!("/{collection}/jobs/{job}/occurrences?from={from}&to={to}"));
    path = path.replace("2016-03-01", "2026-11-01");
    let mut rows = Vec::new();
    loop {
        let page = call_at(address, None, "GET", &path, None);
        assert_eq!(page.status, 200, "{}", page.body);
        rows.extend(page.body["value"].as_array().unwrap().iter().cloned());
        let Some(next) = page.body["nextLink"].as_str() else { return rows };
        let at = next.find("/subscriptions").unwrap();
        path = next[at..].to_owned();
    }
}

/// Starts a server on a virtual clock.
pub(crate) fn started_at(data: &Path, clock_start: Timestamp, speed: u32, more: &[&str]) -> Server {
    let (clock_start, speed) = (clock_start.to_string(), speed.to_string());
    let clock = ["--clock-start", &clock_start, "--clock-speed", &speed];
    Server::start(data, &[&clock[..], more].concat())
}

/// Asks until there is an answer.
pub(crate) fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    wait_while_it_goes_on(what, || ((), ask()))
}

/// Asks until there is an answer. On a busy machine that may take long: it is in vain when what is seen meanwhile
/// does not change any more.
fn wait_while_it_goes_on<S: PartialEq, T>(what: &str, mut ask: impl FnMut() -> (S, Option<T>)) -> T {
    // Nobody signals what a server does: it is asked again after a moment.
    let (_keep, moment) = std::sync::mpsc::channel::<()>();
    let pause = std::time::Duration::from_millis(20);
    let mut before = None;
    let mut in_vain = 0;
    while in_vain < 3 * SOON.as_millis() / pause.as_millis() {
        let (seen, answer) = ask();
        if let Some(answer) = answer {
            return answer;
        }
        in_vain = if before.as_ref() == Some(&seen) { in_vain + 1 } else { 0 };
        before = Some(seen);
        let _ = moment.recv_timeout(pause);
    }
    panic!("waited in vain until {what}");
}

pub(crate) fn instant(value: &Value) -> Timestamp {
    value.as_str().unwrap_or_else(|| panic!("{value} is no instant")).parse().unwrap()
}
