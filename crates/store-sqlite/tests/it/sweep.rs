//! The history of deleted jobs is swept away in the background, and statistics become fewer.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::statistics::Measure;
use punctual_model::{Record, RecordStatus, Scope};
use punctual_store::conformance::world::{World, a_record, a_skip, at};
use punctual_store::{HOUR, StatsAsk};
use rusqlite::Connection;

use crate::world::open;

#[tokio::test]
async fn what_is_left_of_a_deleted_job_is_swept_away() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let records: Vec<Record> =
        (0..1_000).map(|attempt| Record { attempt, ..a_record(&job, at(0), RecordStatus::Failed) }).collect();
    world.record(&job.key, records, vec![a_skip(&job, 0, 1, 2)]).await;
    world.store.delete_job(&job.key, None).await.unwrap();
    assert_eq!(world.history(job.id).await, []);
    let left = || -> i64 {
        let conn = Connection::open(dir.path().join("punctual.db")).unwrap();
        let count = "SELECT (SELECT count(*) FROM history) + (SELECT count(*) FROM skips) + (SELECT count(*) FROM graves)";
        conn.query_row(count, [], |row| row.get(0)).unwrap()
    };
    let swept = async {
        while left() > 0 {
            tokio::task::yield_now().await;
        }
    };
    let swept = tokio::time::timeout(Duration::from_secs(10), swept).await;
    assert!(swept.is_ok(), "{} rows are left", left());
}

#[tokio::test]
async fn the_hours_have_what_all_writers_counted() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    world.run(&claim, RecordStatus::Completed, None).await;
    // As it is after a copy from a store that several nodes share.
    let copied = "INSERT INTO stats_minutes SELECT collection, begins_at, w.value, counts FROM stats_minutes, json_each('[5, 7]') AS w";
    Connection::open(dir.path().join("punctual.db")).unwrap().execute(copied, []).unwrap();
    let ask =
        StatsAsk { scopes: vec![Scope::Everything], from: at(0), to: at(3_600), step: HOUR, row_max: 99 };
    let succeeded = async || world.store.stats(&ask).await.unwrap().buckets[&at(0)].get(Measure::Succeeded);
    assert_eq!(succeeded().await, 3);
    while world.store.roll_up_stats(at(3_600), at(-7_200), 2).await.unwrap() > 0 {}
    assert_eq!(succeeded().await, 3);
}
