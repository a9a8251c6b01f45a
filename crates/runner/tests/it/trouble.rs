//! A store in trouble, and a target that does what nobody expects: nothing is lost.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use punctual_model::JobState;
use punctual_model::decide::Repair;
use punctual_recurrence::{Frequency, Rule};
use punctual_store::{
    Agenda, Claim, ClaimAsk, Fence, Layer, MemoryStore, Repaired, Settled, Settlement, Store, Survey, Trouble,
};
use tracing::Level;

use crate::captured::Captured;
use crate::world::{World, at, minutely, once, spent};

/// A store whose calls fail so many times before they go through.
pub(crate) struct Troubled {
    inner: Arc<MemoryStore>,
    claims: AtomicUsize,
    begins: AtomicUsize,
    settles: AtomicUsize,
    releases: AtomicUsize,
    pub(crate) repairs: AtomicUsize,
    /// The disk is full while this is set.
    full: AtomicBool,
    /// The store never takes a settlement of this job while this is set.
    poison: Mutex<Option<&'static str>>,
    /// Claims of this job come without the entry that was claimed, which is a bug: deciding what follows panics.
    bare: Mutex<Option<&'static str>>,
    /// Claims of this job come with a rule that nobody can have written: finding its occurrences panics.
    mad: Mutex<Option<&'static str>>,
    /// Whoever settles waits while this is held.
    door: tokio::sync::Mutex<()>,
    /// How many settlements came at once, each time.
    batches: Mutex<Vec<usize>>,
    /// This call panics when it is made next.
    pub(crate) panics: Mutex<Option<&'static str>>,
}

impl Troubled {
    pub(crate) fn new(world: &World, claims: usize, begins: usize, settles: usize) -> Arc<Self> {
        let inner = Arc::clone(&world.store);
        let [claims, begins, settles] = [claims, begins, settles].map(AtomicUsize::new);
        Arc::new(Self {
            inner,
            claims,
            begins,
            settles,
            releases: AtomicUsize::new(0),
            repairs: AtomicUsize::default(),
            full: AtomicBool::new(false),
            poison: Mutex::default(),
            bare: Mutex::default(),
            mad: Mutex::default(),
            door: tokio::sync::Mutex::default(),
            batches: Mutex::default(),
            panics: Mutex::default(),
        })
    }

    /// Panics if this call is to.
    fn stumble(&self, call: &str) {
        let mut panics = self.panics.lock().unwrap();
        if panics.is_some_and(|name| name == call) {
            *panics = None;
            drop(panics);
            panic!("as the test says");
        }
    }

    fn check_space(&self, doing: &'static str) -> Result<(), Trouble> {
        if self.full.load(Ordering::SeqCst) { Err(Trouble::Full { doing }) } else { Ok(()) }
    }
}

fn check(left: &AtomicUsize, doing: &'static str) -> Result<(), Trouble> {
    if spent(left) { Ok(()) } else { Err(Trouble::Failed { doing, source: "the disk is on fire".into() }) }
}

#[async_trait]
impl Layer for Troubled {
    fn below(&self) -> Arc<dyn Store> {
        self.inner.clone()
    }

    fn around<T: Send, E: From<Trouble> + Send>(
        &self,
        call: &'static str,
        made: impl Future<Output = Result<T, E>> + Send,
    ) -> impl Future<Output = Result<T, E>> + Send {
        self.stumble(call);
        made
    }

    async fn claim(&self, ask: &ClaimAsk) -> Result<Vec<Claim>, Trouble> {
        self.stumble("claim");
        check(&self.claims, "claim")?;
        self.check_space("claim")?;
        let mut claims = self.inner.claim(ask).await?;
        let bare = *self.bare.lock().unwrap();
        for claim in claims.iter_mut().filter(|claim| bare == Some(claim.job.key.name.as_str())) {
            claim.job.progress.entry = None;
        }
        let mad = *self.mad.lock().unwrap();
        for claim in claims.iter_mut().filter(|claim| mad == Some(claim.job.key.name.as_str())) {
            Arc::make_mut(&mut claim.job.spec).recurrence = Some(Rule::every(0, Frequency::Minute));
        }
        Ok(claims)
    }

