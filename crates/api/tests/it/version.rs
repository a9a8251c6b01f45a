//! Api-versions.

use axum::body::Body;
use http::Request;
use serde_json::json;

use crate::world::{BASE, World, job};

#[tokio::test]
async fn an_api_version_is_required_and_must_be_known() {
    let world = World::new().await;
    let bare = Request::builder().uri(format!("{BASE}/Jc")).body(Body::empty()).unwrap();
    world.send(bare).await.refused(400, "MissingApiVersionParameter");
    let message = world.get("Jc?api-version=2015-01-01").await.refused(400, "InvalidApiVersionParameter");
    assert!(message.contains("2016-03-01, 2016-01-01, 2014-08-01-preview"), "{message}");
    world.get("Jc?API-Version=2016-03-01&api-version=").await.is(200);
}

#[tokio::test]
async fn older_versions_have_one_premium_plan() {
    let world = World::empty();
    let body = json!({"location": "West US", "properties": {"sku": {"name": "Premium"}}});
    for version in ["2014-08-01-preview", "2016-01-01"] {
        let put = world.put(&format!("Jc?api-version={version}"), body.clone()).await.is(201);
        assert_eq!(put.properties()["sku"]["name"], "Premium");
    }
    assert_eq!(world.get("Jc").await.properties()["sku"]["name"], "P10Premium");
    world.put("Other", body).await.refused(400, "BadRequest");
}

#[tokio::test]
async fn a_time_zone_is_seen_and_set_under_the_own_version_only() {
    let world = World::new().await;
    let own = "Jc/jobs/one?api-version=2026-11-01";
    let zoned = json!({"recurrence": {"frequency": "Day", "timeZone": "Europe/Berlin"}});
    world.put(own, job(zoned.clone())).await.is(201);
    assert_eq!(world.get(own).await.properties()["recurrence"]["timeZone"], "Europe/Berlin");
    assert_eq!(world.get("Jc/jobs/one").await.properties()["recurrence"].get("timeZone"), None);
    // An old client that reads and writes changes nothing that it can't see.
    let read = world.get("Jc/jobs/one").await.body;
    world.put("Jc/jobs/one", read).await.is(200);
    world
        .patch("Jc/jobs/one", json!({"properties": {"recurrence": {"interval": 2, "timeZone": "UTC"}}}))
        .await
        .is(200);
    assert_eq!(world.get(own).await.properties()["recurrence"]["timeZone"], "Europe/Berlin");
    let message = world
        .put(own, job(json!({"recurrence": {"frequency": "Day", "timeZone": "Mars/Olympus"}})))
        .await
        .refused(400, "BadRequest");
    assert!(message.contains("properties.recurrence.timeZone"), "{message}");
}

#[tokio::test]
async fn occurrences_exist_under_the_own_version_only() {
    let world = World::new().await;
    world.put_job("one", json!({"recurrence": {"frequency": "Day"}})).await.is(201);
    let message = world.get("Jc/jobs/one/occurrences").await.refused(400, "InvalidApiVersionParameter");
    let expected =
        "The operation 'occurrences' needs the api-version '2026-11-01'; '2016-03-01' does not have it.";
    assert_eq!(message, expected);
    let list =
        world.get("Jc/jobs/one/occurrences?api-version=2026-11-01&to=2026-11-17T12:00:00Z").await.is(200);
    let row = |due: &str| json!({"dueTime": due, "outcome": "pending", "attempts": 0});
    let rows = ["2026-11-15T12:00:00Z", "2026-11-16T12:00:00Z", "2026-11-17T12:00:00Z"].map(row);
    assert_eq!(list.body, json!({"value": rows, "nextLink": null}));
}
