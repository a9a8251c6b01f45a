//! Lists: order, filters, pages.

use serde_json::json;

use crate::world::World;

async fn four_jobs() -> World {
    let world = World::new().await;
    for (name, state) in
        [("delta", "Disabled"), ("Bravo", "Enabled"), ("alpha", "Disabled"), ("Charlie", "Enabled")]
    {
        world.put_job(name, json!({"state": state})).await.is(201);
    }
    world
}

#[tokio::test]
async fn jobs_are_listed_by_name_filtered_then_skipped_then_cut() {
    let world = four_jobs().await;
    let check = async |query: &str, expected: &[&str]| {
        let list = world.get(&format!("Jc/jobs?{query}")).await.is(200);
        assert_eq!(list.names(), expected, "{query}");
        assert!(list.body["nextLink"].is_null(), "{query}");
    };
    check("", &["alpha", "Bravo", "Charlie", "delta"]).await;
    check("$top=2", &["alpha", "Bravo"]).await;
    check("$skip=1&$top=2", &["Bravo", "Charlie"]).await;
    check("$skip=9", &[]).await;
    check("$filter=state%20eq%20Disabled", &["alpha", "delta"]).await;
    check("$filter=STATE+eq+'disabled'&$skip=1", &["delta"]).await;
    check("$filter=state+eq+Enabled+and+state+eq+Disabled", &[]).await;
}

#[tokio::test]
async fn wrong_numbers_and_unknown_filters_are_refused() {
    let world = four_jobs().await;
    world.put_job("one", json!({})).await.is(201);
    for list in ["Jc/jobs", "Jc/jobs/one/history"] {
        for query in [
            "$top=0",
            "$top=101",
            "$top=-1",
            "$top=x",
            "$skip=-1",
            "$skip=1.5",
            "$filter=name+eq+a",
            "$filter=state",
            "$filter=state+ne+Enabled",
            "$filter=state+eq+Enabled+or+state+eq+Disabled",
        ] {
            let message = world.get(&format!("{list}?{query}")).await.refused(400, "BadRequest");
            assert!(message.contains(&query[..4]), "{message}");
        }
    }
    world.get("Jc/jobs/one/history?$skiptoken=made-up").await.refused(400, "BadRequest");
}

#[tokio::test]
async fn a_thousand_jobs_fit_on_a_page_and_collections_go_on_with_an_absolute_link() {
    let world = World::empty();
    let premium = json!({"location": "West US", "properties": {"sku": {"name": "P20Premium"}}});
    for number in 0..1001 {
        world.put(&format!("c{number:04}"), premium.clone()).await.is(201);
    }
    let first = world.get("?x=1").await.is(200);
    assert_eq!(first.names().len(), 1000);
    let link = first.body["nextLink"].as_str().unwrap();
    assert!(link.starts_with("http://localhost/subscriptions/s/"), "{link}");
    assert!(link.contains("api-version=2016-03-01") && link.contains("$skiptoken="), "{link}");
    let second = world.get(link.strip_prefix("http://localhost").unwrap()).await.is(200);
    assert_eq!(second.names(), ["c1000"]);
    assert!(second.body["nextLink"].is_null());
}

#[tokio::test]
async fn collections_are_listed_by_group_and_name() {
    let world = World::empty();
    let body = json!({"location": "West US"});
    for (group, name) in [("Zeta", "a"), ("alpha", "z"), ("alpha", "B")] {
        let path = format!(
            "/subscriptions/s/resourceGroups/{group}/providers/Microsoft.Scheduler/jobCollections/{name}"
        );
        world.put(&path, body.clone()).await.is(201);
    }
    let all = world.get("/subscriptions/s/providers/Microsoft.Scheduler/jobCollections").await.is(200);
    assert_eq!(all.names(), ["B", "z", "a"]);
    let other = world.get("/subscriptions/other/providers/Microsoft.Scheduler/jobCollections").await.is(200);
    assert_eq!(other.body, json!({"value": [], "nextLink": null}));
}
