//! Firing from end to end: the real binary, a real receiver, a clock that goes fast.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::command::punctual;
use crate::receiver::{Hit, Receiver};
use crate::scheduler::{START, Scheduler, instant, minutes};
use crate::server::Server;

/// The wanted members of records, oldest first.
fn rows(records: &[Value], members: &[&str]) -> Vec<Vec<String>> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let row = |record: &Value| members.iter().map(|member| text(&record[*member])).collect();
    records.iter().rev().map(row).collect()
}

fn fixed(count: u32) -> Value {
    json!({"retryType": "fixed", "retryInterval": "00:00:15", "retryCount": count})
}

#[test]
fn a_request_carries_what_the_contract_says() {
    let scheduler = Scheduler::start(1);
    let mut action = scheduler.action("/ok?x=%2d");
    action["request"]["method"] = json!("POST");
    action["request"]["body"] = json!("some text");
    action["request"]["headers"] = json!({"x-own": "1", "X-MS-Scheduler-Execution-Region": "mine"});
    scheduler.put("Plain", &json!({"action": action}));
    let hit = scheduler.receiver.wait_for("Plain", 1).remove(0);
    assert_eq!(
        (hit.method.as_str(), hit.path.as_str(), hit.body.as_str()),
        ("POST", "/ok?x=%2d", "some text")
    );
    let check = |name: &str, value: &str| assert_eq!(hit.header(name), value, "{name}");
    check("x-ms-scheduler-jobid", "Plain");
    check("x-ms-scheduler-jobcollectionid", "c");
    check("x-ms-scheduler-attempt", "0");
    check("x-own", "1");
    check("x-ms-scheduler-execution-region", "mine");
    check("content-type", "text/plain; charset=utf-8");
    assert!(hit.header("user-agent").starts_with("punctual/"));
    assert_eq!(hit.header("x-ms-client-request-id").len(), 36);
    assert!(hit.tag().len() == 32 && hit.tag().chars().all(|digit| "0123456789abcdef".contains(digit)));
    assert!(hit.expected_at() >= minutes(0) && hit.expected_at() < minutes(5));
    let job = scheduler.wait_for_state("Plain", "completed");
    assert_eq!(job["status"]["nextExecutionTime"], Value::Null);
    let record = &scheduler.history("Plain", "")[0];
    let message = record["message"].as_str().unwrap();
    let expected = format!("Http Action - Response from host '{}': 'OK'", "127.0.0.1");
    assert!(message.starts_with(&expected) && message.ends_with("Body: hi"), "{message}");
}

#[test]
fn a_failure_is_retried_after_its_pause_until_it_succeeds() {
    let scheduler = Scheduler::start(60);
    let mut action = scheduler.action("/twice");
    action["retryPolicy"] = fixed(3);
    scheduler.put("j", &json!({"action": action}));
    scheduler.wait_for_state("j", "completed");
    let history = scheduler.history("j", "");
    assert_eq!(
        rows(&history, &["status", "retryCount", "repeatCount", "actionName"]),
        [
            ["failed", "0", "1", "MainAction"],
            ["failed", "1", "1", "MainAction"],
            ["completed", "2", "1", "MainAction"]
        ]
    );
    for pair in history.windows(2) {
        let pause = instant(&pair[0]["startTime"]).duration_since(instant(&pair[1]["endTime"]));
        assert!(pause >= SignedDuration::from_secs(15), "{pause:?}");
        assert_eq!(pair[0]["expectedExecutionTime"], pair[1]["expectedExecutionTime"]);
    }
    let hits = scheduler.receiver.hits_of("j");
    assert_eq!(hits.iter().map(Hit::attempt).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(hits.iter().map(Hit::tag).collect::<BTreeSet<_>>().len(), 1);
    let ids: BTreeSet<_> = hits.iter().map(|hit| hit.header("x-ms-client-request-id")).collect();
    assert_eq!(ids.len(), 3, "new for each attempt");
    assert_eq!(scheduler.counters("j"), [1, 2, 0]);
    let count = |filter: &str| scheduler.history("j", &format!("&$filter=status%20eq%20{filter}")).len();
    assert_eq!((count("Failed"), count("completed"), count("Postponed")), (2, 1, 0));
    let rows = scheduler.occurrences("j", minutes(-10), minutes(600));
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["outcome"], &rows[0]["attempts"]), (&json!("succeeded"), &json!(3)));
}

