//! Laws that hold whatever is done to a job, in whatever order, at whatever point of an occurrence's life.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use punctual_recurrence::{Frequency, Rule, Schedule};

use super::world::{World, action, at, fixed, no_retries, once};
use crate::{Action, Cause, Entry, JobSpec, JobState, Record, RecordStatus, RetryPolicy};

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Pass(i64),
    Begin,
    Finish(bool),
    /// The server is killed and started again: nobody will ever know how the attempt in flight ended.
    Crash,
    Run,
    Put(Timing, Doing, bool),
    PatchTiming(Timing),
    PatchDoing(Doing),
    Enable,
    Disable,
    Pause,
    Resume,
}

#[derive(Clone, Debug)]
pub(super) struct Timing {
    pub(super) start: Option<i64>,
    pub(super) recurrence: Option<Rule>,
}

#[derive(Clone, Debug)]
pub(super) struct Doing {
    retry: Option<RetryPolicy>,
    error_actions: usize,
}

impl Doing {
    fn action(&self) -> Action {
        let chain = (0..self.error_actions)
            .fold(None, |behind, _| Some(Box::new(Action { retry: None, error_action: behind, ..action() })));
        Action { retry: self.retry.clone(), error_action: chain, ..action() }
    }
}

pub(super) fn timing() -> impl Strategy<Value = Timing> {
    let rule = (1_i64..4, prop::option::of(1_i64..5), prop::option::of(0_i64..1_200), any::<bool>());
    let rule = rule.prop_map(|(interval, count, end, scheduled)| {
        let schedule = Schedule { minutes: vec![0, 3, 4, 5, 7, 11], ..Schedule::default() };
        Rule {
            count,
            end_at: end.map(at),
            schedule: scheduled.then_some(schedule),
            ..Rule::every(interval, Frequency::Minute)
        }
    });
    let recurring = (prop::option::of(-300_i64..300), rule)
        .prop_map(|(start, rule)| Timing { start, recurrence: Some(rule) });
    let once = prop::option::of(-60_i64..300).prop_map(|start| Timing { start, recurrence: None });
    prop_oneof![5 => recurring, 1 => once]
}

pub(super) fn doing() -> impl Strategy<Value = Doing> {
    let retry =
        prop_oneof![Just(no_retries()), (1_u32..3, 15_i64..90).prop_map(|(n, pause)| fixed(n, pause))];
    (retry, 0_usize..3).prop_map(|(retry, error_actions)| Doing { retry, error_actions })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_i64..200).prop_map(Step::Pass),
        8 => Just(Step::Begin),
        8 => any::<bool>().prop_map(Step::Finish),
        1 => Just(Step::Crash),
        2 => Just(Step::Run),
        1 => (timing(), doing(), any::<bool>()).prop_map(|(timing, doing, on)| Step::Put(timing, doing, on)),
        2 => timing().prop_map(Step::PatchTiming),
        1 => doing().prop_map(Step::PatchDoing),
        2 => Just(Step::Enable),
        1 => Just(Step::Disable),
        1 => Just(Step::Pause),
        2 => Just(Step::Resume),
    ]
}

pub(super) fn spec(timing: Timing, doing: &Doing, enabled: bool) -> JobSpec {
    let start_at = timing.start.map(at);
    JobSpec { start_at, action: doing.action(), recurrence: timing.recurrence, enabled }
}

/// A world with a slow and simple model of what it should come to.
struct Watched {
    world: World,
    /// Each instant that a recurring rule yielded while job and collection were enabled, by generation.
    yielded: BTreeSet<(u32, Timestamp)>,
    /// Instants that would have been occurrences if the one in flight were not the last that `count` allows. An
    /// edit, which can't know, may skip them.
    beyond_count: BTreeSet<(u32, Timestamp)>,
    /// Generations that ran once at some time: what they yield depends on when they were enabled.
    ran_once: BTreeSet<u32>,
    /// Rules were evaluated up to this instant.
    looked_at: Timestamp,
    /// The number of runs that were asked for.
    run_count: usize,
    /// Occurrences that were in flight when an edit came.
    edited_in_flight: BTreeSet<(u32, Timestamp)>,
    /// How many scheduled occurrences were begun, by generation.
    begun: BTreeMap<u32, BTreeSet<Timestamp>>,
}

