//! Trouble is told, and does not spread.

use std::sync::Arc;

use punctual_model::inspect::{HistoryEvidence, Subject};
use punctual_model::{Collection, CollectionKey, Job, JobId, Name, RecordStatus};
use punctual_store::conformance::world::{MANY, World, a_job, a_record, all_history, at, names};
use punctual_store::{
    ClaimAsk, CollectionsAsk, FoundJob, HistoryAsk, JobsAsk, Page, StoredRecord, SurveyAsk, Trouble,
    WriteError,
};
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
    let error = world.store.job_in_collection(&bad.key).await.unwrap_err();
    assert!(matches!(&error, Trouble::Corrupt { what, .. } if what == "job 1 'c/bad'"), "{error}");
    let found = world.store.find_job(&bad.key).await.unwrap();
    assert_eq!(found, FoundJob::Job { id: bad.id, key: bad.key.clone() }, "its id can be had without it");
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

/// The names of what a page has, and of what it had to leave out.
fn listed<T, C>(page: &Page<T, C>, name: impl Fn(&T) -> String) -> (String, Vec<&str>) {
    let names: Vec<String> = page.items.iter().map(name).collect();
    (names.join(" "), page.unreadable.iter().map(|row| row.what.as_str()).collect())
}

#[tokio::test]
async fn a_job_that_cannot_be_read_is_named_and_left_out_of_its_list() {
    let check = async |sql: &str, detail: &str| {
        let dir = tempfile::tempdir().unwrap();
        let world = World::new(Arc::new(open(dir.path())));
        let collection = world.collection("c").await;
        for name in ["a", "b", "c", "d"] {
            world.job(&collection, name, at(0)).await;
        }
        damage(dir.path(), sql);
        let page = async |after: Option<&str>, limit| {
            let ask = JobsAsk { state: None, after: after.map(Into::into), skip: 0, limit };
            world.store.jobs(&collection.key, &ask).await.unwrap()
        };
        let name = |job: &Job| job.key.name.to_string();
        let all = page(None, MANY).await;
        assert_eq!(listed(&all, name), ("a c d".to_owned(), vec!["job 2 'c/b'"]), "{sql}");
        assert_eq!(all.unreadable[0].subject, Subject::Job(JobId(2)));
        assert_eq!((all.unreadable[0].detail.as_str(), all.next), (detail, None));
        let first = page(None, 2).await;
        assert_eq!((listed(&first, name).0.as_str(), first.next), ("a", Some("b".into())), "its row counts");
        assert_eq!(listed(&page(Some("b"), 2).await, name), ("c d".to_owned(), vec![]));
        let error = world.store.job_in_collection(&collection.key.job("b")).await.unwrap_err();
        assert_eq!(error.to_string(), format!("could not read job 2 'c/b': {detail}"));
        assert!(world.store.delete_job(&collection.key.job("b"), None).await.unwrap());
        assert_eq!(listed(&page(None, MANY).await, name), ("a c d".to_owned(), vec![]));
    };
    let unknown = "it has a value that is not known";
    check(
        "UPDATE jobs SET document = X'00' WHERE name = 'b'",
        "its definition: the document has a version that this program does not know",
    )
    .await;
    check("UPDATE agenda SET state = 9 WHERE job = 2", &format!("its state: {unknown}")).await;
    check("UPDATE agenda SET cause = 9 WHERE job = 2", &format!("the cause of its entry: {unknown}")).await;
    check("UPDATE agenda SET due_at = 9223372036854775807 WHERE job = 2", &format!("an instant: {unknown}"))
        .await;
}

