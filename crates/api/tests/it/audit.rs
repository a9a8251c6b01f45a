//! The audit log: who did what.

use jiff::SignedDuration;
use punctual_api::AccessMode;
use punctual_model::access::Role;
use serde_json::{Value, json};

use crate::world::{Answer, World, job};

const AUDIT: &str = "/audit?api-version=2026-11-01";
const RIGHTS: &str = "/subscriptions/s/resourceGroups/Rg";

async fn call(world: &World, token: Option<&str>, method: &str, path: &str, body: Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    world.call_as(token, method, path, body).await
}

/// The entries as caller, action and outcome, the oldest first.
fn told(answer: &Answer) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entries = answer.body["value"].as_array().unwrap().iter().rev();
    entries
        .map(|entry| {
            let action = text(&entry["action"]);
            let action = action.split('/').skip(1).collect::<Vec<_>>().join("/");
            format!("{} {action} {}", text(&entry["caller"]["name"]), text(&entry["outcome"]))
        })
        .collect()
}

async fn shared() -> (World, String) {
    let world = World::with_access(AccessMode::Required);
    let owner = world.token("root", &[(Role::Owner, "/")]).await;
    (world, owner)
}

#[tokio::test]
async fn every_write_tells_who_did_it_and_what_was_there_before_and_after() {
    let (world, root) = shared().await;
    let ci = world.token("ci", &[(Role::Contributor, RIGHTS)]).await;
    let as_ci =
        async |method: &str, path: &str, body: Value| call(&world, Some(&ci), method, path, body).await;
    as_ci("PUT", "Jc", json!({"location": "West US"})).await.is(201);
    as_ci("PUT", "Jc/jobs/j", job(json!({}))).await.is(201);
    as_ci("PATCH", "Jc/jobs/j", json!({"properties": {"state": "Disabled"}})).await.is(200);
    as_ci("PATCH", "Jc/jobs/j", json!({"properties": {"state": "Enabled"}})).await.is(200);
    as_ci("POST", "Jc/jobs/j/run", Value::Null).await.is(200);
    as_ci("GET", "Jc/jobs/j", Value::Null).await.is(200);
    as_ci("PUT", "Jc/jobs/bad", json!({"properties": {}})).await.is(400);
    let deleted = as_ci("DELETE", "Jc/jobs/j", Value::Null).await.is(200);
    as_ci("DELETE", "Jc", Value::Null).await.is(200);
    let listed = call(&world, Some(&root), "GET", AUDIT, Value::Null).await.is(200);
    assert_eq!(
        told(&listed),
        [
            "ci jobcollections/write done",
            "ci jobcollections/jobs/write done",
            "ci jobcollections/jobs/write done",
            "ci jobcollections/jobs/write done",
            "ci jobcollections/jobs/run/action done",
            "ci jobcollections/jobs/delete done",
            "ci jobcollections/delete done",
        ]
    );
    let entries = listed.body["value"].as_array().unwrap();
    let digests = |index: usize| {
        let entry = &entries[entries.len() - 1 - index];
        (entry["before"].clone(), entry["after"].clone())
    };
    let ((none, made), (before, disabled), (_, enabled)) = (digests(1), digests(2), digests(3));
    assert_eq!(none, Value::Null);
    assert_eq!(made.as_str().unwrap().len(), 32);
    assert_eq!((&before, &enabled), (&made, &made), "equal definitions have equal digests");
    assert_ne!(disabled, made);
    assert_eq!(digests(5), (made, Value::Null));
    assert_eq!(entries[1]["requestId"], deleted.header("x-ms-request-id").unwrap());
    let scope = entries[1]["scope"].as_str().unwrap();
    assert!(scope.ends_with("/jobCollections/Jc/jobs/j"), "{scope}");
}

#[tokio::test]
async fn denials_are_noted_and_those_of_strangers_are_one_entry_a_minute() {
    let (world, root) = shared().await;
    let reader = world.token("reader", &[(Role::Reader, RIGHTS)]).await;
    for collection in ["Jc", "Jc", "Other"] {
        call(&world, Some(&reader), "PUT", collection, json!({"location": "West US"})).await.is(403);
    }
    call(&world, Some(&reader), "DELETE", "/tokens/x?api-version=2026-11-01", Value::Null).await.is(403);
    for _ in 0..3 {
        call(&world, None, "GET", "Jc", Value::Null).await.is(401);
        call(&world, Some("pct_wrong"), "DELETE", "Jc", Value::Null).await.is(401);
    }
    world.advance(SignedDuration::from_secs(61));
    call(&world, None, "GET", "Jc", Value::Null).await.is(401);
    world.auditor.finish().await.unwrap();
    let listed = call(&world, Some(&root), "GET", AUDIT, Value::Null).await.is(200);
    let mut entries = told(&listed);
    entries.sort();
    assert_eq!(
        entries,
        [
            "nobody jobcollections/read unauthenticated",
            "nobody jobcollections/read unauthenticated",
            "reader jobcollections/write denied",
            "reader jobcollections/write denied",
            "reader tokens/delete denied",
        ]
    );
    let counts =
        listed.body["value"].as_array().unwrap().iter().map(|entry| entry["count"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), 11);
}

