//! The description says what the router does.

use axum::body::Body;
use serde_json::Value;

use crate::world::World;

/// Every operation of the router.
const OPERATIONS: [&str; 35] = [
    "GET /",
    "HEAD /",
    "GET /healthz",
    "HEAD /healthz",
    "GET /readyz",
    "HEAD /readyz",
    "GET /doctor",
    "HEAD /doctor",
    "GET /openapi.json",
    "HEAD /openapi.json",
    "GET {s}/providers",
    "GET {s}/providers/Microsoft.Scheduler",
    "POST {s}/providers/Microsoft.Scheduler/register",
    "POST {s}/providers/Microsoft.Scheduler/unregister",
    "GET {s}/resourcegroups",
    "GET {s}/resourcegroups/{rg}",
    "HEAD {s}/resourcegroups/{rg}",
    "PUT {s}/resourcegroups/{rg}",
    "DELETE {s}/resourcegroups/{rg}",
    "GET {s}/operationresults/{id}",
    "GET {s}/providers/Microsoft.Scheduler/jobCollections",
    "GET {g}",
    "GET {c}",
    "PUT {c}",
    "PATCH {c}",
    "DELETE {c}",
    "POST {c}/enable",
    "POST {c}/disable",
    "GET {c}/jobs",
    "GET {c}/jobs/{job}",
    "PUT {c}/jobs/{job}",
    "PATCH {c}/jobs/{job}",
    "DELETE {c}/jobs/{job}",
    "POST {c}/jobs/{job}/run",
    "GET {c}/jobs/{job}/history",
];

/// Those of Punctual's own api-version.
const OWN_OPERATIONS: [&str; 1] = ["GET {c}/jobs/{job}/occurrences"];

fn spelt_out(operation: &str) -> String {
    let group = "{s}/resourceGroups/{rg}/providers/Microsoft.Scheduler/jobCollections";
    operation
        .replace("{c}", &format!("{group}/{{jobCollectionName}}"))
        .replace("{g}", group)
        .replace("{s}", "/subscriptions/{subscriptionId}")
        .replace("{rg}", "{resourceGroupName}")
        .replace("{job}", "{jobName}")
        .replace("{id}", "{operationId}")
}

async fn document() -> Value {
    World::empty().get("/openapi.json").await.is(200).body
}

#[tokio::test]
async fn the_description_lists_every_operation_and_no_other() {
    let document = document().await;
    let mut described: Vec<String> = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        described.extend(
            item.as_object().unwrap().keys().map(|method| format!("{} {path}", method.to_uppercase())),
        );
    }
    let mut expected: Vec<_> = OPERATIONS.into_iter().chain(OWN_OPERATIONS).map(spelt_out).collect();
    described.sort();
    expected.sort();
    assert_eq!(described, expected);
}

#[tokio::test]
async fn every_described_method_is_routed_and_every_other_is_refused() {
    let world = World::empty();
    let document = document().await;
    for (path, item) in document["paths"].as_object().unwrap() {
        let concrete = path.replace(['{', '}'], "");
        for method in ["GET", "HEAD", "PUT", "PATCH", "DELETE", "POST"] {
            let answer = world.call(method, &concrete, Body::empty()).await;
            let described = item.get(method.to_lowercase()).is_some();
            assert_eq!(answer.status != 405, described, "{method} {path}");
            if described {
                let responses = item[method.to_lowercase()]["responses"].as_object().unwrap();
                assert!(
                    responses.contains_key(&answer.status.to_string()),
                    "{method} {path} {}",
                    answer.status
                );
            }
        }
    }
}

#[tokio::test]
async fn every_reference_leads_somewhere_and_every_part_is_used() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").map(|target| target.as_str().unwrap().to_owned()));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let document = document().await;
    let mut found = Vec::new();
    references(&document, &mut found);
    for target in &found {
        assert!(document.pointer(target.strip_prefix('#').unwrap()).is_some(), "{target}");
    }
    for (kind, parts) in document["components"].as_object().unwrap() {
        for name in parts.as_object().unwrap().keys() {
            let target = format!("#/components/{kind}/{name}");
            assert!(found.contains(&target), "{target} is used nowhere");
        }
    }
}

#[tokio::test]
async fn the_examples_of_the_description_are_accepted() {
    let world = World::new().await;
    let document = document().await;
    let path = spelt_out("{c}/jobs/{job}");
    let examples = &document["paths"][path]["put"]["requestBody"]["content"]["application/json"]["examples"];
    for (number, (name, example)) in examples.as_object().unwrap().iter().enumerate() {
        let path = format!("Jc/jobs/j{number}?api-version=2026-11-01");
        let answer = world.put(&path, example["value"].clone()).await;
        assert_eq!(answer.status, 201, "{name}: {}", answer.text);
    }
}