#[test]
fn error_actions_follow_in_a_chain_each_with_its_own_retries_and_the_job_is_faulted() {
    let scheduler = Scheduler::start(60);
    let mut last = scheduler.action("/ok-last");
    last["retryPolicy"] = Value::Null;
    let mut second = scheduler.action("/fail-second");
    second["retryPolicy"] = fixed(1);
    second["errorAction"] = last;
    let mut action = scheduler.action("/fail-main");
    action["errorAction"] = second;
    scheduler.put("j", &json!({"action": action}));
    scheduler.wait_for_state("j", "faulted");
    let hits = scheduler.receiver.hits_of("j");
    let paths: Vec<_> = hits.iter().map(|hit| (hit.path.as_str(), hit.attempt())).collect();
    assert_eq!(paths, [("/fail-main", 0), ("/fail-second", 0), ("/fail-second", 1), ("/ok-last", 0)]);
    assert!(hits[1].tag() == hits[2].tag());
    assert_eq!(hits.iter().map(Hit::tag).collect::<BTreeSet<_>>().len(), 3, "a tag for each step");
    let history = scheduler.history("j", "");
    assert_eq!(
        rows(&history, &["status", "retryCount", "actionName"]),
        [
            ["failed", "0", "MainAction"],
            ["failed", "0", "ErrorAction"],
            ["failed", "1", "ErrorAction"],
            ["completed", "0", "ErrorAction"]
        ]
    );
    assert_eq!(scheduler.counters("j"), [1, 1, 1]);
}

#[test]
fn each_way_to_answer_has_its_outcome() {
    let scheduler = Scheduler::start(1);
    let check = |path: &str, state: &str, part: &str| {
        let job = path.trim_start_matches('/');
        scheduler.put(job, &json!({"action": scheduler.action(path)}));
        scheduler.wait_for_state(job, state);
        let message = scheduler.history(job, "")[0]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(part), "{path}: {message}");
        message
    };
    check("/created", "completed", "'Created'");
    check("/fail", "faulted", "'InternalServerError'");
    check("/redirect", "completed", "'OK'");
    check("/reset", "faulted", "Request to host");
    let message = check("/endless", "completed", "Body: xxx");
    assert_eq!(message.split_once("Body: ").unwrap().1.len(), 1024, "no more is kept");
    assert_eq!(scheduler.receiver.hits_of("redirect").len(), 2);
    let mut nobody = scheduler.action("/");
    nobody["request"]["uri"] = json!("http://127.0.0.1:1/");
    scheduler.put("nobody", &json!({"action": nobody}));
    scheduler.wait_for_state("nobody", "faulted");
    let message = scheduler.history("nobody", "")[0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("ConnectFailure Unable to connect to the remote server"), "{message}");
}

/// The one test that waits for the real time-out.
#[test]
fn a_target_that_hangs_costs_sixty_seconds_and_says_so() {
    let scheduler = Scheduler::start(1);
    scheduler.put("j", &json!({"action": scheduler.action("/hang")}));
    scheduler.wait_for_state("j", "faulted");
    let record = &scheduler.history("j", "")[0];
    let took = instant(&record["endTime"]).duration_since(instant(&record["startTime"])).as_secs_f64();
    assert!((59.9..75.0).contains(&took), "{took} s");
    let message = record["message"].as_str().unwrap();
    assert!(message.contains("The operation has timed out"), "{message}");
}

