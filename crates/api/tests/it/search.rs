//! `GET /jobs`: jobs across collections.

use jiff::SignedDuration;
use punctual_api::AccessMode;
use punctual_model::access::Role;
use serde_json::json;

use crate::world::{Answer, World, http, job};

const SUBSCRIPTION: &str = "/subscriptions/s";

/// Two collections with three jobs each.
async fn furnished(world: &World, token: Option<&str>) {
    let put = async |path: &str, body: serde_json::Value| {
        let body = axum::body::Body::from(body.to_string());
        world.call_as(token, "PUT", path, body).await.is(201);
    };
    for collection in ["Jc", "Other"] {
        put(collection, json!({"location": "West US"})).await;
        for (name, minutes) in [("alpha", 10), ("Bravo", 5), ("charlie", 15)] {
            let rule = json!({"recurrence": {"frequency": "Minute", "interval": minutes}, "action": http(json!({}))});
            put(&format!("{collection}/jobs/{name}"), job(rule)).await;
        }
    }
}

async fn search(world: &World, query: &str) -> Answer {
    world.get(&format!("/jobs?api-version=2026-11-01&{query}")).await
}

fn ids(answer: &Answer) -> Vec<String> {
    let rows = answer.body["value"].as_array().unwrap().iter();
    rows.map(|row| format!("{}/{}", row["collection"].as_str().unwrap(), row["name"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn jobs_of_all_collections_are_found_with_what_a_list_shows() {
    let world = World::empty();
    furnished(&world, None).await;
    let all = search(&world, "count=true").await.is(200);
    assert_eq!(
        ids(&all),
        ["Jc/alpha", "Other/alpha", "Jc/Bravo", "Other/Bravo", "Jc/charlie", "Other/charlie"]
    );
    assert_eq!(all.body["count"], json!({"number": 6, "capped": false}));
    assert!(all.body["after"].is_null());
    let row = &all.body["value"][2];
    assert_eq!(row["collectionId"].as_str().unwrap().rsplit('/').next(), Some("Jc"));
    assert_eq!(row["id"], json!(format!("{}/jobs/Bravo", row["collectionId"].as_str().unwrap())));
    assert_eq!(row["collectionState"], "Enabled");
    assert_eq!((&row["state"], &row["kind"]), (&json!("Enabled"), &json!("http")));
    assert!(row["rule"].as_str().unwrap().starts_with("Every 5 minutes"), "{row}");
    assert_eq!(
        (&row["failing"], &row["inFlight"], &row["executionCount"]),
        (&json!(false), &json!(false), &json!(0))
    );
    assert!(row["nextExecutionTime"].is_string() && row.get("recent").is_none(), "{row}");
    assert!(!row["summary"].as_str().unwrap().contains('?'), "{row}");
    assert!(row["target"].as_str().unwrap().contains(':'), "{row}");
    assert_eq!(ids(&search(&world, "q=BRAV").await.is(200)), ["Jc/Bravo", "Other/Bravo"]);
    assert_eq!(ids(&search(&world, "state=Disabled").await.is(200)), [""; 0]);
    assert_eq!(ids(&search(&world, "kind=http&sort=next&$top=1").await.is(200)).len(), 1);
}

#[tokio::test]
async fn pages_follow_one_another_by_their_after() {
    let world = World::empty();
    furnished(&world, None).await;
    for sort in ["name", "next"] {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let page = search(&world, &format!("sort={sort}&$top=4&after={after}")).await.is(200);
            found.extend(ids(&page));
            match page.body["after"].as_str() {
                Some(next) => next.clone_into(&mut after),
                None => break,
            }
        }
        found.sort();
        found.dedup();
        assert_eq!(found.len(), 6, "{sort}");
    }
}

#[tokio::test]
async fn recent_outcomes_come_with_the_jobs_that_have_some() {
    let world = World::new().await;
    world.put_job("good", json!({"recurrence": {"frequency": "Minute", "interval": 1}})).await.is(201);
    for _ in 0..3 {
        world.fire(true).await;
        world.advance(SignedDuration::from_mins(1));
    }
    let found = search(&world, "expand=recent").await.is(200);
    let recent = found.body["value"][0]["recent"].as_array().unwrap();
    assert_eq!(recent.len(), 3, "{recent:?}");
    for outcome in recent {
        assert_eq!((&outcome["outcome"], &outcome["attempts"]), (&json!("succeeded"), &json!(1)));
        assert!(outcome["latenessMs"].is_number() && outcome["reason"].is_null(), "{outcome}");
    }
    assert!(recent[0]["dueTime"].as_str() < recent[2]["dueTime"].as_str());
}

#[tokio::test]
async fn a_caller_finds_what_it_may_read_and_nothing_else() {
    let world = World::with_access(AccessMode::Auto);
    let owner = world.token("owner", &[(Role::Owner, "/")]).await;
    furnished(&world, Some(&owner)).await;
    let collection = format!("{}/Other", crate::world::BASE);
    let reader = world.token("reader", &[(Role::Reader, &collection)]).await;
    let ask = async |token: &str, scope: &str| {
        let path = format!("/jobs?api-version=2026-11-01&count=true&$top=2&scope={scope}");
        world.call_as(Some(token), "GET", &path, axum::body::Body::empty()).await
    };
    assert_eq!(ask(&owner, "").await.is(200).body["count"]["number"], 6);
    for scope in ["", "/", SUBSCRIPTION, &collection] {
        let found = ask(&reader, scope).await.is(200);
        assert_eq!(ids(&found), ["Other/alpha", "Other/Bravo"], "{scope}");
        assert_eq!(found.body["count"]["number"], 3);
    }
    let own = world.token("elsewhere", &[(Role::Reader, "/subscriptions/x")]).await;
    assert_eq!(ids(&ask(&own, "").await.is(200)).len(), 0);
    for scope in [SUBSCRIPTION, &collection, "/subscriptions/nothing"] {
        let message = ask(&own, scope).await.refused(403, "AuthorizationFailed");
        assert!(message.contains("Microsoft.Scheduler/jobcollections/jobs/read"), "{message}");
    }
}

#[tokio::test]
async fn everything_wrong_with_a_search_is_told_at_once() {
    let world = World::empty();
    let message = search(&world, "scope=x&state=on&$top=201&sort=size").await.refused(400, "BadRequest");
    for name in ["scope", "state", "$top", "sort"] {
        assert!(message.contains(&format!("{name}: ")), "{message}");
    }
    world.get("/jobs?api-version=2016-03-01").await.refused(400, "InvalidApiVersionParameter");
}
