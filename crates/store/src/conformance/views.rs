//! What live views ask for.

#![expect(missing_docs, reason = "the names are the claims")]

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use punctual_model::statistics::{MINUTE, Measure, Statistics};
use punctual_model::{
    ActionKind, ActionType, Collection, Entry, JobFilter, JobSort, JobState, Name, QueueMessage,
    RecordStatus, Scope, SearchPlace, Secret,
};

use super::world::{MANY, World, a_collection, a_job, a_record, a_skip, at, settlement};
use crate::{HOUR, JobSearch, JobSearchPage, Settled, StatsAsk, StatsPage, Store};

fn everything() -> JobSearch {
    JobSearch {
        scopes: vec![Scope::Everything],
        filter: JobFilter::default(),
        sort: JobSort::Name,
        after: None,
        limit: MANY,
        visit_max: MANY,
    }
}

fn names(page: &JobSearchPage) -> Vec<&str> {
    page.jobs.iter().map(|(job, _)| job.key.name.as_str()).collect()
}

/// The names of all pages of a search, and how many pages there were.
async fn all(world: &World, search: &JobSearch) -> (Vec<String>, usize) {
    let (mut search, mut found, mut pages) = (search.clone(), Vec::new(), 0);
    loop {
        let page = world.store.search(&search).await.unwrap();
        found.extend(names(&page).into_iter().map(str::to_owned));
        pages += 1;
        match page.next {
            Some(next) => search.after = Some(next),
            None => return (found, pages),
        }
    }
}

pub async fn a_search_finds_what_its_filter_says(store: Arc<dyn Store>) {
    let world = World::new(store);
    let one = world.collection("c1").await;
    let other = world.collection("C2").await;
    world.job(&one, "Beta", at(20)).await;
    world.job_to(&other, "alpha", at(10), "other.example:8080").await;
    let mut resting = a_job(other.key.job("gamma"), None);
    resting.state = JobState::Disabled;
    world.put_job(resting, &other).await.unwrap();
    let mut failing = a_job(one.key.job("delta-beta"), Some(at(30)));
    failing.progress.last_failed = true;
    world.put_job(failing, &one).await.unwrap();
    let mut retried = a_job(one.key.job("epsilon"), Some(at(15)));
    retried.progress.entry = Some(Entry { attempt: 1, ordinal: 1, ..Entry::scheduled(at(15)) });
    world.put_job(retried, &one).await.unwrap();
    let mut queued = a_job(one.key.job("zeta"), Some(at(5)));
    let message = QueueMessage {
        storage_account: "Account".to_owned(),
        queue_name: "q".to_owned(),
        sas_token: Secret::new("s"),
        message: String::new(),
    };
    Arc::make_mut(&mut queued.spec).action.kind = ActionKind::StorageQueue(message);
    world.put_job(queued, &one).await.unwrap();

    let find = async |search: JobSearch| {
        let page = world.store.search(&search).await.unwrap();
        assert_eq!((page.next.is_none(), page.unreadable.len()), (true, 0));
        let count = world.store.search_count(&search).await.unwrap();
        assert_eq!((count.number, count.capped), (page.jobs.len(), false));
        for (job, collection) in &page.jobs {
            assert_eq!(job.key.collection, collection.key);
            assert_eq!(world.read(&job.key).await, *job);
        }
        names(&page).join(" ")
    };
    let check = async |filter: JobFilter, expected: &str| {
        let scopes = vec![Scope::Collection(one.key.clone()), Scope::Collection(other.key.clone())];
        assert_eq!(find(JobSearch { filter: filter.clone(), ..everything() }).await, expected, "{filter:?}");
        assert_eq!(find(JobSearch { filter, scopes, ..everything() }).await, expected);
    };
    let any = JobFilter::default;
    check(any(), "alpha Beta delta-beta epsilon gamma zeta").await;
    check(JobFilter { state: Some(JobState::Disabled), ..any() }, "gamma").await;
    check(JobFilter { failing: true, ..any() }, "delta-beta epsilon").await;
    check(JobFilter { text: Some("beta".to_owned()), ..any() }, "Beta delta-beta").await;
    check(JobFilter { due_before: Some(at(15)), ..any() }, "alpha zeta").await;
    check(JobFilter { action_type: Some(ActionType::StorageQueue), ..any() }, "zeta").await;
    check(JobFilter { action_type: Some(ActionType::ServiceBusTopic), ..any() }, "").await;
    let target = |text: &str| JobFilter { target: Some(text.to_owned()), ..JobFilter::default() };
    check(target("other.example:8080"), "alpha").await;
    check(target("other.example"), "alpha").await;
    check(target("example.com:80"), "Beta delta-beta epsilon gamma").await;
    check(target("queue:account"), "zeta").await;
    check(target("example.co"), "").await;

    let next = JobSearch { sort: JobSort::Next, ..everything() };
    assert_eq!(find(next.clone()).await, "zeta alpha epsilon Beta delta-beta gamma");
    let filter = JobFilter { due_before: Some(at(20)), ..any() };
    assert_eq!(find(JobSearch { filter, ..next.clone() }).await, "zeta alpha epsilon");
    let scopes = vec![Scope::Group(other.key.group.clone())];
    assert_eq!(find(JobSearch { scopes, ..next.clone() }).await, "zeta alpha epsilon Beta delta-beta gamma");
    let scopes = vec![Scope::Collection(other.key.clone())];
    assert_eq!(find(JobSearch { scopes, ..next.clone() }).await, "alpha gamma");
    let scopes = vec![Scope::Subscription(Name::new("nobody"))];
    assert_eq!(find(JobSearch { scopes, ..next.clone() }).await, "");
    assert_eq!(find(JobSearch { scopes: Vec::new(), ..next }).await, "");
}

