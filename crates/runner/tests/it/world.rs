//! What the tests share: a clock that is set, a target that is scripted, a store that can be in trouble.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_model::decide::{self, EditContext};
use punctual_model::{
    Action, ActionKind, Clock, ClockReading, ClockWatch, Collection, CollectionKey, CollectionState, Firing,
    Go, HttpAction, Job, JobKey, JobSpec, Outcome, OutcomeKind, RandomSource, Record, RetryPolicy, Skip, Sku,
};
use punctual_recurrence::{Frequency, Rule};
use punctual_runner::{Dispatcher, Log, Observer, Runner, Settings};
use punctual_store::{Agenda, Archive, CollectionWrite, HistoryAsk, JobWrite, MemoryStore, Resources, Store};
use tokio::sync::{Semaphore, watch};

/// Longer than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// An instant, so many seconds after noon of an ordinary day.
pub(crate) fn at(seconds: i64) -> Timestamp {
    let noon: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    noon + SignedDuration::from_secs(seconds)
}

/// A clock that stands still until it is set.
pub(crate) struct ManualClock {
    reading: Mutex<ClockReading>,
    watch: Option<ClockWatch>,
}

impl ManualClock {
    /// A clock at noon, watched for steps if these are to be held for some time.
    fn new(hold: Option<Duration>) -> Self {
        let reading = ClockReading { wall: at(0), boot: Duration::ZERO };
        let watch = hold.map(|hold| ClockWatch::new(hold, reading));
        Self { reading: Mutex::new(reading), watch }
    }

    pub(crate) fn set(&self, now: Timestamp) {
        self.reading.lock().unwrap().wall = now;
    }

    /// Time passes, in seconds.
    pub(crate) fn pass(&self, seconds: u32) {
        let mut reading = self.reading.lock().unwrap();
        reading.wall += SignedDuration::from_secs(seconds.into());
        reading.boot += Duration::from_secs(seconds.into());
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        let reading = *self.reading.lock().unwrap();
        self.watch.as_ref().map_or(reading.wall, |watch| watch.believe(reading))
    }

    fn watch(&self) -> Option<&ClockWatch> {
        self.watch.as_ref()
    }
}

/// Numbers that count, so that tests repeat.
#[derive(Default)]
struct Counting(AtomicU64);

impl RandomSource for Counting {
    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed)) << 64
    }
}

/// An attempt as the target saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) job: String,
    pub(crate) nominal_at: Timestamp,
    pub(crate) attempt: u32,
    pub(crate) tag: String,
    pub(crate) request: String,
    /// What the clock showed.
    pub(crate) fired_at: Timestamp,
}

/// Targets that answer as a test says: jobs named `hang…` wait to be let go, `fail…` fail, `panic…` panic,
/// all others succeed.
pub(crate) struct Target {
    clock: Arc<ManualClock>,
    seen: Mutex<Vec<Seen>>,
    count: watch::Sender<usize>,
    gate: Semaphore,
    /// How many hang now.
    hanging: AtomicUsize,
    /// What happens before an attempt asks whether it may go.
    before_sending: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
}

/// Counts one that hangs, until it does not any more.
struct Hanging<'a>(&'a AtomicUsize);

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Target {
    /// Has something happen before an attempt asks whether it may go.
    pub(crate) fn before_sending(&self, what: impl Fn() + Send + Sync + 'static) {
        *self.before_sending.lock().unwrap() = Some(Box::new(what));
    }

    /// How many attempts hang now.
    pub(crate) fn hanging(&self) -> usize {
        self.hanging.load(Ordering::SeqCst)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The names of the jobs that were fired, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.job).collect()
    }

    /// Waits until so many attempts were made.
    pub(crate) async fn wait_for(&self, count: usize) {
        let mut seen = self.count.subscribe();
        let arrived = seen.wait_for(|&seen| seen >= count);
        let waited = tokio::time::timeout(DEADLINE, arrived).await;
        assert!(waited.is_ok(), "{count} attempts were expected, not {:?}", self.seen());
    }

    /// Lets so many of those that hang go.
    pub(crate) fn let_go(&self, count: usize) {
        self.gate.add_permits(count);
    }
}