#[tokio::test]
async fn an_owner_sees_what_concerns_its_own_scopes_and_others_see_nothing() {
    let (world, root) = shared().await;
    let theirs = world.token("theirs", &[(Role::Owner, RIGHTS)]).await;
    let contributor = world.token("contributor", &[(Role::Contributor, "/")]).await;
    call(&world, Some(&root), "PUT", "Jc", json!({"location": "West US"})).await.is(201);
    let elsewhere = "/subscriptions/s/resourceGroups/Other/providers/Microsoft.Scheduler/jobCollections/Jc?api-version=2016-03-01";
    call(&world, Some(&root), "PUT", elsewhere, json!({"location": "West US"})).await.is(201);
    let token = json!({"name": "new", "grants": [{"role": "reader", "scope": RIGHTS}]});
    call(&world, Some(&root), "POST", "/tokens?api-version=2026-11-01", token).await.is(201);
    let seen = async |token: &str, query: &str| {
        told(&call(&world, Some(token), "GET", &format!("{AUDIT}{query}"), Value::Null).await.is(200))
    };
    let writes = "root jobcollections/write done";
    assert_eq!(seen(&root, "").await, [writes, writes, "root tokens/write done"]);
    assert_eq!(seen(&theirs, "").await, [writes, "root tokens/write done"]);
    assert_eq!(seen(&root, "&caller=root&scope=/subscriptions/s/resourceGroups/Other").await, [writes]);
    assert_eq!(seen(&root, "&caller=somebody").await, [] as [&str; 0]);
    assert_eq!(seen(&root, "&from=2027-01-01").await, [] as [&str; 0]);
    call(&world, Some(&contributor), "GET", AUDIT, Value::Null).await.refused(403, "AuthorizationFailed");
    let whole = "/audit/verification?api-version=2026-11-01";
    call(&world, Some(&theirs), "GET", whole, Value::Null).await.refused(403, "AuthorizationFailed");
    world.auditor.finish().await.unwrap();
    let verified = call(&world, Some(&root), "GET", whole, Value::Null).await.is(200);
    assert_eq!((&verified.body["checked"], &verified.body["problems"]), (&json!(5), &json!([])));
    let code = &verified.body["head"]["code"];
    let piece = call(&world, Some(&root), "GET", &format!("{whole}&piece=1"), Value::Null).await.is(200);
    assert_eq!(&piece.body["head"]["code"], code);
}

#[tokio::test]
async fn a_page_does_not_show_by_its_end_what_others_did() {
    let (world, root) = shared().await;
    let theirs = world.token("theirs", &[(Role::Owner, RIGHTS)]).await;
    call(&world, Some(&root), "PUT", "Jc", json!({"location": "West US"})).await.is(201);
    for index in 0..5 {
        let elsewhere = format!("/subscriptions/s/resourceGroups/g{index}?api-version=2016-03-01");
        call(&world, Some(&root), "PUT", &elsewhere, json!({"location": "West US"})).await.is(201);
    }
    let check = async |query: &str, expected: usize| {
        let page = call(&world, Some(&theirs), "GET", &format!("{AUDIT}{query}"), Value::Null).await.is(200);
        let count = page.body["value"].as_array().unwrap().len();
        assert_eq!((count, &page.body["nextLink"]), (expected, &Value::Null), "{query}");
    };
    check("&$top=1&caller=root", 1).await;
    check("&$top=1", 1).await;
    check("&$top=1&caller=nobody", 0).await;
    check("&$top=1&scope=/subscriptions/s/resourceGroups/g1", 0).await;
}

#[tokio::test]
async fn a_page_goes_on_where_the_one_before_ended() {
    let (world, root) = shared().await;
    for index in 0..5 {
        call(&world, Some(&root), "PUT", &format!("Jc{index}"), json!({"location": "West US"})).await.is(201);
    }
    let mut path = format!("{AUDIT}&$top=2");
    let mut counts = Vec::new();
    loop {
        let page = call(&world, Some(&root), "GET", &path, Value::Null).await.is(200);
        counts.push(page.body["value"].as_array().unwrap().len());
        let Some(next) = page.body["nextLink"].as_str() else { break };
        path = next.split_once("/audit").map(|(_, rest)| format!("/audit{rest}")).unwrap();
    }
    assert_eq!(counts, [2, 2, 1]);
    for wrong in ["&$skiptoken=x", "&from=x", "&scope=x", "&$top=0"] {
        call(&world, Some(&root), "GET", &format!("{AUDIT}{wrong}"), Value::Null)
            .await
            .refused(400, "BadRequest");
    }
}