/// Three collections of two subscriptions, with jobs that have their names in common.
async fn furnished(store: Arc<dyn Store>) -> (World, Vec<Collection>) {
    let world = World::new(store);
    let mut collections = vec![world.collection("c1").await, world.collection("c2").await];
    let mut elsewhere = a_collection("c1");
    elsewhere.key.group.subscription = Name::new("Elsewhere");
    collections.push(world.put_collection(elsewhere).await.unwrap());
    for number in 0..7 {
        for (index, collection) in (0..).zip(&collections) {
            let due_at = (number != 3).then(|| at(number % 2 * 10 + index));
            let job = a_job(collection.key.job(format!("j{number}")), due_at);
            world.put_job(job, collection).await.unwrap();
        }
    }
    (world, collections)
}

pub async fn pages_of_a_search_are_complete_while_jobs_change(store: Arc<dyn Store>) {
    let (world, collections) = furnished(store).await;
    let subscription = Scope::Subscription(Name::new("Sub"));
    for sort in [JobSort::Name, JobSort::Next] {
        for (scope, count) in [(Scope::Everything, 21), (subscription.clone(), 14)] {
            for (limit, visit_max) in [(1, MANY), (4, MANY), (4, 5), (MANY, 1)] {
                let search =
                    JobSearch { scopes: vec![scope.clone()], sort, limit, visit_max, ..everything() };
                let (found, _) = all(&world, &search).await;
                assert_eq!(found.len(), count, "{search:?}");
                let each: BTreeSet<&String> = found.iter().collect();
                assert_eq!(each.len(), 7);
            }
        }
    }
    // By name, jobs that fire, come and go between two pages move no other one.
    let mut search = JobSearch { limit: 5, ..everything() };
    let first = world.store.search(&search).await.unwrap();
    let claim = world.begun(at(30)).await;
    world.run(&claim, RecordStatus::Completed, Some(at(500))).await;
    world.job(&collections[0], "a", at(40)).await;
    let gone = first.jobs[4].0.key.clone();
    world.store.delete_job(&gone, None).await.unwrap();
    search.after = first.next.clone();
    let (rest, _) = all(&world, &search).await;
    assert_eq!(names(&first).len() + rest.len(), 21, "each of those that were there, once");
}

