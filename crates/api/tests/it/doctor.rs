//! `GET /doctor`.

use punctual_model::inspect::{DueEntry, Finding, FindingKind, KindCount, Report, Subject};
use punctual_model::{CollectionKey, JobId};

use crate::world::World;

#[tokio::test]
async fn findings_are_told_with_what_they_mean_and_what_to_do() {
    let world = World::empty();
    let found_at = "2026-11-15T11:00:00Z".parse().unwrap();
    world.set_report(Report {
        enabled: true,
        schema_version: Some(2),
        findings: vec![Finding {
            kind: FindingKind::NoEntry,
            subject: Subject::Job(JobId(7)),
            key: Some(CollectionKey::new("s", "g", "c").job("j")),
            detail: "it is enabled and has no entry".into(),
            found_at,
        }],
        counts: FindingKind::ALL
            .map(|kind| {
                let open = u64::from(kind == FindingKind::NoEntry);
                KindCount { kind, open, total: open * 3 }
            })
            .to_vec(),
        oldest_due: Some(DueEntry { job: JobId(8), due_at: found_at }),
        progress: Some(0.5),
        ..Report::default()
    });
    let body = world.get("/doctor").await.is(200).body;
    assert_eq!(body["status"], "findings");
    assert_eq!(body["schemaVersion"], 2);
    assert_eq!(body["oldestDue"]["seconds"], 3_600.0);
    assert_eq!(body["scan"]["progress"], 0.5);
    let finding = &body["findings"][0];
    assert_eq!((finding["kind"].as_str(), finding["jobId"].as_i64()), (Some("no-entry"), Some(7)));
    let id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j";
    assert_eq!(finding["job"], id);
    let kinds = body["kinds"].as_array().unwrap();
    assert_eq!(kinds.len(), FindingKind::ALL.len());
    for kind in kinds {
        for text in ["meaning", "advice"] {
            assert!(kind[text].as_str().unwrap().ends_with('.'), "{kind}");
        }
    }
    let no_entry = kinds.iter().find(|kind| kind["kind"] == "no-entry").unwrap();
    assert_eq!((no_entry["open"].as_u64(), no_entry["total"].as_u64()), (Some(1), Some(3)));
}

#[tokio::test]
async fn the_status_is_the_worst_that_is_known() {
    let world = World::empty();
    let check = async |report: Report, expected: &str| {
        world.set_report(report);
        assert_eq!(world.get("/doctor").await.is(200).body["status"], expected);
    };
    let enabled = || Report { enabled: true, ..Report::default() };
    check(Report::default(), "off").await;
    check(enabled(), "healthy").await;
    check(Report { trouble: Some("busy".into()), ..enabled() }, "trouble").await;
    let counts = vec![KindCount { kind: FindingKind::Backlog, open: 1, total: 1 }];
    check(Report { counts, ..enabled() }, "findings").await;
}

#[tokio::test]
async fn a_task_that_has_ended_is_a_problem_and_the_server_is_not_ready() {
    let world = World::empty();
    world.get("/readyz").await.is(200);
    let failure = Some("the claimer ended: it panicked: out of luck".to_owned());
    for enabled in [true, false] {
        world.set_report(Report { enabled, failure: failure.clone(), ..Report::default() });
        let body = world.get("/doctor").await.is(200).body;
        assert_eq!(body["status"], "trouble");
        let problem = body["problems"][0].as_str().unwrap();
        assert!(problem.contains("the claimer ended: it panicked: out of luck. Start it anew"), "{problem}");
    }
    let body = world.get("/readyz").await.is(503).body;
    assert_eq!(body["error"]["code"], "ServiceUnavailable");
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("the claimer ended: it panicked: out of luck"), "{message}");
    world.get("/healthz").await.is(200);
}
