//! What becomes of an occurrence in flight: edits, deletion, stopping and killing in the middle of it.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::receiver::Hit;
use crate::scheduler::{Scheduler, instant, minutes, started_at};

fn retrying(scheduler: &Scheduler, path: &str, count: u32) -> Value {
    let mut action = scheduler.action(path);
    action["retryPolicy"] = json!({"retryType": "fixed", "retryInterval": "00:00:15", "retryCount": count});
    action
}

#[test]
fn what_was_in_flight_when_it_was_killed_is_repeated_with_the_same_tag_and_recorded_once() {
    let scheduler = Scheduler::start(1);
    scheduler.put("j", &json!({"action": scheduler.action("/hang")}));
    scheduler.receiver.wait_for("j", 1);
    let Scheduler { server, receiver, folder } = scheduler;
    server.signal("-KILL");
    assert!(!server.wait().success());
    let server = started_at(folder.path(), minutes(5), 1, &[]);
    let scheduler = Scheduler { server, receiver, folder };
    let hits = scheduler.receiver.wait_for("j", 2);
    // The one that nobody waits for any more takes a permit too.
    scheduler.receiver.let_go(2);
    scheduler.wait_for_state("j", "completed");
    let of = |hit: &Hit| (hit.tag().to_owned(), hit.attempt(), hit.expected_at());
    assert_eq!(of(&hits[0]), of(&hits[1]));
    assert_ne!(hits[0].header("x-ms-client-request-id"), hits[1].header("x-ms-client-request-id"));
    assert_eq!((scheduler.history("j", "").len(), scheduler.counters("j")), (1, [1, 0, 0]));
}

#[test]
fn a_stop_lets_what_is_under_way_finish_and_nothing_is_repeated() {
    let scheduler = Scheduler::start(1);
    scheduler.put("j", &json!({"action": scheduler.action("/hang")}));
    scheduler.receiver.wait_for("j", 1);
    let Scheduler { server, receiver, folder } = scheduler;
    server.signal("-TERM");
    receiver.let_go(1);
    assert!(server.wait().success());
    let server = started_at(folder.path(), minutes(5), 1, &[]);
    let scheduler = Scheduler { server, receiver, folder };
    assert_eq!(scheduler.get("j")["state"], "completed");
    assert_eq!((scheduler.history("j", "").len(), scheduler.receiver.hits_of("j").len()), (1, 1));
}

#[test]
fn a_pending_retry_survives_a_kill_and_comes_when_it_is_due() {
    let scheduler = Scheduler::start(1);
    scheduler.put("j", &json!({"action": retrying(&scheduler, "/twice", 5)}));
    let first = scheduler.wait_for_history("j", 1).remove(0);
    let Scheduler { server, receiver, folder } = scheduler;
    server.signal("-KILL");
    assert!(!server.wait().success());
    let server = started_at(folder.path(), instant(&first["endTime"]), 60, &[]);
    let scheduler = Scheduler { server, receiver, folder };
    scheduler.wait_for_state("j", "completed");
    let history = scheduler.history("j", "");
    assert_eq!((history.len(), scheduler.counters("j")), (3, [1, 2, 0]));
    let pause = instant(&history[1]["startTime"]).duration_since(instant(&first["endTime"]));
    assert!(pause.as_secs() >= 15, "{pause:?}");
}

#[test]
fn later_attempts_use_the_definition_as_it_is_then() {
    let scheduler = Scheduler::start(60);
    scheduler.put("j", &json!({"action": retrying(&scheduler, "/fail", 20)}));
    scheduler.wait_for_history("j", 1);
    scheduler.patch("j", &json!({"action": {"request": {"uri": scheduler.receiver.url("/ok-patched")}}}));
    scheduler.wait_for_state("j", "completed");
    let hits = scheduler.receiver.hits_of("j");
    let (last, before) = hits.split_last().unwrap();
    assert!(last.path == "/ok-patched" && before.iter().all(|hit| hit.path == "/fail"));
    assert!(before.iter().all(|hit| hit.tag() == last.tag()));
    assert_eq!(scheduler.counters("j"), [1, before.len() as u64, 0]);
}