pub async fn a_search_looks_at_no_more_than_it_may(store: Arc<dyn Store>) {
    let (world, collections) = furnished(store).await;
    let rare = JobFilter { text: Some("j6".to_owned()), ..JobFilter::default() };
    let search = JobSearch { filter: rare, visit_max: 4, ..everything() };
    let page = world.store.search(&search).await.unwrap();
    assert_eq!((page.visited, page.jobs.len()), (4, 0));
    assert!(matches!(page.next, Some(SearchPlace::Name(..))), "{:?}", page.next);
    let (found, pages) = all(&world, &search).await;
    assert_eq!(found, ["j6", "j6", "j6"]);
    assert_eq!(pages, 6);
    let count = world.store.search_count(&search).await.unwrap();
    assert_eq!((count.number, count.capped), (0, true));

    // Where a page ends shows no name that is out of scope.
    let scopes = vec![Scope::Collection(collections[2].key.clone())];
    let mut search = JobSearch { scopes, visit_max: 2, ..search };
    for _ in 0..7 {
        let page = world.store.search(&search).await.unwrap();
        let Some(SearchPlace::Name(_, job)) = &page.next else { break };
        let whole = JobFilter::default();
        let own = JobSearch { visit_max: MANY, filter: whole, after: None, ..search.clone() };
        let own = world.store.search(&own).await.unwrap();
        assert!(own.jobs.iter().any(|(one, _)| one.id == *job));
        search.after = page.next;
    }
}

pub async fn recent_outcomes_are_the_latest(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let records = (1..=9).map(|second| a_record(&job, at(second * 10), RecordStatus::Completed));
    let skips = vec![a_skip(&job, 101, 102, 103), a_skip(&job, 111, 112, 113)];
    world.record(&job.key, records.collect(), skips).await;
    let quiet = world.job(&collection, "quiet", at(0)).await;
    let past = world.store.recent(&[quiet.id, job.id], 3).await.unwrap();
    assert_eq!((past[0].records.len(), past[0].cut, past[0].skips.len()), (0, false, 0));
    let nominal: Vec<_> = past[1].records.iter().map(|record| record.nominal_at).collect();
    assert_eq!((nominal, past[1].cut), (vec![at(90), at(80), at(70)], true));
    let skipped: Vec<_> = past[1].skips.iter().map(|skip| skip.first_at).collect();
    assert_eq!(skipped, [at(111), at(101)]);
    let whole = world.store.recent(&[job.id], 9).await.unwrap();
    assert_eq!((whole[0].records.len(), whole[0].cut), (9, false));
    assert!(world.store.recent(&[], 9).await.unwrap().is_empty());
}

fn stats_of(scopes: Vec<Scope>) -> StatsAsk {
    StatsAsk { scopes, from: at(-7_200), to: at(7_200), step: MINUTE, row_max: MANY }
}

async fn stats(world: &World, ask: &StatsAsk) -> StatsPage {
    world.store.stats(ask).await.unwrap()
}

fn sum(page: &StatsPage) -> Statistics {
    page.buckets.values().fold(Statistics::default(), |mut sum, one| {
        sum.add(one);
        sum
    })
}

