//! Many callers at once: every limit holds and no write is lost.

#![expect(missing_docs, reason = "the names are the claims")]

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use punctual_model::{Collection, Entry, Job, JobState, RecordStatus};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::edits::switched_off;
use super::world::{MANY, World, a_collection, a_job, at, settlement};
use crate::{CollectionWrite, JobWrite, Refusal, Settled, Settlement, Store, WriteError};

const TASKS: usize = 8;

pub async fn parallel_puts_never_exceed_the_quota(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (world, collection) = (world.clone(), collection.clone());
        tasks.spawn(async move {
            let mut count = 0;
            for number in 0..10 {
                let write = JobWrite {
                    job: a_job(collection.key.job(format!("job-{task}-{number}")), None),
                    collection_revision: collection.revision,
                    skips: Vec::new(),
                    job_count_max: 25,
                    rerun: None,
                    note: None,
                };
                match world.store.put_job(write).await {
                    Ok(_) => count += 1,
                    Err(WriteError::Refused(Refusal::TooManyJobs { max: 25 })) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            count
        });
    }
    assert_eq!(tasks.join_all().await.into_iter().sum::<u32>(), 25);
    assert_eq!(world.job_count(&collection.key).await, 25);
}

pub async fn parallel_collections_never_exceed_the_plan(store: Arc<dyn Store>) {
    let world = World::new(store);
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let world = world.clone();
        tasks.spawn(async move {
            let collection = a_collection(&format!("c{task}"));
            let write = CollectionWrite {
                collection,
                jobs: Vec::new(),
                skips: Vec::new(),
                job_count_seen: None,
                collection_count_max: 3,
                note: None,
            };
            match world.store.put_collection(write).await {
                Ok(_) => 1,
                Err(WriteError::Refused(Refusal::TooManyCollections { max: 3, .. })) => 0,
                Err(other) => panic!("{other}"),
            }
        });
    }
    assert_eq!(tasks.join_all().await.into_iter().sum::<u32>(), 3);
}

pub async fn of_parallel_creations_one_wins(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (world, collection) = (world.clone(), collection.clone());
        tasks.spawn(async move {
            let name = if task % 2 == 0 { "job" } else { "JOB" };
            match world.put_job(a_job(collection.key.job(name), None), &collection).await {
                Ok(job) => Some(job),
                Err(WriteError::Refused(Refusal::Stale)) => None,
                Err(other) => panic!("{other}"),
            }
        });
    }
    let won: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(won.len(), 1);
    assert_eq!(world.read(&won[0].key).await, won[0]);
}

