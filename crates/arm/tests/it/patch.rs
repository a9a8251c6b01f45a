//! What a PATCH of a job changes, and what it leaves.

use punctual_arm::{ApiVersion, job};
use punctual_model::{ActionKind, Authentication, JobSpec};
use serde_json::{Value, json};

use crate::world::{context, http, job_key, patch, patch_as, put_properties, shown, shown_as};

fn with_basic(uri: &str) -> Value {
    let mut action = http(uri);
    action["request"]["authentication"] = json!({"type": "Basic", "username": "u", "password": "p"});
    action
}

fn stored() -> JobSpec {
    let mut action = with_basic("http://main/");
    action["request"]["headers"] = json!({"Content-Type": "a/b", "X": "y"});
    action["retryPolicy"] = json!({"retryType": "Fixed", "retryInterval": "00:01:00", "retryCount": 2});
    action["errorAction"] = with_basic("http://error/");
    put_properties(json!({
        "startTime": "2015-07-13T00:00:00Z",
        "action": action,
        "recurrence": {"frequency": "Week", "interval": 1, "count": 10000, "endTime": "2030-10-10T10:10:10Z"},
        "state": "Disabled",
    }))
    .unwrap()
}

fn authentication(spec: &JobSpec, step: u8) -> Option<Authentication> {
    match &spec.action.step(step).unwrap().kind {
        ActionKind::Http(http) => http.authentication.clone(),
        _ => None,
    }
}

#[test]
fn what_is_not_mentioned_keeps_its_value() {
    let stored = stored();
    assert_eq!(patch(&stored, json!({})).unwrap(), stored);
    let patched =
        patch(&stored, json!({"startTime": "2015-07-14T00:00:00Z", "recurrence": {"frequency": "Day"}}))
            .unwrap();
    let recurrence = &shown(&patched)["recurrence"];
    assert_eq!(
        *recurrence,
        json!({"frequency": "day", "count": 10000, "endTime": "2030-10-10T10:10:10Z", "interval": 1})
    );
    assert_eq!((&patched.action, patched.enabled), (&stored.action, false));
    let enabled = patch(&stored, json!({"state": "enabled"})).unwrap();
    assert_eq!(enabled, JobSpec { enabled: true, ..stored });
}

#[test]
fn secrets_survive_a_whole_action_without_them() {
    let stored = stored();
    let mut action = http("http://main/other");
    action["errorAction"] = http("http://error/other");
    let patched = patch(&stored, json!({ "action": action })).unwrap();
    for step in [0, 1] {
        assert_eq!(authentication(&patched, step), authentication(&stored, step));
        assert!(authentication(&patched, step).is_some());
    }
}

#[test]
fn null_removes() {
    let stored = stored();
    let patched =
        patch(&stored, json!({"action": {"request": {"authentication": null, "headers": {"X": null}}}}));
    let patched = patched.unwrap();
    assert_eq!(authentication(&patched, 0), None);
    assert!(authentication(&patched, 1).is_some());
    assert_eq!(shown(&patched)["action"]["request"]["headers"], json!({"Content-Type": "a/b"}));
    let once =
        patch(&stored, json!({"recurrence": null, "startTime": null, "action": {"errorAction": null}}))
            .unwrap();
    assert_eq!((once.recurrence, once.start_at, once.action.error_action), (None, None, None));
    let error =
        patch(&stored, json!({"action": {"request": {"authentication": {"password": null}}}})).unwrap_err();
    assert!(error.message.contains("'Username' and 'Password'"), "{error}");
    let error = patch(&stored, json!({"action": null})).unwrap_err();
    assert!(error.message.starts_with("Malformed Job Object"), "{error}");
}

