//! A world: some nodes over one store, a receiver, a caller, a clock, and an oracle.

mod backing;
mod node;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::{SignedDuration, Timestamp};
use punctual_model::inspect::FindingKind;
use punctual_model::{
    Clock, Collection, CollectionKey, CollectionState, Job, JobId, JobKey, Quota, Record, Skip, Sku, decide,
    inspect,
};
use punctual_store::{HistoryAsk, JobsAsk, Store, SurveyAsk};

pub use self::backing::Backing;
use self::backing::Opened;
use self::node::Node;
use crate::caller::{Caller, Denied};
use crate::clock::NodeClock;
use crate::gate::{Gate, block_on};
use crate::op::{Op, Point};
use crate::oracle::{Account, Coverage, SharedOracle};
use crate::receiver::Script;
use crate::watched::{Shared, WatchedStore};

/// How many nodes a world has.
pub const NODES: usize = 3;
/// How many collections: one of the standard plan, one of the free plan.
pub const COLLECTIONS: usize = 2;
/// The number of jobs; the even ones are in the first collection.
pub const JOBS: usize = 6;

/// A limit above everything that a world has.
const MANY: usize = 100_000;
/// How long history and ended jobs are kept.
const RETENTION: SignedDuration = SignedDuration::from_hours(60 * 24);
/// How often nodes may tick until the agenda counts as not draining.
const TICKS_MAX: usize = 400;
/// The most attempts within one elapse before the rest of its time passes at once.
const ATTEMPTS_MAX: u64 = 200;
/// The most ticks within one elapse.
const ELAPSE_TICKS_MAX: usize = 20_000;

/// The result of a history.
#[derive(Debug, PartialEq, Eq)]
pub struct Ending {
    /// For each remaining job what can be read of it.
    pub jobs: Vec<JobEnding>,
    /// How far the clock went forward in total.
    pub elapsed: SignedDuration,
    /// What was covered.
    pub coverage: Coverage,
}

/// What can be read of a job, except ids, which stores choose freely.
#[derive(Debug, PartialEq, Eq)]
pub struct JobEnding {
    key: JobKey,
    status: String,
    next_at: Option<Timestamp>,
    /// Newest first, without the job's id.
    records: Vec<Record>,
    /// By their first occurrence, without the job's id.
    skips: Vec<Skip>,
}

/// A history with a problem.
#[derive(Debug)]
pub struct Failure {
    /// After which operation; the number of operations if it was found at the end.
    pub at: usize,
    /// What is wrong.
    pub problems: Vec<String>,
}

/// Plays a history on a store and judges it.
pub fn play(ops: &[Op], backing: Backing) -> Result<Ending, Failure> {
    let at = AtomicUsize::new(0);
    // A panic of what is simulated is a failure like any other.
    let played = std::panic::catch_unwind(AssertUnwindSafe(|| play_on(ops, backing, &at)));
    played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
        Err(Failure { at: at.into_inner(), problems: vec![format!("something panicked: {text}")] })
    })
}

fn play_on(ops: &[Op], backing: Backing, reached: &AtomicUsize) -> Result<Ending, Failure> {
    let mut world = World::new(backing);
    for (at, op) in ops.iter().enumerate() {
        reached.store(at, Ordering::Relaxed);
        world.apply(*op);
        world.judge(matches!(op, Op::CrashAll));
        world.stop_if_wrong(at)?;
    }
    world.calm_down();
    world.stop_if_wrong(ops.len())?;
    let ending = world.ending();
    world.stop_if_wrong(ops.len())?;
    Ok(ending)
}

struct World {
    clock: NodeClock,
    shared_oracle: SharedOracle,
    script: Script,
    shared: Shared,
    opened: Opened,
    api: WatchedStore,
    nodes: Vec<Node>,
    elapsed_ms: i64,
    /// Faults have stopped.
    calm: bool,
}

