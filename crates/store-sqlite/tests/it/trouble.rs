//! Trouble is told, and does not spread.

use std::sync::Arc;

use punctual_store::conformance::world::{MANY, World, a_job, at, names};
use punctual_store::{ClaimAsk, Trouble, WriteError};
use rusqlite::Connection;

use crate::world::open;

/// Another connection to the same file: what a damaged disk, or a person with a shell, would do.
fn damage(dir: &std::path::Path, sql: &str) {
    Connection::open(dir.join("punctual.db")).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn a_job_that_cannot_be_read_keeps_nobody_from_firing() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let bad = world.job(&collection, "bad", at(0)).await;
    world.job(&collection, "good", at(1)).await;
    damage(dir.path(), "UPDATE jobs SET document = X'3147' WHERE name = 'bad'");
    let error = world.store.job(&bad.key).await.unwrap_err();
    assert!(matches!(&error, Trouble::Corrupt { what, .. } if what == "job 1"), "{error}");
    assert_eq!(names(&world.claim(at(9), MANY).await), ["good"]);
    assert_eq!(names(&world.claim(at(9), MANY).await), [] as [&str; 0]);
    assert_eq!(world.store.left_out().await.unwrap(), [bad.id]);
    assert_eq!(world.store.next_due(&[]).await.unwrap(), None, "nobody waits for it");
    let held = world.store.held().await.unwrap();
    assert!(held.iter().all(|claim| claim.job != bad.id), "it is not claimed: {held:?}");
    world.put_job(bad, &collection).await.unwrap();
    assert_eq!(world.store.left_out().await.unwrap(), []);
    assert_eq!(names(&world.claim(at(9), MANY).await), ["bad"], "an edit repairs it");
}

#[tokio::test]
async fn a_job_that_has_lost_a_part_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let bad = world.job(&collection, "bad", at(0)).await;
    damage(dir.path(), "PRAGMA foreign_keys = OFF; DELETE FROM jobs WHERE name = 'bad'");
    assert_eq!(names(&world.claim(at(9), MANY).await), [] as [&str; 0]);
    assert_eq!(world.store.left_out().await.unwrap(), [bad.id]);
    assert_eq!(world.store.next_due(&[]).await.unwrap(), None);
}

#[tokio::test]
async fn what_can_not_be_loaded_because_the_store_fails_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    for name in ["one", "two"] {
        world.job(&collection, name, at(0)).await;
    }
    damage(dir.path(), "ALTER TABLE jobs RENAME TO gone");
    let ask = ClaimAsk { until: at(9), limit: MANY, passed_over: Vec::new() };
    let mut changes = world.store.changes();
    changes.mark_unchanged();
    let error = world.store.claim(&ask).await.unwrap_err();
    assert!(matches!(error, Trouble::Failed { doing: "load what was claimed", .. }), "{error}");
    assert_eq!(world.store.held().await.unwrap(), []);
    assert_eq!(world.store.left_out().await.unwrap(), [], "it is not the jobs");
    assert!(changes.has_changed().unwrap(), "whoever claims is woken");
    damage(dir.path(), "ALTER TABLE gone RENAME TO jobs");
    assert_eq!(names(&world.claim(at(9), MANY).await), ["one", "two"]);
}

#[tokio::test]
async fn a_write_that_fails_does_not_fail_its_neighbours() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    damage(
        dir.path(),
        "CREATE TRIGGER stop BEFORE INSERT ON jobs WHEN NEW.name LIKE 'bad%' BEGIN SELECT raise(ABORT, 'no'); END",
    );
    let mut puts = tokio::task::JoinSet::new();
    for number in 0..40 {
        let (world, collection) = (world.clone(), collection.clone());
        puts.spawn(async move {
            let name = format!("{}{number}", if number % 4 == 0 { "bad" } else { "good" });
            let put = world.put_job(a_job(collection.key.job(name), Some(at(0))), &collection).await;
            match put {
                Ok(_) => true,
                Err(WriteError::Trouble(Trouble::Failed { doing: "write a job", .. })) => false,
                Err(other) => panic!("{other}"),
            }
        });
    }
    let written = puts.join_all().await.into_iter().filter(|written| *written).count();
    assert_eq!(written, 30);
    assert_eq!(world.store.job_count(&collection.key).await.unwrap(), 30);
    assert_eq!(world.claim(at(0), MANY).await.len(), 30);
}

#[tokio::test]
async fn a_locked_file_is_told_as_busy_and_passes() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let other = Connection::open(dir.path().join("punctual.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = world.put_job(a_job(collection.key.job("j"), None), &collection).await.unwrap_err();
    assert!(matches!(busy, WriteError::Trouble(Trouble::Busy { doing: "write a job" })), "{busy}");
    other.execute_batch("ROLLBACK").unwrap();
    world.job(&collection, "j", at(0)).await;
}
