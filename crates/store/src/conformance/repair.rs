//! Jobs that are ahead of the clock.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_model::decide::{Ahead, Repair, STARTED_MAX, Withdrawal};
use punctual_model::{
    Cause, Collection, CollectionState, Entry, Job, JobId, JobState, OccurrenceRange, RecordStatus, Skip,
};

use super::world::{MANY, World, a_job, a_record, a_skip, at, names};
use crate::{AheadAsk, AheadPage, Repaired, Store};

/// A day later than the instants of the cases.
const DAY: i64 = 86_400;

/// A job whose schedule has come to an instant.
fn past(collection: &Collection, name: &str, past: i64) -> Job {
    let mut job = a_job(collection.key.job(name), Some(at(past + 60)));
    job.progress.past_at = Some(at(past));
    job
}

async fn ahead(world: &World, after: Option<JobId>, job_limit: usize, found_limit: usize) -> AheadPage {
    let ask = AheadAsk { after, job_limit, found_limit, now: at(0) };
    world.store.ahead(&ask).await.unwrap()
}

async fn one(world: &World, job: JobId) -> Option<Ahead> {
    let mut page = world.store.ahead(&AheadAsk::one(job, at(0))).await.unwrap();
    page.found.pop()
}

async fn repair(world: &World, repair: Repair) -> Repaired {
    world.store.repair(vec![repair]).await.unwrap().pop().unwrap()
}

/// Puts a job back to a minute after noon, and leaves its skips alone.
fn put_back(job: &Job) -> Repair {
    let mut job = job.clone();
    job.progress.past_at = Some(at(0));
    job.progress.entry = Some(Entry::scheduled(at(60)));
    let withdrawn = Withdrawal { after: Timestamp::MAX, before: Timestamp::MIN };
    Repair { job, withdrawn, skips: Vec::new() }
}

pub async fn what_was_done_in_the_future_is_found(store: Arc<dyn Store>) {
    let world = World::new(store);
    let mut collection = world.collection("c").await;
    collection.state = CollectionState::Disabled;
    let collection = world.put_collection(collection).await.unwrap();
    let job = world.put_job(past(&collection, "j", DAY), &collection).await.unwrap();
    let record = |nominal: i64| a_record(&job, at(nominal), RecordStatus::Completed);
    let mut run = record(300);
    run.cause = Cause::Run;
    let mut again = record(200);
    (again.attempt, again.status) = (1, RecordStatus::Failed);
    let mut old = record(400);
    old.generation = 0;
    let records = vec![
        record(-60),
        record(0),
        record(200),
        again,
        record(100),
        run,
        old,
        record(0),
        a_record(&job, at(500), RecordStatus::Postponed),
    ];
    let (touching, within) = (a_skip(&job, 0, 1, 5), a_skip(&job, -9, DAY, 6));
    let before = a_skip(&job, -9, 0, 7);
    let later = a_skip(&job, 1, 9, 8);
    let skips = vec![before, touching.clone(), within.clone(), later];
    world.record(&job.key, records, skips).await;
    let mut retried = world.read(&job.key).await;
    retried.progress.past_at = Some(at(DAY));
    let entry = Entry {
        nominal_at: at(200),
        due_at: at(DAY),
        cause: Cause::Schedule,
        step: 0,
        attempt: 2,
        ordinal: 1,
    };
    retried.progress.entry = Some(entry);
    let retried = world.put_job(retried, &collection).await.unwrap();
    let expected = Ahead {
        job: retried,
        collection_enabled: false,
        sku: collection.sku,
        started: vec![at(100), at(200)],
        skips: vec![within, touching],
        tried_at: Some(at(201)),
    };
    assert_eq!(one(&world, job.id).await, Some(expected));
}