#[test]
fn the_last_occurrence_decides_how_a_counted_job_ends() {
    let scheduler = Scheduler::start(600);
    for (path, state, counters) in [("/ok", "completed", [3, 0, 0]), ("/fail", "faulted", [3, 3, 3])] {
        let recurrence = json!({"frequency": "minute", "count": 3});
        let job = path.trim_start_matches('/');
        scheduler.put(job, &json!({"action": scheduler.action(path), "recurrence": recurrence}));
        let ended = scheduler.wait_for_state(job, state);
        assert_eq!(scheduler.counters(job), counters);
        assert_eq!(ended["status"]["nextExecutionTime"], Value::Null);
        let history = scheduler.history(job, "");
        let ordinals = rows(&history, &["repeatCount"]);
        assert!(ordinals.iter().any(|row| row[0] == "3"), "{ordinals:?}");
        let refused = scheduler.call("PATCH", &format!("/jobs/{job}"), Some(&json!({"properties": {}})));
        assert_eq!(refused.status, 409, "it is final");
    }
}

#[test]
fn a_job_whose_end_is_past_is_completed_without_a_run() {
    let scheduler = Scheduler::start(1);
    let recurrence = json!({"frequency": "minute", "endTime": "2026-01-01"});
    let job = scheduler.put("j", &json!({"action": scheduler.action("/ok"), "recurrence": recurrence}));
    assert_eq!(job["state"], "completed");
    assert_eq!(scheduler.counters("j"), [0, 0, 0]);
}

#[test]
fn run_now_executes_once_in_every_state_and_changes_none() {
    let scheduler = Scheduler::start(1);
    let later = json!({"startTime": "2027-06-01T00:00:00Z", "action": scheduler.action("/ok"),
                       "recurrence": {"frequency": "day", "count": 1}});
    let mut disabled = later.clone();
    disabled["state"] = json!("disabled");
    scheduler.put("enabled", &later);
    scheduler.put("disabled", &disabled);
    scheduler.put("completed", &json!({"action": scheduler.action("/ok")}));
    scheduler.put("faulted", &json!({"action": scheduler.action("/fail")}));
    scheduler.wait_for_state("completed", "completed");
    scheduler.wait_for_state("faulted", "faulted");
    for (job, before) in [("enabled", 0), ("disabled", 0), ("completed", 1), ("faulted", 1)] {
        let next = scheduler.get(job)["status"]["nextExecutionTime"].clone();
        scheduler.run(job);
        let after = scheduler.wait_for_executions(job, before + 1);
        assert_eq!(after["state"], job);
        assert_eq!(after["status"]["nextExecutionTime"], next, "{job}");
        let history = scheduler.wait_for_history(job, before as usize + 1);
        assert_eq!(history[0]["repeatCount"], json!(before + 1));
    }
    let tags: BTreeSet<_> = scheduler.receiver.hits().iter().map(|hit| hit.tag().to_owned()).collect();
    assert_eq!(tags.len(), 6);
    assert_eq!(scheduler.call("POST", "/disable", None).status, 200);
    let refused = scheduler.call("POST", "/jobs/enabled/run", None);
    assert_eq!((refused.status, &refused.body["error"]["code"]), (409, &json!("Conflict")));
}

/// A minute job beside the one under test shows that time has passed.
fn with_beacon(speed: u32) -> Scheduler {
    let scheduler = Scheduler::start(speed);
    scheduler.put("beacon", &scheduler.minutely("/ok-beacon"));
    scheduler
}

#[test]
fn a_disabled_job_does_not_fire_and_has_no_arrears_when_it_is_enabled() {
    let scheduler = with_beacon(600);
    scheduler.put("j", &scheduler.minutely("/ok"));
    scheduler.receiver.wait_for("j", 2);
    let disabled = scheduler.patch("j", &json!({"state": "disabled"}));
    assert_eq!(
        (&disabled["state"], &disabled["status"]["nextExecutionTime"]),
        (&json!("disabled"), &Value::Null)
    );
    // What was in flight may still arrive; nothing else.
    let from = scheduler.receiver.wait_for_more("beacon", 2).last().unwrap().expected_at();
    let before = scheduler.receiver.hits_of("j").len();
    let to = scheduler.receiver.wait_for_more("beacon", 5).last().unwrap().expected_at();
    assert_eq!(scheduler.receiver.hits_of("j").len(), before);
    let enabled = scheduler.patch("j", &json!({"state": "enabled"}));
    let next = instant(&enabled["status"]["nextExecutionTime"]);
    assert!(next > to, "{next} is in the future");
    let hit = scheduler.receiver.wait_for("j", before + 1).remove(before);
    assert!(hit.expected_at() >= next);
    let second = SignedDuration::from_secs(1);
    let rows = scheduler.occurrences("j", from + second, to);
    assert!(rows.is_empty(), "a disabled span yields nothing: {rows:?}");
}

