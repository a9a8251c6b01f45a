//! Previews of definitions.

use std::time::Duration;

use axum::body::Body;
use punctual_api::AccessMode;
use punctual_model::access::Role;
use serde_json::{Value, json};

use crate::world::{Answer, BASE, World, http, job};

const PATH: &str = "Jc/preview?api-version=2026-11-01";

async fn preview(world: &World, body: Value) -> Answer {
    world.post_body(PATH, body).await
}

/// The preview of properties with a plain action.
async fn shown(world: &World, mut properties: Value) -> Value {
    if properties.get("action").is_none() {
        properties["action"] = http(json!({}));
    }
    preview(world, json!({"properties": properties})).await.is(200).body
}

fn codes(shown: &Value) -> Vec<&str> {
    shown["warnings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
}

fn problems(shown: &Value) -> Vec<(&str, &str)> {
    let problems = shown["problems"].as_array().unwrap().iter();
    problems.map(|one| (one["path"].as_str().unwrap(), one["text"].as_str().unwrap())).collect()
}

fn due(runs: &Value) -> Vec<&str> {
    runs.as_array().unwrap().iter().map(|run| run["dueTime"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_definition_is_described_with_its_next_runs_in_its_zone() {
    let world = World::new().await;
    let schedule =
        json!({"monthlyOccurrences": [{"day": "Friday", "occurrence": -1}], "hours": [2], "minutes": [30]});
    let recurrence =
        json!({"frequency": "Month", "schedule": schedule, "timeZone": "Europe/Berlin", "count": 5});
    let body = json!({"properties": {"startTime": "2026-01-01", "action": http(json!({})), "recurrence": recurrence},
        "now": "2026-01-15", "count": 2});
    let shown = preview(&world, body).await.is(200).body;
    assert_eq!(shown["description"], "Every month on the last Friday, at 02:30 Europe/Berlin; 5 times");
    assert_eq!(
        shown["next"],
        json!([
            {"dueTime": "2026-01-30T01:30:00Z", "local": "2026-01-30T02:30:00+01:00", "note": null},
            {"dueTime": "2026-02-27T01:30:00Z", "local": "2026-02-27T02:30:00+01:00", "note": null},
        ])
    );
    assert_eq!(
        (&shown["ends"], &shown["valid"], &shown["runsAtOnce"]),
        (&Value::Null, &json!(true), &json!(false))
    );
    assert_eq!((&shown["problems"], &shown["previous"]), (&json!([]), &json!([])));
    let all = json!({"properties": {"startTime": "2026-01-01", "action": http(json!({})), "recurrence": recurrence},
        "now": "2026-01-15"});
    let shown = preview(&world, all).await.is(200).body;
    assert_eq!(shown["ends"], "then it has run 5 times and ends");
    let note = "clocks were set forward since the last run: UTC+01 to UTC+02";
    assert_eq!(shown["next"][3]["note"], note);
}

#[tokio::test]
async fn nothing_is_written_and_every_api_version_but_our_own_is_refused() {
    let world = World::new().await;
    shown(&world, json!({})).await;
    assert_eq!(world.get("Jc/jobs").await.names(), [""; 0]);
    let body = json!({"properties": {}});
    world
        .post_body("Jc/preview?api-version=2016-03-01", body.clone())
        .await
        .refused(400, "InvalidApiVersionParameter");
    world.post_body("No/preview?api-version=2026-11-01", body).await.refused(404, "ResourceNotFound");
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_with_its_path_and_what_is_right_is_used() {
    let world = World::new().await;
    let shown = preview(
        &world,
        json!({"properties": {
            "action": {"type": "Http", "request": {"method": "BREW"}},
            "recurrence": {"frequency": "Week", "interval": 2, "schedule": {"weekDays": ["Monday"]}},
            "state": "on",
        }}),
    );
    let shown = shown.await.is(200).body;
    let paths: Vec<&str> = problems(&shown).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["action.request.uri", "action.request.method", "state"]);
    assert_eq!(shown["description"], "Every second week on Monday, at 12:00 UTC; the first time at once");
    assert_eq!(shown["valid"], false);
    let shown = preview(
        &world,
        json!({"properties": {"recurrence": {"frequency": "Week", "schedule": {"hours": [25]}}}}),
    );
    let shown = shown.await.is(200).body;
    let expected =
        [("action", "is required"), ("recurrence.schedule.hours[0]", "must be from 0 to 23, not 25")];
    assert_eq!(problems(&shown), expected);
    assert_eq!((&shown["description"], &shown["next"]), (&Value::Null, &json!([])));
    let shown = preview(&world, json!({"properties": 3, "name": "a/b"})).await.is(200).body;
    let paths: Vec<&str> = problems(&shown).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["", "name"]);
}

#[tokio::test]
async fn what_is_around_the_definition_must_be_right() {
    let world = World::new().await;
    let body = json!({"count": 0, "now": 1, "name": [], "method": "x", "propertys": {}});
    let message = preview(&world, body).await.refused(400, "BadRequest");
    for path in ["count: ", "now: ", "name: ", "method: ", "properties: ", "propertys: "] {
        assert!(message.contains(path), "{path} {message}");
    }
    let text = world.call("POST", PATH, Body::from("{\"properties\": ")).await;
    assert!(text.refused(400, "BadRequest").contains("not JSON"));
}

#[tokio::test]
async fn what_may_surprise_is_warned_of() {
    let world = World::new().await;
    let check = async |properties: Value, expected: &[&str]| -> Value {
        let shown = shown(&world, properties).await;
        assert_eq!(codes(&shown), expected, "{shown}");
        shown
    };
    let start = "2026-11-20T00:00:00Z";
    check(json!({"startTime": start}), &[]).await;
    let once = check(json!({}), &["runsAtOnce"]).await;
    assert_eq!((&once["runsAtOnce"], &once["ends"]), (&json!(true), &json!("then it ends")));
    check(json!({"startTime": "2020-01-01"}), &["runsAtOnce"]).await;
    let disabled = check(json!({"state": "Disabled"}), &[]).await;
    assert_eq!(disabled["runsAtOnce"], false);
    let monthly = |schedule: Value| json!({"startTime": start, "recurrence": {"frequency": "Month", "schedule": schedule}});
    let never =
        check(monthly(json!({"months": [2], "monthDays": [30]})), &["neverMatches", "missingDay"]).await;
    assert_eq!(problems(&never)[0].0, "recurrence.schedule");
    let text = never["warnings"][0]["text"].as_str().unwrap();
    assert!(text.contains("none of the chosen days exists in February"), "{text}");
    let lacking = check(monthly(json!({"monthDays": [31]})), &["missingDay"]).await;
    assert_eq!(lacking["warnings"][0]["path"], "recurrence.schedule.monthDays");
    assert_eq!(lacking["next"][0]["note"], Value::Null);
    assert_eq!(lacking["next"][1]["note"], Value::Null);
    assert_eq!(lacking["next"][2]["note"], "February 2027 has no such day");
    let over = json!({"startTime": start, "recurrence": {"frequency": "Day", "endTime": "2026-11-19"}});
    let over = check(over, &["neverMatches"]).await;
    assert_eq!((&over["valid"], problems(&over)), (&json!(true), Vec::new()));
    let night = json!({"startTime": start, "recurrence": {"frequency": "Day", "timeZone": "Europe/Berlin",
        "schedule": {"hours": [2], "minutes": [30]}}});
    let night = check(night, &["clockChange"]).await;
    let text = night["warnings"][0]["text"].as_str().unwrap();
    assert_eq!(text, "On 2027-03-28: 02:30 does not exist: moved past the gap.");
}

#[tokio::test]
async fn what_the_plan_forbids_is_told_before_it_is_refused() {
    let world = World::new().await;
    world.put("Fr", json!({"location": "West US", "properties": {"sku": {"name": "Free"}}})).await.is(201);
    let action = http(json!({"authentication": {"type": "Basic", "username": "u", "password": "p"}}));
    let properties =
        json!({"startTime": "2026-11-20", "action": action, "recurrence": {"frequency": "Minute"}});
    let path = "Fr/preview?api-version=2026-11-01";
    let shown = world.post_body(path, json!({"properties": properties})).await.is(200).body;
    assert_eq!(codes(&shown), ["tooOften"]);
    let problems = problems(&shown);
    assert_eq!(problems.iter().map(|(path, _)| *path).collect::<Vec<_>>(), ["recurrence", "action"]);
    assert!(problems[0].1.contains("exceeds the permissible limit"), "{problems:?}");
    let refused = world.put("Fr/jobs/one?api-version=2026-11-01", json!({"properties": properties})).await;
    assert!(refused.refused(409, "Conflict").contains(problems[0].1));
}

#[tokio::test]
async fn stored_secrets_count_as_given_where_they_are_left_out_or_masked() {
    let world = World::new().await;
    let authentication = json!({"type": "Basic", "username": "u", "password": "p"});
    let action = http(json!({"headers": {"X-Api-Key": "k"}, "authentication": authentication}));
    world.put_job("one", json!({"action": action})).await.is(201);
    let stored = world.get("Jc/jobs/one?api-version=2026-11-01").await.properties().clone();
    let named = preview(&world, json!({"properties": stored, "name": "ONE"})).await.is(200).body;
    assert_eq!(problems(&named), []);
    let unnamed = preview(&world, json!({"properties": stored})).await.is(200).body;
    assert_eq!(problems(&unnamed).len(), 2);
    let mut moved = stored.clone();
    moved["action"]["request"]["uri"] = "https://elsewhere.example/".into();
    let moved = preview(&world, json!({"properties": moved, "name": "one"})).await.is(200).body;
    assert!(problems(&moved).iter().all(|(_, text)| text.contains("must be sent again")), "{moved}");
    assert_eq!(problems(&moved).len(), 2);
}

/// Else a reader could try passwords: files that the stored password opens.
#[tokio::test]
async fn a_file_is_not_opened_with_a_stored_password() {
    let world = World::new().await;
    let pfx = include_str!("../../../arm/tests/files/client.pfx.base64");
    let certificate = |pfx: &str, password: &str| {
        http(json!({"authentication": {"type": "ClientCertificate", "pfx": pfx, "password": password}}))
    };
    world.put_job("one", json!({"action": certificate(pfx, "not a secret")})).await.is(201);
    let mut action = certificate("bm8gZmlsZQ==", "");
    action["request"]["authentication"].as_object_mut().unwrap().remove("password");
    let kept = preview(&world, json!({"properties": {"action": action}, "name": "one"})).await.is(200).body;
    assert_eq!(problems(&kept), []);
    let given = json!({"properties": {"action": certificate("bm8gZmlsZQ==", "x")}, "name": "one"});
    let given = preview(&world, given).await.is(200).body;
    assert_eq!(problems(&given)[0].0, "action.request.authentication.pfx");
    let good = json!({"properties": {"action": certificate(pfx, "not a secret")}});
    assert_eq!(problems(&preview(&world, good).await.is(200).body), []);
}

#[tokio::test]
async fn an_existing_job_goes_on_unless_it_is_to_be_put_anew() {
    let world = World::new().await;
    world.put_job("one", json!({"recurrence": {"frequency": "Hour", "count": 3}})).await.is(201);
    assert_eq!(world.fire(true).await, 1);
    world.advance(jiff::SignedDuration::from_mins(30));
    let properties = world.get("Jc/jobs/one?api-version=2026-11-01").await.properties().clone();
    let by = async |method: &str| {
        let body = json!({"properties": properties, "name": "one", "method": method});
        preview(&world, body).await.is(200).body
    };
    let patched = by("PATCH").await;
    assert_eq!(due(&patched["next"]), ["2026-11-15T13:00:00Z", "2026-11-15T14:00:00Z"]);
    assert_eq!(due(&patched["previous"]), ["2026-11-15T12:00:00Z"]);
    assert_eq!((&patched["runsAtOnce"], codes(&patched)), (&json!(false), Vec::new()));
    let put = by("PUT").await;
    assert_eq!(due(&put["next"]), ["2026-11-15T12:30:00Z", "2026-11-15T13:30:00Z", "2026-11-15T14:30:00Z"]);
    assert_eq!(codes(&put), ["runsAtOnce"]);
}

#[tokio::test]
async fn a_job_that_has_ended_can_not_be_changed_and_the_preview_says_so() {
    let world = World::new().await;
    world.put_job("one", json!({})).await.is(201);
    assert_eq!(world.fire(true).await, 1);
    let body = json!({"properties": {"action": http(json!({})), "startTime": "2026-12-01"}, "name": "one"});
    let shown = preview(&world, body).await.is(200).body;
    assert!(problems(&shown)[0].1.contains("delete it first"), "{shown}");
}

#[tokio::test]
async fn many_jobs_in_the_same_second_are_counted_as_far_as_the_caller_may_read() {
    let world = World::with_access(AccessMode::Auto);
    let owner = world.token("owner", &[(Role::Owner, "/")]).await;
    let reader = world.token("reader", &[(Role::Reader, &format!("{BASE}/Jc"))]).await;
    for collection in ["Jc", "Other"] {
        let body = json!({"location": "West US", "properties": {"sku": {"name": "P20Premium"}}}).to_string();
        world.call_as(Some(&owner), "PUT", collection, Body::from(body)).await.is(201);
    }
    for number in 0..100 {
        let path = format!("Other/jobs/{number}?api-version=2026-11-01");
        let body = job(json!({"startTime": "2026-11-20T08:00:00Z"})).to_string();
        world.call_as(Some(&owner), "PUT", &path, Body::from(body)).await.is(201);
    }
    let count = async |token: &str, start: &str| {
        let body = job(json!({"startTime": start})).to_string();
        let shown = world.call_as(Some(token), "POST", PATH, Body::from(body)).await.is(200).body;
        let herd = shown["warnings"].as_array().unwrap().iter().find(|one| one["code"] == "herd").cloned();
        herd.map(|herd| herd["text"].as_str().unwrap().to_owned())
    };
    let told = count(&owner, "2026-11-20T08:00:00.5Z").await.unwrap();
    assert!(told.contains("100 other jobs"), "{told}");
    assert_eq!(count(&owner, "2026-11-20T08:00:01Z").await, None);
    assert_eq!(count(&reader, "2026-11-20T08:00:00Z").await, None);
}

/// The rules that are searched longest: none of them may occupy the server.
#[tokio::test]
async fn a_rule_that_is_hard_to_search_is_answered_soon() {
    let world = World::new().await;
    let hard = [
        json!({"frequency": "Minute", "interval": 997, "schedule": {"hours": [3], "minutes": [7], "months": [2]}, "timeZone": "Europe/Berlin"}),
        json!({"frequency": "Hour", "interval": 991, "schedule": {"hours": [2], "minutes": [30], "months": [3]}, "timeZone": "Europe/Berlin"}),
        json!({"frequency": "Year", "interval": 97, "schedule": {"months": [2], "monthDays": [29]}}),
        json!({"frequency": "Day", "interval": 547, "schedule": {"months": [2], "minutes": [59]}, "timeZone": "America/New_York"}),
    ];
    for recurrence in hard {
        let body = json!({"properties": {"action": http(json!({})), "startTime": "1900-01-01", "recurrence": recurrence}, "count": 100});
        let answer = tokio::time::timeout(Duration::from_secs(60), preview(&world, body)).await;
        answer.unwrap().is(200);
    }
}

async fn diff(world: &World, body: Value) -> Answer {
    world.post_body("Jc/jobs/one/diff?api-version=2026-11-01", body).await
}

#[tokio::test]
async fn a_change_tells_which_due_times_it_adds_and_takes_away() {
    let world = World::new().await;
    let daily = |hour: u32| {
        json!({"startTime": "2026-11-01", "action": http(json!({})),
            "recurrence": {"frequency": "Day", "schedule": {"hours": [hour], "minutes": [0]}}})
    };
    world.put_job("one", daily(14)).await.is(201);
    let same = diff(&world, json!({"properties": daily(14)})).await.is(200).body;
    let nothing = json!({"count": 0, "capped": false, "value": []});
    assert_eq!((&same["added"], &same["removed"]), (&nothing, &nothing));
    assert_eq!(
        (&same["from"], &same["to"]),
        (&json!("2026-11-15T12:00:00Z"), &json!("2026-12-15T12:00:00Z"))
    );
    let earlier = diff(&world, json!({"properties": daily(11)})).await.is(200).body;
    assert_eq!((&earlier["added"]["count"], &earlier["removed"]["count"]), (&json!(30), &json!(30)));
    assert_eq!(earlier["removed"]["value"][0], "2026-11-15T14:00:00Z");
    assert_eq!(earlier["added"]["value"][0], "2026-11-16T11:00:00Z");
    assert_eq!((&earlier["firesOnSave"], &earlier["problems"]), (&json!(false), &json!([])));
    let mut often = daily(14);
    often["recurrence"] = json!({"frequency": "Minute"});
    let often = diff(&world, json!({"properties": often})).await.is(200).body;
    assert_eq!((&often["added"]["count"], &often["added"]["capped"]), (&json!(43_171), &json!(true)));
    assert_eq!(often["added"]["value"].as_array().unwrap().len(), 1_000);
    let mut off = daily(14);
    off["state"] = "Disabled".into();
    assert_eq!(diff(&world, json!({"properties": off})).await.is(200).body["removed"]["count"], 30);
}

#[tokio::test]
async fn a_put_of_a_job_without_start_fires_it_and_a_patch_does_not() {
    let world = World::new().await;
    world.put_job("one", json!({"recurrence": {"frequency": "Hour"}})).await.is(201);
    assert_eq!(world.fire(true).await, 1);
    world.advance(jiff::SignedDuration::from_mins(30));
    let properties = json!({"action": http(json!({})), "recurrence": {"frequency": "Hour", "interval": 2}});
    let patched = diff(&world, json!({"properties": properties})).await.is(200).body;
    assert_eq!((&patched["firesOnSave"], &patched["added"]["count"]), (&json!(false), &json!(0)));
    assert_eq!(patched["removed"]["value"][0], "2026-11-15T13:00:00Z");
    let put = diff(&world, json!({"properties": properties, "method": "PUT"})).await.is(200).body;
    assert_eq!(
        (&put["firesOnSave"], &put["added"]["value"][0]),
        (&json!(true), &json!("2026-11-15T12:30:00Z"))
    );
}

#[tokio::test]
async fn a_change_that_is_wrong_is_told_why_and_what_can_be_compared_is() {
    let world = World::new().await;
    let missing = diff(&world, json!({"properties": {}})).await.refused(404, "NotFound");
    assert!(missing.contains("one"), "{missing}");
    world
        .put_job("one", json!({"startTime": "2026-11-16", "recurrence": {"frequency": "Day"}}))
        .await
        .is(201);
    let properties =
        json!({"startTime": "2026-11-17", "action": {"type": "Http"}, "recurrence": {"frequency": "Day"}});
    let shown = diff(&world, json!({"properties": properties})).await.is(200).body;
    assert_eq!(problems(&shown), [("action.request", "is required with type Http")]);
    assert_eq!(shown["removed"]["value"], json!(["2026-11-16T00:00:00Z"]));
    let shown = diff(&world, json!({"properties": {"recurrence": {"frequency": "Day", "interval": 0}}}))
        .await
        .is(200)
        .body;
    assert_eq!((problems(&shown).len(), &shown["removed"]["count"]), (2, &json!(0)));
    diff(&world, json!({"properties": {}, "count": 1})).await.refused(400, "BadRequest");
    world.put_job("one", json!({"startTime": "2026-11-14"})).await.is(200);
    assert_eq!(world.fire(true).await, 1);
    diff(&world, json!({"properties": {}})).await.refused(409, "Conflict");
}