    async fn begin(&self, fences: &[Fence]) -> Result<Vec<bool>, Trouble> {
        self.stumble("begin");
        check(&self.begins, "begin")?;
        self.check_space("begin")?;
        self.inner.begin(fences).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>, Trouble> {
        self.batches.lock().unwrap().push(settlements.len());
        let _entered = self.door.lock().await;
        self.stumble("settle");
        check(&self.settles, "settle")?;
        self.check_space("settle")?;
        let poison = *self.poison.lock().unwrap();
        if settlements
            .iter()
            .any(|one| poison.is_some_and(|poison| one.job.key.name.as_str().starts_with(poison)))
        {
            return Err(Trouble::Busy { doing: "settle the poisoned one" });
        }
        self.inner.settle(settlements).await
    }

    async fn release(&self, fences: &[Fence]) -> Result<(), Trouble> {
        self.stumble("release");
        check(&self.releases, "release")?;
        self.inner.release(fences).await
    }

    async fn repair(&self, repairs: Vec<Repair>) -> Result<Vec<Repaired>, Trouble> {
        check(&self.repairs, "repair")?;
        self.inner.repair(repairs).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_store_could_not_take_is_tried_again_and_recorded_once() {
    let check = async |claims, begins, settles| {
        let world = World::new().await;
        for index in 0..20 {
            let name = format!("ok-{index}");
            world.put(&name, once(&name, 0)).await;
        }
        let store = Troubled::new(&world, claims, begins, settles);
        let running = world.runner_on(store.clone()).start().unwrap();
        for index in 0..20 {
            world.wait_for_records(&format!("ok-{index}"), 1).await;
        }
        running.stop().await;
        let left = [&store.claims, &store.begins, &store.settles].map(|left| left.load(Ordering::SeqCst));
        assert_eq!(left, [0, 0, 0], "all the trouble came");
        assert_eq!(world.target.seen().len(), 20, "trouble of the store fires nothing twice");
        for index in 0..20 {
            let name = format!("ok-{index}");
            assert_eq!((world.history(&name).await.len(), world.job(&name).await.counters.execution), (1, 1));
        }
    };
    check(2, 0, 0).await;
    check(0, 1, 0).await;
    check(0, 0, 3).await;
    check(1, 1, 2).await;
}

#[tokio::test]
async fn trouble_of_the_store_is_logged_with_its_cause() {
    let captured = Captured::from(Level::ERROR);
    let world = World::new().await;
    world.put("ok", once("ok", 0)).await;
    let running = world.runner_on(Troubled::new(&world, 1, 1, 1)).start().unwrap();
    world.wait_for_records("ok", 1).await;
    running.stop().await;
    let lines = captured.lines();
    for (doing, text) in [("claim", "claim"), ("begin", "confirm"), ("settle", "record")] {
        let cause = format!("could not {doing}: the disk is on fire");
        assert!(lines.iter().any(|line| line.contains(&cause) && line.contains(text)), "{cause}: {lines:?}");
    }
}

#[tokio::test]
async fn what_was_fired_waits_until_the_disk_has_space_and_the_store_alone_says_so() {
    let captured = Captured::from(Level::WARN);
    let world = World::new().await;
    world.put("hang-1", once("one", 0)).await;
    world.put("hang-2", once("two", 0)).await;
    let store = Troubled::new(&world, 0, 0, 0);
    let running = world.runner_on(store.clone()).start().unwrap();
    world.target.wait_for(2).await;
    store.full.store(true, Ordering::SeqCst);
    world.put("ok", once("three", 0)).await;
    world.target.let_go(2);
    let tried = async || store.batches.lock().unwrap().len() >= 3;
    world.wait_until("it was tried again and again", tried).await;
    assert_eq!(world.target.names().len(), 2, "nothing else is fired meanwhile");
    store.full.store(false, Ordering::SeqCst);
    for name in ["hang-1", "hang-2", "ok"] {
        world.wait_for_records(name, 1).await;
    }
    running.stop().await;
    assert_eq!(world.target.names().len(), 3);
    assert_eq!(captured.lines(), [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_record_that_the_store_never_takes_keeps_no_other_out() {
    let world = World::new().await;
    for index in 0..20 {
        let name = format!("ok-{index}");
        world.put(&name, once(&name, 0)).await;
    }
    let store = Troubled::new(&world, 0, 0, 0);
    *store.poison.lock().unwrap() = Some("ok-7");
    let running = world.runner_on(store.clone()).start().unwrap();
    for index in (0..20).filter(|index| *index != 7) {
        world.wait_for_records(&format!("ok-{index}"), 1).await;
    }
    world.put("ok-later", once("ok-later", 0)).await;
    world.wait_for_records("ok-later", 1).await;
    assert_eq!(world.history("ok-7").await.len(), 0);
    *store.poison.lock().unwrap() = None;
    world.wait_for_records("ok-7", 1).await;
    running.stop().await;
    assert_eq!(world.target.seen().len(), 21, "nothing is fired twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_edited_in_flight_is_recorded_through_trouble() {
    let world = World::new().await;
    world.put("hang", minutely("hang", 0)).await;
    let running = world.runner_on(Troubled::new(&world, 0, 0, 2)).start().unwrap();
    world.target.wait_for(1).await;
    world.patch("hang", |spec| spec.enabled = false).await;
    world.target.let_go(1);
    world.wait_for_records("hang", 1).await;
    running.stop().await;
    let job = world.job("hang").await;
    assert_eq!((job.state, job.counters.execution, job.progress.entry), (JobState::Disabled, 1, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_panics_has_failed_and_takes_nothing_with_it() {
    let mut world = World::new().await;
    (world.settings.slots, world.settings.slots_per_target) = (2, 1);
    for index in 0..3 {
        let name = format!("panic-{index}");
        world.put(&name, once(&name, 0)).await;
    }
    world.put("ok", once("ok", 0)).await;
    let running = world.runner().start().unwrap();
    for name in ["panic-0", "panic-1", "panic-2", "ok"] {
        world.wait_for_records(name, 1).await;
    }
    running.stop().await;
    assert_eq!(world.job("panic-0").await.state, JobState::Faulted);
    assert_eq!(world.job("ok").await.state, JobState::Completed);
    assert_eq!(world.history("panic-0").await[0].started_at, at(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_while_a_settlement_is_decided_costs_its_own_job_and_all_others_of_the_batch_are_recorded() {
    let mut world = World::new().await;
    // One after the other: when one is fired, those before it are with the recorder.
    world.settings.slots_per_target = 1;
    let store = Troubled::new(&world, 0, 0, 0);
    *store.bare.lock().unwrap() = Some("bare");
    let running = world.runner_on(store.clone()).start().unwrap();
    let closed = store.door.lock().await;
    world.put("ok-first", once("one", 0)).await;
    world.wait_until("the recorder is held up", async || *store.batches.lock().unwrap() == [1]).await;
    for name in ["bare", "hang-edited", "ok-behind", "hang-last"] {
        world.put(name, minutely("one", 0)).await;
    }
    world.target.wait_for(2).await;
    world.patch("hang-edited", |spec| spec.enabled = false).await;
    world.target.let_go(1);
    world.target.wait_for(4).await;
    drop(closed);
    for name in ["ok-first", "hang-edited", "ok-behind"] {
        world.wait_for_records(name, 1).await;
    }
    assert_eq!(
        *store.batches.lock().unwrap(),
        [1, 2, 1],
        "two beside it; then the one that was edited, again"
    );
    world.target.let_go(1);
    world.wait_for_records("hang-last", 1).await;
    running.stop().await;
    assert_eq!(world.target.names(), ["ok-first", "hang-edited", "ok-behind", "hang-last"]);
    let execution_count = async |name| world.job(name).await.counters.execution;
    assert_eq!((execution_count("hang-edited").await, execution_count("ok-behind").await), (1, 1));
    let bare = world.job("bare").await;
    assert_eq!((world.history("bare").await.len(), bare.counters.execution), (0, 0));
    assert_eq!(bare.progress.entry.map(|entry| entry.nominal_at), Some(at(0)), "it is still to be done");
    assert_eq!(world.store.in_flight(&[bare.id]).await.unwrap(), [bare.id], "and not again before a restart");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_while_the_newest_occurrence_is_found_costs_its_own_job_and_frees_its_place_at_the_target() {
    let mut world = World::new().await;
    world.settings.slots_per_target = 1;
    let store = Troubled::new(&world, 0, 0, 0);
    *store.mad.lock().unwrap() = Some("mad");
    world.put("mad", minutely("one", 0)).await;
    world.put("ok", minutely("one", 0)).await;
    // So late that newer occurrences are looked for.
    world.clock.set(at(300));
    let running = world.runner_on(store).start().unwrap();
    world.wait_for_records("ok", 1).await;
    running.stop().await;
    assert_eq!(world.target.names(), ["ok"]);
    assert_eq!(world.history("mad").await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_that_the_store_could_not_take_back_are_given_back_later() {
    let world = World::new().await;
    world.put("ok", once("ok", 0)).await;
    let store = Troubled::new(&world, 0, 1, 0);
    store.releases.store(3, Ordering::SeqCst);
    let running = world.runner_on(store.clone()).start().unwrap();
    world.wait_for_records("ok", 1).await;
    assert_eq!(store.releases.load(Ordering::SeqCst), 0, "all the trouble came");
    running.stop().await;
    assert_eq!(world.target.names(), ["ok"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_gives_back_what_is_held_through_trouble() {
    let world = World::new().await;
    world.put("ok", once("ok", 60)).await;
    world.clock.set(at(60) - SignedDuration::from_millis(500));
    let store = Troubled::new(&world, 0, 0, 0);
    let running = world.runner_on(store.clone()).start().unwrap();
    world.wait_until_claimed().await;
    store.releases.store(2, Ordering::SeqCst);
    running.stop().await;
    assert_eq!(world.store.held().await.unwrap(), []);
}

#[tokio::test]
async fn however_many_were_set_aside_others_are_recorded() {
    let world = World::new().await;
    let store = Troubled::new(&world, 0, 0, 0);
    *store.poison.lock().unwrap() = Some("poison");
    let mut steps = world.runner_on(store.clone()).steps();
    // Each time fewer than would be taken for a store in trouble, in all more.
    for round in 0..3 {
        for index in 0..5 {
            let name = format!("poison-{round}-{index}");
            world.put(&name, once(&name, 0)).await;
        }
        let name = format!("ok-{round}");
        world.put(&name, once(&name, 0)).await;
        steps.run().await;
        assert_eq!(world.history(&name).await.len(), 1, "{name}");
    }
    assert_eq!(world.history("poison-0-0").await, []);
    *store.poison.lock().unwrap() = None;
    steps.pass(Duration::from_secs(1));
    steps.run().await;
    for round in 0..3 {
        assert_eq!(world.history(&format!("poison-{round}-4")).await.len(), 1);
    }
    assert_eq!(world.target.seen().len(), 18, "nothing is fired twice");
}