#[test]
fn a_collection_that_is_switched_off_stops_its_jobs_and_lets_them_keep_their_states() {
    let scheduler = with_beacon(600);
    scheduler.server.put_collection("d");
    let below = |rest: &str| crate::server::Server::path(&format!("/d{rest}"));
    for (job, state) in [("on", "enabled"), ("off", "disabled")] {
        let mut properties = scheduler.minutely(&format!("/ok-{job}"));
        properties["state"] = json!(state);
        let body = json!({"properties": properties});
        assert_eq!(scheduler.server.call("PUT", &below(&format!("/jobs/{job}")), Some(&body)).status, 201);
    }
    scheduler.receiver.wait_for("on", 2);
    assert_eq!(scheduler.server.call("POST", &below("/disable"), None).status, 200);
    scheduler.receiver.wait_for_more("beacon", 2);
    let before = scheduler.receiver.hits_of("on").len();
    let job = scheduler.server.call("GET", &below("/jobs/on"), None).body;
    assert_eq!(job["properties"]["state"], "enabled");
    assert_eq!(job["properties"]["status"]["nextExecutionTime"], Value::Null);
    let to = scheduler.receiver.wait_for_more("beacon", 4).last().unwrap().expected_at();
    assert_eq!(scheduler.receiver.hits_of("on").len(), before);
    assert_eq!(scheduler.server.call("POST", &below("/enable"), None).status, 200);
    let hits = scheduler.receiver.wait_for("on", before + 2);
    assert!(hits[before].expected_at() > to, "no arrears");
    assert_eq!(scheduler.receiver.hits_of("off").len(), 0);
}

#[test]
fn what_comes_due_while_the_last_one_runs_is_postponed_and_the_others_are_skipped_as_overlap() {
    let scheduler = with_beacon(600);
    scheduler.put("j", &scheduler.minutely("/hang"));
    scheduler.receiver.wait_for("j", 1);
    scheduler.receiver.wait_for_more("beacon", 5);
    assert_eq!(scheduler.receiver.hits_of("j").len(), 1, "one at a time");
    scheduler.receiver.let_go(1);
    let hits = scheduler.receiver.wait_for("j", 2);
    let (first, second) = (hits[0].expected_at(), hits[1].expected_at());
    assert!(second >= first + SignedDuration::from_mins(4), "{first} {second}");
    let postponed = scheduler.history("j", "&$filter=status%20eq%20Postponed");
    assert_eq!(postponed.len(), 1);
    assert_eq!(instant(&postponed[0]["startTime"]), second, "when it was due");
    assert!(instant(&postponed[0]["endTime"]) > second, "when it was released");
    let rows = scheduler.occurrences("j", first, second);
    let outcomes: Vec<_> = rows.iter().map(|row| (&row["outcome"], &row["reason"])).collect();
    let (begin, rest) = outcomes.split_first().unwrap();
    let (end, between) = rest.split_last().unwrap();
    assert_eq!(*begin.0, "succeeded");
    assert_eq!(*end.0, "running");
    assert!(between.len() >= 3);
    assert!(between.iter().all(|row| *row.0 == "skipped" && *row.1 == "overlap"), "{between:?}");
    scheduler.patch("j", &json!({"state": "disabled"}));
    scheduler.receiver.let_go(9);
}

