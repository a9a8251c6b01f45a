//! The inspector finds what is wrong, and nothing else.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use punctual_model::JobId;
use punctual_model::inspect::{Evidence, FindingKind, Inspection, Subject};
use punctual_runner::{Inspector, InspectorSettings, RunnerStatus};
use punctual_store::{Agenda, ClaimAsk, Layer, MemoryStore, Resources, Store, Survey, SurveyAsk, Trouble};
use tokio::time::Instant;

use crate::world::{World, at, minutely, once};

const TOLERANCE: Duration = Duration::from_secs(120);

fn inspector(world: &World, status: Option<RunnerStatus>) -> Arc<Inspector> {
    inspector_of(Arc::clone(&world.store) as Arc<dyn Survey>, world, status)
}

fn inspector_of(store: Arc<dyn Survey>, world: &World, status: Option<RunnerStatus>) -> Arc<Inspector> {
    let settings = InspectorSettings { tolerance: TOLERANCE, ..InspectorSettings::default() };
    Arc::new(Inspector::new(store, Arc::clone(&world.clock) as _, status, settings))
}

/// What holds not, as name of the job and kind.
fn found(inspector: &Inspector) -> Vec<(String, FindingKind)> {
    let findings = inspector.report().findings.into_iter();
    findings.map(|it| (it.key.map(|key| key.name.to_string()).unwrap_or_default(), it.kind)).collect()
}

async fn pass(inspector: &Inspector) {
    inspector.pass(|_| {}).await.unwrap();
}

#[tokio::test]
async fn what_is_broken_is_found_and_what_is_repaired_is_gone() {
    let world = World::new().await;
    let inspector = inspector(&world, None);
    world.put("good", minutely("good", 60)).await;
    let mut bare = world.put("bare", minutely("bare", 60)).await;
    let mut miscounted = world.put("miscounted", minutely("miscounted", 60)).await;
    pass(&inspector).await;
    assert_eq!(found(&inspector), []);
    bare.progress.entry = None;
    miscounted.counters.failure = 3;
    world.write(bare).await;
    world.write(miscounted).await;
    for _ in 0..2 {
        pass(&inspector).await;
        let expected = [("bare", FindingKind::NoEntry), ("miscounted", FindingKind::Counters)];
        assert_eq!(found(&inspector), expected.map(|(name, kind)| (name.to_owned(), kind)));
    }
    let report = inspector.report();
    assert_eq!((report.pass_count, report.last_pass.unwrap().job_count), (3, 3));
    assert!(report.findings[1].detail.contains("3 failures"), "{:?}", report.findings);
    world.put("bare", minutely("bare", 60)).await;
    world.store.delete_job(&world.collection.key.job("miscounted"), None).await.unwrap();
    inspector.look(Instant::now()).await.unwrap();
    assert_eq!(found(&inspector), [], "a look suffices for what is known");
    let counts = inspector.report().counts;
    assert_eq!(counts.iter().map(|count| (count.open, count.total)).max(), Some((0, 1)));
}

#[tokio::test]
async fn an_entry_that_nobody_takes_is_overdue_after_the_tolerance_in_real_time() {
    let world = World::new().await;
    let runner = world.runner();
    let mut steps = runner.steps();
    let inspector = inspector(&world, Some(runner.status()));
    world.put("late", minutely("late", 0)).await;
    world.put("later", once("later", 7_200)).await;
    // A day has passed on the schedule's clock: a restart, a clock that was set, a virtual one.
    world.clock.set(at(86_400));
    let began = Instant::now();
    let look = async |seconds: u64| {
        inspector.look(began + Duration::from_secs(seconds)).await.unwrap();
        found(&inspector)
    };
    assert_eq!(look(0).await, []);
    assert_eq!(look(119).await, []);
    let both = ["late", "later"].map(|name| (name.to_owned(), FindingKind::Overdue));
    assert_eq!(look(120).await, both);
    steps.tick().await;
    assert_eq!(look(125).await, []);
    world.clock.set(at(86_460));
    assert_eq!(look(500).await, [], "the next entry waits since it was first seen");
    assert_eq!(inspector.report().oldest_due.unwrap().due_at, at(86_460));
}

