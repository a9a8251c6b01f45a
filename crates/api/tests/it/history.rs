//! History: what is listed, and what is left when a job goes.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::world::{World, http};

/// A job that succeeded twice and then failed with one retry.
async fn three_runs() -> World {
    let world = World::new().await;
    let mut action = http(json!({}));
    action["retryPolicy"] = json!({"retryCount": 1, "retryInterval": "00:00:30"});
    world.put_job("one", json!({"action": action, "recurrence": {"frequency": "Hour"}})).await.is(201);
    for succeeded in [true, true] {
        assert_eq!(world.fire(succeeded).await, 1);
        world.advance(SignedDuration::from_hours(1));
    }
    assert_eq!(world.fire(false).await, 1);
    // The retry is due 30 seconds after the end of the attempt.
    world.advance(SignedDuration::from_secs(31));
    assert_eq!(world.fire(false).await, 1);
    world
}

fn statuses(list: &Value) -> Vec<&str> {
    list["value"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["properties"]["status"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn records_are_newest_first_and_always_have_a_status() {
    let world = three_runs().await;
    let list = world.get("Jc/jobs/one/history").await.is(200);
    assert_eq!(statuses(&list.body), ["failed", "failed", "completed", "completed"]);
    let attempts: Vec<_> =
        list.body["value"].as_array().unwrap().iter().map(|one| &one["properties"]).collect();
    assert_eq!(attempts[0]["retryCount"], 1);
    assert_eq!((&attempts[0]["repeatCount"], &attempts[1]["repeatCount"]), (&json!(3), &json!(3)));
    let oldest = list.body["value"].as_array().unwrap().last().unwrap();
    assert_eq!(oldest["type"], "Microsoft.Scheduler/jobCollections/jobs/history");
    assert_eq!(
        oldest["properties"],
        json!({
            "startTime": "2026-11-15T12:00:00Z",
            "endTime": "2026-11-15T12:00:00.005Z",
            "expectedExecutionTime": "2026-11-15T12:00:00Z",
            "status": "completed",
            "message": "what the target said",
            "retryCount": 0,
            "repeatCount": 1,
            "actionName": "MainAction",
        })
    );
}

#[tokio::test]
async fn records_are_filtered_by_status_and_by_the_state_they_stand_for() {
    let world = three_runs().await;
    let check = async |filter: &str, expected: usize| {
        let list = world.get(&format!("Jc/jobs/one/history?$filter={filter}")).await.is(200);
        assert_eq!(statuses(&list.body).len(), expected, "{filter}");
    };
    check("status+eq+Completed", 2).await;
    check("status+eq+'failed'", 2).await;
    check("state+eq+completed", 2).await;
    check("state+eq+Faulted", 2).await;
    check("state+eq+Completed+and+status+eq+Completed", 2).await;
    check("state+eq+Completed+and+status+eq+Failed", 0).await;
    check("status+eq+Postponed", 0).await;
}

#[tokio::test]
async fn ids_of_records_are_unique_and_never_change() {
    let world = three_runs().await;
    let names = |list: &crate::world::Answer| list.names().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let before = names(&world.get("Jc/jobs/one/history").await);
    world.advance(SignedDuration::from_hours(1));
    world.fire(true).await;
    let after = names(&world.get("Jc/jobs/one/history").await);
    assert!(after.ends_with(&before));
    let mut sorted = after.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted, after, "ascending order is the newest first");
}

#[tokio::test]
async fn top_and_skip_page_through_history() {
    let world = three_runs().await;
    let all = world.get("Jc/jobs/one/history").await;
    let second = world.get("Jc/jobs/one/history?$top=1&$skip=1").await.is(200);
    assert_eq!(second.names(), [all.names()[1]]);
    assert!(second.body["nextLink"].is_null());
}

#[tokio::test]
async fn more_than_500_records_go_on_with_a_link() {
    let world = World::new().await;
    world.put_job("one", json!({"recurrence": {"frequency": "Minute"}})).await.is(201);
    for _ in 0..501 {
        assert_eq!(world.fire(true).await, 1);
        world.advance(SignedDuration::from_mins(1));
    }
    let first = world.get("Jc/jobs/one/history").await.is(200);
    assert_eq!(first.names().len(), 500);
    let link = first.body["nextLink"].as_str().unwrap().strip_prefix("http://localhost").unwrap();
    let second = world.get(link).await.is(200);
    assert_eq!(second.names().len(), 1);
    assert!(second.body["nextLink"].is_null());
}

#[tokio::test]
async fn history_goes_with_its_job_and_its_collection() {
    let world = three_runs().await;
    world.delete("Jc/jobs/one").await.is(200);
    world.get("Jc/jobs/one/history").await.refused(404, "NotFound");
    world.put_job("one", json!({"startTime": "2027-01-01T00:00:00Z"})).await.is(201);
    assert_eq!(world.get("Jc/jobs/one/history").await.names().len(), 0);
    world.delete("Jc").await.is(200);
    world.get("Jc/jobs/one/history").await.refused(404, "ResourceNotFound");
}
