//! Credentials in headers and URIs, and secrets of an action that goes to another address (CONTRACT 19.4).

use punctual_arm::{ApiError, ApiVersion, Dialect, job};
use punctual_model::{ActionKind, CredentialHeaders, HttpAction, JobSpec};
use serde_json::{Value, json};

use crate::world::{VERSION, context, job_key, patch, put_properties, shown_as};

const MASK: &str = "********";

/// A request with credentials of every kind, and an error action with others.
fn properties() -> Value {
    let request = |host: &str, secret: &str| {
        json!({
            "uri": format!("https://user:{secret}-uri@{host}/path?q"),
            "method": "GET",
            "headers": {"X-Plain": "shown", "AUTHORIZATION": format!("Bearer {secret}"), "x-api-key": secret},
        })
    };
    json!({"action": {"type": "Http", "request": request("a.example", "first"),
        "errorAction": {"type": "Http", "request": request("b.example", "second")}}})
}

fn stored() -> JobSpec {
    put_properties(properties()).unwrap()
}

fn put_onto(existing: &JobSpec, properties: Value) -> Result<JobSpec, ApiError> {
    let body = json!({ "properties": properties }).to_string();
    job::read_put(body.as_bytes(), &job_key(), Some(existing), &context(VERSION))
}

fn request(spec: &JobSpec, step: u8) -> &HttpAction {
    match &spec.action.step(step).unwrap().kind {
        ActionKind::Http(http) => http,
        _ => panic!("it is http"),
    }
}

fn header<'a>(spec: &'a JobSpec, step: u8, name: &str) -> &'a str {
    let headers = &request(spec, step).headers;
    headers.iter().find(|(one, _)| one.eq_ignore_ascii_case(name)).unwrap().1.expose()
}

#[test]
fn credentials_are_answered_as_masks_in_every_version() {
    for version in
        [ApiVersion::V2014_08Preview, ApiVersion::V2016_01, ApiVersion::V2016_03, ApiVersion::V2026_11]
    {
        let shown = shown_as(&stored(), version, Dialect::default());
        let text = shown.to_string();
        assert!(!text.contains("first") && !text.contains("second") && !text.contains("user:"), "{text}");
        let action = &shown["action"]["request"];
        assert_eq!(action["uri"], "https://********@a.example/path?q");
        assert_eq!(action["headers"], json!({"X-Plain": "shown", "AUTHORIZATION": MASK, "x-api-key": MASK}));
        let error_action = &shown["action"]["errorAction"]["request"];
        assert_eq!(error_action["uri"], "https://********@b.example/path?q");
    }
}

#[test]
fn nothing_prints_them_by_accident() {
    let text = format!("{:?}", stored());
    assert!(!text.contains("first") && !text.contains("second"), "{text}");
}

#[test]
fn which_headers_are_credentials_is_a_setting() {
    let body = json!({ "properties": properties() }).to_string();
    let credential_headers = CredentialHeaders::new(&["x-plain".to_owned()]);
    let context = job::JobContext { credential_headers, ..context(VERSION) };
    let spec = job::read_put(body.as_bytes(), &job_key(), None, &context).unwrap();
    let shown = shown_as(&spec, VERSION, Dialect::default());
    let expected = json!({"X-Plain": MASK, "AUTHORIZATION": MASK, "x-api-key": "first"});
    assert_eq!(shown["action"]["request"]["headers"], expected);
}

#[test]
fn what_was_read_can_be_put_back() {
    let stored = stored();
    let shown = shown_as(&stored, VERSION, Dialect::default());
    assert_eq!(put_onto(&stored, shown).unwrap(), stored);
}

#[test]
fn a_mask_keeps_what_is_stored_at_its_place() {
    let stored = stored();
    let mut shown = shown_as(&stored, VERSION, Dialect::default());
    // In another letter case; and a new value beside it.
    shown["action"]["request"]["headers"] = json!({"Authorization": MASK, "X-Api-Key": "new"});
    shown["action"]["request"]["uri"] = json!("HTTPS://********@A.example:443/other");
    let put = put_onto(&stored, shown).unwrap();
    assert_eq!((header(&put, 0, "authorization"), header(&put, 0, "x-api-key")), ("Bearer first", "new"));
    assert_eq!(request(&put, 0).user_info.as_ref().unwrap().expose(), "user:first-uri");
    assert_eq!(header(&put, 1, "authorization"), "Bearer second");
    // Without it, the header is gone: a PUT replaces.
    let mut shown = shown_as(&stored, VERSION, Dialect::default());
    shown["action"]["request"]["headers"] = json!({"X-Plain": "shown"});
    assert_eq!(request(&put_onto(&stored, shown).unwrap(), 0).headers.len(), 1);
}

