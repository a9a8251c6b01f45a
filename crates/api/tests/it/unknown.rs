//! Members that nobody knows.

use serde_json::{Value, json};

use crate::world::{World, http, job};

#[tokio::test]
async fn under_our_own_version_they_are_refused_and_older_ones_name_what_they_ignore() {
    let world = World::new().await;
    let body = job(json!({"recurrance": {"frequency": "Day"}}));
    let message =
        world.put("Jc/jobs/one?api-version=2026-11-01", body.clone()).await.refused(400, "BadRequest");
    assert_eq!(message, "properties.recurrance: unknown member, did you mean recurrence?");
    let ignored = Some("properties.recurrance");
    assert_eq!(world.put("Jc/jobs/one", body.clone()).await.is(201).header("x-punctual-ignored"), ignored);
    assert_eq!(world.patch("Jc/jobs/one", body).await.is(200).header("x-punctual-ignored"), ignored);
    assert_eq!(world.put_job("one", json!({})).await.is(200).header("x-punctual-ignored"), None);
    let body = json!({"location": "West US", "sku": {"name": "Free"}});
    let other = world.put("Other?api-version=2026-11-01", body.clone()).await.refused(400, "BadRequest");
    assert_eq!(other, "sku: unknown member, did you mean properties.sku?");
    assert_eq!(world.put("Other", body.clone()).await.is(201).header("x-punctual-ignored"), Some("sku"));
    assert_eq!(world.patch("Other", body).await.is(200).header("x-punctual-ignored"), Some("sku"));
}

#[tokio::test]
async fn what_was_read_can_be_sent_back_under_our_own_version() {
    let world = World::new().await;
    let mut action = http(json!({"headers": {"X-Any": "1"}}));
    action["errorAction"] = json!({"type": "ServiceBusTopic", "serviceBusTopicMessage": {"namespace": "n",
        "topicPath": "t", "message": "m", "customMessageProperties": {"any": "thing"},
        "brokeredMessageProperties": {"label": "l", "timeToLive": "00:01:00"}}});
    let properties = json!({"action": action, "recurrence": {"frequency": "Month", "timeZone": "Europe/Berlin",
        "schedule": {"monthlyOccurrences": [{"day": "Monday", "occurrence": 1}]}}});
    let own = "Jc/jobs/one?api-version=2026-11-01";
    world.put(own, job(properties)).await.is(201);
    world.post("Jc/jobs/one/run").await.is(200);
    world.fire(true).await;
    let mut read = world.get(own).await.is(200).body;
    assert!(read["properties"]["status"]["lastExecutionTime"].is_string());
    // az adds these to whatever it writes.
    read["location"] = "West US".into();
    read["tags"] = json!({"a": "b"});
    world.put(own, read.clone()).await.is(200);
    world.patch(own, read).await.is(200);
    let collection = world.get("Jc?api-version=2026-11-01").await.is(200).body;
    world.put("Jc?api-version=2026-11-01", collection.clone()).await.is(201);
    world.patch("Jc?api-version=2026-11-01", collection).await.is(200);
}

/// A document with every member that a part of the description has, all values null.
fn every_member(schema: &Value, document: &Value, depth: usize) -> Value {
    let mut found = Value::Null;
    if let Some(target) = schema["$ref"].as_str() {
        return every_member(document.pointer(&target[1..]).unwrap(), document, depth);
    }
    for (name, below) in schema["properties"].as_object().into_iter().flatten().filter(|_| depth < 9) {
        merge(&mut found[name], every_member(below, document, depth + 1));
    }
    for one in
        ["oneOf", "anyOf", "allOf"].iter().flat_map(|kind| schema[kind].as_array().into_iter().flatten())
    {
        merge(&mut found, every_member(one, document, depth));
    }
    if schema["items"].is_object() {
        found = json!([every_member(&schema["items"], document, depth + 1)]);
    }
    found
}

fn merge(found: &mut Value, more: Value) {
    match (found, more) {
        (Value::Object(found), Value::Object(more)) => {
            more.into_iter().for_each(|(name, value)| merge(found.entry(name).or_insert(Value::Null), value));
        }
        (found, more) if found.is_null() => *found = more,
        _ => {}
    }
}

#[tokio::test]
async fn every_member_of_the_description_is_known() {
    let world = World::new().await;
    let document = world.get("/openapi.json").await.is(200).body;
    let schemas = &document["components"]["schemas"];
    for (schema, path) in [
        ("JobPutRequest", "Jc/jobs/one"),
        ("Job", "Jc/jobs/one"),
        ("CollectionRequest", "Jc"),
        ("Collection", "Jc"),
    ] {
        let body = every_member(&schemas[schema], &document, 0);
        assert!(body["properties"].as_object().unwrap().len() > 2, "{schema}: {body}");
        let text = world.put(&format!("{path}?api-version=2026-11-01"), body.clone()).await.text;
        assert!(!text.contains("unknown member"), "{schema}: {text}");
    }
}