pub async fn statistics_count_what_was_settled(store: Arc<dyn Store>) {
    let (world, collections) = furnished(store).await;
    let everything = stats_of(vec![Scope::Everything]);
    assert_eq!(stats(&world, &everything).await, StatsPage::default());
    // Each of the 18 that are due, by one batch for each of two minutes.
    for round in 0..2 {
        let claims = world.claim(at(60 * round + 30), MANY).await;
        assert_eq!(claims.len(), 18);
        let fences: Vec<_> = claims.iter().map(|claim| claim.fence).collect();
        world.store.begin(&fences).await.unwrap();
        let decided = claims.iter().map(|claim| {
            let mut one = settlement(claim, RecordStatus::Completed, Some(at(60)));
            for record in &mut one.records {
                record.started_at += SignedDuration::from_millis(if round == 0 { 3 } else { 2_000 });
            }
            if round == 1 {
                one.skips.push(a_skip(&claim.job, 61, 62, 63));
            }
            one
        });
        let settled = world.store.settle(decided.collect()).await.unwrap();
        assert!(settled.iter().all(|one| matches!(one, Settled::Recorded)));
    }
    let all = stats(&world, &everything).await;
    assert_eq!(all.buckets.keys().copied().collect::<Vec<_>>(), [at(0), at(60)]);
    let first = &all.buckets[&at(0)];
    assert_eq!((first.get(Measure::Succeeded), first.get(Measure::Late)), (18, 0));
    assert_eq!(first.lateness_max, SignedDuration::from_millis(3));
    let second = &all.buckets[&at(60)];
    assert_eq!((second.get(Measure::Succeeded), second.get(Measure::Late)), (18, 18));
    assert_eq!(second.get(Measure::SkippedOverlap), 36);
    // A part of it, and parts together.
    let part = |scope: Scope| stats_of(vec![scope]);
    let one = stats(&world, &part(Scope::Collection(collections[0].key.clone()))).await;
    assert_eq!(sum(&one).get(Measure::Succeeded), 12);
    let both = stats(&world, &part(Scope::Subscription(Name::new("Sub")))).await;
    assert_eq!(sum(&both).get(Measure::Succeeded), 24);
    let nobody = stats(&world, &part(Scope::Subscription(Name::new("nobody")))).await;
    assert_eq!(nobody, StatsPage::default());
    let hour = stats(&world, &StatsAsk { step: HOUR, ..everything.clone() }).await;
    assert_eq!(hour.buckets.keys().copied().collect::<Vec<_>>(), [at(0)]);
    // The latest are read first.
    let few = stats(&world, &StatsAsk { row_max: 0, ..everything.clone() }).await;
    assert!(few.buckets.is_empty() && few.unread_before.is_some(), "{few:?}");
    // Minutes become hours, with the same numbers, and hours go.
    let whole = sum(&all);
    while world.store.roll_up_stats(at(3_600), at(-7_200), 3).await.unwrap() > 0 {}
    let rolled = stats(&world, &everything).await;
    assert_eq!((rolled.buckets.len(), sum(&rolled)), (1, whole));
    while world.store.roll_up_stats(at(3_600), at(3_600), 3).await.unwrap() > 0 {}
    assert_eq!(stats(&world, &everything).await, StatsPage::default());
}

pub async fn a_settlement_that_is_not_taken_counts_nothing(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let (edited, kept) =
        (world.job(&collection, "edited", at(0)).await, world.job(&collection, "kept", at(0)).await);
    let claims = world.claim(at(1), MANY).await;
    let fences: Vec<_> = claims.iter().map(|claim| claim.fence).collect();
    world.store.begin(&fences).await.unwrap();
    world.put_job(world.read(&edited.key).await, &collection).await.unwrap();
    let decided = claims.iter().map(|claim| settlement(claim, RecordStatus::Completed, Some(at(60))));
    let settled = world.store.settle(decided.collect()).await.unwrap();
    assert_eq!(settled.iter().filter(|one| matches!(one, Settled::Recorded)).count(), 1);
    // What was taken is told at the latest with what is settled next.
    let claim = world.begun(at(60)).await;
    assert_eq!(claim.job.id, kept.id);
    world.run(&claim, RecordStatus::Failed, None).await;
    let all = sum(&stats(&world, &stats_of(vec![Scope::Everything])).await);
    assert_eq!((all.get(Measure::Succeeded), all.get(Measure::Failed)), (1, 1));
}