pub async fn what_is_planned_for_the_future_is_not_found(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    world.job(&collection, "planned", at(300 * DAY)).await;
    let mut asked = a_job(collection.key.job("asked"), Some(at(0)));
    asked.progress.last_run_at = Some(at(DAY));
    world.put_job(asked, &collection).await.unwrap();
    world.put_job(past(&collection, "slightly", 60), &collection).await.unwrap();
    assert_eq!(ahead(&world, None, MANY, MANY).await.found, []);
    let retry = Entry { ordinal: 1, attempt: 1, ..Entry::scheduled(at(61)) };
    for mark in ["past", "floor", "put", "ended", "run", "retry"] {
        let mut job = a_job(collection.key.job(mark), Some(at(30)));
        match mark {
            "past" => job.progress.past_at = Some(at(61)),
            "floor" => job.progress.floor_at = Some(at(61)),
            "put" => job.put_at = at(61),
            "ended" => job.progress.ended_at = Some(at(61)),
            "run" => job.progress.entry = Some(Entry::run(at(61))),
            _ => job.progress.entry = Some(retry),
        }
        let job = world.put_job(job, &collection).await.unwrap();
        assert_eq!(one(&world, job.id).await.map(|found| found.job), Some(job), "{mark}");
    }
}

pub async fn pages_of_jobs_that_are_ahead_have_no_gap(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut expected = Vec::new();
    for index in 0..20 {
        let far = if index % 3 == 0 { DAY } else { -DAY };
        let job = world.put_job(past(&collection, &format!("j{index}"), far), &collection).await.unwrap();
        expected.extend((far > 0).then_some(job.id));
    }
    for (job_limit, found_limit) in [(1, 1), (7, MANY), (MANY, 2), (20, 7), (MANY, MANY)] {
        let (mut after, mut found) = (None, Vec::new());
        loop {
            let page = ahead(&world, after, job_limit, found_limit).await;
            assert!(page.found.len() <= found_limit.min(job_limit));
            found.extend(page.found.iter().map(|found| found.job.id));
            after = page.last;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "{job_limit} {found_limit}");
    }
}

pub async fn a_page_ends_where_its_jobs_have_many_starts(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut jobs = Vec::new();
    for name in ["a", "b"] {
        let job = world.put_job(a_job(collection.key.job(name), None), &collection).await.unwrap();
        let starts = 1..=i64::try_from(STARTED_MAX + 1).unwrap();
        let records = starts.map(|second| a_record(&job, at(second), RecordStatus::Completed)).collect();
        world.record(&job.key, records, Vec::new()).await;
        let mut job = world.read(&job.key).await;
        job.progress.past_at = Some(at(DAY));
        jobs.push(world.put_job(job, &collection).await.unwrap().id);
    }
    let page = ahead(&world, None, MANY, MANY).await;
    assert_eq!((page.found.len(), page.last), (1, Some(jobs[0])));
    let started = &page.found[0].started;
    assert_eq!((started.len(), started.first(), started.is_sorted()), (STARTED_MAX, Some(&at(1)), true));
    let page = ahead(&world, page.last, MANY, MANY).await;
    assert_eq!((page.found.len(), page.found[0].job.id), (1, jobs[1]));
}

pub async fn a_repair_is_written_with_its_skips(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.put_job(past(&collection, "j", DAY), &collection).await.unwrap();
    let other = world.put_job(past(&collection, "other", DAY), &collection).await.unwrap();
    let skip = |job: &Job, first: i64, last: i64| a_skip(job, first, last, 7);
    let kept = [skip(&job, -9, -3), skip(&job, -5, 0), skip(&job, 500, 900), skip(&job, 600, 700)];
    let gone = [skip(&job, 0, 1), skip(&job, -9, 600), skip(&job, 499, 900), skip(&job, 10, 20)];
    let skips: Vec<Skip> = kept.iter().chain(&gone).cloned().collect();
    world.record(&job.key, Vec::new(), skips).await;
    world.record(&other.key, Vec::new(), vec![skip(&other, 10, 20)]).await;
    let mut decided = world.read(&job.key).await;
    let counters = decided.counters;
    decided.state = JobState::Disabled;
    decided.put_at = at(-77);
    decided.progress.entry = None;
    decided.progress.past_at = Some(at(0));
    decided.progress.floor_at = Some(at(-1));
    decided.progress.ahead = vec![OccurrenceRange { first_at: at(500), last_at: at(900) }];
    let cut = skip(&job, -9, -1);
    let withdrawn = Withdrawal { after: at(0), before: at(500) };
    let written = Repair { job: decided.clone(), withdrawn, skips: vec![cut.clone()] };
    assert_eq!(repair(&world, written).await, Repaired::Written);
    let read = world.read(&job.key).await;
    assert_eq!((read.revision, read.counters), (decided.revision + 1, counters));
    decided.revision = read.revision;
    assert_eq!(read, decided);
    let mut left = world.store.skips(job.id, at(-99), at(999), MANY).await.unwrap();
    left.sort_by_key(|skip| (skip.first_at, skip.last_at));
    assert_eq!(left, [kept[0].clone(), cut, kept[1].clone(), kept[2].clone(), kept[3].clone()]);
    assert_eq!(world.store.skips(other.id, at(0), at(99), MANY).await.unwrap().len(), 1);
}

