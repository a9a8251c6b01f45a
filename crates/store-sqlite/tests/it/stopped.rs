//! What is broken on purpose is told, by a store that runs and from the data of one that is stopped.

use std::path::Path;
use std::sync::Arc;

use punctual_model::inspect::{Evidence, FindingKind, judge};
use punctual_model::{JobId, RecordStatus};
use punctual_store::conformance::world::{MANY, World, at};
use punctual_store::{Survey, SurveyAsk, Vault};
use punctual_store_sqlite::{OpenError, StoppedStore};
use rusqlite::Connection;

use crate::world::{open, ring};

fn damage(dir: &Path, sql: &str) {
    Connection::open(dir.join("punctual.db")).unwrap().execute_batch(sql).unwrap();
}

fn vault() -> Option<Vault> {
    Some(Vault::new(&ring()))
}

/// The version of the schema of some data.
fn version(dir: &Path) -> i64 {
    let conn = Connection::open(dir.join("punctual.db")).unwrap();
    conn.query_row("SELECT max(version) FROM schema_version", [], |row| row.get(0)).unwrap()
}

/// A store with the sound jobs 1 to 3, of which the first has run once.
async fn three_jobs(dir: &Path) -> World {
    let world = World::new(Arc::new(open(dir)));
    let collection = world.collection("c").await;
    for (name, due) in [("a", 0), ("b", 100), ("c", 100)] {
        world.job(&collection, name, at(due)).await;
    }
    let claim = world.begun(at(0)).await;
    world.run(&claim, RecordStatus::Completed, Some(at(60))).await;
    world
}

async fn survey(store: &dyn Survey, job_limit: usize) -> Vec<Evidence> {
    let mut all: Vec<Evidence> = Vec::new();
    loop {
        let after = all.last().map(|evidence| evidence.job);
        let page = store.survey(&SurveyAsk { after, job_limit, record_limit: MANY }).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

async fn flaws(store: &dyn Survey, job_limit: usize) -> Vec<(i64, FindingKind)> {
    let all = survey(store, job_limit).await;
    let flaws_of = |one: &Evidence| {
        let records = one.unreadable_records.iter().map(|_| FindingKind::UnreadableRecord);
        let kinds: Vec<_> = judge(one, None).into_iter().map(|flaw| flaw.kind).chain(records).collect();
        kinds.into_iter().map(|kind| (one.job.0, kind)).collect::<Vec<_>>()
    };
    all.iter().flat_map(flaws_of).collect()
}

#[tokio::test]
async fn every_break_is_told_of_its_job_and_of_no_other() {
    use FindingKind::{Counters, MissingPart, NoEntry, StrayEntry, Unreadable, UnreadableRecord};
    let check = async |sql: &str, expected: &[(i64, FindingKind)]| {
        let dir = tempfile::tempdir().unwrap();
        let world = three_jobs(dir.path()).await;
        assert_eq!(flaws(&*world.store, MANY).await, [], "before {sql}");
        damage(dir.path(), sql);
        for limit in [1, 2, MANY] {
            assert_eq!(flaws(&*world.store, limit).await, expected, "{sql} in pages of {limit}");
        }
        drop(world);
        let stopped = StoppedStore::open(dir.path(), vault()).unwrap();
        assert_eq!(flaws(&stopped, 2).await, expected, "{sql} after the stop");
    };
    check("DELETE FROM agenda WHERE job = 2", &[(2, MissingPart)]).await;
    check("DELETE FROM jobs WHERE id IN (1, 3)", &[(1, MissingPart), (3, MissingPart)]).await;
    check("DELETE FROM collections", &[(1, MissingPart), (2, MissingPart), (3, MissingPart)]).await;
    check("UPDATE agenda SET due_at = NULL WHERE job = 3", &[(3, NoEntry)]).await;
    check("UPDATE agenda SET state = 1 WHERE job = 2", &[(2, StrayEntry)]).await;
    check("UPDATE agenda SET execution_count = 2 WHERE job = 1", &[(1, Counters)]).await;
    check("UPDATE agenda SET failure_count = 1 WHERE job = 2", &[(2, Counters)]).await;
    check("DELETE FROM history", &[(1, Counters)]).await;
    check("UPDATE agenda SET state = 77 WHERE job = 2", &[(2, Unreadable)]).await;
    check("UPDATE agenda SET execution_count = -1 WHERE job = 2", &[(2, Unreadable)]).await;
    check("UPDATE jobs SET document = X'00' WHERE id = 3", &[(3, Unreadable)]).await;
    check("UPDATE jobs SET sealed = X'00' WHERE id = 3", &[(3, Unreadable)]).await;
    check("UPDATE history SET status = 77", &[(1, UnreadableRecord)]).await;
    check("UPDATE history SET ordinal = -1", &[(1, UnreadableRecord)]).await;
    let all = [(1, Unreadable), (2, Unreadable), (3, Unreadable)];
    check("UPDATE collections SET document = X'00'", &all).await;
}

#[tokio::test]
async fn stopped_data_is_told_as_it_is_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    drop(three_jobs(dir.path()).await);
    let before = std::fs::read(dir.path().join("punctual.db")).unwrap();
    let files = || std::fs::read_dir(dir.path()).unwrap().count();
    let file_count = files();
    let stopped = StoppedStore::open(dir.path(), None).unwrap();
    let extent = stopped.extent().await.unwrap();
    assert_eq!((i64::from(extent.schema_version), extent.last_job), (version(dir.path()), JobId(3)));
    assert_eq!(survey(&stopped, 1).await.len(), 3);
    assert_eq!(stopped.file_damage().unwrap(), [] as [&str; 0]);
    drop(stopped);
    assert_eq!(std::fs::read(dir.path().join("punctual.db")).unwrap(), before);
    assert_eq!(files(), file_count);
}

#[tokio::test]
async fn data_that_is_in_use_missing_or_of_another_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(StoppedStore::open(dir.path(), vault()), Err(OpenError::Missing { .. })));
    assert!(!dir.path().join("punctual.lock").exists(), "a look leaves nothing behind");
    let world = three_jobs(dir.path()).await;
    assert!(matches!(StoppedStore::open(dir.path(), vault()), Err(OpenError::Owned { .. })));
    drop(world);
    let latest = version(dir.path());
    damage(dir.path(), &format!("DELETE FROM schema_version WHERE version = {latest}"));
    let older = StoppedStore::open(dir.path(), vault()).unwrap_err();
    assert!(matches!(older, OpenError::Older { found, known } if found + 1 == known), "{older}");
    damage(dir.path(), &format!("INSERT INTO schema_version VALUES ({latest}, 'x'), (99, 'y')"));
    assert!(matches!(StoppedStore::open(dir.path(), vault()), Err(OpenError::Newer { found: 99, .. })));
}

#[test]
fn a_file_that_is_no_database_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("punctual.db"), vec![7; 10_000]).unwrap();
    assert!(matches!(StoppedStore::open(dir.path(), vault()), Err(OpenError::Sqlite(_))));
}