#[tokio::test]
async fn where_nobody_fires_nothing_is_overdue() {
    let world = World::new().await;
    let inspector = inspector(&world, None);
    world.put("late", once("late", 0)).await;
    world.clock.set(at(10_000));
    let began = Instant::now();
    for seconds in [0, 1_000, 2_000] {
        inspector.look(began + Duration::from_secs(seconds)).await.unwrap();
    }
    assert_eq!(found(&inspector), []);
    let report = inspector.report();
    assert_eq!(report.oldest_due.unwrap().due_at, at(0));
    assert_eq!((report.due_count, report.looked_at), (1, Some(at(10_000))));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_behind_a_target_that_hangs_is_a_backlog() {
    let mut world = World::new().await;
    world.settings.slots_per_target = 1;
    world.settings.slots = 16;
    for index in 0..8 {
        let name = format!("hang-{index}");
        world.put(&name, once(&name, 0)).await;
    }
    world.put("free", once("free", 0)).await;
    let runner = world.runner();
    let inspector = inspector(&world, Some(runner.status()));
    let running = runner.start().unwrap();
    world.target.wait_for(2).await;
    world.wait_for_records("free", 1).await;
    let began = Instant::now();
    let look = async |seconds: u64| {
        inspector.look(began + Duration::from_secs(seconds)).await.unwrap();
        let kinds: Vec<_> = found(&inspector).into_iter().map(|(_, kind)| kind).collect();
        let count = |wanted| kinds.iter().filter(|kind| **kind == wanted).count();
        (count(FindingKind::StaleClaim), count(FindingKind::Backlog), kinds.len())
    };
    assert_eq!(look(0).await, (0, 0, 0));
    // Claims that wait may be given back and taken again, which is another wait.
    let mut seconds = 200;
    while look(seconds).await != (1, 7, 8) {
        seconds += 200;
        assert!(seconds < 20_000, "{:?}", inspector.report().findings);
        tokio::task::yield_now().await;
    }
    world.target.let_go(8);
    for index in 0..8 {
        world.wait_for_records(&format!("hang-{index}"), 1).await;
    }
    world.wait_until("nothing is claimed", async || world.store.held().await.unwrap().is_empty()).await;
    assert_eq!(look(seconds + 200).await, (0, 0, 0));
    pass(&inspector).await;
    assert_eq!(found(&inspector), []);
    running.stop().await;
}

#[tokio::test]
async fn a_claim_that_nobody_ends_is_stale() {
    let world = World::new().await;
    let runner = world.runner();
    let inspector = inspector(&world, Some(runner.status()));
    world.put("lost", once("lost", 0)).await;
    world.put("ahead", once("ahead", 10_000)).await;
    let ask = ClaimAsk { until: at(10_000), limit: 10, full_targets: Vec::new() };
    assert_eq!(world.store.claim(&ask).await.unwrap().len(), 2);
    let began = Instant::now();
    let look = async |seconds: u64| {
        inspector.look(began + Duration::from_secs(seconds)).await.unwrap();
        found(&inspector)
    };
    assert_eq!(look(0).await, []);
    world.clock.set(at(100));
    assert_eq!(look(200).await, [], "it was due a moment ago");
    world.clock.set(at(130));
    assert_eq!(look(230).await, [("lost".to_owned(), FindingKind::StaleClaim)]);
    world.clock.set(at(20_000));
    assert_eq!(look(240).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_runner_gives_no_false_alarm() {
    let world = World::new().await;
    for index in 0..40 {
        let kind = ["ok", "fail"][index % 2];
        let name = format!("{kind}{index}");
        world.put(&name, minutely(&name, 0)).await;
    }
    let runner = world.runner();
    let inspector = inspector(&world, Some(runner.status()));
    let running = runner.start().unwrap();
    let began = Instant::now();
    for round in 1..=40_usize {
        world.clock.set(at(i64::try_from(round).unwrap() * 60));
        world.patch("ok0", |spec| spec.enabled = round % 3 != 0).await;
        // Looks come faster than the tolerance allows for: nothing stays from one to the next.
        inspector.look(began + TOLERANCE * u32::try_from(round).unwrap() / 8).await.unwrap();
        pass(&inspector).await;
        world.target.wait_for(round * 38).await;
    }
    running.stop().await;
    pass(&inspector).await;
    assert_eq!(inspector.report().counts.iter().map(|count| count.total).sum::<u64>(), 0);
}

#[tokio::test]
async fn a_long_history_is_counted_in_parts() {
    let world = World::new().await;
    let mut steps = world.runner().steps();
    let inspector = inspector(&world, None);
    world.put("fail", minutely("fail", 0)).await;
    world.put("other", minutely("other", 0)).await;
    for minute in 0..1_100 {
        world.clock.set(at(minute * 60));
        steps.tick().await;
    }
    pass(&inspector).await;
    assert_eq!(found(&inspector), []);
    let mut job = world.job("fail").await;
    job.counters.faulted -= 1;
    world.write(job).await;
    pass(&inspector).await;
    assert_eq!(found(&inspector), [("fail".to_owned(), FindingKind::Counters)]);
}

/// A store that shows something else each time it is asked, or is in trouble.
struct Fickle {
    inner: Arc<MemoryStore>,
    asked: AtomicUsize,
    change: fn(usize, &mut Evidence),
    trouble: Mutex<bool>,
    left_out: Mutex<Vec<JobId>>,
    damage: Mutex<Vec<(Subject, String)>>,
}

#[async_trait]
impl Layer for Fickle {
    fn below(&self) -> Arc<dyn Store> {
        self.inner.clone()
    }

    async fn survey(&self, ask: &SurveyAsk) -> Result<Vec<Evidence>, Trouble> {
        if *self.trouble.lock().unwrap() {
            return Err(Trouble::Busy { doing: "look" });
        }
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        let mut page = self.inner.survey(ask).await?;
        page.iter_mut().for_each(|evidence| (self.change)(asked, evidence));
        Ok(page)
    }

    async fn damage(&self, subject: &Subject) -> Result<Option<String>, Trouble> {
        let damage = self.damage.lock().unwrap();
        Ok(damage.iter().find(|(of, _)| of == subject).map(|(_, detail)| detail.clone()))
    }

    async fn left_out(&self) -> Result<Vec<JobId>, Trouble> {
        Ok(self.left_out.lock().unwrap().clone())
    }
}

fn fickle(world: &World, change: fn(usize, &mut Evidence)) -> Arc<Fickle> {
    let (asked, trouble, damage) = (AtomicUsize::new(0), Mutex::new(false), Mutex::default());
    let (inner, left_out) = (Arc::clone(&world.store), Mutex::default());
    Arc::new(Fickle { inner, asked, change, trouble, left_out, damage })
}

#[tokio::test]
async fn a_job_that_can_not_be_read_when_it_is_due_is_found_by_the_next_look() {
    let world = World::new().await;
    let job = world.put("j", minutely("j", 60)).await;
    let store = fickle(&world, |_, evidence| evidence.unreadable = Some("x".into()));
    let inspector = inspector_of(Arc::clone(&store) as Arc<dyn Survey>, &world, None);
    inspector.look(Instant::now()).await.unwrap();
    assert_eq!(found(&inspector), [], "a look does not read all jobs");
    store.left_out.lock().unwrap().push(job.id);
    for _ in 0..2 {
        inspector.look(Instant::now()).await.unwrap();
        assert_eq!(found(&inspector), [("j".to_owned(), FindingKind::Unreadable)]);
    }
}

#[tokio::test]
async fn a_suspect_is_found_only_if_it_still_is_when_nobody_wrote_it() {
    let check = async |change: fn(usize, &mut Evidence), expected: usize| {
        let world = World::new().await;
        world.put("j", minutely("j", 60)).await;
        let inspector = inspector_of(fickle(&world, change), &world, None);
        pass(&inspector).await;
        assert_eq!(found(&inspector).len(), expected);
    };
    check(|_, evidence| evidence.standing.as_mut().unwrap().entry = None, 1).await;
    // The second look shows it sound.
    check(
        |asked, evidence| {
            if asked == 0 {
                evidence.standing.as_mut().unwrap().entry = None;
            }
        },
        0,
    )
    .await;
    // It is written between all looks, and each shows it in the middle of something.
    check(
        |asked, evidence| {
            let standing = evidence.standing.as_mut().unwrap();
            standing.entry = None;
            standing.revision += i64::try_from(asked).unwrap();
        },
        0,
    )
    .await;
    // It is claimed when it is looked at again.
    check(
        |asked, evidence| {
            evidence.standing.as_mut().unwrap().entry = None;
            evidence.claimed = asked > 0;
        },
        0,
    )
    .await;
}

#[tokio::test]
async fn what_others_could_not_read_is_looked_at_until_it_can_be_read() {
    let world = World::new().await;
    world.put("j", minutely("j", 60)).await;
    let store = fickle(&world, |_, evidence| evidence.unreadable = Some("its definition".to_owned()));
    let inspector = inspector_of(Arc::clone(&store) as _, &world, None);
    let collection = Subject::Collection(world.collection.key.clone());
    let record = Subject::Record(JobId(1), 7);
    *store.damage.lock().unwrap() =
        vec![(collection.clone(), "its document".to_owned()), (record.clone(), "its status".to_owned())];
    let look = async || {
        inspector.look(Instant::now()).await.unwrap();
        let findings = inspector.report().findings.into_iter();
        findings.map(|finding| (finding.subject, finding.kind, finding.detail)).collect::<Vec<_>>()
    };
    assert_eq!(look().await, []);
    for subject in [&record, &collection, &Subject::Job(JobId(1)), &Subject::Job(JobId(99))] {
        inspector.suspect(subject.clone());
    }
    let all = [
        (Subject::Job(JobId(1)), FindingKind::Unreadable, "its definition".to_owned()),
        (collection, FindingKind::Unreadable, "its document".to_owned()),
        (record, FindingKind::UnreadableRecord, "its status".to_owned()),
    ];
    assert_eq!(look().await, all);
    assert_eq!(look().await, all, "they are looked at again");
    store.damage.lock().unwrap().clear();
    assert_eq!(look().await, all[..1]);
}

#[tokio::test(start_paused = true)]
async fn it_inspects_in_the_background_through_trouble_and_stops_at_once() {
    let world = World::new().await;
    let mut job = world.put("j", minutely("j", 60)).await;
    job.progress.entry = None;
    world.write(job).await;
    let store = fickle(&world, |_, _| {});
    *store.trouble.lock().unwrap() = true;
    let inspector = inspector_of(Arc::clone(&store) as _, &world, None);
    assert!(!inspector.report().enabled);
    let inspecting = inspector.start();
    let wait_until = async |reached: fn(&punctual_model::inspect::Report) -> bool| {
        for _ in 0..10_000 {
            if reached(&inspector.report()) {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("waited in vain: {:?}", inspector.report());
    };
    wait_until(|report| report.trouble.is_some()).await;
    *store.trouble.lock().unwrap() = false;
    wait_until(|report| report.trouble.is_none() && report.pass_count == 1).await;
    assert_eq!(found(&inspector), [("j".to_owned(), FindingKind::NoEntry)]);
    world.put("j", minutely("j", 60)).await;
    wait_until(|report| report.findings.is_empty() && report.pass_count == 1).await;
    wait_until(|report| report.pass_count == 2).await;
    let began = Instant::now();
    inspecting.stop().await;
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_in_the_middle_of_a_pass() {
    let world = World::new().await;
    for index in 0..600 {
        let name = format!("j{index}");
        world.put(&name, minutely(&name, 60)).await;
    }
    let inspector = inspector(&world, None);
    let inspecting = inspector.start();
    while inspector.report().progress.is_none_or(|progress| progress == 0.0) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let began = Instant::now();
    inspecting.stop().await;
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(inspector.report().pass_count, 0);
}
