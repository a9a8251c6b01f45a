//! The laws of a timetable, tried on random jobs; above all that it says what the oracle says.
//!
//! The seed is fixed, so that a run can be repeated. `PROPTEST_CASES=100000 PROPTEST_RNG_SEED=7` searches
//! longer and elsewhere.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use punctual_recurrence::{Frequency, Rule, Start};

use crate::generated::{Job, config, extreme_jobs, jobs, near, step, written_rules};
use crate::oracle::due_between;
use crate::timetable;

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

/// How many occurrences of a job are looked at.
const SOME: usize = 12;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_engine_says_what_the_oracle_says(job in jobs()) {
        compare(&job)?;
    }

    #[test]
    fn the_engine_says_what_the_oracle_says_from_the_first_occurrence_on(job in jobs()) {
        compare(&Job { asked_at: Timestamp::MIN, ..job })?;
    }

    #[test]
    fn the_engine_says_what_the_oracle_says_at_the_ends_of_time(job in extreme_jobs()) {
        compare(&job)?;
    }

    #[test]
    fn next_after_increases_strictly(job in jobs()) {
        let timetable = timetable(&job.rule, job.start);
        let mut before_at = job.asked_at;
        for at in following(&job) {
            prop_assert!(at > before_at, "{at} after {before_at}");
            prop_assert_eq!(timetable.next_after(before_at), Some(at));
            before_at = at;
        }
    }

    #[test]
    fn everything_between_two_occurrences_leads_to_the_later_one(job in jobs(), part in 0.0..1.0_f64) {
        let timetable = timetable(&job.rule, job.start);
        for pair in following(&job).windows(2) {
            let distance = pair[0].duration_until(pair[1]);
            let between_at = near(pair[0], distance.mul_f64(part)).min(near(pair[1], -NANOSECOND));
            prop_assert_eq!(timetable.next_after(between_at), Some(pair[1]), "after {}", between_at);
            prop_assert_eq!(timetable.next_after(near(pair[1], -NANOSECOND)), Some(pair[1]));
        }
    }

    #[test]
    fn it_contains_what_it_yields_and_nothing_else(job in jobs(), distance in -100_000..100_000_i64) {
        let timetable = timetable(&job.rule, job.start);
        for at in following(&job) {
            prop_assert!(timetable.contains(at), "{at}");
            let beside = [NANOSECOND, -NANOSECOND, SignedDuration::from_secs(distance), SignedDuration::from_mins(distance)];
            for at in beside.map(|distance| near(at, distance)) {
                let yielded = timetable.next_after(near(at, -NANOSECOND)) == Some(at);
                prop_assert_eq!(timetable.contains(at), yielded, "{}", at);
            }
        }
    }

    #[test]
    fn the_first_is_the_next_after_everything_before(job in jobs()) {
        let timetable = timetable(&job.rule, job.start);
        prop_assert_eq!(timetable.first(), timetable.next_after(Timestamp::MIN));
        if let Some(first) = timetable.first() {
            prop_assert_eq!(timetable.next_after(near(first, -NANOSECOND)), Some(first));
        }
    }

    #[test]
    fn nothing_is_before_the_start_nor_before_the_put(job in jobs()) {
        let first = timetable(&job.rule, job.start).first();
        let earliest_at = job.start.anchor_at().max(job.start.put_at);
        prop_assert!(first.is_none_or(|first| first >= earliest_at), "{first:?} before {earliest_at}");
    }

    #[test]
    fn without_a_start_time_the_first_is_at_once(job in jobs()) {
        let start = Start { start_at: None, ..job.start };
        let rule = Rule { end_at: None, ..job.rule };
        prop_assert_eq!(timetable(&rule, start).first(), Some(start.put_at));
        let ended = Rule { end_at: Some(near(start.put_at, -NANOSECOND)), ..rule };
        prop_assert_eq!(timetable(&ended, start).first(), None);
    }

    #[test]
    fn an_occurrence_at_the_end_is_due_and_none_after_it(job in jobs()) {
        for end_at in following(&job) {
            let ended = |end_at| timetable(&Rule { end_at: Some(end_at), ..job.rule.clone() }, job.start);
            prop_assert_eq!(ended(end_at).next_after(near(end_at, -NANOSECOND)), Some(end_at));
            prop_assert!(ended(end_at).contains(end_at));
            prop_assert_eq!(ended(end_at).next_after(end_at), None);
            prop_assert_eq!(ended(near(end_at, -NANOSECOND)).next_after(near(end_at, -NANOSECOND)), None);
            prop_assert!(!ended(near(end_at, -NANOSECOND)).contains(end_at));
        }
    }

    #[test]
    fn occurrences_begin_with_the_first_and_end_with_the_count(job in jobs(), count in 1..8_usize) {
        let endless = timetable(&job.rule, job.start);
        let expected: Vec<_> =
            std::iter::successors(endless.first(), |at| endless.next_after(*at)).take(count).collect();
        let counted = Rule { count: Some(i64::try_from(count).unwrap()), ..job.rule };
        let due: Vec<_> = timetable(&counted, job.start).occurrences().take(100).collect();
        prop_assert_eq!(due, expected);
    }

    #[test]
    fn the_order_of_lists_and_duplicates_do_not_matter(job in jobs()) {
        let mut rule = job.rule.clone();
        if let Some(schedule) = &mut rule.schedule {
            for list in [&mut schedule.minutes, &mut schedule.hours, &mut schedule.month_days, &mut schedule.months] {
                list.reverse();
                list.extend_from_within(..);
            }
            schedule.week_days.reverse();
            schedule.week_days.extend_from_within(..);
            schedule.monthly_occurrences.reverse();
            schedule.monthly_occurrences.extend_from_within(..);
        }
        prop_assert_eq!(following(&Job { rule, ..job.clone() }), following(&job));
    }

    #[test]
    fn any_rule_is_accepted_or_refused_with_reasons(rule in written_rules()) {
        if let Err(problems) = rule.check() {
            prop_assert!(!problems.is_empty());
        }
    }

    #[test]
    fn every_job_can_be_described(job in jobs()) {
        prop_assert!(!timetable(&job.rule, job.start).describe().is_empty());
    }

    #[test]
    fn extreme_instants_are_answered(job in extreme_jobs()) {
        let timetable = timetable(&job.rule, job.start);
        let first = timetable.first();
        prop_assert!(first.is_none_or(|first| first >= job.start.put_at.max(job.start.anchor_at())));
        for asked_at in [job.asked_at, Timestamp::MIN, Timestamp::MAX] {
            prop_assert!(timetable.next_after(asked_at).is_none_or(|at| at > asked_at));
            timetable.contains(asked_at);
        }
        prop_assert!(timetable.occurrences().take(3).is_sorted_by(|one, next| one < next));
        prop_assert!(!timetable.describe().is_empty());
    }
}

