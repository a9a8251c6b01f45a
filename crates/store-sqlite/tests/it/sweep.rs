//! The history of deleted jobs is swept away in the background.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Record, RecordStatus};
use punctual_store::conformance::world::{World, a_record, a_skip, at};
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
