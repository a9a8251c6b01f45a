//! What a PUT of a job may say.

use punctual_arm::{ApiVersion, job};
use punctual_model::{JobSpec, Sku};
use serde_json::{Value, json};

use crate::world::{context, http, job_key, put, put_properties, shown};

/// The problems' paths, in order; the message of a problem never contains `; `.
fn paths(message: &str) -> Vec<&str> {
    message.split("; ").map(|problem| problem.split(": ").next().unwrap()).collect()
}

#[track_caller]
fn check_problems(properties: Value, expected: &[&str]) {
    let error = put_properties(properties.clone()).unwrap_err();
    assert_eq!((error.status, error.code), (400, "BadRequest"), "{properties}");
    assert_eq!(paths(&error.message), expected, "{}", error.message);
}

#[test]
fn a_body_that_is_no_job_at_all_is_malformed() {
    let check = |body: &str| {
        let error =
            job::read_put(body.as_bytes(), &job_key(), None, &context(ApiVersion::V2016_03)).unwrap_err();
        assert_eq!((error.status, error.code), (400, "BadRequest"), "{body}");
        assert!(error.message.starts_with("Malformed Job Object"), "{body}: {}", error.message);
    };
    check("");
    check("{");
    check("not json");
    check("[]");
    check("null");
    check("{}");
    check(r#"{"properties": null}"#);
    check(r#"{"properties": []}"#);
    check(r#"{"properties": {}}"#);
    check(r#"{"properties": {"action": null, "startTime": "x"}}"#);
    check(&format!("{}1{}", "[".repeat(1000), "]".repeat(1000)));
}

#[test]
fn every_problem_is_named_with_its_path() {
    check_problems(
        json!({
            "startTime": "soon",
            "state": "Completed",
            "recurrence": {"frequency": "Week", "interval": 0, "schedule": {"monthDays": [1], "hours": [5, "6"]}},
            "action": {
                "type": "Http",
                "request": {"uri": "ftp://x/", "method": "FETCH", "headers": {"a b": "c", "d": 1}, "body": 7},
                "retryPolicy": {"retryType": "Often", "retryInterval": "00:00:14", "retryCount": 21},
                "errorAction": {"type": "StorageQueue", "queueMessage": {"storageAccount": "a/b"}},
            },
        }),
        &[
            "properties.startTime",
            "properties.action.request.uri",
            "properties.action.request.method",
            "properties.action.request.headers.d",
            "properties.action.request.headers",
            "properties.action.request.body",
            "properties.action.retryPolicy.retryType",
            "properties.action.retryPolicy.retryInterval",
            "properties.action.retryPolicy.retryCount",
            "properties.action.errorAction.queueMessage.queueName",
            "properties.action.errorAction.queueMessage.sasToken",
            "properties.action.errorAction.queueMessage.message",
            "properties.action.errorAction.queueMessage.storageAccount",
            "properties.recurrence.schedule.hours[1]",
            "properties.recurrence.interval",
            "properties.recurrence.schedule.monthDays",
            "properties.state",
        ],
    );
}

#[test]
fn a_wrong_frequency_hides_no_other_problem() {
    let recurrence = |frequency: Value| {
        json!({"frequency": frequency, "interval": 0, "count": 0, "endTime": "x",
            "schedule": {"hours": [25], "minutes": [61], "monthDays": [1, 32]}})
    };
    for frequency in [Value::from("Dayly"), Value::from(7), Value::Null] {
        check_problems(
            json!({"action": http("ftp://x/"), "state": "on", "recurrence": recurrence(frequency)}),
            &[
                "properties.action.request.uri",
                "properties.recurrence.frequency",
                "properties.recurrence.endTime",
                "properties.recurrence.interval",
                "properties.recurrence.count",
                "properties.recurrence.schedule.minutes[0]",
                "properties.recurrence.schedule.hours[0]",
                "properties.recurrence.schedule.monthDays[1]",
                "properties.state",
            ],
        );
    }
}

#[test]
fn a_wrong_type_hides_no_other_problem() {
    for kind in [Value::from("Htpp"), Value::Null] {
        check_problems(
            json!({"action": {"type": kind, "request": {"uri": "x", "method": "GET"},
                "retryPolicy": {"retryCount": 21}}}),
            &[
                "properties.action.type",
                "properties.action.request.uri",
                "properties.action.retryPolicy.retryCount",
            ],
        );
    }
}

#[test]
fn known_texts_are_those_of_the_service() {
    let check = |properties: Value, expected: &str| {
        let message = put_properties(properties).unwrap_err().message;
        assert!(message.contains(expected), "{message}");
        assert!(!message.starts_with("Malformed"), "{message}");
    };
    let basic = "'Username' and 'Password' are required for 'Basic' type of Authentication.";
    for authentication in [
        json!({"type": "Basic"}),
        json!({"type": "basic", "username": "u"}),
        json!({"type": "Basic", "password": "p"}),
    ] {
        let mut action = http("http://x/");
        action["request"]["authentication"] = authentication;
        check(json!({ "action": action }), basic);
    }
    check(
        json!({"action": http("http://x/"), "recurrence": {"frequency": "week", "schedule": {"monthDays": [1]}}}),
        "Cannot set days of month with recurrence unit 'Week'.",
    );
}

#[test]
fn limits_of_a_request_hold_exactly() {
    let check = |member: &str, value: Value, fine: bool| {
        let mut action = http("http://x/");
        action["request"][member] = value;
        assert_eq!(put_properties(json!({ "action": action })).is_ok(), fine, "{member}");
    };
    let uri = |length: usize| Value::from(format!("http://x/{}", "a".repeat(length - 9)));
    check("uri", uri(2048), true);
    check("uri", uri(2049), false);
    check("uri", "https://x".into(), true);
    check("uri", "/relative".into(), false);
    check("uri", "http://".into(), false);
    check("body", "é".repeat(8192).into(), false); // 16 K in bytes
    check("body", "e".repeat(8192).into(), true);
    check("body", "e".repeat(8193).into(), false);
    let headers = |count: usize, length: usize| -> Value {
        (0..count).map(|index| (format!("h{index:03}"), Value::from("v".repeat(length - 4)))).collect()
    };
    check("headers", headers(50, 81), true);
    check("headers", headers(51, 10), false);
    check("headers", headers(32, 128), true);
    check("headers", headers(33, 128), false);
    check("headers", json!({"a": "b\r\nc: d"}), false);
    check("method", "get".into(), true);
    check("method", "CONNECT".into(), false);
}

#[test]
fn a_job_has_at_most_16_k_however_it_is_spaced() {
    let job = |characters: usize| {
        let message = "m".repeat(characters);
        json!({"properties": {"action": {"type": "StorageQueue", "queueMessage":
            {"storageAccount": "a", "queueName": "q", "sasToken": "t", "message": message}}}})
    };
    let read = |body: &str| job::read_put(body.as_bytes(), &job_key(), None, &context(ApiVersion::V2016_03));
    assert!(read(&job(16_200).to_string()).is_ok());
    assert!(read(&(" ".repeat(40_000) + &job(16_200).to_string())).is_ok());
    let error = read(&job(16_400).to_string()).unwrap_err();
    assert!(error.message.contains("too large"), "{error}");
}

#[test]
fn authorization_header_and_authentication_exclude_each_other() {
    let mut action = http("http://x/");
    action["request"]["headers"] = json!({"authorization": "Bearer x"});
    assert!(put_properties(json!({ "action": action })).is_ok());
    action["request"]["authentication"] = json!({"type": "Basic", "username": "u", "password": "p"});
    check_problems(json!({ "action": action }), &["properties.action.request.headers"]);
    action["request"]["authentication"] = json!({"type": "NotSpecified"});
    assert!(put_properties(json!({ "action": action })).is_ok());
}

#[test]
fn retry_intervals_are_read_in_every_form_and_bounded() {
    let check_on = |sku, interval: &str, expected: Option<&str>| {
        let mut action = http("http://x/");
        action["retryPolicy"] = json!({"retryType": "Fixed", "retryInterval": interval});
        let body = json!({"properties": {"action": action}}).to_string();
        let context = punctual_arm::JobContext { sku, ..context(ApiVersion::V2016_03) };
        let spec = job::read_put(body.as_bytes(), &job_key(), None, &context).ok();
        let seen = spec.map(|spec| shown(&spec)["action"]["retryPolicy"]["retryInterval"].clone());
        assert_eq!(seen, expected.map(Value::from), "{interval} on {sku:?}");
    };
    let check = |interval: &str, expected| check_on(Sku::Standard, interval, expected);
    check("00:01:00", Some("00:01:00"));
    check("PT1M", Some("00:01:00"));
    check("PT1D", Some("1.00:00:00"));
    check("P2D", Some("2.00:00:00"));
    check("60.00:00:00", Some("60.00:00:00"));
    check("00:00:15", Some("00:00:15"));
    check("00:00:14", None);
    check("548.00:00:00", Some("548.00:00:00"));
    check("549.00:00:00", None);
    check("soon", None);
    check_on(Sku::Free, "00:59:59", None);
    check_on(Sku::Free, "01:00:00", Some("01:00:00"));
}

#[test]
fn a_retry_policy_in_the_request_is_read_where_there_is_no_other() {
    let policy = |count: u32| json!({"retryType": "Fixed", "retryCount": count});
    let mut action = http("http://x/");
    action["request"]["retryPolicy"] = policy(3);
    let count = |spec: JobSpec| spec.action.retry.unwrap().count;
    assert_eq!(count(put_properties(json!({ "action": action })).unwrap()), Some(3));
    action["retryPolicy"] = policy(0);
    assert_eq!(count(put_properties(json!({ "action": action })).unwrap()), Some(0));
    action["retryPolicy"] = Value::Null;
    action["request"]["retryPolicy"] = policy(21);
    assert_eq!(put_properties(json!({ "action": action })).unwrap().action.retry, None);
}

#[test]
fn five_error_actions_may_follow_one_another() {
    let nested = |depth: usize| {
        let action = (0..depth).fold(http("http://last/"), |inner, _| {
            let mut action = http("http://x/");
            action["errorAction"] = inner;
            action
        });
        put_properties(json!({ "action": action }))
    };
    assert_eq!(nested(5).unwrap().action.steps().count(), 6);
    let message = nested(6).unwrap_err().message;
    let path = format!("properties.action{}", ".errorAction".repeat(6));
    assert!(message.starts_with(&path), "{message}");
    assert!(nested(30).is_err());
}

#[test]
fn states_are_enabled_or_disabled_and_status_is_ignored() {
    let check = |state: Value, expected: Option<bool>| {
        let read = put_properties(
            json!({"action": http("http://x/"), "state": state, "status": {"executionCount": "x"}}),
        );
        assert_eq!(read.ok().map(|spec| spec.enabled), expected, "{state}");
    };
    check(Value::Null, Some(true));
    check("Enabled".into(), Some(true));
    check("DISABLED".into(), Some(false));
    check("completed".into(), None);
    check("Faulted".into(), None);
    check("on".into(), None);
    check(true.into(), None);
}

#[test]
fn start_is_at_most_18_months_ahead() {
    let check = |start: &str, fine: bool| {
        let read = put_properties(json!({"action": http("http://x/"), "startTime": start}));
        assert_eq!(read.is_ok(), fine, "{start}: {read:?}");
    };
    check("2028-05-15T12:00:00Z", true);
    check("2028-05-15T12:00:01Z", false);
    check("1999-01-01", true);
    check("9999-12-31T23:59:59.9999999Z", false);
}

#[test]
fn an_id_in_the_body_is_that_of_the_url() {
    let id = "/subscriptions/s/resourcegroups/rg/providers/microsoft.scheduler/jobCollections/jc/jobs/j1";
    let body = |id: &str| json!({"id": id, "name": "anything", "properties": {"action": http("http://x/")}});
    assert!(put(&body(id)).is_ok());
    assert!(put(&body(&format!("{id}2"))).is_err());
}

#[test]
fn names_that_become_part_of_a_host_can_not_change_the_host() {
    let queue = |account: &str, name: &str| {
        put_properties(json!({"action": {"type": "StorageQueue", "queueMessage":
            {"storageAccount": account, "queueName": name, "sasToken": "t", "message": ""}}}))
    };
    assert!(queue("schedulersdktest", "queue1").is_ok());
    for bad in ["evil.example/", "evil.example#", "a@b", "", "a b", "a.b"] {
        assert!(queue(bad, "queue1").is_err(), "{bad}");
    }
    for bad in ["../x", "a/b", "a?b", ""] {
        assert!(queue("account", bad).is_err(), "{bad}");
    }
    let bus = |namespace: &str, topic: &str| {
        put_properties(json!({"action": {"type": "ServiceBusTopic", "serviceBusTopicMessage":
            {"namespace": namespace, "topicPath": topic, "message": "m"}}}))
    };
    assert!(bus("scheduler-sdk-ns", "a/b.c_d").is_ok());
    assert!(bus("evil.example/", "t").is_err());
    assert!(bus("ns", "../t").is_err());
}

#[test]
fn an_old_api_version_keeps_the_time_zone_that_it_can_not_say() {
    let properties = |zone: &str| json!({"properties": {"action": http("http://x/"), "recurrence": {"frequency": "Day", "timeZone": zone}}});
    let read = |version, body: &Value, existing: Option<&JobSpec>| {
        job::read_put(body.to_string().as_bytes(), &job_key(), existing, &context(version))
    };
    let zone = |spec: &JobSpec| spec.recurrence.as_ref().unwrap().time_zone.clone();
    let new = read(ApiVersion::V2026_11, &properties("Europe/Berlin"), None).unwrap();
    assert_eq!(zone(&new).as_deref(), Some("Europe/Berlin"));
    let old = read(ApiVersion::V2016_03, &properties("Asia/Tokyo"), Some(&new)).unwrap();
    assert_eq!(zone(&old).as_deref(), Some("Europe/Berlin"));
    let first = read(ApiVersion::V2016_03, &properties("Asia/Tokyo"), None).unwrap();
    assert_eq!(zone(&first), None);
    assert!(read(ApiVersion::V2026_11, &properties("Mars/Base"), None).is_err());
}

#[test]
fn secrets_are_never_in_errors() {
    let mut action = http("http://x/?code=geheim");
    action["request"]["uri"] = "nonsense?code=geheim".into();
    action["request"]["authentication"] =
        json!({"type": "ClientCertificate", "pfx": "geheim!", "password": "geheim"});
    action["errorAction"] = json!({"type": "StorageQueue", "queueMessage": {"sasToken": ["geheim"]}});
    let message = put_properties(json!({ "action": action })).unwrap_err().message;
    assert!(!message.contains("geheim"), "{message}");
    let error =
        job::read_put(b"{\"geheim\": geheim}", &job_key(), None, &context(ApiVersion::V2016_03)).unwrap_err();
    assert!(!error.message.contains("geheim"), "{error}");
}