impl Watched {
    fn new(spec: JobSpec) -> Self {
        let world = World::put(spec);
        let looked_at = at(0);
        let mut watched = Self {
            world,
            yielded: BTreeSet::new(),
            beyond_count: BTreeSet::new(),
            ran_once: BTreeSet::new(),
            looked_at,
            run_count: 0,
            edited_in_flight: BTreeSet::new(),
            begun: BTreeMap::new(),
        };
        watched.look_from_now();
        watched
    }

    fn on(&self) -> bool {
        self.world.collection_enabled && self.world.job.state == JobState::Enabled
    }

    /// Adds what the rule yields from an instant to now, both included.
    fn look(&mut self, from: Timestamp) {
        let job = &self.world.job;
        let timetable = job.spec.timetable(job.put_at).unwrap();
        let begun = self.begun.get(&job.generation).map_or(0, BTreeSet::len);
        let left = timetable.count().is_none_or(|count| begun < count as usize);
        if job.spec.recurrence.is_none() {
            self.ran_once.insert(job.generation);
        }
        if !self.on() || job.spec.recurrence.is_none() {
            return;
        }
        let found_are = if left { &mut self.yielded } else { &mut self.beyond_count };
        let mut next = timetable.at_or_after(from);
        while let Some(found) = next.filter(|&found| found <= self.world.now) {
            found_are.insert((job.generation, found));
            next = timetable.next_after(found);
        }
    }

    /// The clock has gone on.
    fn look_on(&mut self) {
        self.look(self.looked_at + SignedDuration::from_nanos(1));
        self.looked_at = self.world.now;
    }

    /// The rule is in force from now: unless it was passed already, an occurrence at this very instant counts.
    fn look_from_now(&mut self) {
        let past = self.world.job.progress.past_at.is_some_and(|past_at| past_at >= self.world.now);
        if !past {
            self.look(self.world.now);
        }
        self.looked_at = self.world.now;
    }

    fn edit(&mut self, edit: impl FnOnce(&mut World)) {
        if let Some(in_flight) = &self.world.in_flight {
            let entry = in_flight.claimed.progress.entry.unwrap();
            self.edited_in_flight.insert((in_flight.claimed.generation, entry.nominal_at));
        }
        edit(&mut self.world);
        self.look_from_now();
    }

    fn take(&mut self, step: Step) {
        let ended = self.world.job.state.is_final();
        match step {
            Step::Pass(span) => {
                self.world.now += SignedDuration::from_secs(span);
                self.look_on();
            }
            Step::Begin => self.begin(),
            Step::Finish(succeeded) if self.world.in_flight.is_some() => self.world.finish(succeeded),
            Step::Crash => self.crash(),
            Step::Run if self.world.collection_enabled => self.run_count += usize::from(self.world.run()),
            Step::Put(timing, doing, on) if !ended => {
                self.edit(|world| world.put_again(spec(timing, &doing, on)));
            }
            Step::PatchTiming(timing) if !ended => self.edit(|world| {
                world.patch(|spec| {
                    spec.start_at = timing.start.map(at);
                    spec.recurrence = timing.recurrence;
                });
            }),
            Step::PatchDoing(doing) if !ended => {
                self.world.patch(|spec| spec.action = doing.action());
            }
            Step::Enable if !ended && self.world.job.state == JobState::Disabled => self.edit(World::enable),
            Step::Disable if !ended => self.edit(World::disable),
            Step::Pause if self.world.collection_enabled => self.edit(World::pause),
            Step::Resume if !self.world.collection_enabled => self.edit(World::resume),
            _ => {}
        }
        self.check_always();
    }

    fn begin(&mut self) {
        if !self.world.begin() {
            return;
        }
        let claimed = &self.world.in_flight.as_ref().unwrap().claimed;
        let entry = claimed.progress.entry.unwrap();
        assert!(entry.cause == Cause::Run || entry.nominal_at <= self.world.now, "never early");
        if entry.cause == Cause::Schedule {
            self.begun.entry(claimed.generation).or_default().insert(entry.nominal_at);
        }
    }

