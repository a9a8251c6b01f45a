//! Steps of a clock that is watched: forward it is not believed for a while, back the jobs that have come further
//! go on from there.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::inspect::{Finding, FindingKind, Inspection, Subject};
use punctual_model::{Clock, Entry, RetryPolicy, SkipReason};
use punctual_runner::{Inspector, InspectorSettings, RepairReport, RunnerStatus};
use punctual_store::{Agenda, Survey};

use crate::trouble::Troubled;
use crate::world::{World, at, minutely, once};

const DAY: i64 = 86_400;

fn inspector(world: &World, status: RunnerStatus) -> Inspector {
    let store = Arc::clone(&world.store) as Arc<dyn Survey>;
    Inspector::new(store, Arc::clone(&world.clock) as _, Some(status), InspectorSettings::default())
}

fn findings(inspector: &Inspector) -> Vec<Finding> {
    inspector.report().findings
}

fn kinds(inspector: &Inspector) -> Vec<FindingKind> {
    findings(inspector).iter().map(|finding| finding.kind).collect()
}

fn total(inspector: &Inspector, kind: FindingKind) -> u64 {
    let counts = inspector.report().counts;
    counts.iter().find(|count| count.kind == kind).unwrap().total
}

async fn wait_for_finding(world: &World, inspector: &Inspector, kind: FindingKind) {
    let what = format!("{kind:?} is found");
    world.wait_until(&what, async || kinds(inspector).contains(&kind)).await;
}

