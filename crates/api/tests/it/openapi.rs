//! The description says what the router does.

use std::path::Path;

use axum::body::Body;
use punctual_api::{ROUTES, Route};
use punctual_model::Level;
use serde_json::Value;

use crate::world::World;

/// The path of a route as the description writes it.
fn path(route: &Route) -> String {
    let group = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}";
    let collections = format!("{group}/providers/Microsoft.Scheduler/jobCollections");
    let scope = match route.level {
        Level::Everything => String::new(),
        Level::Subscription => "/subscriptions/{subscriptionId}".to_owned(),
        // Clients write it so, where it is about the group itself.
        Level::Group if route.tail.is_empty() => group.replace("Groups", "groups"),
        Level::Group => group.to_owned(),
        Level::Collection => format!("{collections}/{{jobCollectionName}}"),
        Level::Job => format!("{collections}/{{jobCollectionName}}/jobs/{{jobName}}"),
    };
    if route.tail.is_empty() && !scope.is_empty() { scope } else { format!("{scope}/{}", route.tail) }
}

async fn document() -> Value {
    World::empty().get("/openapi.json").await.is(200).body
}

#[tokio::test]
async fn the_description_lists_every_operation_and_no_other() {
    let document = document().await;
    let mut described: Vec<String> = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            described.push(format!("{} {path} {name}", method.to_uppercase()));
        }
    }
    let mut expected: Vec<String> = Vec::new();
    for route in ROUTES {
        for method in route.methods {
            // Two methods of one operation need two ids in a description.
            let suffix = if *method == "HEAD" && route.methods.len() > 1 { "Head" } else { "" };
            expected.push(format!("{method} {} {}{suffix}", path(route), route.name));
        }
    }
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
        if kind == "securitySchemes" {
            continue; // They are named, not referred to.
        }
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
    let path = path(ROUTES.iter().find(|route| route.name == "putJob").unwrap());
    let examples = &document["paths"][path]["put"]["requestBody"]["content"]["application/json"]["examples"];
    for (number, (name, example)) in examples.as_object().unwrap().iter().enumerate() {
        let path = format!("Jc/jobs/j{number}?api-version=2026-11-01");
        let answer = world.put(&path, example["value"].clone()).await;
        assert_eq!(answer.status, 201, "{name}: {}", answer.text);
    }
}

/// The lines of the table of operations in the reference.
fn table(document: &Value) -> String {
    let mut lines = "| operation | method and path | success | name |\n|---|---|---|---|\n".to_owned();
    for route in ROUTES {
        let item = &document["paths"][path(route)][route.methods[0].to_lowercase()];
        let responses = item["responses"].as_object().unwrap().keys();
        let success: Vec<&str> =
            responses.map(String::as_str).filter(|status| status.starts_with(['2', '3'])).collect();
        let parameters = item["parameters"].as_array().into_iter().flatten().map(|parameter| {
            let reference = parameter["$ref"].as_str();
            reference.map_or(parameter, |target| document.pointer(&target[1..]).unwrap())
        });
        let asked: Vec<String> = parameters
            .filter(|parameter| {
                parameter["in"] == "query"
                    && !["api-version", "$skiptoken"].contains(&parameter["name"].as_str().unwrap())
            })
            .map(|parameter| format!("`{}`", parameter["name"].as_str().unwrap()))
            .collect();
        let mut with = if asked.is_empty() { String::new() } else { format!(" with {}", asked.join(", ")) };
        let own = "#/components/parameters/own-api-version";
        if item["parameters"].as_array().is_some_and(|all| all.iter().any(|one| one["$ref"] == own)) {
            with += " (2026-11-01 only)";
        }
        let shown = path(route)
            .replace(&path(ROUTES.iter().find(|route| route.name == "getCollection").unwrap()), "{C}")
            .replace("{subscriptionId}", "{s}")
            .replace("{resourceGroupName}", "{g}")
            .replace("{jobName}", "{job}");
        lines += &format!(
            "| {} | {} `{shown}`{with} | {} | `{}` |\n",
            item["summary"].as_str().unwrap(),
            route.methods.join(", "),
            success.join(" or "),
            route.name
        );
    }
    lines
}

#[tokio::test]
async fn the_reference_lists_every_operation() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/api.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (begin, end) = ("<!-- operations -->\n", "<!-- end of operations -->\n");
    let (before, rest) = text.split_once(begin).unwrap();
    let (shown, after) = rest.split_once(end).unwrap();
    let expected = table(&document().await);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, format!("{before}{begin}{expected}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(shown, expected, "UPDATE_GOLDEN=1 writes it anew");
}