#[test]
fn a_mask_does_not_follow_to_another_address() {
    let stored = stored();
    for uri in [
        "http://********@a.example/path?q",
        "https://********@a.example:444/path?q",
        "https://********@c.example/path?q",
        "https://********@b.example/path?q",
    ] {
        let mut shown = shown_as(&stored, VERSION, Dialect::default());
        shown["action"]["request"]["uri"] = json!(uri);
        let message = put_onto(&stored, shown.clone()).unwrap_err().message;
        let again = "must be sent again, because scheme, host or port of 'uri' has changed";
        for place in ["uri", "headers.AUTHORIZATION", "headers.x-api-key"] {
            assert!(
                message.contains(&format!("properties.action.request.{place}: {again}")),
                "{uri}: {message}"
            );
        }
        assert!(!message.contains("errorAction") && !message.contains("first"), "{message}");
        let message = patch(&stored, json!({"action": {"request": {"uri": uri}}})).unwrap_err().message;
        assert!(message.contains("headers.AUTHORIZATION: must be sent again"), "{message}");
        // With all of them sent again it goes there.
        let uri = uri.replace(MASK, "new");
        let headers = json!({"AUTHORIZATION": "Bearer new", "X-Api-Key": "new"});
        let patched =
            patch(&stored, json!({"action": {"request": {"uri": uri, "headers": headers}}})).unwrap();
        assert_eq!(header(&patched, 0, "authorization"), "Bearer new");
    }
}

#[test]
fn a_mask_that_stands_for_nothing_is_refused() {
    let mut properties = properties();
    properties["action"]["request"]["uri"] = json!("https://********@a.example/");
    properties["action"]["request"]["headers"] = json!({"Cookie": MASK, "X-Plain": MASK});
    let check = |message: &str| {
        let nothing = "******** stands for a stored value, and none is stored here: send the value";
        assert!(message.contains(&format!("properties.action.request.uri: {nothing}")), "{message}");
        assert!(
            message.contains(&format!("properties.action.request.headers.Cookie: {nothing}")),
            "{message}"
        );
        assert!(!message.contains("X-Plain"), "{message}");
    };
    check(&put_properties(properties.clone()).unwrap_err().message);
    let mut bare = stored();
    let ActionKind::Http(http) = &mut bare.action.kind else { panic!("it is http") };
    (http.user_info, http.headers) = (None, vec![]);
    check(&put_onto(&bare, properties).unwrap_err().message);
}

