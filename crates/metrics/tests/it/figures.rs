//! What is counted is what the text says.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_metrics::{Attempt, ClaimEnd, Format, Metrics, Sample, StoreSample};
use punctual_model::inspect::{FindingKind, KindCount};
use punctual_model::{ActionKind, Outcome, OutcomeKind, QueueMessage, Secret, SkipReason};

use crate::docs::full_sample;

const OPERATIONS: [&str; 2] = ["getJob", "putJob"];

fn queue() -> ActionKind {
    ActionKind::StorageQueue(QueueMessage {
        storage_account: "account".into(),
        queue_name: "queue".into(),
        sas_token: Secret::new("sig"),
        message: "text".into(),
    })
}

fn outcome(succeeded: bool, kind: OutcomeKind) -> Outcome {
    Outcome { succeeded, kind, message: "nobody reads this".into() }
}

/// The samples of a text by name and labels.
fn samples(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.rsplit_once(' ').unwrap());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[track_caller]
fn check(text: &str, name: &str, value: &str) {
    let samples = samples(text);
    assert_eq!(samples.get(name).map(String::as_str), Some(value), "{name} in\n{text}");
}

#[test]
fn an_attempt_is_counted_by_action_step_try_and_outcome() {
    let metrics = Metrics::new(OPERATIONS);
    let (action, ok) = (queue(), outcome(true, OutcomeKind::Word("Sent")));
    let gone = outcome(false, OutcomeKind::Status(404));
    let took = SignedDuration::from_millis(30);
    metrics.fired(&action, SignedDuration::from_micros(1_500));
    metrics.fired(&action, SignedDuration::from_hours(2));
    // A clock that was set back.
    metrics.fired(&action, SignedDuration::from_secs(-5));
    for (step, attempt, outcome) in [(0, 0, &ok), (0, 0, &ok), (0, 1, &gone), (2, 0, &gone)] {
        metrics.attempt(&Attempt { action: &action, step, attempt, outcome, took });
    }
    let text = metrics.encode(&Sample::default(), Format::Classic);
    let attempts = |step, tried, outcome| {
        format!(
            "punctual_attempts_total{{action=\"storage-queue\",step=\"{step}\",try=\"{tried}\",outcome=\"{outcome}\"}}"
        )
    };
    check(&text, &attempts("main", "first", "succeeded"), "2");
    check(&text, &attempts("main", "retry", "failed"), "1");
    check(&text, &attempts("error", "first", "failed"), "1");
    check(&text, &attempts("main", "first", "failed"), "0");
    check(&text, "punctual_attempt_failures_total{reason=\"4xx\"}", "2");
    check(&text, "punctual_attempt_duration_seconds_count{action=\"storage-queue\"}", "4");
    check(&text, "punctual_attempt_duration_seconds_bucket{le=\"0.02\",action=\"storage-queue\"}", "0");
    check(&text, "punctual_attempt_duration_seconds_bucket{le=\"0.05\",action=\"storage-queue\"}", "4");
    let late =
        |bound| format!("punctual_firing_lateness_seconds_bucket{{le=\"{bound}\",action=\"storage-queue\"}}");
    check(&text, &late("0.0005"), "1");
    check(&text, &late("0.001"), "1");
    check(&text, &late("0.002"), "2");
    check(&text, &late("3600.0"), "2");
    check(&text, &late("+Inf"), "3");
    check(&text, "punctual_firing_lateness_seconds_sum{action=\"storage-queue\"}", "7200.0015");
    check(&text, "punctual_firing_lateness_seconds_count{action=\"http\"}", "0");
}

#[test]
fn claims_skips_batches_and_commits_are_counted() {
    let metrics = Metrics::new(OPERATIONS);
    let ends =
        [ClaimEnd::Settled, ClaimEnd::GivenBack, ClaimEnd::TakenBack, ClaimEnd::Deleted, ClaimEnd::Fenced];
    for (at, end) in ends.into_iter().enumerate() {
        (0..=at).for_each(|_| metrics.claim_ended(end));
    }
    metrics.claimed();
    metrics.skipped(SkipReason::Overlap, 3);
    metrics.skipped(SkipReason::Missed, 700);
    metrics.batch(12, Duration::from_millis(3), true);
    metrics.batch(5, Duration::from_millis(3), false);
    metrics.commit(7, Duration::from_micros(150));
    let text = metrics.encode(&Sample::default(), Format::Classic);
    for (ending, count) in
        [("settled", "1"), ("given-back", "2"), ("taken-back", "3"), ("deleted", "4"), ("fenced", "5")]
    {
        check(&text, &format!("punctual_claims_ended_total{{ending=\"{ending}\"}}"), count);
    }
    check(&text, "punctual_claims_total", "1");
    check(&text, "punctual_occurrences_skipped_total{reason=\"overlap\"}", "3");
    check(&text, "punctual_occurrences_skipped_total{reason=\"missed\"}", "700");
    check(&text, "punctual_record_batch_size_sum", "12.0");
    check(&text, "punctual_record_batch_duration_seconds_count", "1");
    check(&text, "punctual_record_batch_failures_total", "1");
    check(&text, "punctual_store_commit_size_sum", "7.0");
    check(&text, "punctual_store_commit_duration_seconds_bucket{le=\"0.0002\"}", "1");
}

