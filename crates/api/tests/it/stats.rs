//! `GET /stats`: outcomes and lateness by stretches of time.

use jiff::SignedDuration;
use punctual_api::AccessMode;
use punctual_model::access::Role;
use serde_json::{Value, json};

use crate::world::{Answer, BASE, World, job};

async fn stats(world: &World, token: Option<&str>, query: &str) -> Answer {
    world.call_as(token, "GET", &format!("/stats?api-version=2026-11-01&{query}"), "").await
}

#[tokio::test]
async fn what_was_settled_is_counted_by_step_and_in_all() {
    let world = World::new().await;
    let rule = json!({"recurrence": {"frequency": "Minute", "interval": 1}, "action": {
        "type": "Http", "request": {"method": "GET", "uri": "https://example.com/"},
        "retryPolicy": {"retryType": "none"}}});
    world.put_job("j", rule).await.is(201);
    for succeeded in [true, true, false] {
        assert_eq!(world.fire(succeeded).await, 1);
        world.advance(SignedDuration::from_mins(1));
    }
    let found = stats(&world, None, "step=1m").await.is(200).body;
    assert_eq!((&found["step"], &found["threshold"]), (&json!("1m"), &json!(1000)));
    assert_eq!(found["buckets"].as_array().unwrap().len(), 3, "{found}");
    let total = &found["total"];
    assert_eq!(
        (&total["succeeded"], &total["failed"], &total["failedAttempts"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert_eq!((&total["late"], &total["skippedMissed"]), (&json!(0), &json!(0)));
    assert!(total["lateness"]["p99"].is_number() && total.get("start").is_none(), "{total}");
    let day = stats(&world, None, "step=1d").await.is(200).body;
    let sum: i64 =
        day["buckets"].as_array().unwrap().iter().map(|one| one["succeeded"].as_i64().unwrap()).sum();
    assert_eq!(sum, 2);
    let before = stats(&world, None, "to=2020-01-01T00:00:00Z").await.is(200).body;
    assert_eq!((&before["buckets"], &before["total"]["lateness"]), (&json!([]), &Value::Null));
}

#[tokio::test]
async fn a_caller_sees_the_statistics_of_what_it_may_read() {
    let world = World::with_access(AccessMode::Auto);
    let owner = world.token("owner", &[(Role::Owner, "/")]).await;
    for collection in ["Jc", "Other"] {
        let put = async |path: &str, body: Value| {
            world.call_as(Some(&owner), "PUT", path, body.to_string()).await.is(201);
        };
        put(collection, json!({"location": "West US"})).await;
        put(&format!("{collection}/jobs/j"), job(json!({}))).await;
    }
    assert_eq!(world.fire(true).await, 2);
    let other = format!("{BASE}/Other");
    let reader = world.token("reader", &[(Role::Reader, &other)]).await;
    assert_eq!(stats(&world, Some(&owner), "").await.is(200).body["total"]["succeeded"], 2);
    for scope in ["", "/subscriptions/s", &other] {
        let found = stats(&world, Some(&reader), &format!("scope={scope}")).await.is(200);
        assert_eq!(found.body["total"]["succeeded"], 1, "{scope}");
    }
    let scope = format!("scope={BASE}/Jc");
    stats(&world, Some(&reader), &scope).await.refused(403, "AuthorizationFailed");
}

#[tokio::test]
async fn everything_wrong_with_a_range_is_told_at_once() {
    let world = World::empty();
    let message = stats(&world, None, "scope=x&from=a&to=b&step=2m").await.refused(400, "BadRequest");
    for name in ["scope", "from", "to", "step"] {
        assert!(message.contains(&format!("{name}: ")), "{message}");
    }
    stats(&world, None, "from=2020-01-01T00:00:00Z&step=1m").await.refused(400, "BadRequest");
}
