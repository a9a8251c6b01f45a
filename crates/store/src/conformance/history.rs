//! Reading history.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;

use jiff::SignedDuration;
use punctual_model::{Cause, Job, Record, RecordStatus, Rerun};

use super::world::{MANY, World, a_record, a_skip, all_history, at};
use crate::{HistoryAsk, Store, StoredRecord};

/// Records of a job at some seconds, two of three completed.
fn records(job: &Job, seconds: impl IntoIterator<Item = i64>) -> Vec<Record> {
    let status = |second: i64| match second % 3 {
        0 => RecordStatus::Failed,
        _ => RecordStatus::Completed,
    };
    seconds.into_iter().map(|second| a_record(job, at(second), status(second))).collect()
}

fn starts(records: &[StoredRecord]) -> Vec<i64> {
    records.iter().map(|stored| (stored.record.started_at - at(0)).get_seconds()).collect()
}

async fn a_world(store: Arc<dyn Store>) -> (World, Job) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    (world, job)
}

pub async fn records_are_listed_newest_first(store: Arc<dyn Store>) {
    let (world, job) = a_world(store).await;
    world.record(&job.key, records(&job, [3, 1, 2]), Vec::new()).await;
    let mut twin = a_record(&job, at(2), RecordStatus::Completed);
    twin.attempt = 1;
    twin.message = "later written".to_owned();
    world.record(&job.key, vec![twin], Vec::new()).await;
    let history = world.history(job.id).await;
    assert_eq!(starts(&history), [3, 2, 2, 1]);
    assert_eq!(history[1].record.message, "later written");
    let ask = |skip, limit| HistoryAsk { skip, limit, ..all_history(job.id) };
    let page = async |skip, limit| {
        let page = world.store.history(&ask(skip, limit)).await.unwrap();
        (starts(&page.items), page.next.map(|next| next.started_at))
    };
    assert_eq!(page(1, 2).await, (vec![2, 2], Some(at(2))));
    assert_eq!(page(2, 2).await, (vec![2, 1], None));
    assert_eq!(page(4, 2).await, (vec![], None));
    assert_eq!(page(0, 0).await, (vec![], None));
}

pub async fn records_are_filtered_by_status(store: Arc<dyn Store>) {
    let (world, job) = a_world(store).await;
    let mut all = records(&job, 1..=9);
    all.push(a_record(&job, at(10), RecordStatus::Postponed));
    world.record(&job.key, all, Vec::new()).await;
    let list = async |statuses: &[RecordStatus], skip, limit| {
        let ask = HistoryAsk { statuses: statuses.to_vec(), skip, limit, ..all_history(job.id) };
        starts(&world.store.history(&ask).await.unwrap().items)
    };
    use RecordStatus::{Completed, Failed, Postponed};
    assert_eq!(list(&[Failed], 0, MANY).await, [9, 6, 3]);
    assert_eq!(list(&[Failed], 1, 1).await, [6]);
    assert_eq!(list(&[Postponed], 0, MANY).await, [10]);
    assert_eq!(list(&[Completed], 0, 2).await, [8, 7]);
    assert_eq!(list(&[Failed, Postponed], 0, MANY).await, [10, 9, 6, 3]);
    assert_eq!(list(&[], 0, MANY).await.len(), 10);
}

pub async fn pages_have_no_gap_and_no_duplicate(store: Arc<dyn Store>) {
    let (world, job) = a_world(store).await;
    let mut expected = Vec::new();
    for second in 0..30 {
        // Three records start at each instant, so that pages end between equals.
        for attempt in 0..3 {
            expected.push(Record { attempt, ..a_record(&job, at(second), RecordStatus::Completed) });
        }
    }
    world.record(&job.key, expected.clone(), Vec::new()).await;
    expected.reverse();
    let mut seen = Vec::new();
    let mut after = None;
    for number in 0.. {
        let ask = HistoryAsk { after, limit: 7, ..all_history(job.id) };
        let page = world.store.history(&ask).await.unwrap();
        seen.extend(page.items.into_iter().map(|stored| stored.record));
        after = page.next;
        if after.is_none() {
            break;
        }
        world.record(&job.key, records_of_page(&job, number), Vec::new()).await;
    }
    assert_eq!(seen, expected);
}

/// New records that come while somebody reads: newer than all that was there.
fn records_of_page(job: &Job, page: i64) -> Vec<Record> {
    records(job, [1_000 + page])
}

