//! PATCH: a merge onto the definition, with its secrets.

use serde_json::{Value, json};

use crate::world::{World, http};

async fn patched(properties: Value, patch: Value) -> Value {
    let world = World::new().await;
    world.put_job("one", properties).await.is(201);
    world.patch("Jc/jobs/one", json!({ "properties": patch })).await.is(200).body["properties"].clone()
}

#[tokio::test]
async fn what_is_not_mentioned_stays() {
    let before = json!({
        "startTime": "2027-01-01T00:00:00Z",
        "action": http(json!({"headers": {"A": "1"}, "body": "b"})),
        "recurrence": {"frequency": "Week", "count": 5, "endTime": "2028-01-01T00:00:00Z"},
    });
    let after = patched(before, json!({"recurrence": {"frequency": "Day", "interval": 2}})).await;
    let recurrence =
        json!({"frequency": "day", "interval": 2, "count": 5, "endTime": "2028-01-01T00:00:00Z"});
    assert_eq!(after["recurrence"], recurrence);
    assert_eq!(after["startTime"], "2027-01-01T00:00:00Z");
    assert_eq!(after["action"], http(json!({"headers": {"A": "1"}, "body": "b"})));
}

#[tokio::test]
async fn null_removes_and_arrays_are_replaced() {
    let before = json!({
        "action": http(json!({"headers": {"A": "1", "B": "2"}})),
        "recurrence": {"frequency": "Day", "count": 5, "schedule": {"hours": [1, 2], "minutes": [0]}},
    });
    let patch = json!({
        "action": {"request": {"headers": {"A": null}}},
        "recurrence": {"count": null, "schedule": {"hours": [3]}},
    });
    let after = patched(before, patch).await;
    assert_eq!(after["action"]["request"]["headers"], json!({"B": "2"}));
    let recurrence = json!({"frequency": "day", "interval": 1, "schedule": {"minutes": [0], "hours": [3]}});
    assert_eq!(after["recurrence"], recurrence);
}

#[tokio::test]
async fn secrets_that_are_not_mentioned_stay_and_null_removes_them() {
    let world = World::new().await;
    let basic = json!({"type": "Basic", "username": "u", "password": "p"});
    world.put_job("one", json!({"action": http(json!({"authentication": basic}))})).await.is(201);
    let patch = async |request: Value| {
        let body = json!({"properties": {"action": {"request": request}}});
        world.patch("Jc/jobs/one", body).await.is(200).body["properties"]["action"]["request"].clone()
    };
    let shown = json!({"username": "u", "type": "Basic"});
    assert_eq!(patch(json!({"method": "POST"})).await["authentication"], shown);
    assert_eq!(patch(json!({"authentication": {"username": "v"}})).await["authentication"]["username"], "v");
    assert_eq!(patch(json!({"authentication": null})).await.get("authentication"), None);
}

#[tokio::test]
async fn another_action_type_drops_the_members_of_the_old_one() {
    let message = json!({"storageAccount": "a", "queueName": "q", "sasToken": "t", "message": "m"});
    let patch = json!({"action": {"type": "StorageQueue", "queueMessage": message}});
    let after = patched(json!({}), patch).await;
    let action = json!({"queueMessage": {"storageAccount": "a", "queueName": "q", "message": "m"}, "type": "StorageQueue"});
    assert_eq!(after["action"], action);
}

#[tokio::test]
async fn a_patch_that_makes_a_job_invalid_changes_nothing() {
    let world = World::new().await;
    let before = world.put_job("one", json!({"recurrence": {"frequency": "Day"}})).await.is(201);
    let patch = json!({"properties": {"recurrence": {"schedule": {"weekDays": ["Monday"]}}}});
    world.patch("Jc/jobs/one", patch).await.refused(400, "BadRequest");
    assert_eq!(world.get("Jc/jobs/one").await.body, before.body);
}

#[tokio::test]
async fn a_missing_job_can_not_be_patched() {
    let world = World::new().await;
    world.patch("Jc/jobs/no", json!({"properties": {}})).await.refused(404, "NotFound");
}

/// The interval is answered though it was left out; that makes it no change of the schedule.
#[tokio::test]
async fn a_patch_of_the_action_leaves_the_agenda_alone_where_the_interval_was_left_out() {
    let world = World::new().await;
    world.put_job("one", json!({"recurrence": {"frequency": "Hour"}})).await.is(201);
    let list = async || {
        let list = world.get("Jc/jobs/one/occurrences?$top=2&api-version=2026-11-01").await.is(200);
        list.body["value"].clone()
    };
    let before = list().await;
    assert_eq!(before[0]["outcome"], "pending");
    world.patch("Jc/jobs/one", json!({"properties": {"action": http(json!({"body": "b"}))}})).await.is(200);
    assert_eq!(list().await, before, "what is due was not passed over");
}