#[test]
fn after_a_downtime_the_newest_runs_and_the_others_are_missed() {
    let scheduler = Scheduler::start(60);
    scheduler.put("j", &scheduler.minutely("/ok"));
    scheduler.put("once", &json!({"startTime": minutes(100).to_string(), "action": scheduler.action("/ok")}));
    scheduler.receiver.wait_for("j", 1);
    let scheduler = scheduler.restart(minutes(600) + SignedDuration::from_secs(30), 1);
    let hit = scheduler.receiver.wait_for("once", 1).remove(0);
    assert_eq!(hit.expected_at(), minutes(100), "a job that runs once is late and not lost");
    scheduler
        .wait_until("j", "caught up", |job| instant(&job["status"]["lastExecutionTime"]) >= minutes(600));
    let hits = scheduler.receiver.hits_of("j");
    assert_eq!(hits.last().unwrap().expected_at(), minutes(600));
    let before = hits[hits.len() - 2].expected_at();
    let rows = scheduler.occurrences("j", before, minutes(600));
    let (ends, missed): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row["outcome"] == "succeeded");
    assert_eq!(ends.len(), 2);
    let gap = minutes(600).duration_since(before).as_mins() - 1;
    assert_eq!(missed.len() as i64, gap);
    assert!(missed.iter().all(|row| row["outcome"] == "skipped" && row["reason"] == "missed"));
    assert_eq!(rows.last().unwrap()["lateness"].as_str().map(|late| &late[..6]), Some("00:00:"));
}

#[test]
fn an_edit_passes_over_what_was_due_and_says_so() {
    let scheduler = Scheduler::start_with(&["--clock-start", START, "--role", "api"]);
    scheduler.put("j", &scheduler.minutely("/ok"));
    let scheduler = {
        let Scheduler { server, receiver, folder } = scheduler;
        server.signal("-TERM");
        assert!(server.wait().success());
        let server = crate::scheduler::started_at(folder.path(), minutes(10), 1, &["--role", "api"]);
        Scheduler { server, receiver, folder }
    };
    let disabled = scheduler.patch("j", &json!({"state": "disabled"}));
    assert_eq!(disabled["state"], "disabled");
    let rows = scheduler.occurrences("j", minutes(0), minutes(20));
    let due: Vec<_> = rows.iter().map(|row| (instant(&row["dueTime"]), row["reason"].clone())).collect();
    // The put came a moment after the start, so the first occurrence is a minute later.
    let expected: Vec<_> = (1..=10).map(|minute| (minutes(minute), json!("missed"))).collect();
    assert_eq!(due, expected);
}

#[test]
fn the_log_has_a_line_for_each_attempt_that_failed_and_nothing_of_its_request() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut command = punctual();
    command.env("PUNCTUAL_LOG__FORMAT", "json").stderr(std::fs::File::create(&log).unwrap());
    let arguments = ["--clock-start", START, "--clock-speed", "1"];
    let server = Server::start_as(&mut command, &folder.path().join("data"), &arguments);
    server.put_collection("c");
    let scheduler = Scheduler { server, receiver: Receiver::start(), folder };
    for (name, path) in [("bad", "/fail/path"), ("good", "/ok/path")] {
        let mut action = scheduler.action(path);
        action["request"]["method"] = json!("POST");
        action["request"]["headers"] = json!({"x-own": "header"});
        action["request"]["body"] = json!("some body");
        scheduler.put(name, &json!({"action": action}));
    }
    scheduler.wait_for_state("bad", "faulted");
    scheduler.wait_for_state("good", "completed");
    let hit = scheduler.receiver.wait_for("bad", 1).remove(0);
    let log = std::fs::read_to_string(log).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let attempts: Vec<_> = lines.iter().filter(|line| line["fields"]["tag"] != Value::Null).collect();
    let [line] = attempts[..] else { panic!("one line was expected: {log}") };
    assert_eq!(line["level"], "INFO");
    let fields = &line["fields"];
    let field = |name: &str| fields[name].as_str().unwrap().to_owned();
    assert_eq!(
        (field("name"), field("outcome"), field("kind")),
        ("c/bad".into(), "failed".into(), "500".into())
    );
    assert_eq!(field("tag"), hit.tag());
    assert_eq!(field("request"), hit.header("x-ms-client-request-id"));
    assert!(fields["job"].as_i64().unwrap() > 0 && fields["late_ms"].as_f64().unwrap() >= 0.0, "{line}");
    for secret in ["path", "header", "body", "http"] {
        assert!(!line.to_string().contains(secret), "{secret} is in {line}");
    }
}
