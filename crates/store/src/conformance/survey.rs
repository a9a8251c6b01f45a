//! The facts for the inspector.

#![expect(missing_docs, reason = "the names are the claims")]

use std::collections::HashSet;
use std::sync::Arc;

use punctual_model::inspect::{DueEntry, Evidence, HistoryEvidence, RecordFacts, Subject, Tally, judge};
use punctual_model::{CollectionState, Counters, Job, JobId, JobState, Progress, RecordStatus};

use super::world::{MANY, World, a_collection, a_job, a_record, at, refusal};
use crate::{CollectionEvidence, Store, SurveyAsk, UnclaimedAsk};

/// All pages of a survey, each with what it may have at most.
async fn pages(world: &World, job_limit: usize, record_limit: usize) -> Vec<Vec<Evidence>> {
    let mut pages: Vec<Vec<Evidence>> = Vec::new();
    loop {
        let after = pages.last().and_then(|page| page.last()).map(|evidence| evidence.job);
        let page = world.store.survey(&SurveyAsk { after, job_limit, record_limit }).await.unwrap();
        if page.is_empty() {
            return pages;
        }
        assert!(page.len() <= job_limit);
        pages.push(page);
    }
}

async fn one(world: &World, job: JobId) -> Evidence {
    let page = world.store.survey(&SurveyAsk::one(job, MANY)).await.unwrap();
    let [evidence] = <[Evidence; 1]>::try_from(page).unwrap();
    assert_eq!(evidence.job, job);
    evidence
}

/// A job with so many records of occurrences that succeeded, and counters that say so.
async fn a_job_with_records(world: &World, name: &str, count: u32) -> Job {
    let collection = match world.store.collection(&a_collection("c").key).await.unwrap() {
        Some(collection) => collection,
        None => world.collection("c").await,
    };
    let mut job = a_job(collection.key.job(name), None);
    job.state = JobState::Completed;
    job.counters = Counters { execution: count, ..Counters::default() };
    let job = world.put_job(job, &collection).await.unwrap();
    let record = |ordinal: u32| {
        let record = a_record(&job, at(i64::from(ordinal)), RecordStatus::Completed);
        punctual_model::Record { ordinal, ..record }
    };
    if count > 0 {
        world.record(&job.key, (1..=count).map(record).collect(), Vec::new()).await;
        // Recording settled the job, and that counted.
        let mut job = world.read(&job.key).await;
        job.counters.execution = count;
        world.put_job(job, &collection).await.unwrap();
    }
    world.read(&collection.key.job(name)).await
}