pub async fn records_between_are_ordered_by_occurrence(store: Arc<dyn Store>) {
    let (world, job) = a_world(store).await;
    let record = |nominal: i64, cause, step, attempt| Record {
        cause,
        step,
        attempt,
        started_at: at(nominal) + SignedDuration::from_secs(i64::from(attempt) * 30),
        ..a_record(&job, at(nominal), RecordStatus::Completed)
    };
    let all = vec![
        record(10, Cause::Schedule, 0, 0),
        record(10, Cause::Schedule, 0, 1),
        record(10, Cause::Schedule, 1, 0),
        record(10, Cause::Run, 0, 0),
        record(20, Cause::Schedule, 0, 0),
        record(30, Cause::Schedule, 0, 0),
    ];
    let mut shuffled = all.clone();
    shuffled.reverse();
    shuffled.swap(1, 4);
    world.record(&job.key, shuffled, Vec::new()).await;
    let between = async |from, to, limit| {
        let found = world.store.records_between(job.id, at(from), at(to), limit).await.unwrap();
        found.into_iter().map(|stored| stored.record).collect::<Vec<_>>()
    };
    assert_eq!(between(10, 30, MANY).await, all);
    assert_eq!(between(11, 29, MANY).await, all[4..5]);
    assert_eq!(between(10, 20, 2).await, all[..2]);
    assert_eq!(between(31, 99, MANY).await, []);
}

pub async fn skips_touch_the_range(store: Arc<dyn Store>) {
    let (world, job) = a_world(store).await;
    let skips = [a_skip(&job, 0, 10, 1), a_skip(&job, 20, 30, 2), a_skip(&job, 40, 40, 3)];
    let mut shuffled = skips.to_vec();
    shuffled.reverse();
    world.record(&job.key, Vec::new(), shuffled).await;
    let list = async |from, to, limit| world.store.skips(job.id, at(from), at(to), limit).await.unwrap();
    assert_eq!(list(0, 99, MANY).await, skips);
    assert_eq!(list(10, 20, MANY).await, skips[..2]);
    assert_eq!(list(25, 25, MANY).await, skips[1..2]);
    assert_eq!(list(11, 19, MANY).await, []);
    assert_eq!(list(0, 99, 1).await, skips[..1]);
}

pub async fn a_skip_that_reaches_into_the_range_is_found_behind_many_others(store: Arc<dyn Store>) {
    let (world, job) = a_world(store).await;
    let mut skips: Vec<_> = (0..200).map(|index| a_skip(&job, index * 10, index * 10 + 5, 1)).collect();
    skips.push(a_skip(&job, 2_000, 9_000, 1));
    world.record(&job.key, Vec::new(), skips.clone()).await;
    let list = async |from, to| world.store.skips(job.id, at(from), at(to), MANY).await.unwrap();
    assert_eq!(list(8_000, 9_999).await, skips[200..]);
    assert_eq!(list(1_993, 1_993).await, skips[199..200]);
    assert_eq!(list(0, 9_999).await, skips);
}

pub async fn history_outlives_edits(store: Arc<dyn Store>) {
    let (world, job) = a_world(store).await;
    world.record(&job.key, records(&job, [1]), Vec::new()).await;
    let collection = world.store.collection(&job.key.collection).await.unwrap().unwrap();
    let mut edit = world.read(&job.key).await;
    edit.generation = 2;
    let edited = world.put_job(edit, &collection).await.unwrap();
    world.record(&edited.key, records(&edited, [1, 2]), Vec::new()).await;
    let history = world.history(job.id).await;
    let generations: Vec<u32> = history.iter().map(|stored| stored.record.generation).collect();
    assert_eq!((starts(&history), generations), (vec![2, 1, 1], vec![2, 2, 1]));
}

pub async fn sequences_grow(store: Arc<dyn Store>) {
    let (world, job) = a_world(store).await;
    let mut last = 0;
    for second in 0..5 {
        world.record(&job.key, records(&job, [second]), Vec::new()).await;
        let newest = world.history(job.id).await[0].sequence;
        assert!(newest > last);
        last = newest;
        world.store.prune(at(1_000), MANY).await.unwrap();
        assert_eq!(world.history(job.id).await, []);
    }
}

pub async fn a_rerun_is_linked_to_what_it_repeats(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut job = world.job(&collection, "j", at(0)).await;
    let other = world.job(&collection, "other", at(0)).await;
    let rerun = |run: i64, of: i64| Rerun { run_at: at(run), of_at: at(of) };
    let all = [rerun(100, 0), rerun(110, 0), rerun(120, 60)];
    for one in all {
        job = world.put_rerun(job, &collection, one).await.unwrap();
    }
    let found = async |job: &Job, from: i64, to: i64, limit: usize| {
        world.store.reruns(job.id, at(from), at(to), limit).await.unwrap()
    };
    assert_eq!(found(&job, 0, 200, MANY).await, all);
    assert_eq!(found(&job, 0, 200, 2).await, all[..2]);
    assert_eq!(found(&job, 0, 0, MANY).await, all[..2]);
    assert_eq!(found(&job, 60, 110, MANY).await, all);
    assert_eq!(found(&job, 120, 120, MANY).await, all[2..]);
    assert_eq!(found(&job, 61, 99, MANY).await, []);
    assert_eq!(found(&other, 0, 200, MANY).await, []);
    let stale = Job { revision: job.revision - 1, ..job.clone() };
    world.put_rerun(stale, &collection, rerun(130, 60)).await.unwrap_err();
    assert_eq!(found(&job, 0, 200, MANY).await, all);
    world.store.prune(at(111), MANY).await.unwrap();
    assert_eq!(found(&job, 0, 200, MANY).await, all[2..]);
}
