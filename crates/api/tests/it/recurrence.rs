//! Recurrences as the API reads and answers them.

use serde_json::{Value, json};

use crate::world::{World, job};

async fn put(recurrence: Value) -> crate::world::Answer {
    let world = World::new().await;
    world.put_job("one", json!({"startTime": "2026-11-15T12:30:00Z", "recurrence": recurrence})).await
}

#[tokio::test]
async fn years_and_months_are_accepted_and_seconds_are_not() {
    let recurrence = json!({"frequency": "year", "interval": 1000, "schedule": {"months": [2, 7]}});
    assert_eq!(put(recurrence.clone()).await.is(201).properties()["recurrence"], recurrence);
    put(json!({"frequency": "Year", "interval": 1001})).await.refused(400, "BadRequest");
    put(json!({"frequency": "Second"})).await.refused(400, "BadRequest");
}

#[tokio::test]
async fn hour_24_is_midnight_and_echoed_as_sent() {
    let made = put(json!({"frequency": "Day", "schedule": {"hours": [24], "minutes": [0]}})).await.is(201);
    assert_eq!(made.properties()["recurrence"]["schedule"]["hours"], json!([24]));
    assert_eq!(made.properties()["status"]["nextExecutionTime"], "2026-11-16T00:00:00Z");
}

#[tokio::test]
async fn empty_schedules_are_absent_and_bare_numbers_are_arrays() {
    let check = async |schedule: Value, shown: Option<Value>| {
        let made = put(json!({"frequency": "Day", "schedule": schedule})).await.is(201);
        assert_eq!(made.properties()["recurrence"].get("schedule").cloned(), shown, "{schedule}");
    };
    check(json!({}), None).await;
    check(json!({"hours": [], "minutes": null}), None).await;
    check(json!({"minutes": 15}), Some(json!({"minutes": [15]}))).await;
    check(json!({"hours": [5, 5], "minutes": [0]}), Some(json!({"minutes": [0], "hours": [5, 5]}))).await;
}

#[tokio::test]
async fn duplicates_run_once() {
    let world = World::new().await;
    let recurrence = json!({"frequency": "Day", "schedule": {"hours": [13, 13], "minutes": [0, 0]}});
    world
        .put_job("one", json!({"startTime": "2026-11-15T12:30:00Z", "recurrence": recurrence}))
        .await
        .is(201);
    let list = world.get("Jc/jobs/one/occurrences?$top=2&api-version=2026-11-01").await.is(200);
    let due: Vec<_> = list.body["value"].as_array().unwrap().iter().map(|row| &row["dueTime"]).collect();
    assert_eq!(due, ["2026-11-15T13:00:00Z", "2026-11-16T13:00:00Z"]);
}

#[tokio::test]
async fn selectors_that_do_not_fit_the_frequency_are_refused_in_the_known_words() {
    let message =
        put(json!({"frequency": "Week", "schedule": {"monthDays": [1]}})).await.refused(400, "BadRequest");
    assert!(message.contains("Cannot set days of month with recurrence unit 'Week'."), "{message}");
}

#[tokio::test]
async fn intervals_are_bounded_by_eighteen_months() {
    for (frequency, max) in [("Minute", 1000), ("Hour", 1000), ("Day", 548), ("Week", 78), ("Month", 18)] {
        put(json!({"frequency": frequency, "interval": max})).await.is(201);
        put(json!({"frequency": frequency, "interval": max + 1})).await.refused(400, "BadRequest");
        put(json!({"frequency": frequency, "interval": 0})).await.refused(400, "BadRequest");
    }
}

#[tokio::test]
async fn both_spellings_of_occurrence_are_read() {
    for name in ["occurrence", "Occurrence"] {
        let monthly = json!([{"day": "Friday", name: -1}]);
        let made =
            put(json!({"frequency": "Month", "schedule": {"monthlyOccurrences": monthly}})).await.is(201);
        let shown = &made.properties()["recurrence"]["schedule"]["monthlyOccurrences"];
        assert_eq!(shown, &json!([{"day": "friday", "occurrence": -1}]));
    }
}

