//! What the resource manager does around the provider: groups, registration, headers.

use axum::body::Body;
use serde_json::json;

use crate::world::World;

const GROUP: &str = "/subscriptions/s/resourcegroups/Rg?api-version=2016-02-01";

#[tokio::test]
async fn the_first_collection_creates_its_group() {
    let world = World::empty();
    world.call("HEAD", GROUP, Body::empty()).await.is(404);
    world.put("Jc", json!({"location": "West US"})).await.is(201);
    let head = world.call("HEAD", GROUP, Body::empty()).await.is(204);
    assert_eq!(head.text, "");
    assert_eq!(world.get(GROUP).await.is(200).body["name"], "Rg");
    let list = world.get("/subscriptions/s/resourcegroups?api-version=2016-02-01").await.is(200);
    assert_eq!(list.names(), ["Rg"]);
}

#[tokio::test]
async fn deleting_a_group_takes_everything_along_and_can_be_polled() {
    let world = World::new().await;
    world.put_job("one", json!({})).await.is(201);
    let deleted = world.delete(GROUP).await.is(202);
    assert_eq!(deleted.header("retry-after"), Some("1"));
    let link = deleted.header("location").unwrap().strip_prefix("http://localhost").unwrap();
    assert_eq!(world.get(link).await.is(200).text, "");
    world.get("Jc").await.refused(404, "ResourceNotFound");
    world.get(GROUP).await.refused(404, "ResourceGroupNotFound");
    world.delete(GROUP).await.refused(404, "ResourceGroupNotFound");
}

#[tokio::test]
async fn groups_are_put_and_stay_where_they_are() {
    let world = World::empty();
    let made = world.put(GROUP, json!({"location": "westus", "tags": {"a": "1"}})).await.is(201);
    assert_eq!(
        made.body,
        json!({
            "id": "/subscriptions/s/resourceGroups/Rg",
            "name": "Rg",
            "type": "Microsoft.Resources/resourceGroups",
            "location": "West US",
            "tags": {"a": "1"},
            "properties": {"provisioningState": "Succeeded"},
        })
    );
    world.put(GROUP, json!({"location": "West US"})).await.is(200);
    world.put(GROUP, json!({"location": "East US"})).await.refused(409, "InvalidResourceGroupLocation");
}

#[tokio::test]
async fn a_subscription_is_registered_until_it_says_otherwise() {
    let world = World::empty();
    let provider = "/subscriptions/s/providers/Microsoft.Scheduler";
    let state = async |method: &str, path: &str| {
        let path = format!("{path}?api-version=2016-02-01");
        world.call(method, &path, Body::empty()).await.is(200).body["registrationState"].clone()
    };
    assert_eq!(state("GET", provider).await, "Registered");
    assert_eq!(state("POST", &format!("{provider}/unregister")).await, "NotRegistered");
    assert_eq!(state("GET", provider).await, "NotRegistered");
    assert_eq!(state("POST", &format!("{provider}/register")).await, "Registered");
    let list = world.get("/subscriptions/s/providers?api-version=2016-02-01").await.is(200);
    assert_eq!(list.body["value"][0]["namespace"], "Microsoft.Scheduler");
    assert_eq!(list.body["value"][0]["resourceTypes"][0]["resourceType"], "jobcollections");
}

#[tokio::test]
async fn every_answer_has_ids_and_is_not_cached() {
    let world = World::new().await;
    for answer in [world.get("Jc").await, world.get("Nope").await, world.post("Jc/enable").await] {
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let request = answer.header("x-ms-request-id").unwrap();
        let correlation = answer.header("x-ms-correlation-request-id").unwrap();
        assert_eq!((request.len(), correlation.len()), (36, 36));
        let routing = answer.header("x-ms-routing-request-id").unwrap();
        assert_eq!(routing, format!("LOCAL:20261115T120000Z:{correlation}"));
        assert_eq!(answer.headers.get("etag"), None);
    }
}

#[tokio::test]
async fn enable_and_disable_are_empty_200s_again_and_again() {
    let world = World::new().await;
    for path in ["Jc/disable", "Jc/disable", "Jc/enable", "Jc/enable"] {
        let answer = world.post(path).await.is(200);
        assert_eq!((answer.text.as_str(), answer.header("location")), ("", None), "{path}");
    }
}
