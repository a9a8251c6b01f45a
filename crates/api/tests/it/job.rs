//! Jobs: states, validation, run.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::world::{World, http, job};

#[tokio::test]
async fn put_is_201_when_new_and_200_when_it_existed() {
    let world = World::new().await;
    let made = world.put_job("one", json!({})).await.is(201);
    assert_eq!(made.body["name"], "Jc/one");
    assert_eq!(made.properties()["state"], "enabled");
    world.put_job("ONE", json!({})).await.is(200);
    assert_eq!(world.get("Jc/jobs").await.names(), ["one"]);
}

#[tokio::test]
async fn at_once_is_the_time_of_the_server() {
    let world = World::new().await;
    let made = world.put_job("one", json!({})).await;
    assert_eq!(made.properties()["status"]["nextExecutionTime"], "2026-11-15T12:00:00Z");
}

#[tokio::test]
async fn a_completed_or_faulted_job_is_final() {
    for (succeeded, state) in [(true, "completed"), (false, "faulted")] {
        let world = World::new().await;
        let mut action = http(json!({}));
        action["retryPolicy"] = json!({"retryType": "None"});
        world.put_job("one", json!({"action": action})).await.is(201);
        assert_eq!(world.fire(succeeded).await, 1);
        assert_eq!(world.get("Jc/jobs/one").await.properties()["state"], state);
        let message = world.put_job("one", json!({})).await.refused(409, "Conflict");
        assert!(message.contains(state) && message.contains("delete it first"), "{message}");
        world
            .patch("Jc/jobs/one", json!({"properties": {"state": "Enabled"}}))
            .await
            .refused(409, "Conflict");
        world.post("Jc/jobs/one/run").await.is(200);
        world.delete("Jc/jobs/one").await.is(200);
        world.put_job("one", json!({})).await.is(201);
    }
}

#[tokio::test]
async fn final_states_can_not_be_asked_for_and_a_status_is_ignored() {
    let world = World::new().await;
    for state in ["Completed", "faulted", "on"] {
        let message = world.put_job("one", json!({"state": state})).await.refused(400, "BadRequest");
        assert!(message.starts_with("properties.state: "), "{message}");
    }
    let status = json!({"executionCount": 99, "nextExecutionTime": "nonsense"});
    let made = world.put_job("one", json!({"status": status})).await.is(201);
    assert_eq!(made.properties()["status"]["executionCount"], 0);
}

#[tokio::test]
async fn deleting_what_is_not_there_is_not_found() {
    let world = World::new().await;
    assert_eq!(world.delete("Jc/jobs/no").await.refused(404, "NotFound"), "Job 'no' cannot be found.");
    world.delete("No").await.refused(404, "ResourceNotFound");
    assert_eq!(world.delete("Jc").await.is(200).text, "");
}

#[tokio::test]
async fn every_problem_is_named_with_its_path() {
    let world = World::new().await;
    let body = json!({
        "startTime": "soon",
        "state": 1,
        "action": {
            "type": "Http",
            "request": {"uri": "mailto:a", "method": "BREW", "authentication": {"type": "Basic"}},
            "retryPolicy": {"retryInterval": "00:00:14", "retryCount": 21},
        },
        "recurrence": {"frequency": "Second", "interval": "1"},
    });
    let message = world.put_job("one", body).await.refused(400, "BadRequest");
    for path in [
        "properties.startTime: ",
        "properties.state: ",
        "properties.action.request.uri: ",
        "properties.action.request.method: ",
        "'Username' and 'Password' are required for 'Basic' type of Authentication.",
        "properties.action.retryPolicy.retryInterval: ",
        "properties.action.retryPolicy.retryCount: ",
        "properties.recurrence.frequency: ",
        "properties.recurrence.interval: ",
    ] {
        assert!(message.contains(path), "{path} in {message}");
    }
    assert!(!message.contains("Malformed"));
}

#[tokio::test]
async fn a_body_that_is_no_job_at_all_is_malformed() {
    let world = World::new().await;
    for body in ["", "{", "[]", "null", "{}", r#"{"properties": {}}"#, "\u{feff}nonsense"] {
        let message =
            world.call("PUT", "Jc/jobs/one", body.to_owned().into()).await.refused(400, "BadRequest");
        assert!(message.starts_with("Malformed Job Object"), "{body}: {message}");
    }
}

