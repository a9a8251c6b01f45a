//! Migrations while nodes of the version before serve: expand, then contract.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::RecordStatus;
use punctual_store::conformance::world::{World, at};
use punctual_store::{Resources, Roster, Store, Survey};
use punctual_store_postgres::{OpenError, PostgresStore};
use tokio_postgres::Client;

use crate::server::{Database, Server, connect};
use crate::world::{open, options};

/// What the next release does to the schema, under the same lock as this one: it only adds.
const EXPAND: &str =
    "BEGIN; SET LOCAL lock_timeout = '2s'; SELECT version FROM schema_version WHERE id = 1 FOR UPDATE;
    ALTER TABLE agenda ADD COLUMN priority bigint NOT NULL DEFAULT 7;
    ALTER TABLE jobs ADD COLUMN owner text;
    ALTER TABLE nodes ADD COLUMN region text NOT NULL DEFAULT '';
    CREATE TABLE added (job bigint PRIMARY KEY);
    UPDATE schema_version SET version = version + 1 WHERE id = 1; COMMIT";

/// What a later one does when all nodes know the new schema: it removes what this release still uses.
const CONTRACT: &str =
    "BEGIN; SET LOCAL lock_timeout = '2s'; SELECT version FROM schema_version WHERE id = 1 FOR UPDATE;
    ALTER TABLE skips DROP COLUMN decided_at;
    UPDATE schema_version SET version = version + 1, min_version = version + 1 WHERE id = 1; COMMIT";

/// A step of the next release, which is tried again while somebody holds a lock that it needs.
async fn migrate(client: &Client, migration: &str) {
    while client.batch_execute(migration).await.is_err() {
        client.batch_execute("ROLLBACK").await.unwrap();
    }
}

/// A node of the next release at work: it uses the columns that are new.
async fn works(client: &Client) -> i64 {
    let work = "WITH new AS (UPDATE agenda SET priority = priority + 1 RETURNING priority)
        SELECT coalesce(max(priority), 0) FROM new";
    client.query_one(work, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_serves_while_the_next_schema_comes_and_stops_firing_when_it_is_needed() {
    let Some(database) = Database::new().await else { return };
    let store = Arc::new(open(&database).await);
    let world = World::new(Arc::clone(&store) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;

    // Expand, with an attempt in flight and edits under way.
    let next = database.client().await;
    let editing = {
        let (world, collection) = (world.clone(), collection.clone());
        tokio::spawn(async move {
            for index in 0..50 {
                world.job(&collection, &format!("e{index}"), at(1_000)).await;
            }
        })
    };
    migrate(&next, EXPAND).await;
    editing.await.unwrap();
    world.run(&claim, RecordStatus::Completed, Some(at(60))).await;
    assert_eq!(world.read(&job.key).await.counters.execution, 1);
    assert_eq!(works(&next).await, 8, "both work on one database");
    let claim = world.begun(at(60)).await;
    world.run(&claim, RecordStatus::Completed, Some(at(120))).await;
    assert_eq!(world.history(job.id).await.len(), 2);
    store.delete_job(&world.read(&collection.key.job("e0")).await.key, None).await.unwrap();
    // One of this release may still join.
    let other = open(&database).await;
    other.leave().await.unwrap();
    assert!(store.standing().borrow().may_fire);

    // Contract: the old node stops firing and says so; none of this release starts.
    migrate(&next, CONTRACT).await;
    let mut standing = store.standing();
    standing.wait_for(|standing| !standing.may_fire).await.unwrap();
    let problems = store.problems().await.unwrap().join(" ");
    assert!(problems.contains("needs nodes that know schema version"), "{problems}");
    assert_eq!(world.claim(at(10_000), 10).await.len(), 0, "it claims nothing");
    let refused = PostgresStore::open(options(&database.url)).await.unwrap_err();
    assert!(matches!(refused, OpenError::Newer { .. }), "{refused}");
    assert_eq!(works(&next).await, 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_has_to_wait_gives_way_and_is_tried_again() {
    let Some(server) = Server::start("", &[]) else { return };
    let database = Database::on(&server).await;
    drop(open(&database).await);
    let somebody = connect(&database.url).await;
    somebody.batch_execute("BEGIN; SELECT * FROM schema_version FOR UPDATE").await.unwrap();
    let starting = tokio::spawn({
        let options = options(&database.url);
        async move { PostgresStore::open(options).await.map(drop) }
    });
    let given_way = "canceling statement due to lock timeout";
    while !server.log().contains(given_way) {
        assert!(!starting.is_finished(), "it waits for the lock");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!starting.is_finished(), "it is tried again");
    somebody.batch_execute("COMMIT").await.unwrap();
    starting.await.unwrap().unwrap();
}
