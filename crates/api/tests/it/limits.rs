//! Limits of plans that whoever runs the server has set.

use jiff::SignedDuration;
use punctual_model::{Limits, MaxRecurrence};
use serde_json::{Value, json};

use crate::world::{World, http};

fn collection(plan: &str) -> Value {
    json!({"location": "West US", "properties": {"sku": {"name": plan}}})
}

#[tokio::test]
async fn more_jobs_than_a_page_has_are_listed_page_by_page_and_switched_together() {
    let mut limits = Limits::default();
    limits.standard.job_count_max = 2_200;
    let world = World::with_limits(limits);
    world.put("Jc", collection("Standard")).await.is(201);
    let job = json!({"recurrence": {"frequency": "Day"}});
    for number in 0..2_200 {
        world.put_job(&format!("j{number:04}"), job.clone()).await.is(201);
    }
    let message = world.put_job("one-more", job.clone()).await.refused(409, "Conflict");
    assert!(message.contains("quota of '2200'") && message.contains("plans.standard.jobs"), "{message}");

    let mut names: Vec<String> = Vec::new();
    let mut next = Some("Jc/jobs".to_owned());
    while let Some(path) = next {
        let page = world.get(&path).await.is(200);
        assert!(page.names().len() <= 1000);
        names.extend(page.names().into_iter().map(str::to_owned));
        next = page.body["nextLink"]
            .as_str()
            .map(|link| link.strip_prefix("http://localhost").unwrap().to_owned());
        // What comes and goes on pages that were read moves nothing on those to come.
        if names.len() == 1000 {
            world.delete("Jc/jobs/j0000").await.is(200);
            world.delete("Jc/jobs/j0001").await.is(200);
            world.put_job("a", job.clone()).await.is(201);
        }
    }
    let expected: Vec<_> = (0..2_200).map(|number| format!("j{number:04}")).collect();
    assert!(names == expected, "every job is listed once");
    assert_eq!(world.get("Jc/jobs?$top=2&$skip=2197").await.names(), ["j2198", "j2199"]);

    world.post("Jc/disable").await.is(200);
    world.advance(SignedDuration::from_hours(48));
    assert_eq!(world.fire(true).await, 0);
    world.post("Jc/enable").await.is(200);
    let last = world.get("Jc/jobs/j2199").await;
    assert_eq!(last.properties()["status"]["nextExecutionTime"], "2026-11-17T12:00:00Z");
}

#[tokio::test]
async fn every_limit_of_a_plan_can_be_set() {
    let mut limits = Limits::default();
    limits.free.recurrence_max = MaxRecurrence { interval: 10, ..limits.standard.recurrence_max };
    limits.free.collection_count_max = 2;
    limits.free.retry_interval_min = SignedDuration::from_secs(60);
    limits.free.authentication = true;
    limits.standard.authentication = false;
    limits.start_ahead_months_max = 24;
    let world = World::with_limits(limits);
    for name in ["Jc", "Other"] {
        world.put(name, collection("Free")).await.is(201);
    }
    let message = world.put("Third", collection("Free")).await.refused(409, "Conflict");
    assert!(message.ends_with("setting plans.free.collections; the plan Standard allows 100."), "{message}");

    let every = |minutes: u32| json!({"recurrence": {"frequency": "Minute", "interval": minutes}});
    world.put_job("one", every(10)).await.is(201);
    let message = world.put_job("one", every(9)).await.refused(409, "Conflict");
    let expected = "The provided recurrence minute/9 exceeds the permissible limit of the job collection \
                    (minute/10). The limit is the setting plans.free.recurrence; the plan Standard allows minute/1.";
    assert_eq!(message, expected);

    let retry = |interval: &str| {
        let mut action = http(json!({}));
        action["retryPolicy"] = json!({"retryType": "Fixed", "retryInterval": interval});
        json!({ "action": action })
    };
    world.put_job("two", retry("00:01:00")).await.is(201);
    let message = world.put_job("two", retry("00:00:59")).await.refused(400, "BadRequest");
    assert!(message.contains("on the Free plan (setting plans.free.retry_interval_seconds)"), "{message}");

    let basic = json!({"type": "Basic", "username": "u", "password": "p"});
    let secret = json!({"action": http(json!({"authentication": basic}))});
    world.put_job("three", secret.clone()).await.is(201);
    world.patch("Other", json!({"properties": {"sku": {"name": "Standard"}}})).await.is(200);
    let body = json!({"properties": secret});
    let message = world.put("Other/jobs/one", body).await.refused(409, "Conflict");
    assert!(
        message.contains("setting plans.standard.authentication; the plan P10Premium allows it"),
        "{message}"
    );

    world.put_job("four", json!({"startTime": "2028-11-15T12:00:00Z"})).await.is(201);
    let message = world.put_job("four", json!({"startTime": "2028-11-15T12:00:01Z"})).await;
    let message = message.refused(400, "BadRequest");
    assert!(
        message.contains("at most 24 months ahead") && message.contains("plans.start_ahead_months"),
        "{message}"
    );
}