pub async fn a_repaired_job_is_claimed_at_its_new_time_only(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.put_job(past(&collection, "j", DAY), &collection).await.unwrap();
    // Those who look for what is due have looked further than its new time already.
    assert_eq!(world.claim(at(3_600), MANY).await.len(), 0);
    let mut changes = world.store.changes();
    changes.mark_unchanged();
    assert_eq!(repair(&world, put_back(&job)).await, Repaired::Written);
    assert!(changes.has_changed().unwrap(), "whoever claims is woken");
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(60)));
    assert_eq!(names(&world.claim(at(60), MANY).await), ["j"]);
    assert_eq!(world.claim(at(2 * DAY), MANY).await.len(), 0);
}

pub async fn a_repair_takes_back_a_claim_not_begun(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.put_job(past(&collection, "j", DAY), &collection).await.unwrap();
    let claim = world.claim(at(2 * DAY), 1).await.pop().unwrap();
    assert_eq!(repair(&world, put_back(&job)).await, Repaired::Written);
    assert_eq!(world.store.begin(&[claim.fence]).await.unwrap(), [false]);
    let again = world.claim(at(60), MANY).await;
    assert_eq!(again[0].job.progress.entry, Some(Entry::scheduled(at(60))));
}

pub async fn what_is_in_flight_is_not_repaired(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.put_job(past(&collection, "j", DAY), &collection).await.unwrap();
    let claim = world.begun(at(2 * DAY)).await;
    assert_eq!(repair(&world, put_back(&job)).await, Repaired::InFlight);
    assert_eq!(world.read(&job.key).await, job);
    world.run(&claim, RecordStatus::Completed, Some(at(3 * DAY))).await;
    let settled = world.read(&job.key).await;
    assert_eq!(repair(&world, put_back(&settled)).await, Repaired::Written);
}

pub async fn a_repair_of_what_was_written_meanwhile_is_refused(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.put_job(past(&collection, "j", DAY), &collection).await.unwrap();
    let edited = world.put_job(job.clone(), &collection).await.unwrap();
    let claim = world.claim(at(2 * DAY), 1).await.pop().unwrap();
    assert_eq!(repair(&world, put_back(&job)).await, Repaired::Stale);
    assert_eq!(world.read(&job.key).await, edited);
    assert_eq!(world.store.begin(&[claim.fence]).await.unwrap(), [true], "its claim holds");
    world.run(&claim, RecordStatus::Completed, None).await;
    world.store.delete_job(&job.key, None).await.unwrap();
    assert_eq!(repair(&world, put_back(&edited)).await, Repaired::Stale);
    assert_eq!(world.find(&job.key).await, None);
}

pub async fn each_repair_has_its_own_answer(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut repairs = Vec::new();
    for (index, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let far = DAY + i64::try_from(index).unwrap();
        let job = world.put_job(past(&collection, name, far), &collection).await.unwrap();
        repairs.push(put_back(&job));
    }
    world.put_job(repairs[1].job.clone(), &collection).await.unwrap();
    let claim = world.claim(at(2 * DAY), 1).await.pop().unwrap();
    assert_eq!(claim.job.key.name.as_str(), "b", "it is due first by its edit");
    let claim = world.begun(at(2 * DAY) + SignedDuration::from_secs(1)).await;
    assert_eq!(claim.job.key.name.as_str(), "a");
    repairs.push(repairs[2].clone());
    let answers = world.store.repair(repairs).await.unwrap();
    use Repaired::{InFlight, Stale, Written};
    assert_eq!(answers, [InFlight, Stale, Written, Written, Stale]);
}