#[test]
fn disabling_drops_a_pending_retry_and_the_occurrence_has_failed() {
    let scheduler = Scheduler::start(1);
    scheduler.put("j", &json!({"action": retrying(&scheduler, "/fail", 5)}));
    scheduler.wait_for_history("j", 1);
    let disabled = scheduler.patch("j", &json!({"state": "disabled"}));
    assert_eq!(disabled["status"]["faultedCount"], 1);
    let enabled = scheduler.patch("j", &json!({"state": "enabled"}));
    assert_eq!(enabled["state"], "faulted", "nothing is left, and the last occurrence failed");
    assert_eq!((scheduler.receiver.hits_of("j").len(), scheduler.counters("j")), (1, [1, 1, 1]));
}

#[test]
fn a_put_in_the_middle_of_an_attempt_begins_a_generation_and_loses_no_record() {
    let scheduler = Scheduler::start(1);
    scheduler.put("j", &json!({"action": scheduler.action("/hang")}));
    scheduler.receiver.wait_for("j", 1);
    let later = json!({"startTime": minutes(600).to_string(), "action": scheduler.action("/ok")});
    scheduler.put("j", &later);
    scheduler.receiver.let_go(1);
    let record = scheduler.wait_for_history("j", 1).remove(0);
    assert_eq!((&record["status"], &record["repeatCount"]), (&json!("completed"), &json!(1)));
    assert_eq!((&scheduler.get("j")["state"], scheduler.counters("j")), (&json!("enabled"), [0, 0, 0]));
    assert_eq!(instant(&scheduler.get("j")["status"]["nextExecutionTime"]), minutes(600));
}

#[test]
fn while_an_occurrence_is_in_flight_the_next_execution_is_the_one_behind_it() {
    let scheduler = Scheduler::start(1);
    let daily = json!({"action": scheduler.action("/hang"), "recurrence": {"frequency": "day"}});
    let put = scheduler.put("j", &daily);
    let first = instant(&put["status"]["nextExecutionTime"]);
    scheduler.receiver.wait_for("j", 1);
    let next = |properties: &Value| instant(&properties["status"]["nextExecutionTime"]);
    assert_eq!(next(&scheduler.get("j")), first + SignedDuration::from_hours(24));
    let list = scheduler.call("GET", "/jobs", None).body;
    assert_eq!(next(&list["value"][0]["properties"]), first + SignedDuration::from_hours(24));
    scheduler.receiver.let_go(1);
    scheduler.wait_for_history("j", 1);
    assert_eq!(next(&scheduler.get("j")), first + SignedDuration::from_hours(24));
}

#[test]
fn a_run_in_flight_while_its_job_is_disabled_is_run_once() {
    let scheduler = Scheduler::start(1);
    let later = json!({"startTime": minutes(600).to_string(), "action": scheduler.action("/hang"),
                       "recurrence": {"frequency": "day"}});
    scheduler.put("j", &later);
    scheduler.run("j");
    scheduler.receiver.wait_for("j", 1);
    scheduler.patch("j", &json!({"state": "disabled"}));
    scheduler.receiver.let_go(1);
    scheduler.wait_for_history("j", 1);
    // Another run shows that nothing else was before it.
    scheduler.receiver.let_go(1);
    scheduler.run("j");
    scheduler.wait_for_executions("j", 2);
    assert_eq!((scheduler.receiver.hits_of("j").len(), scheduler.counters("j")), (2, [2, 0, 0]));
    assert_eq!(scheduler.get("j")["state"], "disabled");
}

#[test]
fn a_job_that_is_deleted_in_the_middle_of_an_attempt_leaves_nothing_behind() {
    let scheduler = Scheduler::start(1);
    scheduler.put("j", &json!({"action": scheduler.action("/hang")}));
    scheduler.receiver.wait_for("j", 1);
    assert_eq!(scheduler.call("DELETE", "/jobs/j", None).status, 200);
    scheduler.receiver.let_go(1);
    let made_anew = scheduler.put("j", &json!({"action": scheduler.action("/ok")}));
    assert_eq!(made_anew["status"]["executionCount"], 0);
    scheduler.wait_for_state("j", "completed");
    let hits = scheduler.receiver.hits_of("j");
    assert_ne!(hits[0].tag(), hits[1].tag(), "another job");
    assert_eq!((scheduler.history("j", "").len(), scheduler.counters("j")), (1, [1, 0, 0]));
}
