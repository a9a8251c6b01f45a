//! Collections: requests, plans, quotas, answers.

use punctual_arm::{ApiError, ApiVersion, Locations, collection};
use punctual_model::{Collection, CollectionState, Sku};
use serde_json::{Value, json};

use crate::world::{VERSION, collection_context, collection_key};

fn put_as(version: ApiVersion, body: &Value, existing: Option<&Collection>) -> Result<Collection, ApiError> {
    let locations = Locations::default();
    let context = collection_context(version, &locations);
    collection::read_put(body.to_string().as_bytes(), &collection_key(), existing, &context)
}

fn put(body: Value) -> Result<Collection, ApiError> {
    put_as(VERSION, &body, None)
}

fn patch(existing: &Collection, body: Value) -> Result<Collection, ApiError> {
    let locations = Locations::default();
    collection::read_patch(body.to_string().as_bytes(), existing, &collection_context(VERSION, &locations))
}

fn shown(collection: &Collection) -> Value {
    collection::answer(collection, VERSION).to_value()
}

#[test]
fn defaults_hold_where_nothing_is_said() {
    let new = put(json!({"location": "westus"})).unwrap();
    assert_eq!(
        (new.sku, new.state, &new.quota, new.revision),
        (Sku::Standard, CollectionState::Enabled, &None, 0)
    );
    assert_eq!(
        shown(&new),
        json!({
            "id": "/subscriptions/s/resourceGroups/Rg/providers/Microsoft.Scheduler/jobCollections/Jc",
            "type": "Microsoft.Scheduler/jobCollections", "name": "Jc", "location": "West US",
            "properties": {"sku": {"name": "Standard"}, "state": "Enabled"},
        })
    );
    let suspended = Collection { state: CollectionState::Suspended, revision: 7, ..new };
    let again = put_as(VERSION, &json!({"properties": {"sku": {"name": "free"}}}), Some(&suspended)).unwrap();
    assert_eq!((again.sku, again.state, again.revision), (Sku::Free, CollectionState::Suspended, 7));
}

#[test]
fn quotas_are_echoed_and_stay_within_the_plan() {
    let with = |sku: &str, quota: Value| {
        put(json!({"location": "West US", "properties": {"sku": {"name": sku}, "quota": quota}}))
    };
    let quota = json!({"maxJobCount": 20, "maxJobOccurrence": 5, "maxRecurrence": {"frequency": "Week", "interval": 2}});
    let shown = shown(&with("Standard", quota).unwrap());
    assert_eq!(
        shown["properties"]["quota"],
        json!({"maxJobCount": 20, "maxRecurrence": {"frequency": "week", "interval": 2}})
    );
    let check = |sku: &str, quota: Value, expected: &str| {
        let error = with(sku, quota).unwrap_err();
        assert_eq!((error.status, error.message.as_str()), (400, expected));
    };
    check(
        "P10Premium",
        json!({"maxJobCount": 51}),
        "properties.quota.maxJobCount: The maximum job count quota has a value that is too large; this quota cannot \
         be set higher then '50' ('51' was provided).",
    );
    check(
        "Free",
        json!({"maxRecurrence": {"frequency": "minute", "interval": 59}}),
        "properties.quota.maxRecurrence: The provided maxRecurrence for job collection quota minute/59 exceeds the \
         permissible limit (hour/1).",
    );
    check("Free", json!({"maxJobCount": 0}), "properties.quota.maxJobCount: must be from 1 to 5, not 0");
    assert!(with("P20Premium", json!({"maxJobCount": 1000})).is_ok());
}

#[test]
fn every_problem_is_named_with_its_path() {
    let body = json!({"name": "other", "location": "westus", "tags": {"a": 1}, "properties": {
        "sku": {"name": "Premium"}, "state": "Deleted", "quota": {"maxJobCount": "5", "maxRecurrence": {"interval": 0}}}});
    let message = put(body).unwrap_err().message;
    let paths: Vec<_> = message.split("; ").map(|problem| problem.split(": ").next().unwrap()).collect();
    assert_eq!(
        paths,
        [
            "name",
            "tags.a",
            "properties.sku.name",
            "properties.state",
            "properties.quota.maxJobCount",
            "properties.quota.maxRecurrence.frequency",
        ]
    );
    assert_eq!(put(json!({})).unwrap_err().message, "location: is required");
    assert_eq!(put(json!([])).unwrap_err().status, 400);
}

#[test]
fn a_collection_stays_in_its_region() {
    let existing = put(json!({"location": "West US"})).unwrap();
    let check = |location: &str, expected: Result<&str, (u16, &str)>| {
        let read = put_as(VERSION, &json!({"location": location}), Some(&existing));
        let seen = read.as_ref().map(|one| one.location.as_str()).map_err(|error| (error.status, error.code));
        assert_eq!(seen, expected, "{location}");
    };
    check("westus", Ok("West US"));
    check("East US", Err((409, "InvalidResourceLocation")));
    check("Mars", Err((400, "LocationNotAvailableForResourceType")));
    let mars = Collection { location: "Mars".into(), ..existing };
    assert_eq!(put_as(VERSION, &json!({"location": "mars"}), Some(&mars)).unwrap().location, "Mars");
    assert_eq!(put(json!({"location": "Mars"})).unwrap_err().code, "LocationNotAvailableForResourceType");
}

#[test]
fn older_versions_know_one_premium_plan() {
    let premium = json!({"location": "West US", "properties": {"sku": {"name": "premium"}}});
    for version in [ApiVersion::V2014_08Preview, ApiVersion::V2016_01] {
        let new = put_as(version, &premium, None).unwrap();
        assert_eq!(collection::answer(&new, version).to_value()["properties"]["sku"]["name"], "Premium");
        assert_eq!(shown(&new)["properties"]["sku"]["name"], "P10Premium");
        let large = Collection { sku: Sku::P20Premium, ..new };
        assert_eq!(collection::answer(&large, version).to_value()["properties"]["sku"]["name"], "Premium");
        assert_eq!(put_as(version, &premium, Some(&large)).unwrap().sku, Sku::P20Premium);
    }
    assert!(put(premium).is_err());
}

#[test]
fn patch_changes_what_it_mentions() {
    let body = json!({"location": "West US", "tags": {"a": "1", "b": "2"}, "properties": {"sku": {"name": "P20Premium"},
        "state": "Disabled", "quota": {"maxJobCount": 20, "maxJobOccurrence": 3, "maxRecurrence": {"frequency": "Day"}}}});
    let stored = Collection { revision: 4, ..put(body).unwrap() };
    assert_eq!(patch(&stored, json!({})).unwrap(), stored);
    let tagged = patch(&stored, json!({"tags": {"c": "3"}})).unwrap();
    assert_eq!(tagged, Collection { tags: vec![("c".into(), "3".into())], ..stored.clone() });
    assert_eq!(patch(&stored, json!({"tags": null})).unwrap().tags, []);
    let fewer = patch(&stored, json!({"properties": {"quota": {"maxJobCount": 10}}})).unwrap().quota.unwrap();
    assert_eq!((fewer.job_count_max, fewer.job_occurrence_max), (Some(10), Some(3)));
    assert_eq!(fewer.recurrence_max, stored.quota.as_ref().unwrap().recurrence_max);
    assert_eq!(patch(&stored, json!({"properties": {"quota": null}})).unwrap().quota, None);
    assert_eq!(
        patch(&stored, json!({"properties": {"state": "enabled"}})).unwrap().state,
        CollectionState::Enabled
    );
    assert!(patch(&stored, json!({"properties": {"sku": {"name": "Free"}}})).is_err());
}