pub async fn no_update_is_lost(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (world, key) = (world.clone(), job.key.clone());
        tasks.spawn(async move {
            for _ in 0..10 {
                add_one(&world, &key).await;
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(world.read(&job.key).await.counters.failure, 10 * u32::try_from(TASKS).unwrap());
}

/// Reads, decides and writes until nobody wrote in between.
async fn add_one(world: &World, key: &punctual_model::JobKey) {
    loop {
        let (collection, job) = world.store.job_in_collection(key).await.unwrap().unwrap();
        let mut job = job.unwrap();
        job.counters.failure += 1;
        match world.put_job(job, &collection).await {
            Ok(_) => return,
            Err(WriteError::Refused(Refusal::Stale)) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

pub async fn no_settlement_is_lost_among_edits(store: Arc<dyn Store>) {
    const ROUNDS: u32 = 30;
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let editor = tokio::spawn({
        let (world, key) = (world.clone(), job.key.clone());
        async move {
            for _ in 0..ROUNDS {
                add_one(&world, &key).await;
            }
        }
    });
    let mut recorded = 0;
    while recorded < ROUNDS {
        let Some(claim) = world.claim(at(1_000), 1).await.pop() else { continue };
        if !world.store.begin(&[claim.fence]).await.unwrap()[0] {
            continue;
        }
        let next_at = at(i64::from(recorded) + 1);
        let mut decided = settlement(&claim, RecordStatus::Completed, Some(next_at));
        loop {
            match world.settle(decided.clone()).await {
                Settled::Recorded => break,
                Settled::Changed(job, _) => decided = decide_again(&decided, *job, next_at),
                other => panic!("{other:?}"),
            }
        }
        recorded += 1;
    }
    editor.await.unwrap();
    let read = world.read(&job.key).await;
    assert_eq!((read.counters.execution, read.counters.failure), (ROUNDS, ROUNDS));
    assert_eq!(world.history(job.id).await.len(), usize::try_from(ROUNDS).unwrap());
}

fn decide_again(old: &Settlement, mut job: punctual_model::Job, next_at: jiff::Timestamp) -> Settlement {
    job.counters.execution += 1;
    job.progress.entry = Some(Entry::scheduled(next_at));
    Settlement { job, ..old.clone() }
}

pub async fn a_collection_whose_jobs_always_fire_is_switched_at_once(store: Arc<dyn Store>) {
    const JOBS: usize = 40;
    const SETTLED: usize = 200;
    let world = World::new(store);
    let collection = world.collection("c").await;
    for number in 0..JOBS {
        world.job(&collection, &format!("j{number}"), at(0)).await;
    }
    let (settled, mut count) = watch::channel(0);
    let off = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        tasks.spawn(fire_until(world.clone(), Arc::clone(&off), settled.clone()));
    }
    count.wait_for(|count| *count >= SETTLED).await.unwrap();
    // The one try: it must not be refused, whatever settles meanwhile.
    let decide = |found: Option<&Collection>, jobs: &[Job]| Some(switched_off(found?, jobs));
    world.store.edit_collection(&collection.key, Box::new(decide)).await.unwrap();
    off.store(true, Ordering::Relaxed);
    tasks.join_all().await;

    assert_eq!(world.claim(at(1_000_000), MANY).await.len(), 0);
    let (mut executed, mut recorded) = (0, 0);
    for number in 0..JOBS {
        let job = world.read(&collection.key.job(format!("j{number}"))).await;
        assert_eq!(job.progress.entry, None);
        executed += job.counters.execution;
        recorded += world.history(job.id).await.len();
    }
    let all = *count.borrow();
    assert_eq!((usize::try_from(executed).unwrap(), recorded), (all, all), "no settlement is lost");
}

/// Fires what is due until it is told to stop; each job is due again at once, unless it was switched off.
async fn fire_until(world: World, off: Arc<AtomicBool>, settled: watch::Sender<usize>) {
    while !off.load(Ordering::Relaxed) {
        for claim in world.claim(at(1_000_000), 8).await {
            if !world.store.begin(&[claim.fence]).await.unwrap()[0] {
                continue;
            }
            let next_at = at(i64::from(claim.job.counters.execution) + 1);
            let mut decided = settlement(&claim, RecordStatus::Completed, Some(next_at));
            loop {
                match world.settle(decided.clone()).await {
                    Settled::Recorded => break,
                    Settled::Changed(mut job, _) => {
                        job.counters.execution += 1;
                        decided = Settlement { job: *job, ..decided };
                    }
                    other => panic!("{other:?}"),
                }
            }
            settled.send_modify(|count| *count += 1);
        }
    }
}

pub async fn parallel_claims_share_no_job(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    for number in 0..60 {
        world.job(&collection, &format!("j{number}"), at(number % 7)).await;
    }
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let world = world.clone();
        tasks.spawn(async move {
            let mut claimed = Vec::new();
            loop {
                let claims = world.claim(at(9), 4).await;
                if claims.is_empty() {
                    return claimed;
                }
                claimed.extend(claims.into_iter().map(|claim| (claim.job.id, claim.fence)));
            }
        });
    }
    let claimed: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    let jobs: HashSet<_> = claimed.iter().map(|(job, _)| *job).collect();
    let fences: HashSet<_> = claimed.iter().map(|(_, fence)| *fence).collect();
    assert_eq!((claimed.len(), jobs.len(), fences.len()), (60, 60, 60));
}

pub async fn a_disabled_job_is_not_begun_after_the_answer(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut tasks = JoinSet::new();
    for number in 0..20 {
        let job = world.job(&collection, &format!("j{number}"), at(0)).await;
        let (world, collection) = (world.clone(), collection.clone());
        tasks.spawn(async move {
            let mut job = job;
            job.state = JobState::Disabled;
            job.progress.entry = None;
            world.put_job(job, &collection).await.unwrap()
        });
    }
    let claims = world.claim(at(0), 20).await;
    let disabled = tasks.join_all().await;
    let fences: Vec<_> = claims.iter().map(|claim| claim.fence).collect();
    assert_eq!(world.store.begin(&fences).await.unwrap(), vec![false; claims.len()]);
    assert_eq!(disabled.len(), 20);
    assert_eq!(world.claim(at(0), 20).await.len(), 0);
}