#[tokio::test]
async fn a_collection_that_cannot_be_read_is_named_and_left_out_and_can_be_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    for name in ["a", "b", "c"] {
        let collection = world.collection(name).await;
        world.job(&collection, "j", at(0)).await;
    }
    damage(dir.path(), "UPDATE collections SET document = X'3147' WHERE name = 'b'");
    let page = async |group: Option<&str>, after, limit| {
        let group = group.map(Name::from);
        let ask = CollectionsAsk { subscription: "Sub".into(), group, after, limit };
        world.store.collections(&ask).await.unwrap()
    };
    let name = |collection: &Collection| collection.key.name.to_string();
    for group in [None, Some("Group")] {
        let left_out = vec!["collection 2 'Group/b'"];
        let all = page(group, None, MANY).await;
        assert_eq!(listed(&all, name), ("a c".to_owned(), left_out.clone()));
        let second = page(group, page(group, None, 1).await.next, 1).await;
        assert_eq!(listed(&second, name), (String::new(), left_out));
        assert_eq!(listed(&page(group, second.next, 1).await, name), ("c".to_owned(), vec![]));
    }
    let bad = CollectionKey::new("Sub", "Group", "b");
    let error = world.store.collection(&bad).await.unwrap_err().to_string();
    assert!(error.starts_with("could not read collection 2 'Group/b': its document: "), "{error}");
    let subject = Subject::Collection(bad.clone());
    let told = world.store.survey_collections(0, MANY).await.unwrap();
    let unreadable: Vec<_> = told.iter().filter(|one| one.unreadable.is_some()).collect();
    assert_eq!((told.len(), unreadable.len(), &unreadable[0].key), (3, 1, &bad));
    assert_eq!(world.store.damage(&subject).await.unwrap(), unreadable[0].unreadable);
    assert!(world.store.delete_job(&bad.job("j"), None).await.unwrap(), "its jobs can be deleted");
    assert!(world.store.delete_collection(&bad, None).await.unwrap());
    assert_eq!(world.store.damage(&subject).await.unwrap(), None);
    assert_eq!(listed(&page(None, None, MANY).await, name), ("a c".to_owned(), vec![]));
}

#[tokio::test]
async fn a_group_that_cannot_be_read_is_named_and_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let key = world.collection("c").await.key.group;
    damage(dir.path(), "UPDATE groups SET tags = '{'");
    let groups = world.store.groups(&key.subscription).await.unwrap();
    assert_eq!(listed(&groups, |_| String::new()).1, ["resource group 'Group'"]);
    let subject = Subject::Group(key);
    assert_eq!(groups.unreadable[0].subject, subject);
    assert!(world.store.damage(&subject).await.unwrap().is_some());
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_named_and_left_out_of_the_history() {
    let check = async |sql: &str| {
        let dir = tempfile::tempdir().unwrap();
        let world = World::new(Arc::new(open(dir.path())));
        let collection = world.collection("c").await;
        let job = world.job(&collection, "j", at(0)).await;
        let record = |second: i64| a_record(&job, at(second), RecordStatus::Completed);
        world.record(&job.key, (1..=4).map(record).collect(), Vec::new()).await;
        damage(dir.path(), &format!("UPDATE history SET {sql} WHERE sequence = 3"));
        let page = async |after, limit| {
            let ask = HistoryAsk { after, limit, ..all_history(job.id) };
            world.store.history(&ask).await.unwrap()
        };
        let name = |stored: &StoredRecord| stored.sequence.to_string();
        let all = page(None, MANY).await;
        assert_eq!(listed(&all, name), ("4 2 1".to_owned(), vec!["record 3 of job 1"]), "{sql}");
        assert_eq!(all.unreadable[0].subject, Subject::Record(job.id, 3));
        assert!(world.store.damage(&all.unreadable[0].subject).await.unwrap().is_some());
        let second = page(page(None, 1).await.next, 1).await;
        assert_eq!(listed(&second, name).1.len(), 1);
        assert_eq!(listed(&page(second.next, 1).await, name).0, "2");
    };
    check("status = 99").await;
    check("cause = 99").await;
    check("ended_at = 9223372036854775807").await;
    check("message = CAST(X'FF' AS TEXT)").await;
}

#[tokio::test]
async fn a_record_of_unknown_status_is_told_when_its_job_is_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    world.record(&job.key, vec![a_record(&job, at(1), RecordStatus::Completed)], Vec::new()).await;
    damage(dir.path(), "UPDATE history SET status = 99");
    let evidence = world.store.survey(&SurveyAsk::one(job.id, MANY)).await.unwrap().remove(0);
    let detail = "its status: it has a value that is not known".to_owned();
    assert_eq!(evidence.unreadable_records, [(1, detail)]);
    assert_eq!((evidence.unreadable, evidence.history), (None, HistoryEvidence::Pruned));
}

#[tokio::test]
async fn a_collection_with_a_job_that_cannot_be_read_is_not_switched_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    world.job(&collection, "bad", at(0)).await;
    damage(dir.path(), "UPDATE agenda SET state = 9");
    let edit = world.store.edit_collection(&collection.key, Box::new(|_, _| panic!("it sees no job")));
    let error = edit.await.unwrap_err().to_string();
    assert!(error.starts_with("could not read job 1 'c/bad': "), "{error}");
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
    let ask = ClaimAsk { until: at(9), limit: MANY, full_targets: Vec::new() };
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
    assert_eq!(world.job_count(&collection.key).await, 30);
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
