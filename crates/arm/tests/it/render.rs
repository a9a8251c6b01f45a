//! How jobs are shown.

use jiff::Timestamp;
use punctual_arm::{ApiVersion, Dialect, job};
use punctual_model::{Counters, Job, JobState};
use serde_json::{Value, json};

use crate::world::{VERSION, a_job, http, now, put_properties, shown, shown_as};

#[test]
fn values_come_back_in_the_letter_case_of_the_service() {
    let spec = put_properties(json!({
        "action": {
            "type": "SERVICEBUSQUEUE",
            "serviceBusQueueMessage": {
                "queueName": "q", "namespace": "ns", "transportType": "NETMESSAGING", "message": "m",
                "authentication": {"type": "SHAREDACCESSKEY", "sasKeyName": "k", "sasKey": "s"},
                "brokeredMessageProperties": {"timeToLive": "PT2M", "forcePersistence": true,
                    "scheduledEnqueueTimeUtc": "2026-12-01"},
                "customMessageProperties": {"A": "b"},
            },
            "retryPolicy": {"retryType": "FIXED"},
            "errorAction": {"type": "hTTps", "request": {"uri": "http://X/%2d", "method": "gEt",
                "headers": {"ConTent-tYPe": "x"}}},
        },
        "recurrence": {"frequency": "MONTH", "schedule": {"hours": 24, "minutes": [], "monthlyOccurrences":
            [{"day": "MONDAY", "Occurrence": -1}, {"day": "friday"}]}},
        "state": "ENABLED",
    }))
    .unwrap();
    let expected = json!({
        "action": {
            "serviceBusQueueMessage": {
                "queueName": "q", "namespace": "ns", "transportType": "netMessaging",
                "authentication": {"sasKeyName": "k", "type": "sharedAccessKey"}, "message": "m",
                "brokeredMessageProperties": {"scheduledEnqueueTimeUtc": "2026-12-01T00:00:00Z",
                    "timeToLive": "00:02:00", "forcePersistence": true},
                "customMessageProperties": {"A": "b"},
            },
            "type": "ServiceBusQueue",
            "retryPolicy": {"retryType": "fixed"},
            "errorAction": {"request": {"uri": "http://X/%2d", "method": "gEt", "headers": {"ConTent-tYPe": "x"}},
                "type": "Https"},
        },
        "recurrence": {"frequency": "month", "interval": 1, "schedule": {"hours": [24],
            "monthlyOccurrences": [{"day": "monday", "occurrence": -1}, {"day": "friday"}]}},
        "state": "enabled",
    });
    assert_eq!(shown(&spec), expected);
    let python =
        shown_as(&spec, VERSION, Dialect::of(Some("azsdk-python-mgmt-scheduler/7.0.0 Python/3.11"), false));
    let message = &python["action"]["serviceBusQueueMessage"];
    assert_eq!(message["brokeredMessageProperties"]["timeToLive"], "PT2M");
    assert_eq!(
        python["recurrence"]["schedule"]["monthlyOccurrences"][0],
        json!({"day": "monday", "Occurrence": -1})
    );
}

#[test]
fn what_was_not_sent_is_not_shown() {
    let spec = put_properties(
        json!({"action": http("http://x/"), "recurrence": {"frequency": "day", "schedule": {}}}),
    );
    assert_eq!(
        shown(&spec.unwrap()),
        json!({
            "action": {"request": {"uri": "http://x/", "method": "GET"}, "type": "Http"},
            "recurrence": {"frequency": "day", "interval": 1},
            "state": "enabled",
        })
    );
}

#[test]
fn secrets_are_never_shown() {
    let mut action = http("http://x/");
    action["request"]["authentication"] = json!({"type": "ActiveDirectoryOAuth", "tenant": "contoso.example",
        "audience": "https://management.core.windows.net/", "clientId": "c", "secret": "geheim"});
    action["errorAction"] = json!({"type": "StorageQueue", "queueMessage":
        {"storageAccount": "a", "queueName": "q", "sasToken": "geheim", "message": ""}});
    action["errorAction"]["errorAction"] = json!({"type": "ServiceBusTopic", "serviceBusTopicMessage":
        {"namespace": "n", "topicPath": "t", "message": "m", "authentication": {"sasKey": "geheim"}}});
    let spec = put_properties(json!({ "action": action })).unwrap();
    let shown = shown(&spec);
    assert!(!shown.to_string().contains("geheim"), "{shown}");
    assert!(!format!("{spec:?}").contains("geheim"));
    let request = &shown["action"]["request"];
    assert_eq!(
        request["authentication"],
        json!({"tenant": "contoso.example", "audience": "https://management.core.windows.net/", "clientId": "c",
            "type": "ActiveDirectoryOAuth"})
    );
}

#[test]
fn status_follows_the_state() {
    let spec = put_properties(json!({"action": http("http://x/")})).unwrap();
    let next_at: Timestamp = "2026-11-15T12:00:00.5Z".parse().unwrap();
    let never = a_job(spec);
    let counters = Counters { execution: 3, failure: 2, faulted: 1 };
    let ran = Job { counters, last_started_at: Some(now()), ..never.clone() };
    let check = |job: &Job, state: JobState, next: Option<Timestamp>, expected: Value| {
        let job = Job { state, ..job.clone() };
        let shown = job::answer(&job, next, VERSION, Dialect::default()).to_value();
        let status = shown["properties"].get("status").cloned().unwrap_or(Value::Null);
        assert_eq!(status, expected, "{state:?} {next:?}");
    };
    let zeros = json!({"executionCount": 0, "failureCount": 0, "faultedCount": 0});
    let mut with_next = json!({"nextExecutionTime": "2026-11-15T12:00:00.5Z"});
    with_next.as_object_mut().unwrap().extend(zeros.as_object().unwrap().clone());
    check(&never, JobState::Enabled, Some(next_at), with_next);
    check(&never, JobState::Enabled, None, zeros.clone());
    check(&never, JobState::Disabled, Some(next_at), Value::Null);
    check(&never, JobState::Completed, None, zeros);
    let ran_status = json!({"lastExecutionTime": "2026-11-15T12:00:00Z", "executionCount": 3, "failureCount": 2,
        "faultedCount": 1});
    check(&ran, JobState::Disabled, Some(next_at), ran_status.clone());
    check(&ran, JobState::Faulted, Some(next_at), ran_status);
}

#[test]
fn a_job_has_the_id_type_and_name_that_clients_split() {
    let spec = put_properties(json!({"action": http("http://x/")})).unwrap();
    let shown = job::answer(&a_job(spec), None, ApiVersion::V2026_11, Dialect::default()).to_value();
    let keys: Vec<_> = shown.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["id", "type", "name", "properties"]);
    assert_eq!(
        shown["id"],
        "/subscriptions/s/resourceGroups/Rg/providers/Microsoft.Scheduler/jobCollections/Jc/jobs/J1"
    );
    assert_eq!(shown["type"], "Microsoft.Scheduler/jobCollections/jobs");
    assert_eq!(shown["name"], "Jc/J1");
}