#[test]
fn whatever_is_asked_for_there_are_no_new_series() {
    let metrics = Metrics::new(OPERATIONS);
    let series = |text: &str| samples(text).into_keys().collect::<BTreeSet<_>>();
    let before = series(&metrics.encode(&full_sample(), Format::OpenMetrics));
    for status in [0, 200, 304, 404, 405, 418, 500, 599, 999, u16::MAX] {
        metrics.request(Some("getJob"), status, Duration::ZERO);
        metrics.request(Some("somethingElse"), status, Duration::MAX);
        metrics.request(None, status, Duration::ZERO);
    }
    let failed = outcome(false, OutcomeKind::Word("NeverHeardOf"));
    let action = queue();
    metrics.attempt(&Attempt {
        action: &action,
        step: u8::MAX,
        attempt: u32::MAX,
        outcome: &failed,
        took: SignedDuration::MIN,
    });
    let text = metrics.encode(&full_sample(), Format::OpenMetrics);
    assert_eq!(series(&text), before);
    check(&text, "punctual_api_requests_total{operation=\"none\",status=\"4xx\"}", "6");
    check(&text, "punctual_api_requests_total{operation=\"getJob\",status=\"2xx\"}", "2");
    check(&text, "punctual_api_request_duration_seconds_count{operation=\"none\"}", "20");
}

#[test]
fn what_is_not_known_is_left_out() {
    let metrics = Metrics::new(OPERATIONS);
    let unknown = metrics.encode(&Sample::default(), Format::Classic);
    for name in [
        "punctual_jobs",
        "punctual_backlog",
        "punctual_tls",
        "punctual_slots",
        "process_",
        "punctual_store_size",
    ] {
        assert!(!unknown.contains(name), "{name}");
        assert!(metrics.encode(&full_sample(), Format::Classic).contains(name), "{name}");
    }
    check(&unknown, "punctual_store_writable", "0");
}

#[test]
fn a_sample_is_shown_as_it_was_read() {
    let metrics = Metrics::new(OPERATIONS);
    let mut sample = full_sample();
    sample.version = "1.2.3";
    sample.certificate_expires_at = Some(Timestamp::from_second(2_000_000_000).unwrap());
    sample.store = StoreSample { readable: true, writable: false, problem_count: 2 };
    sample.inspection.counts = vec![KindCount { kind: FindingKind::ClockHeld, open: 1, total: 4 }];
    sample.node.clock_lead = SignedDuration::from_millis(-250);
    let text = metrics.encode(&sample, Format::Classic);
    check(&text, "punctual_build_info{version=\"1.2.3\"}", "1");
    check(&text, "punctual_tls_certificate_expiry_timestamp_seconds", "2000000000.0");
    check(&text, "punctual_store_readable", "1");
    check(&text, "punctual_store_writable", "0");
    check(&text, "punctual_store_problems", "2");
    check(&text, "punctual_findings_open{kind=\"clock-held\"}", "1");
    check(&text, "punctual_findings_total{kind=\"clock-held\"}", "4");
    check(&text, "punctual_findings_total{kind=\"overdue\"}", "0");
    check(&text, "punctual_node_clock_lead_seconds", "-0.25");
}

#[test]
fn both_formats_have_the_same_samples_and_are_well_formed() {
    let metrics = Metrics::new(OPERATIONS);
    let [open, classic] =
        [Format::OpenMetrics, Format::Classic].map(|format| metrics.encode(&full_sample(), format));
    assert_eq!(samples(&open), samples(&classic));
    assert!(open.ends_with("\n# EOF\n") && open.contains("# TYPE punctual_claims counter\n"), "{open}");
    assert!(open.contains("# UNIT punctual_firing_lateness_seconds seconds\n"));
    assert!(!classic.contains("# EOF") && !classic.contains("# UNIT"));
    assert!(classic.contains("# TYPE punctual_claims_total counter\npunctual_claims_total 0\n"));
    // Each name is described once, and its samples follow it.
    let mut described = BTreeSet::new();
    let mut name = "";
    for line in classic.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            name = rest.split(' ').next().unwrap();
            assert!(described.insert(name), "{name} is described twice");
        } else if !line.starts_with('#') {
            assert!(line.starts_with(name), "{line} comes after {name}");
        }
    }
}
