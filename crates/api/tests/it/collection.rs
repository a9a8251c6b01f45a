//! Collections: plans, states, regions.

use serde_json::{Value, json};

use crate::world::World;

#[tokio::test]
async fn put_is_201_for_a_new_collection_and_for_an_old_one() {
    let world = World::empty();
    let body = json!({"location": "westus", "tags": {"a": "1"}});
    let made = world.put("Jc", body.clone()).await.is(201);
    assert_eq!(
        made.body,
        json!({
            "id": "/subscriptions/s/resourceGroups/Rg/providers/Microsoft.Scheduler/jobCollections/Jc",
            "type": "Microsoft.Scheduler/jobCollections",
            "name": "Jc",
            "location": "West US",
            "tags": {"a": "1"},
            "properties": {"sku": {"name": "Standard"}, "state": "Enabled"},
        })
    );
    assert_eq!(world.put("Jc", body).await.is(201).body, made.body);
}

#[tokio::test]
async fn a_collection_without_a_plan_is_standard_and_keeps_its_state() {
    let world = World::new().await;
    world.post("Jc/disable").await.is(200);
    let put = world.put("Jc", json!({"location": "West US"})).await.is(201);
    assert_eq!(put.properties(), &json!({"sku": {"name": "Standard"}, "state": "Disabled"}));
}

#[tokio::test]
async fn a_quota_is_echoed_only_if_it_was_sent() {
    let world = World::new().await;
    assert_eq!(world.get("Jc").await.properties().get("quota"), None);
    let quota = json!({"maxJobCount": 7, "maxJobOccurrence": 3, "maxRecurrence": {"frequency": "Hour", "interval": 2}});
    let put = world.put("Jc", json!({"location": "West US", "properties": {"quota": quota}})).await.is(201);
    let shown = json!({"maxJobCount": 7, "maxRecurrence": {"frequency": "hour", "interval": 2}});
    assert_eq!(put.properties()["quota"], shown);
}

#[tokio::test]
async fn a_quota_above_that_of_the_plan_is_refused() {
    let world = World::empty();
    let check = async |quota: Value, part: &str| {
        let body = json!({"location": "West US", "properties": {"sku": {"name": "Free"}, "quota": quota}});
        let message = world.put("Jc", body).await.refused(400, "BadRequest");
        assert!(message.contains(part), "{message}");
    };
    check(json!({"maxJobCount": 6}), "cannot be set higher then '5' ('6' was provided)").await;
    check(json!({"maxRecurrence": {"frequency": "Minute", "interval": 59}}), "exceeds the permissible limit")
        .await;
}

#[tokio::test]
async fn deleted_is_no_state_to_ask_for() {
    let world = World::new().await;
    for state in ["Deleted", "Paused"] {
        let message =
            world.patch("Jc", json!({"properties": {"state": state}})).await.refused(400, "BadRequest");
        assert!(message.starts_with("properties.state: "), "{message}");
    }
    world.patch("Jc", json!({"properties": {"state": "suspended"}})).await.is(200);
    assert_eq!(world.get("Jc").await.properties()["state"], "Suspended");
}

#[tokio::test]
async fn a_collection_stays_in_its_region() {
    let world = World::new().await;
    let moved = world.put("Jc", json!({"location": "East US"})).await;
    assert!(moved.refused(409, "InvalidResourceLocation").contains("already exists in location 'West US'"));
    world.put("Jc", json!({"location": "WEST us"})).await.is(201);
}

#[tokio::test]
async fn a_region_is_known_by_display_name_or_short_form() {
    let world = World::empty();
    let check = async |written: &str, shown: &str| {
        let put = world.put(&written.replace(' ', ""), json!({"location": written})).await.is(201);
        assert_eq!(put.body["location"], shown);
    };
    check("westus2", "West US 2").await;
    check("Central India", "Central India").await;
    let unknown = world.put("Jc", json!({"location": "Atlantis"})).await;
    let message = unknown.refused(400, "LocationNotAvailableForResourceType");
    assert!(message.contains("West Central US"), "{message}");
    world.put("Jc", json!({})).await.is(400);
}

#[tokio::test]
async fn patch_replaces_the_tags_as_a_whole_and_nothing_else() {
    let world = World::empty();
    let body = json!({"location": "West US", "tags": {"a": "1", "b": "2"}, "properties": {"sku": {"name": "P10Premium"}}});
    world.put("Jc", body).await.is(201);
    let patched = world.patch("Jc", json!({"tags": {"c": "3"}})).await.is(200);
    assert_eq!(patched.body["tags"], json!({"c": "3"}));
    assert_eq!(patched.properties()["sku"]["name"], "P10Premium");
    assert_eq!(world.patch("Jc", json!({"tags": null})).await.is(200).body.get("tags"), None);
}

#[tokio::test]
async fn whatever_is_asked_under_a_missing_collection_is_not_found_by_the_gateway() {
    let world = World::empty();
    let text =
        "The Resource 'Microsoft.Scheduler/jobcollections/Nope' under resource group 'Rg' was not found.";
    let body =
        json!({"properties": {"action": {"type": "Http", "request": {"method": "GET", "uri": "http://a/"}}}});
    for (method, path) in [
        ("GET", "Nope"),
        ("PATCH", "Nope"),
        ("DELETE", "Nope"),
        ("POST", "Nope/enable"),
        ("POST", "Nope/disable"),
        ("GET", "Nope/jobs"),
        ("GET", "Nope/jobs/j"),
        ("PUT", "Nope/jobs/j"),
        ("PATCH", "Nope/jobs/j"),
        ("DELETE", "Nope/jobs/j"),
        ("POST", "Nope/jobs/j/run"),
        ("GET", "Nope/jobs/j/history"),
    ] {
        let answer = world.call(method, path, body.to_string().into()).await;
        assert_eq!(answer.header("x-ms-failure-cause"), Some("gateway"), "{method} {path}");
        assert_eq!(answer.refused(404, "ResourceNotFound"), text, "{method} {path}");
    }
}

#[tokio::test]
async fn names_compare_in_any_letter_case_and_keep_the_first() {
    let world = World::new().await;
    let put = world.put("jC", json!({"location": "West US"})).await.is(201);
    assert_eq!(put.body["name"], "Jc");
    assert_eq!(world.get("").await.status, 200);
    let upper = world.get(&format!("{}/JC", crate::world::BASE.to_uppercase())).await.is(200);
    assert_eq!(upper.body["name"], "Jc");
}

#[tokio::test]
async fn impossible_names_are_refused() {
    let world = World::empty();
    for name in ["1st", "a%20b", "ä", "a.b", &"a".repeat(101)] {
        world.put(name, json!({"location": "West US"})).await.refused(400, "BadRequest");
    }
}
