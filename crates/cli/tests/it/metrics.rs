//! `GET /metrics` of a running server: what has happened is what the figures say.

use serde_json::json;

use crate::raw;
use crate::scheduler::{Scheduler, wait_for};
use crate::server::Server;

fn scrape(address: &str) -> String {
    let answer = raw::exchange(address, raw::request("GET", address, "/metrics", "", "").as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.text
}

/// The value of a sample.
fn value(text: &str, sample: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '))?.parse().ok()
}

fn attempts(step: &str, tried: &str, outcome: &str) -> String {
    format!(
        "punctual_attempts_total{{action=\"http\",step=\"{step}\",try=\"{tried}\",outcome=\"{outcome}\"}}"
    )
}

#[test]
fn what_was_fired_and_failed_is_counted() {
    let scheduler = Scheduler::start(60);
    let mut retried = scheduler.action("/fail");
    retried["retryPolicy"] = json!({"retryType": "fixed", "retryInterval": "00:00:15", "retryCount": 1});
    retried["errorAction"] = scheduler.action("/ok");
    scheduler.put("Ok", &json!({"action": scheduler.action("/ok")}));
    scheduler.put("Failing", &json!({"action": retried}));
    scheduler.wait_for_state("Ok", "completed");
    let address = &scheduler.server.address;
    // The main action and its retry have failed, the error action has succeeded, and all is recorded.
    let text = wait_for("the error action is recorded", || {
        let text = scrape(address);
        let settled = value(&text, "punctual_claims_ended_total{ending=\"settled\"}");
        (settled >= Some(4.0)).then_some(text)
    });
    let check =
        |sample: &str, expected: f64| assert_eq!(value(&text, sample), Some(expected), "{sample}\n{text}");
    check(&attempts("main", "first", "succeeded"), 1.0);
    check(&attempts("main", "first", "failed"), 1.0);
    check(&attempts("main", "retry", "failed"), 1.0);
    check(&attempts("error", "first", "succeeded"), 1.0);
    check("punctual_attempt_failures_total{reason=\"5xx\"}", 2.0);
    check("punctual_firing_lateness_seconds_count{action=\"http\"}", 4.0);
    check("punctual_attempt_duration_seconds_count{action=\"http\"}", 4.0);
    check("punctual_record_batch_size_sum", 4.0);
    check("punctual_attempts_in_flight", 0.0);
    check("punctual_attempts_unrecorded", 0.0);
    check("punctual_claims_held", 0.0);
    check("punctual_jobs", 2.0);
    check("punctual_server_failed", 0.0);
    check("punctual_store_readable", 1.0);
    check("punctual_store_writable", 1.0);
    check("punctual_node_may_fire", 1.0);
    check("punctual_nodes_firing", 1.0);
    check("punctual_findings_total{kind=\"overdue\"}", 0.0);
    check("punctual_api_requests_total{operation=\"putJob\",status=\"2xx\"}", 2.0);
    let above = |sample: &str, least: f64| assert!(value(&text, sample) > Some(least), "{sample}\n{text}");
    above("punctual_store_commit_size_sum", 3.0);
    above("punctual_store_size_bytes", 4096.0);
    above("punctual_store_disk_free_bytes", 0.0);
    above("punctual_slots_limit", 100.0);
    above("process_resident_memory_bytes", 1_000_000.0);
    above("process_open_fds", 5.0);
    above("process_start_time_seconds", 1_700_000_000.0);
    assert_eq!(value(&text, "punctual_tls_certificate_expiry_timestamp_seconds"), None, "it has no TLS");
    assert!(text.contains(concat!("punctual_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1\n")));
}

#[test]
fn a_process_that_does_not_fire_has_a_backlog_and_no_slots() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "api"]);
    server.put_collection("c");
    let action = json!({"type": "Http", "request": {"method": "GET", "uri": "http://127.0.0.1:9/"}});
    let job = json!({"properties": {"action": action}});
    assert_eq!(server.call("PUT", &Server::path("/c/jobs/due"), Some(&job)).status, 201);
    let text = wait_for("the inspector has seen it", || {
        let text = scrape(&server.address);
        (value(&text, "punctual_backlog_entries") == Some(1.0)).then_some(text)
    });
    assert!(value(&text, "punctual_backlog_oldest_age_seconds") >= Some(0.0), "{text}");
    assert_eq!(value(&text, "punctual_slots_limit"), None);
    assert_eq!(value(&text, "punctual_node_may_fire"), Some(0.0));
}
