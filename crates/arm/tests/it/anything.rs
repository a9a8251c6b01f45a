//! Arbitrary JSON, biased towards the names that readers look for, never makes them panic.

use proptest::prelude::*;
use punctual_arm::{
    ApiVersion, CollectionsPage, HistoryPage, JobsPage, Locations, Query, collection, job, provider,
    read_preview,
};
use serde_json::{Map, Value, json};

use crate::world::{collection_context, collection_key, context, http, job_key, put_properties};

const NAMES: &[&str] = &[
    "properties",
    "action",
    "errorAction",
    "type",
    "request",
    "uri",
    "method",
    "headers",
    "body",
    "authentication",
    "username",
    "password",
    "pfx",
    "queueMessage",
    "storageAccount",
    "queueName",
    "sasToken",
    "message",
    "serviceBusQueueMessage",
    "serviceBusTopicMessage",
    "topicPath",
    "namespace",
    "transportType",
    "brokeredMessageProperties",
    "timeToLive",
    "scheduledEnqueueTimeUtc",
    "customMessageProperties",
    "retryPolicy",
    "retryType",
    "retryInterval",
    "retryCount",
    "recurrence",
    "frequency",
    "interval",
    "count",
    "endTime",
    "schedule",
    "minutes",
    "hours",
    "weekDays",
    "monthDays",
    "monthlyOccurrences",
    "day",
    "Occurrence",
    "months",
    "timeZone",
    "startTime",
    "state",
    "id",
    "name",
    "location",
    "tags",
    "sku",
    "quota",
    "maxJobCount",
    "maxRecurrence",
    "now",
];

const TEXTS: &[&str] = &[
    "Http",
    "Https",
    "StorageQueue",
    "ServiceBusQueue",
    "ServiceBusTopic",
    "Basic",
    "ClientCertificate",
    "ActiveDirectoryOAuth",
    "Fixed",
    "None",
    "week",
    "Month",
    "day",
    "Year",
    "minute",
    "Monday",
    "Enabled",
    "Completed",
    "http://x/",
    "GET",
    "2026-11-15T12:00:00Z",
    "9999-12-31T23:59:59.9999999Z",
    "-000001-01-01",
    "PT1M",
    "00:00:30",
    "10675199.02:48:05.4775807",
    "P9999999999Y",
    "Europe/Berlin",
    "AA==",
    "Free",
    "West US",
    "",
    "\u{0}",
    "é",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-40..70_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(TEXTS).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(7, 96, 8, |inner| {
        let name = prop_oneof![
            9 => proptest::sample::select(NAMES).prop_map(str::to_owned),
            1 => any::<String>(),
        ];
        prop_oneof![
            1 => proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            4 => proptest::collection::vec((name, inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn readers_take_any_json(value in value()) {
        let stored = put_properties(json!({"action": http("http://x/")})).unwrap();
        let locations = Locations::default();
        let bodies = [value.to_string(), json!({ "properties": value }).to_string()];
        for body in bodies.iter().map(String::as_bytes) {
            for version in ApiVersion::ALL {
                let _ = job::read_put(body, &job_key(), Some(&stored), &context(version));
                let _ = job::read_patch(body, &job_key(), &stored, &context(version));
                let collections = collection_context(version, &locations);
                if let Ok(collection) = collection::read_put(body, &collection_key(), None, &collections) {
                    let _ = collection::read_patch(body, &collection, &collections);
                }
            }
            let _ = provider::read_group(body, None, &locations);
        }
        let _ = read_preview(&value);
    }

    #[test]
    fn readers_take_any_bytes(body in proptest::collection::vec(any::<u8>(), 0..64), query in any::<String>()) {
        prop_assert!(job::read_put(&body, &job_key(), None, &context(ApiVersion::V2016_03)).is_err());
        let query = Query::decode(&query);
        let _ = (JobsPage::read(&query), HistoryPage::read(&query), CollectionsPage::read(&query));
    }

    #[test]
    fn filters_take_any_text(filter in any::<String>(), token in any::<String>()) {
        let mut query = Query::decode("").next_link("", "$filter", &filter);
        query.push('&');
        let more = Query::decode("").next_link("", "$skiptoken", &token);
        query.push_str(&more[1..]);
        let query = Query::decode(&query[1..]);
        prop_assert_eq!(query.get("$filter"), Some(filter.as_str()));
        prop_assert_eq!(query.get("$skiptoken"), Some(token.as_str()));
        let _ = (JobsPage::read(&query), HistoryPage::read(&query), CollectionsPage::read(&query));
    }
}