    fn crash(&mut self) {
        let Some(in_flight) = self.world.in_flight.take() else { return };
        let entry = in_flight.claimed.progress.entry.unwrap();
        if !entry.started() && entry.cause == Cause::Schedule {
            let generation = in_flight.claimed.generation;
            self.begun.entry(generation).or_default().remove(&entry.nominal_at);
            // What came due behind it counts after all.
            let behind = |one: &(u32, Timestamp)| one.0 == generation && one.1 > in_flight.started_at;
            let back = self.beyond_count.extract_if(.., |one| behind(one));
            self.yielded.extend(back);
        }
    }

    /// Lets everything that is due come to its end.
    fn drain(&mut self) {
        self.take(Step::Resume);
        for _ in 0..1_000 {
            self.take(Step::Finish(true));
            let retry = self.world.entry().filter(Entry::started);
            if let Some(entry) = retry.filter(|entry| entry.due_at > self.world.now) {
                self.world.now = entry.due_at;
                self.look_on();
            }
            // Runs asked for in the same instant are due some ticks later.
            self.world.now += SignedDuration::from_micros(100);
            self.look_on();
            self.take(Step::Begin);
            if self.world.in_flight.is_none() {
                return;
            }
        }
        panic!("it never ends: {:?}", self.world.job);
    }

    fn check_always(&self) {
        let progress = &self.world.job.progress;
        let run = progress.entry.filter(|entry| entry.cause == Cause::Run).map(|entry| entry.nominal_at);
        let runs: Vec<_> = progress.runs.iter().copied().chain(run).collect();
        assert_eq!(runs.iter().collect::<BTreeSet<_>>().len(), runs.len(), "a run waits once");
        if let Some(entry) = progress.entry {
            let timely = entry.due_at >= entry.nominal_at || entry.cause == Cause::Run;
            assert!(timely, "nothing is due before its time");
            assert!(self.world.collection_enabled, "a collection that is off has nothing on the agenda");
        } else {
            assert!(!self.on(), "an enabled job has an entry: {:?}", self.world.job);
        }
        if self.world.job.state == JobState::Disabled {
            assert!(progress.entry.is_none_or(|entry| entry.cause == Cause::Run));
        }
    }

    /// What must hold when nothing is under way.
    fn check_drained(&self) {
        let world = &self.world;
        let identity = |record: &Record| {
            let postponed = record.status == RecordStatus::Postponed;
            (record.generation, record.nominal_at, record.cause, record.step, record.attempt, postponed)
        };
        let identities: BTreeSet<_> = world.records.iter().map(identity).collect();
        assert_eq!(identities.len(), world.records.len(), "one record for each attempt");

        let first = |record: &&Record| {
            record.step == 0 && record.attempt == 0 && record.status != RecordStatus::Postponed
        };
        let firsts: Vec<_> = world.records.iter().filter(first).collect();
        let runs = firsts.iter().filter(|record| record.cause == Cause::Run).count();
        assert_eq!(runs, self.run_count, "each run that was asked for was run, once");

        self.check_counters(&firsts);
        self.check_outcomes(&firsts);
    }

    fn check_counters(&self, firsts: &[&Record]) {
        let job = &self.world.job;
        let mut succeeded: BTreeMap<(Cause, Timestamp), bool> = BTreeMap::new();
        let mut failure = 0;
        let main = self.world.records.iter().filter(|record| {
            record.generation == job.generation
                && record.step == 0
                && record.status != RecordStatus::Postponed
        });
        for record in main {
            let completed = record.status == RecordStatus::Completed;
            *succeeded.entry((record.cause, record.nominal_at)).or_default() |= completed;
            failure += u32::from(!completed);
        }
        let faulted = succeeded.values().filter(|&&succeeded| !succeeded).count();
        let counters = job.counters;
        assert_eq!(
            (counters.execution as usize, counters.failure, counters.faulted as usize),
            (succeeded.len(), failure, faulted),
            "counters are what the records say"
        );
        let ordinals = firsts.iter().filter(|record| record.generation == job.generation);
        let ordinals: Vec<_> = ordinals.map(|record| record.ordinal).collect();
        assert_eq!(ordinals, (1..=counters.execution).collect::<Vec<_>>(), "ordinals count executions");

        let scheduled: Vec<_> =
            succeeded.iter().filter(|((cause, _), _)| *cause == Cause::Schedule).collect();
        assert_eq!(job.progress.started_count as usize, scheduled.len());
        if job.state.is_final() {
            let failed = scheduled.last().is_some_and(|(_, succeeded)| !**succeeded);
            let expected = if failed { JobState::Faulted } else { JobState::Completed };
            assert_eq!(job.state, expected, "the last occurrence decides");
        }
    }

