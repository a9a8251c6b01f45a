//! Past occurrences that are run again.

use axum::body::Body;
use jiff::SignedDuration;
use punctual_api::AccessMode;
use punctual_model::access::Role;
use serde_json::{Value, json};

use crate::world::{Answer, BASE, World, http, job};

async fn rerun(world: &World, due: &str) -> Answer {
    world.post(&format!("Jc/jobs/one/occurrences/{due}/rerun?api-version=2026-11-01")).await
}

async fn rows(world: &World) -> Vec<Value> {
    let list =
        world.get("Jc/jobs/one/occurrences?api-version=2026-11-01&to=2026-11-15T12:59:59Z").await.is(200);
    list.body["value"].as_array().unwrap().clone()
}

/// A job of every hour whose first occurrence, at noon, has failed, half an hour later.
async fn failed() -> World {
    let world = World::new().await;
    let mut action = http(json!({}));
    action["retryPolicy"] = json!({"retryType": "None"});
    world.put_job("one", json!({"action": action, "recurrence": {"frequency": "Hour"}})).await.is(201);
    assert_eq!(world.fire(false).await, 1);
    world.advance(SignedDuration::from_mins(30));
    world
}

const NOON: &str = "2026-11-15T12:00:00Z";

#[tokio::test]
async fn a_past_occurrence_runs_again_and_both_are_linked() {
    let world = failed().await;
    let answer = rerun(&world, NOON).await.is(202);
    assert_eq!(answer.body, json!({"dueTime": "2026-11-15T12:30:00Z", "of": NOON, "cause": "run"}));
    let shown = rows(&world).await;
    assert_eq!(
        (&shown[0]["outcome"], &shown[0]["reruns"]),
        (&json!("failed"), &json!(["2026-11-15T12:30:00Z"]))
    );
    assert_eq!(
        (&shown[1]["dueTime"], &shown[1]["outcome"]),
        (&json!("2026-11-15T12:30:00Z"), &json!("pending"))
    );
    assert_eq!((&shown[1]["rerunOf"], &shown[1]["cause"]), (&json!(NOON), &json!("run")));
    assert_eq!(world.fire(true).await, 1);
    let shown = rows(&world).await;
    assert_eq!((&shown[0]["outcome"], &shown[1]["outcome"]), (&json!("failed"), &json!("succeeded")));
    let records = world.get("Jc/jobs/one/history").await.body["value"].as_array().unwrap().len();
    assert_eq!(records, 2);
}

#[tokio::test]
async fn it_is_repeated_as_often_as_somebody_asks_and_a_repetition_can_be_repeated() {
    let world = failed().await;
    let runs = [rerun(&world, NOON).await.is(202), rerun(&world, NOON).await.is(202)];
    let runs: Vec<&str> = runs.iter().map(|run| run.body["dueTime"].as_str().unwrap()).collect();
    assert_ne!(runs[0], runs[1]);
    let shown = rows(&world).await;
    assert_eq!(shown[0]["reruns"], json!(runs));
    assert_eq!(shown.iter().filter(|row| row["outcome"] == "pending").count(), 2);
    for _ in &runs {
        assert_eq!(world.fire(true).await, 1);
        world.advance(SignedDuration::from_secs(1));
    }
    assert!(rows(&world).await[1..].iter().all(|row| row["outcome"] == "succeeded"));
    world.advance(SignedDuration::from_mins(1));
    let again = rerun(&world, runs[0]).await.is(202);
    assert_eq!(again.body["of"], runs[0]);
    let shown = rows(&world).await;
    assert_eq!(shown[1]["reruns"], json!([again.body["dueTime"]]));
    assert_eq!(shown.last().unwrap()["rerunOf"], runs[0]);
}

