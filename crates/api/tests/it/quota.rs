//! What plans and quotas forbid.

use serde_json::{Value, json};

use crate::world::{World, http};

async fn free() -> World {
    let world = World::empty();
    world.put("Jc", json!({"location": "West US", "properties": {"sku": {"name": "Free"}}})).await.is(201);
    world
}

#[tokio::test]
async fn a_full_collection_takes_changes_but_no_new_jobs() {
    let world = World::empty();
    let body = json!({"location": "West US", "properties": {"quota": {"maxJobCount": 2}}});
    world.put("Jc", body).await.is(201);
    world.put_job("one", json!({})).await.is(201);
    world.put_job("two", json!({})).await.is(201);
    let message = world.put_job("three", json!({})).await.refused(409, "Conflict");
    let expected = "The job collection has reached its quota of '2'. Please remove existing jobs before adding new ones.";
    assert_eq!(message, expected);
    world.put_job("one", json!({"state": "Disabled"})).await.is(200);
    world.delete("Jc/jobs/one").await.is(200);
    world.put_job("three", json!({})).await.is(201);
}

#[tokio::test]
async fn a_quota_below_the_number_of_jobs_is_accepted_and_binds_new_ones() {
    let world = World::new().await;
    world.put_job("one", json!({})).await.is(201);
    world.put_job("two", json!({})).await.is(201);
    world.patch("Jc", json!({"properties": {"quota": {"maxJobCount": 1}}})).await.is(200);
    assert_eq!(world.get("Jc/jobs").await.names(), ["one", "two"]);
    world.put_job("three", json!({})).await.refused(409, "Conflict");
}

#[tokio::test]
async fn the_limits_of_a_plan_hold_without_a_quota() {
    let world = free().await;
    for number in 0..5 {
        world.put_job(&format!("j{number}"), json!({})).await.is(201);
    }
    assert!(world.put_job("j5", json!({})).await.refused(409, "Conflict").contains("quota of '5'"));
}

#[tokio::test]
async fn the_pace_is_judged_by_interval_and_by_the_schedule() {
    let world = free().await;
    let check = async |recurrence: Value, status: u16| {
        let body = json!({"startTime": "2026-11-16T00:00:00Z", "recurrence": recurrence});
        let answer = world.put_job("one", body).await;
        assert_eq!(answer.status / 100, status / 100, "{recurrence}: {}", answer.text);
    };
    check(json!({"frequency": "Minute", "interval": 59}), 409).await;
    check(json!({"frequency": "Minute", "interval": 60}), 200).await;
    check(json!({"frequency": "Hour"}), 200).await;
    check(json!({"frequency": "Day", "schedule": {"hours": [5, 6], "minutes": [0]}}), 200).await;
    check(json!({"frequency": "Day", "schedule": {"hours": [5], "minutes": [0, 30]}}), 409).await;
    check(json!({"frequency": "Day", "schedule": {"hours": [0, 23], "minutes": [0]}}), 200).await;
}

#[tokio::test]
async fn a_subscription_has_one_free_collection() {
    let world = free().await;
    let body = json!({"location": "West US", "properties": {"sku": {"name": "Free"}}});
    let message = world.put("Other", body.clone()).await.refused(409, "Conflict");
    assert!(message.starts_with("The subscription already has a free job collection."), "{message}");
    world.put("Jc", body).await.is(201);
}

#[tokio::test]
async fn free_jobs_do_not_authenticate() {
    let world = free().await;
    let basic = json!({"type": "Basic", "username": "u", "password": "p"});
    let action = http(json!({"authentication": basic}));
    let message = world.put_job("one", json!({"action": action})).await.refused(409, "Conflict");
    let expected = "HTTP outbound authentication is not available on the Free plan. The limit is the setting \
                    plans.free.authentication; the plan Standard allows it.";
    assert_eq!(message, expected);
    let mut hidden = http(json!({}));
    hidden["errorAction"] = action;
    world.put_job("one", json!({"action": hidden})).await.refused(409, "Conflict");
}

#[tokio::test]
async fn a_downgrade_to_free_names_all_that_is_in_its_way() {
    let world = World::new().await;
    let basic = json!({"type": "Basic", "username": "u", "password": "p"});
    world.put_job("secret", json!({"action": http(json!({"authentication": basic}))})).await.is(201);
    world.put_job("fast", json!({"recurrence": {"frequency": "Minute"}})).await.is(201);
    for number in 0..4 {
        world.put_job(&format!("j{number}"), json!({})).await.is(201);
    }
    let down = json!({"properties": {"sku": {"name": "Free"}}});
    let message = world.patch("Jc", down.clone()).await.refused(409, "Conflict");
    for part in ["it has 6 jobs", "the job 'fast' recurs faster", "the job 'secret' uses HTTP outbound"] {
        assert!(message.contains(part), "{message}");
    }
    for name in ["secret", "fast"] {
        world.delete(&format!("Jc/jobs/{name}")).await.is(200);
    }
    world.patch("Jc", down).await.is(200);
}