#[tokio::test]
async fn retries_are_bounded_and_zero_is_none() {
    let world = World::new().await;
    let check = async |policy: Value, status: u16| {
        let mut action = http(json!({}));
        action["retryPolicy"] = policy.clone();
        let answer = world.put_job("one", json!({"action": action})).await;
        assert_eq!(answer.status / 100, status / 100, "{policy}: {}", answer.text);
        answer.properties()["action"]["retryPolicy"].clone()
    };
    check(json!({"retryInterval": "00:00:14"}), 400).await;
    check(json!({"retryInterval": "00:00:15"}), 200).await;
    check(json!({"retryInterval": "548.00:00:00"}), 200).await;
    check(json!({"retryInterval": "549.00:00:00"}), 400).await;
    check(json!({"retryCount": 0}), 200).await;
    check(json!({"retryCount": 20}), 200).await;
    check(json!({"retryCount": 21}), 400).await;
    check(json!({"retryCount": -1}), 400).await;
    let day = check(json!({"retryInterval": "PT1D"}), 200).await;
    assert_eq!(day, json!({"retryType": "fixed", "retryInterval": "1.00:00:00"}));
}

#[tokio::test]
async fn a_retry_policy_in_the_request_is_the_actions_if_that_has_none() {
    let world = World::new().await;
    let mut action = http(json!({"retryPolicy": {"retryType": "None"}}));
    let made = world.put_job("one", json!({"action": action})).await.is(201);
    assert_eq!(made.properties()["action"]["retryPolicy"], json!({"retryType": "none"}));
    assert_eq!(made.properties()["action"]["request"].get("retryPolicy"), None);
    action["retryPolicy"] = json!({"retryCount": 2});
    let made = world.put_job("one", json!({"action": action})).await.is(200);
    assert_eq!(made.properties()["action"]["retryPolicy"], json!({"retryType": "fixed", "retryCount": 2}));
}

#[tokio::test]
async fn error_actions_follow_one_another_five_deep() {
    let world = World::new().await;
    let nested = |depth: usize| {
        (0..depth).fold(http(json!({})), |inner, _| {
            let mut outer = http(json!({}));
            outer["errorAction"] = inner;
            outer
        })
    };
    let made = world.put_job("one", json!({"action": nested(5)})).await.is(201);
    assert_eq!(made.properties()["action"], nested(5));
    let message = world.put_job("one", json!({"action": nested(6)})).await.refused(400, "BadRequest");
    assert!(message.contains("at most 5 error actions"), "{message}");
}

#[tokio::test]
async fn a_service_bus_action_without_a_key_is_accepted() {
    let world = World::new().await;
    let message =
        json!({"namespace": "n", "queueName": "q", "transportType": "NetMessaging", "message": "m"});
    let action = json!({"type": "ServiceBusQueue", "serviceBusQueueMessage": message});
    let made = world.put_job("one", json!({"action": action})).await.is(201);
    let shown = &made.properties()["action"]["serviceBusQueueMessage"];
    assert_eq!(shown["transportType"], "netMessaging");
    assert_eq!(shown.get("authentication"), None);
}

#[tokio::test]
async fn an_end_in_the_past_completes_the_job_without_a_run() {
    let world = World::new().await;
    let recurrence = json!({"frequency": "Day", "endTime": "2026-11-14"});
    let made = world
        .put_job("one", json!({"startTime": "2026-11-01T00:00:00Z", "recurrence": recurrence}))
        .await
        .is(201);
    assert_eq!(made.properties()["state"], "completed");
    assert_eq!(made.properties()["status"]["executionCount"], 0);
    assert_eq!(world.fire(true).await, 0);
}

#[tokio::test]
async fn the_status_of_a_disabled_job_is_left_out_unless_it_ran() {
    let world = World::new().await;
    let disabled = json!({"properties": {"state": "Disabled"}});
    world.put_job("one", json!({"recurrence": {"frequency": "Day"}})).await.is(201);
    let patched = world.patch("Jc/jobs/one", disabled.clone()).await.is(200);
    assert_eq!(patched.properties().get("status"), None);
    world.put_job("two", json!({"recurrence": {"frequency": "Day"}})).await.is(201);
    assert_eq!(world.fire(true).await, 1);
    let patched = world.patch("Jc/jobs/two", disabled).await.is(200);
    let status = json!({"lastExecutionTime": "2026-11-15T12:00:00Z", "executionCount": 1, "failureCount": 0, "faultedCount": 0});
    assert_eq!(patched.properties()["status"], status);
}

