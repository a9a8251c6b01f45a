//! The occurrences of a job, past and future.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::world::{Answer, World, job};

/// The occurrences of the job `one`, with more in the query.
async fn list(world: &World, query: &str) -> Answer {
    world.get(&format!("Jc/jobs/one/occurrences?api-version=2026-11-01{query}")).await
}

fn due(answer: &Answer) -> Vec<&str> {
    let rows = answer.body["value"].as_array().unwrap().iter();
    rows.map(|row| row["dueTime"].as_str().unwrap()).collect()
}

/// A server with the job `one`, put under Punctual's own api-version on 15 November 2026 at noon.
async fn world(properties: Value) -> World {
    let world = World::new().await;
    world.put("Jc/jobs/one?api-version=2026-11-01", job(properties)).await.is(201);
    world
}

/// A walk to these windows takes billions of steps.
#[tokio::test]
async fn a_window_in_the_year_9990_is_answered_like_one_of_today() {
    let nine = json!({"frequency": "Minute", "schedule": {"hours": [9]}, "timeZone": "Europe/Berlin"});
    let friday = json!({"frequency": "Month", "timeZone": "America/New_York", "schedule": {
        "monthlyOccurrences": [{"day": "Friday", "occurrence": -1}], "hours": [2, 3], "minutes": [0, 30]}});
    let check = async |mut recurrence: Value, count: Option<u64>, expected: &[&str]| {
        if let Some(count) = count {
            recurrence["count"] = count.into();
        }
        let world = world(json!({"recurrence": recurrence})).await;
        let answer = list(&world, "&from=9990-01-01T00:00:00Z&$top=2").await.is(200);
        assert_eq!(due(&answer), expected, "{recurrence}");
    };
    let minutes = ["9990-01-01T00:00:00Z", "9990-01-01T00:01:00Z"];
    check(json!({"frequency": "Minute"}), None, &minutes).await;
    check(json!({"frequency": "Minute"}), Some(2_147_483_647), &[]).await;
    let nines = ["9990-01-01T08:00:00Z", "9990-01-01T08:01:00Z"];
    check(nine.clone(), None, &nines).await;
    check(nine.clone(), Some(2_147_483_647), &nines).await;
    check(nine, Some(1_000_000), &[]).await;
    let fridays = ["9990-01-26T07:00:00Z", "9990-01-26T07:30:00Z"];
    check(friday.clone(), None, &fridays).await;
    check(friday, Some(2_147_483_647), &fridays).await;
}

#[tokio::test]
async fn a_window_goes_on_for_31_days_where_its_end_is_not_given() {
    let world = world(json!({"recurrence": {"frequency": "Day"}})).await;
    assert_eq!(list(&world, "").await.is(200).body["value"].as_array().unwrap().len(), 32);
    let early = list(&world, "&from=2020-01-01").await.is(200);
    assert_eq!(due(&early).last(), Some(&"2026-12-16T12:00:00Z"), "31 days ahead of now");
    let late = list(&world, "&from=2030-01-01T12:00:00Z").await.is(200);
    assert_eq!((due(&late)[0], due(&late).len()), ("2030-01-01T12:00:00Z", 32));
}

#[tokio::test]
async fn every_next_link_leads_on_and_the_last_page_has_none() {
    let world = world(json!({"recurrence": {"frequency": "Minute", "count": 1_700}})).await;
    let mut all: Vec<String> = Vec::new();
    let mut page = list(&world, "&to=2026-12-01").await.is(200);
    loop {
        all.extend(due(&page).into_iter().map(str::to_owned));
        let Some(next) = page.body["nextLink"].as_str() else { break };
        page = world.get(&next[next.find("/subscriptions").unwrap()..]).await.is(200);
    }
    all.dedup();
    assert_eq!(all.len(), 1_700);
    assert_eq!(all.last().map(String::as_str), Some("2026-11-16T16:19:00Z"));
}

#[tokio::test]
async fn a_page_behind_the_end_of_time_is_empty() {
    let world = world(json!({"recurrence": {"frequency": "Minute"}})).await;
    // What a next link has behind the largest instant, in the alphabet of URLs.
    let token = "bzEgMjUzNDAyMjA3MjAwOTk5OTk5OTk5";
    let answer = list(&world, &format!("&$skiptoken={token}")).await.is(200);
    assert_eq!(answer.body, json!({"value": [], "nextLink": null}));
    let last = list(&world, "&from=9999-12-31T23:59:59Z&to=9999-12-31T23:59:59Z").await.is(200);
    assert_eq!(due(&last), [""; 0]);
}

/// Its last occurrence is tried again, its schedule was edited on the way, and the records are deleted.
#[tokio::test]
async fn past_occurrences_are_not_pending_when_their_records_are_gone() {
    let retry = json!({"retryType": "Fixed", "retryInterval": "01:00:00", "retryCount": 2});
    let mut properties = json!({
        "startTime": "2026-11-15T12:01:00Z",
        "recurrence": {"frequency": "Minute", "endTime": "2026-11-15T12:09:00Z"},
    });
    properties["action"] = crate::world::http(json!({}));
    properties["action"]["retryPolicy"] = retry;
    let world = world(properties).await;
    let end = json!({"properties": {"recurrence": {"endTime": "2026-11-15T12:05:00Z"}}});
    world.patch("Jc/jobs/one", end).await.is(200);
    for succeeded in [true, true, true, true, false] {
        world.advance(SignedDuration::from_mins(1));
        assert_eq!(world.fire(succeeded).await, 1);
    }
    world.advance(SignedDuration::from_mins(30));
    world.prune().await;
    let answer = list(&world, "").await.is(200);
    let rows = answer.body["value"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["outcome"]), (1, &json!("retrying")), "{}", answer.text);
    assert_eq!(rows[0]["dueTime"], "2026-11-15T12:05:00Z");
    assert_eq!(answer.body["prunedBefore"], "2026-11-15T12:35:00Z", "the list says that it is not whole");
    let later = list(&world, "&from=2026-11-15T12:35:00Z").await.is(200);
    assert_eq!(later.body.get("prunedBefore"), None);
}