#[test]
fn a_patch_keeps_what_it_does_not_mention() {
    let stored = stored();
    let patched = patch(&stored, json!({"action": {"request": {"method": "POST"}}})).unwrap();
    assert_eq!(header(&patched, 0, "authorization"), "Bearer first");
    assert_eq!(request(&patched, 0).user_info, request(&stored, 0).user_info);
    let removed =
        patch(&stored, json!({"action": {"request": {"headers": {"authorization": null}}}})).unwrap();
    assert!(!request(&removed, 0).headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")));
    assert_eq!(header(&removed, 0, "x-api-key"), "first");
}

fn queue() -> Value {
    json!({"type": "StorageQueue", "queueMessage":
        {"storageAccount": "acc", "queueName": "q", "sasToken": "geheim", "message": "m"}})
}

fn bus(kind: &str, member: &str) -> Value {
    json!({"type": kind, member: {"namespace": "ns", "queueName": "q", "topicPath": "t", "message": "m",
        "authentication": {"type": "sharedAccessKey", "sasKeyName": "k", "sasKey": "geheim"}}})
}

fn basic() -> Value {
    json!({"type": "Http", "request": {"uri": "https://a.example/", "method": "GET",
        "authentication": {"type": "Basic", "username": "u", "password": "geheim"}}})
}

fn oauth() -> Value {
    json!({"type": "Http", "request": {"uri": "https://a.example/", "method": "GET", "authentication":
        {"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": "geheim"}}})
}

#[test]
fn stored_secrets_do_not_follow_a_changed_address() {
    let uri = "scheme, host or port of 'uri'";
    let bus_queue = bus("ServiceBusQueue", "serviceBusQueueMessage");
    let bus_topic = bus("ServiceBusTopic", "serviceBusTopicMessage");
    for (action, change, place, what) in [
        (
            basic(),
            json!({"request": {"uri": "https://evil.example/"}}),
            "request.authentication.password",
            uri,
        ),
        (basic(), json!({"request": {"uri": "http://a.example/"}}), "request.authentication.password", uri),
        (
            basic(),
            json!({"request": {"uri": "https://a.example:8443/"}}),
            "request.authentication.password",
            uri,
        ),
        (oauth(), json!({"request": {"uri": "https://evil.example/"}}), "request.authentication.secret", uri),
        (
            queue(),
            json!({"queueMessage": {"storageAccount": "evil"}}),
            "queueMessage.sasToken",
            "'storageAccount'",
        ),
        (
            bus_queue,
            json!({"serviceBusQueueMessage": {"namespace": "evil"}}),
            "serviceBusQueueMessage.authentication.sasKey",
            "'namespace'",
        ),
        (
            bus_topic,
            json!({"serviceBusTopicMessage": {"namespace": "evil"}}),
            "serviceBusTopicMessage.authentication.sasKey",
            "'namespace'",
        ),
    ] {
        let stored = put_properties(json!({ "action": action })).unwrap();
        let message = patch(&stored, json!({ "action": change })).unwrap_err().message;
        let expected = format!(
            "properties.action.{place}: must be sent again, because {what} has changed, and a stored secret does not \
             follow to another address"
        );
        assert_eq!(message, expected);
        // Below an error action as well.
        let chained = json!({"action": {"type": "Http", "request": {"uri": "http://x/", "method": "GET"},
            "errorAction": action}});
        let stored = put_properties(chained).unwrap();
        let message = patch(&stored, json!({"action": {"errorAction": change}})).unwrap_err().message;
        assert_eq!(message, expected.replace("properties.action.", "properties.action.errorAction."));
    }
}

#[test]
fn secrets_stay_where_the_address_does() {
    let stored = put_properties(json!({ "action": basic() })).unwrap();
    for uri in ["https://A.example:443/other?x", "https://a.example"] {
        let patched = patch(&stored, json!({"action": {"request": {"uri": uri}}})).unwrap();
        assert_eq!(request(&patched, 0).authentication, request(&stored, 0).authentication, "{uri}");
    }
    let elsewhere = json!({"request": {"uri": "https://b.example/", "authentication": {"password": "new"}}});
    assert!(patch(&stored, json!({ "action": elsewhere })).is_ok(), "sent again");
    let without = json!({"request": {"uri": "https://b.example/", "authentication": null}});
    assert!(patch(&stored, json!({ "action": without })).is_ok(), "taken away");
    let stored = put_properties(json!({ "action": queue() })).unwrap();
    assert!(
        patch(&stored, json!({"action": {"queueMessage": {"storageAccount": "ACC", "queueName": "r"}}}))
            .is_ok()
    );
}

#[test]
fn two_hosts_are_one_error() {
    let action = |headers: Value| json!({"action": {"type": "Http", "request": {"uri": "http://a/", "method": "GET", "headers": headers}}});
    let message = put_properties(action(json!({"Host": "a", "host": "b"}))).unwrap_err().message;
    let expected =
        "properties.action.request.headers: 'Host' and 'host' are the same header: send one of them";
    assert_eq!(message, expected);
    let message = put_properties(action(json!({"X-Api-Key": "a", "x-api-key": "b"}))).unwrap_err().message;
    assert!(message.contains("are the same header"), "{message}");
    assert!(put_properties(action(json!({"X-Other": "a", "x-other": "b"}))).is_ok());
}

#[test]
fn a_caller_without_rights_for_them_sends_no_credentials() {
    let headers = CredentialHeaders::default();
    let check = |properties: Value, expected: bool| {
        let body = json!({ "properties": properties }).to_string();
        assert_eq!(job::sends_secrets(body.as_bytes(), &headers), expected, "{body}");
    };
    let request = |request: Value| json!({"action": {"request": request}});
    check(request(json!({"headers": {"x-api-key": "a"}})), true);
    check(request(json!({"headers": {"x-api-key": null}})), true);
    check(request(json!({"headers": {"x-api-key": MASK, "x-plain": "a"}})), false);
    check(request(json!({"uri": "http://u:p@a/"})), true);
    check(request(json!({"uri": "http://********@a/"})), false);
    check(json!({"action": {"errorAction": {"request": {"headers": {"Cookie": "a"}}}}}), true);
    check(json!({"state": "disabled"}), false);
}