#[async_trait]
impl Dispatcher for Target {
    async fn fire(&self, firing: &Firing, go: &Go) -> Option<Outcome> {
        if let Some(what) = &*self.before_sending.lock().unwrap() {
            what();
        }
        if !go.may().await {
            return None;
        }
        let job = firing.job.name.as_str().to_owned();
        let seen = Seen {
            job: job.clone(),
            nominal_at: firing.nominal_at,
            attempt: firing.attempt,
            tag: firing.tag.to_string(),
            request: firing.client_request_id.clone(),
            fired_at: self.clock.now(),
        };
        self.seen.lock().unwrap().push(seen);
        self.count.send_modify(|count| *count += 1);
        assert!(!job.starts_with("panic"), "as the test says");
        if job.starts_with("hang") {
            self.hanging.fetch_add(1, Ordering::SeqCst);
            let _hanging = Hanging(&self.hanging);
            self.gate.acquire().await.unwrap().forget();
        }
        let kind = OutcomeKind::Word("Scripted");
        Some(Outcome { succeeded: !job.starts_with("fail"), kind, message: "scripted".into() })
    }
}

/// Everything that a runner needs, and ways to look at what it did.
pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) target: Arc<Target>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) collection: Collection,
    pub(crate) settings: Settings,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new())).await
    }

    /// On a store that is shared with others.
    pub(crate) async fn on(store: Arc<MemoryStore>) -> Self {
        Self::with(ManualClock::new(None), store).await
    }

    /// With a clock that is watched: a step forward is held for so many seconds.
    pub(crate) async fn watched(hold: u64) -> Self {
        let clock = ManualClock::new(Some(Duration::from_secs(hold)));
        Self::with(clock, Arc::new(MemoryStore::new())).await
    }

    async fn with(clock: ManualClock, store: Arc<MemoryStore>) -> Self {
        let clock = Arc::new(clock);
        let target = Target {
            clock: Arc::clone(&clock),
            seen: Mutex::default(),
            count: watch::Sender::new(0),
            gate: Semaphore::new(0),
            hanging: AtomicUsize::new(0),
            before_sending: Mutex::default(),
        };
        let collection = Collection {
            key: CollectionKey::new("s", "g", "c"),
            location: "West US".into(),
            tags: Vec::new(),
            sku: Sku::Standard,
            state: CollectionState::Enabled,
            quota: None,
            created_at: at(0),
            revision: 0,
        };
        let write = CollectionWrite {
            collection,
            jobs: Vec::new(),
            job_count_seen: None,
            skips: Vec::new(),
            collection_count_max: 1,
            note: None,
        };
        let collection = store.put_collection(write).await.unwrap();
        Self { clock, target: Arc::new(target), store, collection, settings: Settings::default() }
    }

    /// Puts jobs into another, new collection from now on.
    pub(crate) async fn use_another_collection(&mut self, name: &str) {
        let collection =
            Collection { key: CollectionKey::new("s", "g", name), revision: 0, ..self.collection.clone() };
        let write = CollectionWrite {
            collection,
            jobs: Vec::new(),
            job_count_seen: None,
            skips: Vec::new(),
            collection_count_max: 100,
            note: None,
        };
        self.collection = self.store.put_collection(write).await.unwrap();
    }

    pub(crate) fn runner(&self) -> Runner {
        self.runner_on(Arc::clone(&self.store) as Arc<dyn Store>)
    }

    pub(crate) fn runner_on(&self, store: Arc<dyn Store>) -> Runner {
        self.runner_heard_by(store, Arc::new(Log))
    }

    pub(crate) fn runner_heard_by(&self, store: Arc<dyn Store>, observer: Arc<dyn Observer>) -> Runner {
        let (target, clock) = (Arc::clone(&self.target), Arc::clone(&self.clock));
        let random = Arc::new(Counting::default());
        Runner::new(store, target, clock, random, observer, self.settings.clone())
    }

    /// Puts a job as the API does. Its target is the part of its name before a dash.
    pub(crate) async fn put(&self, name: &str, spec: JobSpec) -> Job {
        let key = self.collection.key.job(name);
        let current = self.find(&key).await;
        let context = EditContext { now: self.clock.now(), collection_enabled: true };
        let job = decide::put(spec, &key, current.as_ref(), context);
        self.write(job).await
    }

    pub(crate) async fn write(&self, job: Job) -> Job {
        let write = JobWrite {
            job,
            collection_revision: self.collection.revision,
            skips: Vec::new(),
            job_count_max: 100_000,
            rerun: None,
            note: None,
        };
        self.store.put_job(write).await.unwrap()
    }

    pub(crate) async fn patch(&self, name: &str, change: impl FnOnce(&mut JobSpec)) {
        let job = self.job(name).await;
        let mut spec = JobSpec::clone(&job.spec);
        change(&mut spec);
        let context = EditContext { now: self.clock.now(), collection_enabled: true };
        self.write(decide::patch(spec, &job, context)).await;
    }

    pub(crate) async fn job(&self, name: &str) -> Job {
        self.find(&self.collection.key.job(name)).await.unwrap()
    }

    pub(crate) async fn find(&self, key: &JobKey) -> Option<Job> {
        self.store.job_in_collection(key).await.unwrap().and_then(|(_, job)| job)
    }

    /// All records of a job, oldest first.
    pub(crate) async fn history(&self, name: &str) -> Vec<Record> {
        let job = self.job(name).await.id;
        let ask = HistoryAsk { job, statuses: Vec::new(), after: None, skip: 0, limit: 100_000 };
        let stored = self.store.history(&ask).await.unwrap().items;
        stored.into_iter().rev().map(|stored| stored.record).collect()
    }

    pub(crate) async fn skips(&self, name: &str) -> Vec<Skip> {
        let job = self.job(name).await.id;
        self.store.skips(job, Timestamp::MIN, Timestamp::MAX, 100_000).await.unwrap()
    }

    /// Waits until a state is reached that nobody signals.
    pub(crate) async fn wait_until(&self, what: &str, reached: impl AsyncFn() -> bool) {
        let waiting = async {
            while !reached().await {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        assert!(tokio::time::timeout(DEADLINE, waiting).await.is_ok(), "waited in vain until {what}");
    }

    /// Waits until a job has so many records.
    pub(crate) async fn wait_for_records(&self, name: &str, count: usize) {
        let what = format!("{name} has {count} records");
        self.wait_until(&what, async || self.history(name).await.len() >= count).await;
    }

    /// Waits until all that is on the agenda is claimed.
    pub(crate) async fn wait_until_claimed(&self) {
        self.wait_until("everything is claimed", async || self.store.next_due(&[]).await.unwrap().is_none())
            .await;
    }
}

/// A request to the host that is the part of a name before a dash, tried once.
pub(crate) fn action(name: &str) -> Action {
    let host = name.split('-').next().unwrap_or(name);
    let request = HttpAction {
        declared_https: false,
        uri: format!("http://{host}.example/"),
        user_info: None,
        method: "GET".into(),
        headers: Vec::new(),
        body: None,
        authentication: None,
    };
    let retry = Some(RetryPolicy { fixed: false, interval: None, count: None });
    Action { kind: ActionKind::Http(request), retry, error_action: None }
}

/// A job that runs once, so many seconds after noon.
pub(crate) fn once(name: &str, start: i64) -> JobSpec {
    JobSpec { start_at: Some(at(start)), action: action(name), recurrence: None, enabled: true }
}

/// A job that runs every minute from so many seconds after noon.
pub(crate) fn minutely(name: &str, start: i64) -> JobSpec {
    JobSpec { recurrence: Some(Rule::every(1, Frequency::Minute)), ..once(name, start) }
}

/// How often each name occurs.
pub(crate) fn tally(names: Vec<String>) -> HashMap<String, usize> {
    names.into_iter().fold(HashMap::new(), |mut tally, name| {
        *tally.entry(name).or_default() += 1;
        tally
    })
}

/// Counts down from a number to zero; tells whether it was there already.
pub(crate) fn spent(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err()
}