/// Waits until a job has an entry at an instant, while time goes on.
async fn wait_for_entry(world: &World, name: &str, nominal: Timestamp) {
    let reached = async || {
        world.clock.pass(1);
        world.job(name).await.progress.entry.is_some_and(|entry| entry.nominal_at == nominal)
    };
    world.wait_until(&format!("{name} comes next at {nominal}"), reached).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_forward_holds_firing_and_is_then_accepted() {
    let world = World::watched(10).await;
    world.put("ok", minutely("ok", 60)).await;
    let runner = world.runner();
    let inspector = inspector(&world, runner.status());
    let running = runner.start().unwrap();
    world.clock.set(at(5 * DAY + 30));
    wait_for_finding(&world, &inspector, FindingKind::ClockHeld).await;
    assert!(findings(&inspector)[0].detail.contains("5 d 0 h ahead"), "{:?}", findings(&inspector));
    world.clock.pass(9);
    assert_eq!(world.clock.now(), at(0), "the time stands still");
    assert_eq!(world.target.seen(), []);
    world.clock.pass(1);
    world.target.wait_for(1).await;
    wait_for_finding(&world, &inspector, FindingKind::ClockForward).await;
    running.stop().await;
    assert_eq!(kinds(&inspector), [FindingKind::ClockForward]);
    let seen = world.target.seen();
    assert_eq!((seen[0].nominal_at, seen[0].fired_at), (at(5 * DAY), at(5 * DAY + 40)));
    // It is told for a day.
    world.clock.pass(86_399);
    world.clock.now();
    assert_eq!(kinds(&inspector), [FindingKind::ClockForward]);
    world.clock.pass(2);
    world.clock.now();
    assert_eq!((kinds(&inspector), total(&inspector, FindingKind::ClockForward)), (vec![], 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_forward_that_is_taken_back_in_time_fires_and_skips_nothing() {
    let world = World::watched(10).await;
    world.put("ok", minutely("ok", 60)).await;
    let runner = world.runner();
    let inspector = inspector(&world, runner.status());
    let running = runner.start().unwrap();
    world.clock.set(at(5 * DAY));
    wait_for_finding(&world, &inspector, FindingKind::ClockHeld).await;
    world.clock.set(at(8));
    world.clock.pass(52);
    world.wait_for_records("ok", 1).await;
    running.stop().await;
    let seen = world.target.seen();
    assert_eq!((seen.len(), seen[0].nominal_at), (1, at(60)));
    assert_eq!((world.skips("ok").await, kinds(&inspector)), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_step_back_a_job_resumes_at_its_next_occurrence() {
    let world = World::watched(0).await;
    world.put("ok", minutely("ok", 0)).await;
    let runner = world.runner();
    let inspector = inspector(&world, runner.status());
    let running = runner.start().unwrap();
    world.wait_for_records("ok", 1).await;
    world.clock.set(at(5 * DAY));
    world.wait_for_records("ok", 2).await;
    assert_eq!(world.job("ok").await.progress.entry, Some(Entry::scheduled(at(5 * DAY + 60))));
    world.clock.set(at(130));
    let back = async || world.job("ok").await.progress.entry == Some(Entry::scheduled(at(180)));
    world.wait_until("the job is put back", back).await;
    wait_for_finding(&world, &inspector, FindingKind::ClockBack).await;
    world.clock.pass(50);
    world.wait_for_records("ok", 3).await;
    running.stop().await;
    let nominal: Vec<_> = world.target.seen().iter().map(|seen| seen.nominal_at).collect();
    assert_eq!(nominal, [at(0), at(5 * DAY), at(180)]);
    let skips = world.skips("ok").await;
    let rows: Vec<_> =
        skips.iter().map(|skip| (skip.first_at, skip.last_at, skip.count, skip.reason)).collect();
    assert_eq!(rows, [(at(60), at(120), 2, SkipReason::Missed)]);
    let found = findings(&inspector);
    let details: Vec<_> = found.iter().map(|finding| finding.detail.as_str()).collect();
    assert_eq!(details[0], "the clock went forward by 5 d 0 h");
    let back = "the clock went back by 4 d 23 h; 1 job had come up to 2026-11-20T12:00:00Z and went on from \
                2026-11-15T12:02:10Z";
    assert_eq!(details[1], back);
    assert_eq!(found[1].subject, Subject::Clock);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_in_flight_when_the_clock_was_set_back_is_put_back_when_it_is_settled() {
    let world = World::watched(0).await;
    let mut failing = minutely("fail", 60);
    let interval = Some(SignedDuration::from_secs(300));
    failing.action.retry = Some(RetryPolicy { fixed: true, interval, count: Some(3) });
    world.put("hang", minutely("hang", 60)).await;
    world.put("fail", failing).await;
    let running = world.runner().start().unwrap();
    world.clock.set(at(5 * DAY));
    world.target.wait_for(2).await;
    world.wait_for_records("fail", 1).await;
    world.clock.set(at(30));
    let back = async || world.job("fail").await.progress.entry.is_some_and(|entry| entry.due_at < at(DAY));
    world.wait_until("the retry is put back", back).await;
    assert_eq!(world.job("fail").await.progress.entry.unwrap().nominal_at, at(5 * DAY));
    world.target.let_go(1);
    world.wait_for_records("hang", 1).await;
    let reached = async || {
        world.clock.pass(1);
        world.job("hang").await.progress.entry.is_some_and(|entry| entry.nominal_at < at(DAY))
    };
    world.wait_until("it goes on", reached).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_starts_after_the_clock_was_corrected_puts_jobs_back() {
    let world = World::watched(10).await;
    world.put("ok", minutely("ok", 0)).await;
    let mut ahead = world.job("ok").await;
    ahead.progress.past_at = Some(at(5 * DAY));
    ahead.progress.entry = Some(Entry::scheduled(at(5 * DAY + 60)));
    world.write(ahead).await;
    let runner = world.runner();
    let inspector = inspector(&world, runner.status());
    inspector.pass(|_| {}).await.unwrap();
    assert_eq!(kinds(&inspector), [FindingKind::Ahead]);
    let running = runner.start().unwrap();
    wait_for_entry(&world, "ok", at(60)).await;
    wait_for_finding(&world, &inspector, FindingKind::ClockBack).await;
    running.stop().await;
    inspector.pass(|_| {}).await.unwrap();
    assert_eq!(kinds(&inspector), [FindingKind::ClockBack]);
    assert!(findings(&inspector)[0].detail.starts_with("jobs had come further than the clock; 1 job had"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_that_fails_is_tried_again() {
    let world = World::watched(0).await;
    for index in 0..450 {
        let name = format!("ok-{index}");
        let mut job = world.put(&name, minutely("ok", 60)).await;
        job.progress.past_at = Some(at(5 * DAY));
        job.progress.entry = Some(Entry::scheduled(at(5 * DAY + 60)));
        world.write(job).await;
    }
    let mut troubled = Troubled::new(&world, 0, 0, 0);
    Arc::get_mut(&mut troubled).unwrap().repairs = AtomicUsize::new(1);
    let runner = world.runner_on(troubled);
    assert!(runner.repair().await.is_err());
    let report = runner.repair().await.unwrap();
    assert_eq!((report.repaired_count, report.latest_at), (450, Some(at(5 * DAY))));
    assert_eq!(runner.repair().await.unwrap(), RepairReport::default());
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(60)));
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_of_the_wrong_time_give_their_slots_back() {
    let mut world = World::watched(0).await;
    world.settings.slots = 4;
    for index in 0..4 {
        let name = format!("far-{index}");
        world.put(&name, once(&name, DAY)).await;
    }
    let running = world.runner().start().unwrap();
    world.clock.set(at(DAY) - SignedDuration::from_millis(500));
    // All but the slot that is kept for what is due.
    world.wait_until("three are claimed", async || world.store.held().await.unwrap().len() == 3).await;
    world.clock.set(at(0));
    for index in 0..4 {
        let name = format!("ok-{index}");
        world.put(&name, once(&name, 0)).await;
    }
    world.target.wait_for(4).await;
    world.wait_until("nothing is held", async || world.store.held().await.unwrap().is_empty()).await;
    running.stop().await;
    assert!(world.target.names().iter().all(|name| name.starts_with("ok")));
}

#[tokio::test]
async fn nothing_is_deleted_for_being_old_by_a_clock_that_went_forward() {
    let mut world = World::watched(0).await;
    world.settings.retention = SignedDuration::from_hours(24);
    let runner = world.runner();
    world.put("ok", minutely("ok", 0)).await;
    world.clock.pass(700);
    runner.steps().tick().await;
    assert_eq!(world.history("ok").await.len(), 1);
    world.clock.set(at(100 * DAY));
    runner.keep_house().await.unwrap();
    assert_eq!(world.history("ok").await.len(), 1, "it was fired this minute");
    world.clock.pass(3_600);
    runner.keep_house().await.unwrap();
    assert_eq!(world.history("ok").await.len(), 1);
    world.clock.pass(86_400);
    runner.keep_house().await.unwrap();
    assert_eq!(world.history("ok").await.len(), 0, "a day later it is old by any clock");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_nobody_can_set_is_not_watched() {
    let world = World::new().await;
    let mut job = world.put("ok", minutely("ok", 0)).await;
    job.progress.past_at = Some(at(DAY));
    job.progress.entry = Some(Entry::scheduled(at(DAY + 60)));
    let job = world.write(job).await;
    let runner = world.runner();
    let inspector = inspector(&world, runner.status());
    let running = runner.start().unwrap();
    world.put("ok-2", once("ok-2", 0)).await;
    world.wait_for_records("ok-2", 1).await;
    tokio::time::timeout(Duration::from_secs(30), running.stop()).await.unwrap();
    assert_eq!(world.job("ok").await, job);
    inspector.pass(|_| {}).await.unwrap();
    assert_eq!(kinds(&inspector), []);
}