    /// Each instant that was yielded has one outcome, and nothing else has any.
    fn check_outcomes(&self, firsts: &[&Record]) {
        let world = &self.world;
        let started: BTreeSet<(u32, Timestamp)> = firsts
            .iter()
            .filter(|record| record.cause == Cause::Schedule)
            .map(|record| (record.generation, record.nominal_at))
            .collect();
        for one in started.iter().filter(|one| !self.ran_once.contains(&one.0)) {
            assert!(self.yielded.contains(one), "{one:?} was started and never due");
        }
        let mut covered: BTreeMap<(u32, Timestamp), u32> = BTreeMap::new();
        for skip in &world.skips {
            let range = (skip.generation, skip.first_at)..=(skip.generation, skip.last_at);
            let known = self.yielded.union(&self.beyond_count).filter(|one| range.contains(one));
            let within: Vec<_> = known.copied().collect();
            if within.is_empty() {
                continue; // of a job that runs once
            }
            assert_eq!(within.len() as u64, skip.count, "{skip:?} covers {within:?}");
            assert_eq!(within.first().map(|first| first.1), Some(skip.first_at));
            assert_eq!(within.last().map(|last| last.1), Some(skip.last_at));
            for one in within {
                *covered.entry(one).or_default() += 1;
            }
        }
        // What is still to come is due at this very instant, or waits.
        let pending = world.entry().map(|entry| (world.job.generation, entry.nominal_at));
        for one in &self.yielded {
            let skips = covered.get(one).copied().unwrap_or_default();
            let both = self.edited_in_flight.contains(one);
            let outcomes = skips + u32::from(started.contains(one)) + u32::from(pending == Some(*one));
            assert!(outcomes == 1 || (both && outcomes == 2), "{one:?} has {outcomes} outcomes");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_to_a_job_nothing_is_lost_and_nothing_happens_twice(
        first in timing(),
        doing in doing(),
        steps in vec(step(), 1..60),
    ) {
        let mut watched = Watched::new(spec(first, &doing, true));
        for step in steps {
            watched.take(step);
        }
        watched.drain();
        watched.check_drained();
    }

    #[test]
    fn without_edits_a_job_runs_as_often_as_its_count_says_and_never_after_its_end(
        interval in 1_i64..5,
        count in 1_i64..6,
        end in 0_i64..2_000,
        outcomes in vec((any::<bool>(), 0_i64..250), 50),
    ) {
        let rule = Rule { count: Some(count), end_at: Some(at(end)), ..Rule::every(interval, Frequency::Minute) };
        let mut world = World::put(JobSpec { start_at: Some(at(0)), recurrence: Some(rule), ..once() });
        for (succeeded, span) in outcomes {
            let Some(entry) = world.entry() else { break };
            world.now = world.now.max(entry.due_at);
            prop_assert!(world.begin());
            world.now += SignedDuration::from_secs(span);
            world.finish(succeeded);
        }
        let begun = world.records.iter().filter(|record| record.status != RecordStatus::Postponed);
        let begun: Vec<_> = begun.map(|record| record.nominal_at).collect();
        prop_assert!(world.job.state.is_final() && begun.len() <= count as usize);
        prop_assert!(begun.iter().all(|&nominal_at| nominal_at <= at(end)));
        prop_assert!(begun.is_sorted() && begun.len() == begun.iter().collect::<BTreeSet<_>>().len());
    }
}