#[tokio::test]
async fn put_starts_the_counters_anew_and_patch_keeps_them() {
    let world = World::new().await;
    let daily = json!({"recurrence": {"frequency": "Day"}});
    world.put_job("one", daily.clone()).await.is(201);
    world.fire(true).await;
    let patched =
        world.patch("Jc/jobs/one", json!({"properties": {"action": {"request": {"method": "PUT"}}}})).await;
    assert_eq!(patched.properties()["status"]["executionCount"], 1);
    let put = world.put_job("one", daily).await.is(200);
    assert_eq!(put.properties()["status"]["executionCount"], 0);
    assert_eq!(world.get("Jc/jobs/one/history").await.body["value"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_job_in_a_collection_that_is_not_enabled_keeps_its_state_and_does_not_fire() {
    for state in ["Disabled", "Suspended"] {
        let world = World::new().await;
        world.put_job("one", json!({"recurrence": {"frequency": "Hour"}})).await.is(201);
        world.fire(true).await;
        world.patch("Jc", json!({"properties": {"state": state}})).await.is(200);
        let held = world.get("Jc/jobs/one").await;
        assert_eq!(held.properties()["state"], "enabled");
        assert_eq!(held.properties()["status"].get("nextExecutionTime"), None);
        world.advance(SignedDuration::from_mins(150));
        assert_eq!(world.fire(true).await, 0);
        world.post("Jc/enable").await.is(200);
        // Nothing is made up for.
        let resumed = world.get("Jc/jobs/one").await;
        assert_eq!(resumed.properties()["status"]["nextExecutionTime"], "2026-11-15T15:00:00Z");
        assert_eq!(world.fire(true).await, 0);
    }
}

#[tokio::test]
async fn run_leaves_schedule_and_state_alone() {
    let world = World::new().await;
    let body =
        json!({"startTime": "2026-12-01T00:00:00Z", "recurrence": {"frequency": "Day"}, "state": "Disabled"});
    world.put_job("one", body).await.is(201);
    let answer = world.post("Jc/jobs/one/run").await.is(200);
    assert_eq!((answer.text.as_str(), answer.header("content-type")), ("", None));
    assert_eq!(world.fire(true).await, 1);
    let after = world.get("Jc/jobs/one").await;
    assert_eq!(after.properties()["state"], "disabled");
    assert_eq!(after.properties()["status"]["executionCount"], 1);
}

#[tokio::test]
async fn run_in_a_collection_that_is_not_enabled_is_a_conflict() {
    let world = World::new().await;
    world.put_job("one", json!({})).await.is(201);
    world.post("Jc/disable").await.is(200);
    let message = world.post("Jc/jobs/one/run").await.refused(409, "Conflict");
    assert_eq!(message, "The job collection 'Jc' is not enabled.");
}

#[tokio::test]
async fn too_many_runs_at_a_time_are_told_to_come_back() {
    let world = World::new().await;
    world.put_job("one", json!({"startTime": "2026-12-01T00:00:00Z"})).await.is(201);
    let mut refused = 0;
    for _ in 0..150 {
        let answer = world.post("Jc/jobs/one/run").await;
        if answer.status == 429 {
            assert_eq!(answer.header("retry-after"), Some("60"));
            refused += 1;
        }
    }
    assert!((1..150).contains(&refused), "{refused}");
}

#[tokio::test]
async fn an_id_of_another_job_is_refused() {
    let world = World::new().await;
    let made = world.put_job("one", json!({})).await.is(201);
    world.put("Jc/jobs/one", made.body.clone()).await.is(200);
    world.put("Jc/jobs/two", made.body).await.refused(400, "BadRequest");
}

#[tokio::test]
async fn values_are_read_in_any_letter_case_and_unknown_members_are_ignored() {
    let world = World::new().await;
    let mut body = job(json!({"recurrence": {"frequency": "mInUtE", "flavour": "mint"}, "state": "ENABLED"}));
    body["properties"]["action"]["type"] = json!("hTTp");
    body["extra"] = json!([1]);
    let made = world.put("Jc/jobs/one", body).await.is(201);
    assert_eq!(made.properties()["action"]["type"], "Http");
    assert_eq!(made.properties()["recurrence"], json!({"frequency": "minute", "interval": 1}));
}

#[tokio::test]
async fn a_virtual_clock_makes_the_same_answers_again() {
    let script = async || {
        let world = World::new().await;
        let mut answers = vec![world.put_job("one", json!({"recurrence": {"frequency": "Hour"}})).await];
        world.fire(true).await;
        world.advance(SignedDuration::from_hours(1));
        world.fire(false).await;
        answers.push(world.get("Jc/jobs/one").await);
        answers.push(world.get("Jc/jobs/one/history").await);
        answers.into_iter().map(|answer| (answer.text, format!("{:?}", answer.headers))).collect::<Vec<_>>()
    };
    assert_eq!(script().await, script().await);
}