#[tokio::test]
async fn what_has_not_ended_or_never_was_is_refused() {
    let world = failed().await;
    let message = rerun(&world, "2026-11-15T13:00:00Z").await.refused(409, "Conflict");
    assert!(message.contains("still to come"), "{message}");
    let message = rerun(&world, "2026-11-15T12:10:00Z").await.refused(404, "NotFound");
    assert!(message.contains("2026-11-15T12:10:00Z"), "{message}");
    let message = rerun(&world, "soon").await.refused(400, "BadRequest");
    assert!(message.starts_with("dueTime: "), "{message}");
    world
        .post("Jc/jobs/no/occurrences/2026-11-15T12:00:00Z/rerun?api-version=2026-11-01")
        .await
        .refused(404, "NotFound");
    world
        .post("Jc/jobs/one/occurrences/2026-11-15T12:00:00Z/rerun")
        .await
        .refused(400, "InvalidApiVersionParameter");
    world.post("Jc/disable").await.is(200);
    rerun(&world, NOON).await.refused(409, "Conflict");
    let retried = World::new().await;
    retried.put_job("one", json!({"recurrence": {"frequency": "Hour"}})).await.is(201);
    assert_eq!(retried.fire(false).await, 1);
    let message = rerun(&retried, NOON).await.refused(409, "Conflict");
    assert!(message.contains("retried"), "{message}");
}

#[tokio::test]
async fn it_runs_whatever_the_state_of_the_job_is_which_stays() {
    let disabled = failed().await;
    disabled.patch("Jc/jobs/one", json!({"properties": {"state": "Disabled"}})).await.is(200);
    rerun(&disabled, "2026-11-15T12%3A00%3A00Z").await.is(202);
    assert_eq!(disabled.fire(true).await, 1);
    assert_eq!(disabled.get("Jc/jobs/one").await.properties()["state"], "disabled");
    let completed = World::new().await;
    completed.put_job("one", json!({})).await.is(201);
    assert_eq!(completed.fire(true).await, 1);
    completed.advance(SignedDuration::from_mins(1));
    rerun(&completed, NOON).await.is(202);
    assert_eq!(completed.fire(true).await, 1);
    assert_eq!(completed.get("Jc/jobs/one").await.properties()["state"], "completed");
    assert_eq!(rows(&completed).await[1]["outcome"], "succeeded");
}

#[tokio::test]
async fn too_many_that_wait_are_refused_for_now() {
    let world = failed().await;
    for _ in 0..101 {
        rerun(&world, NOON).await.is(202);
    }
    rerun(&world, NOON).await.refused(429, "TooManyRequests");
    let shown = rows(&world).await;
    assert_eq!(shown[0]["reruns"].as_array().unwrap().len(), 20);
    let pages =
        world.get("Jc/jobs/one/occurrences?api-version=2026-11-01&to=2026-11-15T12:59:59Z&$top=50").await;
    assert_eq!(pages.body["value"].as_array().unwrap().len(), 50);
}

#[tokio::test]
async fn a_rerun_takes_an_operator_and_is_noted_with_what_it_changed() {
    let world = World::with_access(AccessMode::Auto);
    let owner = world.token("owner", &[(Role::Owner, "/")]).await;
    let reader = world.token("reader", &[(Role::Reader, &format!("{BASE}/Jc"))]).await;
    let operator = world.token("operator", &[(Role::Operator, &format!("{BASE}/Jc"))]).await;
    let put = async |path: &str, body: Value| {
        world.call_as(Some(&owner), "PUT", path, Body::from(body.to_string())).await.is(201);
    };
    put("Jc", json!({"location": "West US"})).await;
    put("Jc/jobs/one", job(json!({"recurrence": {"frequency": "Hour"}}))).await;
    assert_eq!(world.fire(true).await, 1);
    world.advance(SignedDuration::from_mins(1));
    let path = format!("Jc/jobs/one/occurrences/{NOON}/rerun?api-version=2026-11-01");
    world.call_as(Some(&reader), "POST", &path, Body::empty()).await.refused(403, "AuthorizationFailed");
    world.call_as(Some(&operator), "POST", &path, Body::empty()).await.is(202);
    let log =
        world.call_as(Some(&owner), "GET", "/audit?api-version=2026-11-01", Body::empty()).await.is(200);
    let noted = log.body["value"].as_array().unwrap().iter().any(|entry| {
        entry["action"] == "Microsoft.Scheduler/jobcollections/jobs/occurrences/rerun/action"
            && entry["outcome"] == "done"
    });
    assert!(noted, "{}", log.text);
}