/// Both over the same window: up to some occurrence of the engine's, or as far as the oracle can look.
fn compare(job: &Job) -> Result<(), TestCaseError> {
    let from_at = job.asked_at.max(near(job.start.put_at.max(job.start.anchor_at()), -NANOSECOND));
    let horizon_at = near(from_at, horizon(&job.rule));
    let said: Vec<Timestamp> = following(job).into_iter().take_while(|at| *at <= horizon_at).collect();
    let until_at = if said.len() == SOME { said[SOME - 1] } else { horizon_at };
    let due = due_between(&job.rule, job.start, near(from_at, NANOSECOND), until_at);
    let due: Vec<Timestamp> = due.into_iter().filter(|at| *at > job.asked_at).collect();
    prop_assert_eq!(said, due, "engine, oracle; until {}", until_at);
    Ok(())
}

fn following(job: &Job) -> Vec<Timestamp> {
    let timetable = timetable(&job.rule, job.start);
    std::iter::successors(timetable.next_after(job.asked_at), |at| timetable.next_after(*at))
        .take(SOME)
        .collect()
}

/// How far the oracle can look in a few milliseconds.
fn horizon(rule: &Rule) -> SignedDuration {
    let days = |count: i64| SignedDuration::from_hours(24 * count);
    match rule.frequency {
        Frequency::Minute => step(rule) * 3000,
        Frequency::Hour => step(rule) * 200,
        Frequency::Day => (step(rule) * 6).max(days(400)),
        Frequency::Week => (step(rule) * 6).max(days(800)),
        Frequency::Month => days(3000),
        Frequency::Year => days(6000),
    }
}
