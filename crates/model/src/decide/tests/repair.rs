//! Laws of the repair: whatever was done to a job while the clock was ahead, afterwards it runs as its rule says,
//! and nothing twice.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

use super::properties::{Doing, Step, Timing, doing, spec, timing};
use super::world::{World, at};
use crate::decide::Marks;
use crate::{Cause, JobState, Record, RecordStatus};

fn wrong_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_i64..200).prop_map(Step::Pass),
        8 => Just(Step::Begin),
        8 => any::<bool>().prop_map(Step::Finish),
        1 => Just(Step::Crash),
        1 => Just(Step::Run),
        1 => (timing(), doing(), any::<bool>()).prop_map(|(timing, doing, on)| Step::Put(timing, doing, on)),
        1 => timing().prop_map(Step::PatchTiming),
        1 => Just(Step::Enable),
        1 => Just(Step::Disable),
        1 => Just(Step::Pause),
        1 => Just(Step::Resume),
    ]
}

fn take(world: &mut World, step: Step) {
    let ended = world.job.state.is_final();
    match step {
        Step::Pass(span) => world.now += SignedDuration::from_secs(span),
        Step::Begin => {
            world.begin();
        }
        Step::Finish(succeeded) if world.in_flight.is_some() => world.finish(succeeded),
        Step::Crash => world.in_flight = None,
        Step::Run if world.collection_enabled => {
            world.run();
        }
        Step::Put(Timing { start, recurrence }, doing, on) if !ended => {
            world.put_again(spec(Timing { start, recurrence }, &doing, on));
        }
        Step::PatchTiming(timing) if !ended => world.patch(|spec| {
            spec.start_at = timing.start.map(at);
            spec.recurrence = timing.recurrence;
        }),
        Step::Enable if world.job.state == JobState::Disabled => world.enable(),
        Step::Disable if !ended => world.disable(),
        Step::Pause if world.collection_enabled => world.pause(),
        Step::Resume if !world.collection_enabled => world.resume(),
        _ => {}
    }
}

/// The nominal times that were started, by generation.
fn started(records: &[Record]) -> BTreeMap<(u32, Timestamp), usize> {
    let mut started = BTreeMap::new();
    let first = |record: &&Record| record.step == 0 && record.attempt == 0;
    let scheduled = records.iter().filter(|record| record.cause == Cause::Schedule);
    for record in scheduled.filter(first).filter(|record| record.status != RecordStatus::Postponed) {
        *started.entry((record.generation, record.nominal_at)).or_default() += 1;
    }
    started
}

/// Switches on what is off, and lets the job run on time until an instant.
fn run_on_time(world: &mut World, end: Timestamp) {
    for _ in 0..100_000 {
        if let Some(in_flight) = &world.in_flight {
            world.now = world.now.max(in_flight.started_at);
            world.finish(true);
        }
        match world.entry() {
            Some(entry) if entry.due_at <= end => world.now = world.now.max(entry.due_at),
            _ => return,
        }
        assert!(world.begin());
    }
    panic!("it never ends: {:?}", world.job);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn after_the_clock_was_set_back_each_occurrence_comes_once_and_on_time(
        first in timing(),
        what in doing(),
        before in vec(wrong_step(), 0..8),
        jump in 61_i64..20_000,
        wrong in vec(wrong_step(), 1..40),
    ) {
        check(first, &what, before, jump, wrong);
    }
}

fn check(first: Timing, what: &Doing, before: Vec<Step>, jump: i64, wrong: Vec<Step>) {
    let mut world = World::put(spec(first, what, true));
    before.into_iter().for_each(|step| take(&mut world, step));
    let right = world.now;
    world.now += SignedDuration::from_secs(jump);
    wrong.into_iter().for_each(|step| take(&mut world, step));
    let wrong_end = world.now;
    // Real time went on by a minute meanwhile. What is in flight ends by the clock that it began by.
    let now = right + SignedDuration::from_secs(60);
    if world.in_flight.is_some() {
        world.finish(true);
    }
    world.now = now;
    let repaired = world.repair();
    assert!(!world.repair(), "once is enough: {:?}", world.job);
    assert!(!Marks::of(&world.job).may_be_ahead(now) || !repaired || retries(&world), "{:?}", world.job);
    if !world.collection_enabled {
        world.resume();
    }
    if world.job.state == JobState::Disabled {
        world.enable();
    }
    let ended = world.job.state.is_final();
    let (generation, floor) = (world.job.generation, world.job.progress.past_at);
    let known = started(&world.records);
    let skipped_before = world.skips.clone();
    run_on_time(&mut world, wrong_end + SignedDuration::from_hours(1));

    for (one, times) in started(&world.records) {
        assert_eq!(times, 1, "{one:?} was started twice");
    }
    let identity = |record: &Record| {
        let postponed = record.status == RecordStatus::Postponed;
        (record.generation, record.nominal_at, record.cause, record.step, record.attempt, postponed)
    };
    let attempts = world.records.iter().filter(|record| record.status != RecordStatus::Postponed);
    let identities: BTreeSet<_> = attempts.clone().map(identity).collect();
    assert_eq!(identities.len(), attempts.count(), "one record for each attempt");

    // All that the rule yields from now on was started once, before or after, or is skipped by an overlap.
    let job = &world.job;
    if ended || job.spec.recurrence.is_none() || job.generation != generation {
        return;
    }
    let timetable = job.spec.timetable(job.put_at).unwrap();
    let after = started(&world.records);
    let fired_since = after.len() - known.len();
    let from = floor.max(Some(now)).unwrap_or(now) + SignedDuration::from_nanos(100);
    let mut next = timetable.at_or_after(from);
    let mut left = timetable.count().map_or(usize::MAX, |_| fired_since);
    while let Some(due) = next.filter(|due| *due <= world.now && *due <= wrong_end) {
        let was_started = after.contains_key(&(generation, due));
        let was_skipped = world.skips.iter().any(|skip| skip.first_at <= due && due <= skip.last_at);
        if left == 0 && !was_started {
            break; // the count is used up
        }
        assert!(was_started || was_skipped, "{due} has no outcome: {:?}", job.progress);
        left -= usize::from(was_started && !known.contains_key(&(generation, due)));
        next = timetable.next_after(due);
    }
    let told_before_its_time = skipped_before.iter().any(|skip| skip.last_at > now);
    assert!(!told_before_its_time || !repaired, "{skipped_before:?} at {now}");
}

/// Whether a retry is to come, which looks like one of a wrong time.
fn retries(world: &World) -> bool {
    world.entry().is_some_and(|entry| entry.started())
}