const FEBRUARY_30: &str = "none of the chosen days exists in February";

fn february_30() -> Value {
    let schedule = json!({"months": [2], "monthDays": [30]});
    json!({"startTime": "2026-11-20T00:00:00Z", "recurrence": {"frequency": "Month", "schedule": schedule}})
}

#[tokio::test]
async fn a_schedule_that_can_never_match_is_refused_under_the_own_version_only() {
    let world = World::new().await;
    let own = "Jc/jobs/one?api-version=2026-11-01";
    let message = world.put(own, job(february_30())).await.refused(400, "BadRequest");
    let problem = format!("properties.recurrence.schedule: can never match: {FEBRUARY_30}");
    assert!(message.contains(&problem), "{message}");
    let made = world.put_job("one", february_30()).await.is(201);
    assert_eq!(made.properties()["state"], "completed", "it has no occurrence");
}

#[tokio::test]
async fn every_way_to_never_match_is_refused_and_seldom_is_not_never() {
    let world = World::new().await;
    let check = async |recurrence: Value, matches: bool| {
        let properties = json!({"startTime": "2027-01-15T12:00:00Z", "recurrence": recurrence});
        let answer = world.put("Jc/jobs/one?api-version=2026-11-01", job(properties)).await;
        assert_eq!(answer.status != 400, matches, "{recurrence}: {}", answer.text);
    };
    check(json!({"frequency": "Month", "interval": 12, "schedule": {"months": [2]}}), false).await;
    check(
        json!({"frequency": "Year", "interval": 1000, "schedule": {"months": [2], "monthDays": [29]}}),
        false,
    )
    .await;
    check(json!({"frequency": "Minute", "interval": 60, "schedule": {"minutes": [30]}}), false).await;
    let odd = json!({"frequency": "Hour", "interval": 2, "schedule": {"hours": [1, 13]}, "timeZone": "Europe/Berlin"});
    check(odd, true).await;
    let odd = json!({"frequency": "Hour", "interval": 2, "schedule": {"hours": [0, 12]}, "timeZone": "Asia/Kolkata"});
    check(odd, false).await;
    let leap_day = json!({"frequency": "Year", "schedule": {"months": [2], "monthDays": [29]}});
    check(leap_day, true).await;
    // An end before the first match completes the job: that is no mistake of the schedule.
    let ended =
        json!({"frequency": "Year", "endTime": "2027-02-01", "schedule": {"months": [2], "monthDays": [29]}});
    world.delete("Jc/jobs/one").await.is(200);
    check(ended, true).await;
}

#[tokio::test]
async fn the_ledger_says_why_a_schedule_never_matches() {
    let world = World::new().await;
    world.put_job("one", february_30()).await.is(201);
    let list = world.get("Jc/jobs/one/occurrences?api-version=2026-11-01").await.is(200);
    assert_eq!(list.body, json!({"value": [], "nextLink": null, "neverMatches": FEBRUARY_30}));
    world.put_job("two", json!({"recurrence": {"frequency": "Day"}})).await.is(201);
    let list = world.get("Jc/jobs/two/occurrences?api-version=2026-11-01").await.is(200);
    assert_eq!(list.body.get("neverMatches"), None);
}

/// It runs at once, and never again.
#[tokio::test]
async fn a_patch_that_leaves_a_schedule_alone_does_not_judge_it() {
    let world = World::new().await;
    let schedule = json!({"months": [2], "monthDays": [30]});
    let recurrence = json!({"frequency": "Month", "schedule": schedule});
    world.put_job("one", json!({"recurrence": recurrence, "state": "Disabled"})).await.is(201);
    let own = "Jc/jobs/one?api-version=2026-11-01";
    let body = json!({"properties": {"action": {"request": {"method": "PUT"}}}});
    world.patch(own, body).await.is(200);
    let body = json!({"properties": {"recurrence": {"schedule": {"monthDays": [31]}}}});
    world.patch(own, body).await.refused(400, "BadRequest");
    let body = json!({"properties": {"recurrence": {"schedule": {"monthDays": [29]}}}});
    world.patch(own, body).await.is(200);
}
