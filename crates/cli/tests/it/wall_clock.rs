//! A server whose machine's clock is set days ahead and back. A small library, built here and loaded before others,
//! sets the clock of that one process; the time since the machine was started stays right, as it does on a machine
//! whose clock is set.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{punctual, run};
use crate::receiver::Receiver;
use crate::scheduler::wait_for;
use crate::server::Server;

const DAY: i64 = 86_400;

/// The clock of a server, to be set by its test.
struct WallClock {
    folder: TempDir,
    library: PathBuf,
}

impl WallClock {
    /// A clock that is right. Whoever has built Punctual has a C compiler.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libset.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/wall_clock/set.c");
        let mut build = Command::new("cc");
        let built = build.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status().unwrap();
        assert!(built.success(), "could not build the library that sets the clock");
        let clock = Self { folder, library };
        clock.set_by(0);
        clock
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("seconds")
    }

    /// The clock is so many seconds ahead of the real one from now on.
    fn set_by(&self, seconds: i64) {
        // Written in place and at once: the server has the file in its memory.
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(false).open(self.file()).unwrap();
        file.write_all(&seconds.to_ne_bytes()).unwrap();
    }

    /// A server that holds a step forward for so many seconds.
    fn serve(&self, data: &Path, hold_seconds: u64) -> Server {
        let mut command = punctual();
        command.env("LD_PRELOAD", &self.library).env("SET_CLOCK_FILE", self.file());
        command.env("PUNCTUAL_CLOCK__HOLD_SECONDS", hold_seconds.to_string()).stderr(Stdio::inherit());
        Server::start_as(&mut command, data, &[])
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock that the server's is compared with")]
fn now() -> Timestamp {
    Timestamp::now()
}

fn days(count: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * count)
}

/// A job that runs at once and then every hour: no test takes that long.
fn put_hourly(server: &Server, receiver: &Receiver) {
    let body = json!({"properties": {
        "action": {"type": "Http", "request": {"method": "GET", "uri": receiver.url("/ok")}},
        "recurrence": {"frequency": "Hour", "interval": 1}}});
    let answer = server.call("PUT", &Server::path("/c/jobs/j"), Some(&body));
    assert_eq!(answer.status, 201, "{}", answer.body);
}

/// Waits until something is as it should be.
fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    wait_for(what, || reached().then_some(()));
}

fn status(server: &Server) -> Value {
    server.call("GET", &Server::path("/c/jobs/j"), None).body["properties"]["status"].clone()
}

fn wait_until_recorded(server: &Server, count: u64) {
    wait_until("the run is recorded", || status(server)["executionCount"] == count);
}

/// When the job runs next.
fn next(server: &Server) -> Option<Timestamp> {
    status(server)["nextExecutionTime"].as_str().map(|text| text.parse().unwrap())
}

fn wait_until_resumed(server: &Server) {
    let soon = || next(server).is_some_and(|next| next <= now() + SignedDuration::from_mins(61));
    wait_until("the job resumes", soon);
}

fn kinds(server: &Server) -> Vec<String> {
    let findings = server.call("GET", "/doctor", None).body["findings"].clone();
    let kinds = findings.as_array().into_iter().flatten();
    kinds.map(|finding| finding["kind"].as_str().unwrap().to_owned()).collect()
}

/// The outcome and the reason of the occurrences from a time on.
fn ledger(server: &Server, from: Timestamp, limit: usize) -> Vec<Value> {
    let path = Server::path(&format!("/c/jobs/j/occurrences?$top={limit}&from={from}"));
    let page = server.call("GET", &path.replace("2016-03-01", "2026-11-01"), None).body;
    let rows = page["value"].as_array().unwrap_or_else(|| panic!("{page}"));
    rows.iter().map(|row| json!([row["outcome"], row["reason"]])).collect()
}

#[test]
fn a_job_that_fired_while_the_clock_was_days_ahead_resumes_when_it_is_set_back() {
    let (clock, receiver, folder) = (WallClock::new(), Receiver::start(), tempfile::tempdir().unwrap());
    let server = clock.serve(folder.path(), 1);
    server.put_collection("c");
    put_hourly(&server, &receiver);
    wait_until_recorded(&server, 1);

    clock.set_by(5 * DAY);
    let ahead = receiver.wait_for("j", 2).remove(1).expected_at();
    assert!(ahead > now() + days(4), "{ahead}");
    wait_until_recorded(&server, 2);
    wait_until("the step is told", || kinds(&server) == ["clock-forward"]);

    clock.set_by(0);
    wait_until_resumed(&server);
    wait_until("both steps are told", || kinds(&server) == ["clock-forward", "clock-back"]);
    let told = || {
        let doctor = run(&["doctor", "--url", &format!("http://{}", server.address)], "");
        assert_eq!(doctor.status.code(), Some(1));
        String::from_utf8(doctor.stdout).unwrap().contains("1 job had come up to")
    };
    wait_until("doctor says which jobs it concerned", told);

    let hour = SignedDuration::from_hours(1);
    let first = receiver.hits_of("j")[0].expected_at();
    let pending = json!(["pending", null]);
    assert_eq!(
        ledger(&server, first, 3),
        [json!(["succeeded", null]), pending.clone(), pending.clone()],
        "what was skipped comes again"
    );
    let after = [pending.clone(), json!(["succeeded", "clock"]), pending];
    assert_eq!(ledger(&server, ahead - hour, 3), after, "what was fired is not fired again");
    server.stop();
}

#[test]
fn a_step_that_is_taken_back_while_it_is_held_fires_nothing() {
    let (clock, receiver, folder) = (WallClock::new(), Receiver::start(), tempfile::tempdir().unwrap());
    let server = clock.serve(folder.path(), 3_600);
    server.put_collection("c");
    put_hourly(&server, &receiver);
    wait_until_recorded(&server, 1);
    let before = next(&server);

    clock.set_by(5 * DAY);
    wait_until("the step is held", || kinds(&server) == ["clock-held"]);
    clock.set_by(0);
    wait_until("it is over", || kinds(&server).is_empty());
    assert_eq!((receiver.hits_of("j").len(), next(&server)), (1, before));
    server.stop();
}

#[test]
fn a_job_resumes_though_the_clock_was_corrected_while_the_server_was_down() {
    let (clock, receiver, folder) = (WallClock::new(), Receiver::start(), tempfile::tempdir().unwrap());
    clock.set_by(5 * DAY);
    let server = clock.serve(folder.path(), 1);
    server.put_collection("c");
    put_hourly(&server, &receiver);
    wait_until_recorded(&server, 1);
    assert!(next(&server) > Some(now() + days(4)));
    server.signal("-KILL");
    assert!(!server.wait().success());
    clock.set_by(0);
    let server = clock.serve(folder.path(), 1);
    wait_until_resumed(&server);
    wait_until("it is told", || kinds(&server) == ["clock-back"]);
    server.stop();
}
