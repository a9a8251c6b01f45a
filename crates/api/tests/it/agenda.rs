//! `GET /agenda` and `GET /agenda/jobs`: what is due when.

use punctual_api::AccessMode;
use punctual_model::access::Role;
use serde_json::{Value, json};

use crate::world::{Answer, BASE, World, job};

const AT: &str = "2027-01-01T00:00:00Z";

/// A server with a job every ten minutes in each of two collections, and one an hour in the first.
async fn furnished() -> (World, String) {
    let world = World::with_access(AccessMode::Auto);
    let owner = world.token("owner", &[(Role::Owner, "/")]).await;
    let put = async |path: &str, body: Value| {
        world.call_as(Some(&owner), "PUT", path, body.to_string()).await.is(201);
    };
    for collection in ["Jc", "Other"] {
        put(collection, json!({"location": "West US"})).await;
        let rule = json!({"startTime": AT, "recurrence": {"frequency": "Minute", "interval": 10}});
        put(&format!("{collection}/jobs/often"), job(rule)).await;
    }
    let rule = json!({"startTime": AT, "recurrence": {"frequency": "Hour", "interval": 1, "count": 2}});
    put("Jc/jobs/twice", job(rule)).await;
    (world, owner)
}

async fn get(world: &World, token: &str, path: &str, query: &str) -> Answer {
    world.call_as(Some(token), "GET", &format!("{path}?api-version=2026-11-01&{query}"), "").await
}

#[tokio::test]
async fn what_is_due_is_counted_by_the_minute_and_by_the_hour() {
    let (world, owner) = furnished().await;
    let range = "from=2027-01-01T00:00:00Z&to=2027-01-01T03:00:00Z";
    let minutes = get(&world, &owner, "/agenda", range).await.is(200).body;
    let buckets = minutes["buckets"].as_array().unwrap();
    assert_eq!(buckets.len(), 18, "{minutes}");
    assert_eq!(buckets[0], json!({"start": AT, "count": 3}));
    assert_eq!((&buckets[6]["count"], &buckets[12]["count"]), (&json!(3), &json!(2)), "it runs twice only");
    assert_eq!((&minutes["estimate"], &minutes["covered"]), (&json!(false), &json!({"jobs": 3, "of": 3})));
    let busiest = &minutes["busiest"];
    assert_eq!(busiest.as_array().unwrap().len(), 5);
    assert_eq!(busiest[0]["collections"][0], json!({"id": format!("{BASE}/Jc"), "count": 2}));
    let hours = get(&world, &owner, "/agenda", &format!("{range}&step=hour")).await.is(200).body;
    let counts: Vec<&Value> = hours["buckets"].as_array().unwrap().iter().map(|one| &one["count"]).collect();
    assert_eq!(counts, [13, 13, 12]);
}

#[tokio::test]
async fn the_jobs_of_a_minute_are_those_whose_rule_yields_it() {
    let (world, owner) = furnished().await;
    let list = async |query: &str| {
        let found = get(&world, &owner, "/agenda/jobs", query).await.is(200).body;
        let row = |row: &Value| {
            format!("{}/{}", row["collection"].as_str().unwrap(), row["name"].as_str().unwrap())
        };
        let rows = found["value"].as_array().unwrap().iter();
        (rows.map(row).collect::<Vec<_>>(), found)
    };
    let (found, page) = list("at=2027-01-01T01:00:30Z").await;
    assert_eq!(found, ["Jc/often", "Other/often", "Jc/twice"]);
    assert_eq!(page["value"][0]["dueTime"], "2027-01-01T01:00:00Z");
    assert_eq!(list("at=2027-01-01T02:00:00Z").await.0, ["Jc/often", "Other/often"]);
    assert!(list("at=2027-01-01T01:01:00Z").await.0.is_empty());
    let (first, page) = list("at=2027-01-01T01:00:00Z&$top=2").await;
    let after = page["after"].as_str().unwrap();
    let (rest, page) = list(&format!("at=2027-01-01T01:00:00Z&$top=2&after={after}")).await;
    assert_eq!([first, rest].concat(), ["Jc/often", "Other/often", "Jc/twice"]);
    assert!(page["after"].is_null());
}

#[tokio::test]
async fn a_caller_sees_the_agenda_of_what_it_may_read() {
    let (world, _) = furnished().await;
    let other = format!("{BASE}/Other");
    let reader = world.token("reader", &[(Role::Reader, &other)]).await;
    let range = "from=2027-01-01T00:00:00Z&to=2027-01-01T01:00:00Z";
    let found = get(&world, &reader, "/agenda", range).await.is(200).body;
    assert_eq!(found["buckets"][0]["count"], 1);
    let jobs = get(&world, &reader, "/agenda/jobs", &format!("at={AT}")).await.is(200).body;
    assert_eq!(jobs["value"].as_array().unwrap().len(), 1);
    let scope = format!("scope={BASE}/Jc");
    get(&world, &reader, "/agenda", &scope).await.refused(403, "AuthorizationFailed");
    get(&world, &reader, "/agenda/jobs", &format!("{scope}&at={AT}"))
        .await
        .refused(403, "AuthorizationFailed");
}

#[tokio::test]
async fn everything_wrong_with_an_agenda_is_told_at_once() {
    let (world, owner) = furnished().await;
    let told = get(&world, &owner, "/agenda", "scope=x&from=a&step=day").await.refused(400, "BadRequest");
    for name in ["scope", "from", "step"] {
        assert!(told.contains(&format!("{name}: ")), "{told}");
    }
    let told = get(&world, &owner, "/agenda/jobs", "$top=0").await.refused(400, "BadRequest");
    assert!(told.contains("at: ") && told.contains("$top: "), "{told}");
}
