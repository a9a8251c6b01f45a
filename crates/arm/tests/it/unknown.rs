//! Members that nobody knows: a mistake under our own api-version, ignored and named under older ones.

use punctual_arm::{ApiVersion, Locations, collection, job};
use serde_json::{Value, json};

use crate::world::{collection_context, collection_key, context, http, job_key, patch_as, put_properties};

fn body() -> Value {
    json!({"properties": {"action": http("http://x/"), "recurrance": {"frequency": "Day"}}, "colour": "red"})
}

#[test]
fn under_our_own_version_they_are_problems_beside_all_others() {
    let mut body = body();
    body["properties"]["state"] = "on".into();
    let context = context(ApiVersion::V2026_11);
    let error = job::read_put(body.to_string().as_bytes(), &job_key(), None, &context).unwrap_err();
    assert_eq!((error.status, error.code), (400, "BadRequest"));
    assert_eq!(
        error.message,
        "properties.recurrance: unknown member, did you mean recurrence?; colour: unknown member; \
         properties.state: 'on' is not one of Enabled, Disabled"
    );
    let stored = put_properties(json!({"action": http("http://x/")})).unwrap();
    let patch = json!({"startime": "2027-01-01"});
    let error = patch_as(ApiVersion::V2026_11, &stored, patch).unwrap_err();
    assert_eq!(error.message, "properties.startime: unknown member, did you mean startTime?");
}

#[test]
fn under_older_versions_they_are_ignored_and_named() {
    for version in [ApiVersion::V2014_08Preview, ApiVersion::V2016_01, ApiVersion::V2016_03] {
        let read = |body: &Value| {
            let body = body.to_string();
            let spec = job::read_put(body.as_bytes(), &job_key(), None, &context(version)).unwrap();
            (spec, job::ignored(body.as_bytes(), version))
        };
        let (spec, ignored) = read(&body());
        assert_eq!(ignored.as_deref(), Some("properties.recurrance, colour"));
        assert_eq!(read(&json!({"properties": {"action": http("http://x/")}})), (spec, None));
    }
    assert_eq!(job::ignored(b"no JSON", ApiVersion::V2016_03), None);
    assert_eq!(job::ignored(body().to_string().as_bytes(), ApiVersion::V2026_11), None);
}

#[test]
fn a_time_zone_is_unknown_to_older_versions() {
    let job = json!({"properties": {"action": http("http://x/"),
        "recurrence": {"frequency": "Day", "timeZone": "Europe/Berlin"}}});
    let job = job.to_string();
    assert_eq!(
        job::ignored(job.as_bytes(), ApiVersion::V2016_03).as_deref(),
        Some("properties.recurrence.timeZone")
    );
    assert!(job::read_put(job.as_bytes(), &job_key(), None, &context(ApiVersion::V2026_11)).is_ok());
}

#[test]
fn collections_are_looked_through_alike() {
    let body =
        json!({"location": "West US", "sku": {"name": "Free"}, "properties": {"quotas": {}}}).to_string();
    let locations = Locations::default();
    let own = collection_context(ApiVersion::V2026_11, &locations);
    let old = collection_context(ApiVersion::V2016_03, &locations);
    let put = |body: &str, existing, context| {
        collection::read_put(body.as_bytes(), &collection_key(), existing, context)
    };
    let ignored = collection::ignored(body.as_bytes(), ApiVersion::V2016_03);
    assert_eq!(ignored.as_deref(), Some("sku, properties.quotas"));
    assert_eq!(
        put(&body, None, &own).unwrap_err().message,
        "sku: unknown member, did you mean properties.sku?; properties.quotas: unknown member, did you mean quota?"
    );
    let stored = put(&body, None, &old).unwrap();
    let shown = collection::answer(&stored, ApiVersion::V2026_11).to_value().to_string();
    assert_eq!(put(&shown, Some(&stored), &own).unwrap(), stored);
    let patch = br#"{"properties": {"stat": "Disabled"}}"#;
    let error = collection::read_patch(patch, &stored, &own).unwrap_err();
    assert_eq!(error.message, "properties.stat: unknown member, did you mean state?");
}