pub async fn every_collection_is_told_once_in_pages(store: Arc<dyn Store>) {
    let world = World::new(store);
    for name in ["c", "a", "d", "b", "e"] {
        world.collection(name).await;
    }
    let mut seen = Vec::new();
    let mut after = 0;
    loop {
        let page = world.store.survey_collections(after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        assert!(page.len() <= 2 && last.number > after);
        after = last.number;
        for CollectionEvidence { key, unreadable, .. } in page {
            assert_eq!(unreadable, None);
            assert_eq!(world.store.damage(&Subject::Collection(key.clone())).await.unwrap(), None);
            seen.push(key.name.to_string());
        }
    }
    seen.sort();
    assert_eq!(seen.concat(), "abcde");
    let gone = Subject::Record(JobId(1), 1);
    assert_eq!(world.store.damage(&gone).await.unwrap(), None, "what is not there is not damaged");
}

pub async fn jobs_are_counted_as_they_come_and_go(store: Arc<dyn Store>) {
    let world = World::new(store);
    let count = async || world.store.census(MANY).await.unwrap().job_count;
    assert_eq!(count().await, 0);
    let (first, second) = (world.collection("a").await, world.collection("b").await);
    for name in ["i", "j", "k"] {
        world.job(&first, name, at(0)).await;
        world.job(&second, name, at(0)).await;
    }
    assert_eq!(count().await, 6);
    let job = world.read(&first.key.job("i")).await;
    world.put_job(job.clone(), &first).await.unwrap();
    refusal(world.put_job(job, &first).await);
    assert_eq!(count().await, 6, "an edit makes no job, and neither does a write that is refused");
    world.store.delete_job(&first.key.job("i"), None).await.unwrap();
    world.store.delete_job(&first.key.job("nowhere"), None).await.unwrap();
    assert_eq!(count().await, 5);
    world.store.delete_collection(&second.key, None).await.unwrap();
    assert_eq!(count().await, 2);
    let mut ended = world.read(&first.key.job("j")).await;
    ended.state = JobState::Completed;
    ended.progress = Progress { ended_at: Some(at(0)), ..Progress::default() };
    world.put_job(ended, &first).await.unwrap();
    world.store.purge(at(9), MANY).await.unwrap();
    assert_eq!(count().await, 1);
    world.store.delete_group(&first.key.group, None).await.unwrap();
    assert_eq!(count().await, 0);
}

pub async fn faulted_jobs_are_told_latest_first(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    world.job(&collection, "well", at(0)).await;
    for (name, ended, state) in [
        ("a", 3, JobState::Faulted),
        ("b", 1, JobState::Faulted),
        ("done", 9, JobState::Completed),
        ("c", 7, JobState::Faulted),
    ] {
        let mut job = a_job(collection.key.job(name), None);
        (job.state, job.progress.ended_at) = (state, Some(at(ended)));
        world.put_job(job, &collection).await.unwrap();
    }
    let census = world.store.census(2).await.unwrap();
    assert_eq!((census.job_count, census.faulted_count), (5, 3));
    let told: Vec<_> = census.faulted.iter().map(|one| (one.key.name.as_str(), one.ended_at)).collect();
    assert_eq!(told, [("c", at(7)), ("a", at(3))]);
    assert_eq!(census.faulted[0].job, world.read(&collection.key.job("c")).await.id);
    world.store.delete_job(&collection.key.job("c"), None).await.unwrap();
    let census = world.store.census(0).await.unwrap();
    assert_eq!((census.faulted_count, census.faulted), (2, vec![]));
}

pub async fn every_job_is_told_once_in_pages(store: Arc<dyn Store>) {
    let world = World::new(store);
    assert_eq!(pages(&world, 3, MANY).await, Vec::<Vec<Evidence>>::new());
    let mut jobs = Vec::new();
    for (collection, name) in [("b", "x"), ("a", "y"), ("b", "a"), ("a", "b"), ("b", "c")] {
        let there = world.store.collection(&a_collection(collection).key).await.unwrap();
        let collection = match there {
            Some(collection) => collection,
            None => world.collection(collection).await,
        };
        jobs.push(world.job(&collection, name, at(9)).await);
    }
    assert!(world.store.delete_job(&jobs[2].key, None).await.unwrap());
    jobs.remove(2);
    for limit in [1, 2, 3, 100] {
        let told: Vec<Evidence> = pages(&world, limit, MANY).await.concat();
        let expected: Vec<_> = jobs.iter().map(|job| (job.id, Some(job.key.clone()))).collect();
        let told: Vec<_> = told.into_iter().map(|evidence| (evidence.job, evidence.key)).collect();
        assert_eq!(told, expected, "{limit}");
    }
    assert!(world.store.extent().await.unwrap().last_job >= jobs[3].id);
}

pub async fn a_page_ends_where_its_records_do(store: Arc<dyn Store>) {
    let world = World::new(store);
    for (name, count) in [("a", 3), ("b", 1), ("c", 9), ("d", 0), ("e", 4), ("f", 4)] {
        a_job_with_records(&world, name, count).await;
    }
    let names = |page: &Vec<Evidence>| -> String {
        page.iter().filter_map(|evidence| evidence.key.as_ref()).map(|key| key.name.as_str()).collect()
    };
    let found = pages(&world, 100, 5).await;
    let shown: Vec<String> = found.iter().map(names).collect();
    assert_eq!(shown, ["ab", "c", "de", "f"]);
    let long: Vec<bool> =
        found.iter().flatten().map(|evidence| evidence.history == HistoryEvidence::Long).collect();
    assert_eq!(long, [false, false, true, false, false, false]);
}

pub async fn evidence_is_what_was_written(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("C").await;
    let job = world.job(&collection, "J", at(5)).await;
    let evidence = one(&world, job.id).await;
    assert!(evidence.defined && !evidence.claimed && evidence.unreadable.is_none());
    assert_eq!(evidence.collection_enabled, Some(true));
    let standing = evidence.standing.unwrap();
    assert_eq!((standing.state, standing.generation, standing.put_at), (job.state, 1, job.put_at));
    assert_eq!((standing.entry, standing.counters), (job.progress.entry, job.counters));
    assert_eq!(standing.revision, job.revision);
    assert_eq!(judge(&evidence, None), []);
    let nobody = world.store.survey(&SurveyAsk::one(JobId(job.id.0 + 1), MANY)).await.unwrap();
    assert_eq!(nobody, []);
}

pub async fn a_switched_off_collection_is_told(store: Arc<dyn Store>) {
    let world = World::new(store);
    for (name, state) in [("d", CollectionState::Disabled), ("s", CollectionState::Suspended)] {
        let collection = punctual_model::Collection { state, ..a_collection(name) };
        let collection = world.put_collection(collection).await.unwrap();
        let job = world.put_job(a_job(collection.key.job("j"), None), &collection).await.unwrap();
        let evidence = one(&world, job.id).await;
        assert_eq!(evidence.collection_enabled, Some(false), "{state:?}");
        assert_eq!(judge(&evidence, None), []);
    }
}

pub async fn what_is_claimed_is_told_as_claimed(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.claim(at(0), 1).await.pop().unwrap();
    assert!(one(&world, job.id).await.claimed, "held");
    assert_eq!(world.store.begin(&[claim.fence]).await.unwrap(), [true]);
    assert!(one(&world, job.id).await.claimed, "in flight");
    world.run(&claim, RecordStatus::Completed, Some(at(60))).await;
    let evidence = one(&world, job.id).await;
    assert!(!evidence.claimed);
    assert_eq!(evidence.standing.unwrap().revision, job.revision + 1);
}

pub async fn a_whole_history_counts_to_the_counters(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    world.run(&claim, RecordStatus::Completed, Some(at(60))).await;
    let evidence = one(&world, job.id).await;
    let mut tally = Tally::default();
    tally.add(RecordFacts { generation: 1, ordinal: 1, step: 0, status: RecordStatus::Completed });
    assert_eq!(evidence.history, HistoryEvidence::Whole(tally));
    assert_eq!(judge(&evidence, None), []);
    // A new generation begins anew.
    let mut put = world.read(&job.key).await;
    put.generation = 2;
    put.counters = Counters::default();
    world.put_job(put, &collection).await.unwrap();
    let evidence = one(&world, job.id).await;
    assert_eq!(evidence.history, HistoryEvidence::Whole(Tally::default()));
    assert_eq!(judge(&evidence, None), []);
}

pub async fn a_pruned_history_proves_nothing(store: Arc<dyn Store>) {
    let world = World::new(store);
    let old = a_job_with_records(&world, "old", 3).await;
    assert!(matches!(one(&world, old.id).await.history, HistoryEvidence::Whole(_)));
    assert_eq!(world.store.prune_to(3, MANY).await.unwrap(), 0);
    assert!(matches!(one(&world, old.id).await.history, HistoryEvidence::Whole(_)), "nothing went");
    assert_eq!(world.store.prune_to(1, MANY).await.unwrap(), 2);
    assert_eq!(one(&world, old.id).await.history, HistoryEvidence::Pruned, "capped");
    let capped = a_job_with_records(&world, "other", 2).await;
    assert!(matches!(one(&world, capped.id).await.history, HistoryEvidence::Whole(_)));
    assert_eq!(world.store.prune(at(0), MANY).await.unwrap(), 0);
    assert!(matches!(one(&world, capped.id).await.history, HistoryEvidence::Whole(_)), "nothing went");
    assert!(world.store.prune(at(3), MANY).await.unwrap() > 0);
    assert_eq!(one(&world, capped.id).await.history, HistoryEvidence::Pruned, "pruned");
    // Two days later a job begins that has nothing to do with that.
    let collection = world.store.collection(&old.key.collection).await.unwrap().unwrap();
    let mut young = a_job(collection.key.job("young"), Some(at(200_000)));
    young.put_at = at(2 * 86_400);
    let young = world.put_job(young, &collection).await.unwrap();
    assert!(matches!(one(&world, young.id).await.history, HistoryEvidence::Whole(_)));
}

pub async fn record_facts_have_no_gap_and_no_duplicate(store: Arc<dyn Store>) {
    let world = World::new(store);
    let job = a_job_with_records(&world, "j", 7).await;
    a_job_with_records(&world, "other", 2).await;
    for limit in [1, 3, 7, 100] {
        let (mut after, mut ordinals) = (None, Vec::new());
        loop {
            let page = world.store.record_facts(job.id, after, limit).await.unwrap();
            assert!(page.len() <= limit);
            let Some((cursor, _)) = page.last() else { break };
            after = Some(*cursor);
            ordinals.extend(page.iter().map(|(_, trace)| trace.ordinal));
        }
        assert_eq!(ordinals, [7, 6, 5, 4, 3, 2, 1], "{limit}");
    }
    let (_, trace) = world.store.record_facts(job.id, None, 1).await.unwrap()[0];
    assert_eq!(trace, RecordFacts { generation: 1, ordinal: 7, step: 0, status: RecordStatus::Completed });
}

pub async fn unclaimed_entries_come_earliest_first(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut ids = Vec::new();
    for (name, due, host) in [("a", 3, "x"), ("b", 1, "y"), ("c", 2, "x"), ("d", 9, "x")] {
        ids.push(world.job_to(&collection, name, at(due), host).await.id);
    }
    let ask = |until, limit, full_targets: &[&str]| UnclaimedAsk {
        until: at(until),
        limit,
        full_targets: full_targets.iter().map(|&target| target.to_owned()).collect::<HashSet<String>>(),
    };
    let told = async |ask: UnclaimedAsk| world.store.unclaimed(&ask).await.unwrap();
    let found = told(ask(5, MANY, &["x"])).await;
    let expected = [(ids[1], 1, false), (ids[2], 2, true), (ids[0], 3, true)];
    let found: Vec<_> = found.iter().map(|one| (one.due, one.target_full)).collect();
    assert_eq!(
        found,
        expected.map(|(job, due, target_full)| (DueEntry { job, due_at: at(due) }, target_full))
    );
    assert_eq!(told(ask(5, 2, &[])).await.len(), 2);
    assert_eq!(told(ask(0, MANY, &[])).await, []);
    assert_eq!(world.claim(at(1), MANY).await.len(), 1);
    let left: Vec<JobId> = told(ask(9, 1, &[])).await.iter().map(|one| one.due.job).collect();
    assert_eq!(left, [ids[2]], "what is claimed is not told, and takes no place");
}

pub async fn held_are_the_claims(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let first = world.job(&collection, "a", at(0)).await;
    let second = world.job(&collection, "b", at(1)).await;
    assert_eq!(world.store.held().await.unwrap(), []);
    let claims = world.claim(at(1), MANY).await;
    world.store.begin(&[claims[0].fence]).await.unwrap();
    let mut held: Vec<_> =
        world.store.held().await.unwrap().iter().map(|claim| (claim.job, claim.begun)).collect();
    held.sort_unstable();
    assert_eq!(held, [(first.id, true), (second.id, false)]);
    world.run(&claims[0], RecordStatus::Completed, None).await;
    world.store.release(&[claims[1].fence]).await.unwrap();
    assert_eq!(world.store.held().await.unwrap(), []);
}