impl World {
    fn new(backing: Backing) -> Self {
        let (clock, shared_oracle) = (NodeClock::default(), SharedOracle::default());
        let (opened, store) = Opened::new(backing);
        let shared = Shared::new(store, shared_oracle.clone());
        let api = WatchedStore {
            node: None,
            leased: None,
            gate: Gate::default(),
            clock: clock.clone(),
            shared: shared.clone(),
        };
        let script = Script::default();
        let nodes = (0..NODES).map(|node| Node::new(node, &shared, &clock, &script, &opened)).collect();
        let world =
            Self { clock, shared_oracle, script, shared, opened, api, nodes, elapsed_ms: 0, calm: false };
        for index in 0..COLLECTIONS {
            let made = block_on(world.caller().make(world.collection(index)));
            assert!(made.is_ok(), "an empty store takes a collection: {made:?}");
        }
        world
    }

    fn caller(&self) -> Caller<'_> {
        Caller::new(&self.api, &self.shared_oracle, Arc::new(self.clock.clone()))
    }

    fn collection(&self, index: usize) -> Collection {
        Collection {
            key: collection_key(index),
            location: "West US".to_owned(),
            tags: Vec::new(),
            sku: if index == 0 { Sku::Standard } else { Sku::Free },
            state: CollectionState::Enabled,
            quota: (index > 0).then(|| Quota { job_count_max: Some(2), ..Quota::default() }),
            created_at: self.clock.now(),
            revision: 0,
        }
    }

    fn apply(&mut self, op: Op) {
        // What is begun is fired at once: only the death of its node can come between.
        if !matches!(op, Op::Crash(_) | Op::CrashAll | Op::Expire(_) | Op::Stop(_)) {
            self.nodes.iter_mut().filter(|node| node.at(Point::Begun)).for_each(Node::resume);
        }
        match op {
            Op::Advance(ms) => self.advance(ms.max(0)),
            Op::Jump(ms) => {
                if ms < 0 {
                    self.shared_oracle.lock().lose_steadiness();
                }
                self.clock.set_forward(ms);
                self.nodes.iter_mut().for_each(Node::poll);
            }
            Op::Elapse(ms) => self.elapse(ms.max(0)),
            Op::Skew(node, ms) => {
                self.shared_oracle.lock().lose_steadiness();
                self.nodes[node % NODES].clock.set_skew(ms);
                self.nodes[node % NODES].poll();
            }
            Op::Tick(node) => self.nodes[node % NODES].tick(None),
            Op::TickTo(node, point) => self.nodes[node % NODES].tick(Some(point)),
            Op::Resume(node) => self.nodes[node % NODES].resume(),
            Op::Crash(node) => self.nodes[node % NODES].crash(),
            Op::Expire(node) => self.nodes[node % NODES].expire(),
            Op::CrashAll => self.crash_all(),
            Op::Restart(node) => self.nodes[node % NODES].up = true,
            Op::Stop(node) => self.nodes[node % NODES].stop(),
            Op::KeepHouse(node) => self.keep_house(node % NODES),
            Op::Repair(node) => {
                self.nodes[node % NODES].repair();
            }
            Op::Answer(job, answer, times) => self.script.add(&job_name(job), answer, times),
            Op::Fault(call, when, kind) => self.shared.add_fault(call, when, kind),
            Op::Put(..)
            | Op::Patch(..)
            | Op::Delete(_)
            | Op::Enable(_)
            | Op::Disable(_)
            | Op::Run(_)
            | Op::CollectionOn(_)
            | Op::CollectionOff(_)
            | Op::Quota(..) => self.call(op),
        }
    }

    /// A call of the API: its answer must be what the oracle expects.
    fn call(&mut self, op: Op) {
        let (job, expected) = self.expected(op);
        let caller = self.caller();
        let answer = block_on(async {
            match op {
                Op::Put(_, sketch) => caller.put(&job, &sketch.spec()).await,
                Op::Patch(_, change) => caller.patch(&job, |spec| change.apply(spec)).await,
                Op::Enable(_) => caller.patch(&job, |spec| with_enabled(spec, true)).await,
                Op::Disable(_) => caller.patch(&job, |spec| with_enabled(spec, false)).await,
                Op::Delete(_) => caller.delete(&job).await,
                Op::Run(_) => caller.run(&job).await,
                Op::CollectionOn(index) => caller.switch(&collection_key(index), true).await,
                Op::CollectionOff(index) => caller.switch(&collection_key(index), false).await,
                Op::Quota(index, max) => caller.quota(&collection_key(index), max).await,
                _ => unreachable!("only calls of the API come here"),
            }
        });
        if matches!(answer, Err(Denied::Full)) {
            self.shared_oracle.lock().cover("the collection was full");
        }
        let right = match &answer {
            Err(Denied::Trouble | Denied::TooManyRuns) => true,
            Ok(()) => expected.is_empty(),
            Err(denied) => expected.contains(&format!("{denied:?}").as_str()),
        };
        if !right {
            let problem = format!("{op:?} was answered {answer:?}, it must be one of {expected:?}");
            self.shared_oracle.lock().extend(vec![problem]);
        }
    }

    /// Why a call must be refused; empty if it must not.
    fn expected(&self, op: Op) -> (JobKey, Vec<&'static str>) {
        let key = match op {
            Op::Put(job, _)
            | Op::Patch(job, _)
            | Op::Delete(job)
            | Op::Enable(job)
            | Op::Disable(job)
            | Op::Run(job) => job_key(job),
            _ => return (job_key(0), Vec::new()),
        };
        let oracle = self.shared_oracle.lock();
        let expected_collection = oracle.collection(&key.collection);
        let stored = block_on(self.shared.store().job_in_collection(&key));
        let stored = stored.expect("the store itself has no faults").and_then(|(_, job)| job);
        let ended = stored.is_some_and(|job| job.state.is_final());
        let mut expected = Vec::new();
        match (op, oracle.account(&key)) {
            (Op::Put(..), None) => {
                let full = expected_collection.is_some_and(|expected_collection| {
                    oracle.job_count(&key.collection) >= expected_collection.job_count_max as usize
                });
                expected.extend(full.then_some("Full"));
            }
            (Op::Put(..) | Op::Patch(..) | Op::Enable(_) | Op::Disable(_), Some(_)) => {
                expected.extend(ended.then_some("Final"));
            }
            (Op::Run(_), Some(_)) => expected.extend(
                expected_collection
                    .is_some_and(|expected_collection| !expected_collection.on)
                    .then_some("Off"),
            ),
            (Op::Delete(_), Some(_)) => {}
            (_, _) => expected.push("Missing"),
        }
        (key, expected)
    }

    fn advance(&mut self, ms: i64) {
        self.clock.advance(ms);
        self.elapsed_ms += ms.max(0);
    }

    /// Time passes, and nodes tick whenever they want to.
    fn elapse(&mut self, ms: i64) {
        let until = self.clock.now() + SignedDuration::from_millis(ms);
        let shots_max = self.shared_oracle.lock().attempt_count() + ATTEMPTS_MAX;
        for _ in 0..ELAPSE_TICKS_MAX {
            self.nodes.iter_mut().for_each(|node| node.tick(None));
            if self.shared_oracle.lock().attempt_count() >= shots_max {
                break;
            }
            let Some(wait_ms) = self.nodes.iter().filter_map(wanted_ms).min() else { break };
            if self.clock.now() + SignedDuration::from_millis(wait_ms) > until {
                break;
            }
            self.advance(wait_ms);
        }
        let rest = until.duration_since(self.clock.now()).as_millis();
        self.advance(i64::try_from(rest).unwrap_or(0).max(0));
    }

    /// The oracle learns from the store what was pruned; exactly what had to be purged was.
    fn keep_house(&mut self, node: usize) {
        let jobs = self.jobs();
        let before = self.nodes[node].clock.now() - RETENTION;
        if !self.nodes[node].keep_house() {
            return;
        }
        let left = self.jobs();
        for job in jobs {
            let gone = !left.iter().any(|other| other.id == job.id);
            let ended_at =
                job.progress.ended_at.filter(|_| job.state.is_final() && job.progress.entry.is_none());
            let mut oracle = self.shared_oracle.lock();
            if gone != ended_at.is_some_and(|at| at < before) {
                oracle.blame(&job.key, &format!("was purged: {gone}, and ended at {ended_at:?} of {before}"));
            }
            if gone {
                oracle.cover("a job was purged");
                oracle.deleted_job(&job.key, true);
            }
        }
    }

    fn crash_all(&mut self) {
        self.nodes.iter_mut().for_each(Node::forget_all);
        let fences = self.shared_oracle.lock().abandon(None);
        self.nodes.iter_mut().for_each(Node::expire);
        self.opened.reopen(&self.shared, &fences);
        (0..NODES).for_each(|node| self.shared_oracle.lock().forget(node));
        for node in &mut self.nodes {
            node.up = true;
            // It uses the store that was opened, not the one that is gone.
            node.forget_all();
        }
    }

    /// Faults stop: all nodes are up and their clocks right, the store and the receiver work. Then the agenda
    /// must drain, now and for some time.
    fn calm_down(&mut self) {
        self.shared.clear_faults();
        self.script.clear();
        for node in &mut self.nodes {
            node.up = true;
            node.clock.set_skew(0);
            node.poll();
            node.resume();
        }
        self.repair();
        self.drain();
        // Retries and tomorrow's occurrences are done as well.
        self.advance(3_600_000);
        self.drain();
        // The node with the fewest slots must do alone: one that has lost slots could hide behind the others.
        self.nodes.iter_mut().take(NODES - 1).for_each(Node::stop);
        self.advance(23 * 3_600_000);
        self.drain();
        self.judge(true);
        let problems: Vec<String> =
            self.shared_oracle.lock().accounts.values().flat_map(Account::unaccounted).collect();
        self.shared_oracle.lock().extend(problems);
    }

    /// After the clock was set back all jobs that are ahead continue from now.
    fn repair(&mut self) {
        self.calm = true;
        let done = self.nodes[0].repair();
        let now = self.clock.now();
        let mut oracle = self.shared_oracle.lock();
        let stuck = oracle.still_ahead(now);
        oracle.extend(stuck);
        if !done {
            oracle.extend(vec!["jobs that are ahead of the clock can't be put back".into()]);
        }
    }

    fn drain(&mut self) {
        for _ in 0..TICKS_MAX {
            self.nodes.iter_mut().for_each(|node| node.tick(None));
            let due = block_on(self.shared.store().next_due(&[])).expect("the store itself has no faults");
            if due.is_none_or(|due| due > self.clock.now()) {
                let now = self.clock.now();
                let jobs = self.jobs();
                let oracle = self.shared_oracle.lock();
                let stuck = jobs.iter().filter_map(|job| oracle.accounts.get(&job.id)?.drained(now, job));
                let stuck: Vec<String> = stuck.collect();
                drop(oracle);
                self.shared_oracle.lock().extend(stuck);
                return;
            }
        }
        self.shared_oracle.lock().extend(vec!["the agenda does not drain".into()]);
    }

    fn jobs(&self) -> Vec<Job> {
        let ask = JobsAsk { state: None, after: None, skip: 0, limit: MANY };
        let store = self.shared.store();
        let of = |index| {
            block_on(store.jobs(&collection_key(index), &ask)).expect("the store itself has no faults").items
        };
        (0..COLLECTIONS).flat_map(of).collect()
    }

    fn judge(&self, with_history: bool) {
        let store = self.shared.store();
        let ask = JobsAsk { state: None, after: None, skip: 0, limit: MANY };
        for index in 0..COLLECTIONS {
            let key = collection_key(index);
            let collection = block_on(store.collection(&key)).expect("the store itself has no faults");
            let jobs = block_on(store.jobs(&key, &ask)).expect("the store itself has no faults").items;
            match collection {
                Some(collection) => self.shared_oracle.lock().judge(&collection, &jobs),
                None => self.shared_oracle.lock().extend(vec![format!("collection {index} is gone")]),
            }
        }
        self.inspect();
        if with_history {
            for job in self.jobs() {
                let (records, skips) = self.history(&job);
                self.shared_oracle.lock().judge_history(&job.key, job.id, (records, skips));
            }
        }
    }

    /// The inspector of the product finds nothing wrong at any time.
    fn inspect(&self) {
        let ask = SurveyAsk { after: None, job_limit: MANY, record_limit: MANY };
        let found = block_on(self.shared.store().survey(&ask)).expect("the store itself has no faults");
        let flaws = found.iter().flat_map(|evidence| {
            let told = move |flaw| format!("the inspector finds of {:?}: {flaw:?}", evidence.key);
            let flaws = inspect::judge(evidence, Some(self.clock.now())).into_iter();
            // Between a step back of the clock and the repair, jobs are ahead.
            flaws.filter(|flaw| self.calm || flaw.kind != FindingKind::Ahead).map(told)
        });
        self.shared_oracle.lock().extend(flaws.collect());
    }

    fn history(&self, job: &Job) -> (Vec<Record>, Vec<Skip>) {
        let store = self.shared.store();
        let ask = HistoryAsk { job: job.id, statuses: Vec::new(), after: None, skip: 0, limit: MANY };
        let records = block_on(store.history(&ask)).expect("the store itself has no faults").items;
        let skips = store.skips(job.id, Timestamp::MIN, Timestamp::MAX, MANY);
        let skips = block_on(skips).expect("the store itself has no faults");
        (records.into_iter().map(|stored| stored.record).collect(), skips)
    }

    fn ending(&self) -> Ending {
        let jobs = self.jobs().into_iter().map(|job| self.job_ending(&job)).collect();
        let coverage = self.shared_oracle.lock().coverage().clone();
        Ending { jobs, elapsed: SignedDuration::from_millis(self.elapsed_ms), coverage }
    }

    fn job_ending(&self, job: &Job) -> JobEnding {
        let (records, skips) = self.history(job);
        let on = self
            .shared_oracle
            .lock()
            .collection(&job.key.collection)
            .is_some_and(|expected_collection| expected_collection.on);
        let Job { state, counters, last_started_at, progress, generation, .. } = job;
        JobEnding {
            key: job.key.clone(),
            status: format!("{state:?} {generation} {counters:?} {last_started_at:?} {progress:?}"),
            next_at: decide::next_execution_at(job, on, false),
            records: records.into_iter().map(|record| Record { job: JobId(0), ..record }).collect(),
            skips: skips.into_iter().map(|skip| Skip { job: JobId(0), ..skip }).collect(),
        }
    }

    fn stop_if_wrong(&self, at: usize) -> Result<(), Failure> {
        let problems = self.shared_oracle.lock().problems().to_vec();
        if problems.is_empty() { Ok(()) } else { Err(Failure { at, problems }) }
    }
}

/// In how many milliseconds a node wants to continue; none if it does not.
fn wanted_ms(node: &Node) -> Option<i64> {
    let (rest, due_at) = node.wants();
    let due =
        due_at.map(|due_at| due_at.duration_since(node.clock.now()).max(SignedDuration::ZERO).unsigned_abs());
    let wait = rest.into_iter().chain(due).min()?;
    // At least a little: what can be done now is done.
    i64::try_from(wait.as_micros().div_ceil(1_000)).ok().map(|ms| ms.max(1))
}

fn with_enabled(spec: &punctual_model::JobSpec, enabled: bool) -> punctual_model::JobSpec {
    punctual_model::JobSpec { enabled, ..spec.clone() }
}

fn collection_key(index: usize) -> CollectionKey {
    CollectionKey::new("sub", "group", format!("c{}", index % COLLECTIONS))
}

fn job_name(index: usize) -> String {
    format!("j{}", index % JOBS)
}

fn job_key(index: usize) -> JobKey {
    collection_key(index).job(job_name(index))
}

/// A store of any kind.
type AnyStore = Arc<dyn Store>;