#[test]
fn another_type_drops_the_members_of_the_old_one() {
    let stored = stored();
    let queue = json!({"storageAccount": "a", "queueName": "q", "sasToken": "t", "message": "m"});
    let patched = patch(&stored, json!({"action": {"type": "StorageQueue", "queueMessage": queue}})).unwrap();
    let action = &shown(&patched)["action"];
    assert_eq!(action["type"], "StorageQueue");
    assert!(action.get("request").is_none(), "{action}");
    assert_eq!(patched.action.retry, stored.action.retry);
    let back = patch(&patched, json!({"action": http("http://x/")})).unwrap();
    assert_eq!(authentication(&back, 0), None);
    assert!(patch(&patched, json!({"action": {"type": "Http"}})).is_err());
}

#[test]
fn a_password_does_not_become_that_of_another_type() {
    let error = patch(
        &stored(),
        json!({"action": {"request": {"authentication": {"type": "ClientCertificate", "pfx": "AA=="}}}}),
    );
    let message = error.unwrap_err().message;
    assert!(message.contains("authentication.password: is required"), "{message}");
}

#[test]
fn http_and_https_are_one_kind() {
    let patched = patch(&stored(), json!({"action": {"type": "Https"}})).unwrap();
    assert_eq!(shown(&patched)["action"]["type"], "Https");
    assert!(authentication(&patched, 0).is_some());
}

#[test]
fn the_spelling_of_a_header_can_change() {
    let patched =
        patch(&stored(), json!({"action": {"request": {"headers": {"content-TYPE": "c/d"}}}})).unwrap();
    assert_eq!(shown(&patched)["action"]["request"]["headers"], json!({"X": "y", "content-TYPE": "c/d"}));
}

#[test]
fn a_retry_policy_in_the_request_replaces_the_stored_one() {
    let patched =
        patch(&stored(), json!({"action": {"request": {"retryPolicy": {"retryCount": 7}}}})).unwrap();
    assert_eq!(patched.action.retry.unwrap().count, Some(7));
}

#[test]
fn an_old_api_version_leaves_the_time_zone_alone() {
    let stored = stored();
    let zoned = patch_as(ApiVersion::V2026_11, &stored, json!({"recurrence": {"timeZone": "Europe/Berlin"}}))
        .unwrap();
    let patched = patch(&zoned, json!({"recurrence": {"interval": 2, "timeZone": "Asia/Tokyo"}})).unwrap();
    let shown = |version| shown_as(&patched, version, punctual_arm::Dialect::default());
    assert_eq!(shown(ApiVersion::V2026_11)["recurrence"]["timeZone"], "Europe/Berlin");
    assert_eq!(shown(ApiVersion::V2016_03)["recurrence"].get("timeZone"), None);
    let utc = patch_as(ApiVersion::V2026_11, &zoned, json!({"recurrence": {"timeZone": null}})).unwrap();
    assert_eq!(utc, stored);
}

#[test]
fn what_results_is_judged_like_a_put() {
    let stored = stored();
    let check = |properties: Value, path: &str| {
        let message = patch(&stored, properties).unwrap_err().message;
        assert!(message.starts_with(path), "{message}");
    };
    check(
        json!({"recurrence": {"schedule": {"monthDays": [1]}}}),
        "properties.recurrence.schedule.monthDays: ",
    );
    check(json!({"recurrence": 7}), "properties.recurrence: ");
    check(
        json!({"action": {"request": {"headers": {"Authorization": "x"}}}}),
        "properties.action.request.headers: ",
    );
    check(
        json!({"action": {"retryPolicy": {"retryCount": -1}}}),
        "properties.action.retryPolicy.retryCount: ",
    );
    let bodies = [&b"{}"[..], b"", b"[]", br#"{"properties": 1}"#];
    for body in bodies {
        let error = job::read_patch(body, &job_key(), &stored, &context(ApiVersion::V2016_03)).unwrap_err();
        assert!(error.message.starts_with("Malformed Job Object"), "{error}");
    }
    let large = json!({"action": {"request": {"body": "x".repeat(8192), "headers": {"l": "y".repeat(4000)}},
        "errorAction": {"request": {"body": "x".repeat(8192)}}}});
    let error = patch(&stored, large).unwrap_err();
    assert!(error.message.contains("too large"), "{error}");
}
