//! How many occurrences lie between two instants, counted without walking through them.
//!
//! The oracle and the plain walk say what is right near by. Far away nobody can walk: there counts must add
//! up, and agree with what can be worked out by hand. A count that walked would take hours here.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use punctual_recurrence::{
    DueRange, Frequency, MonthlyOccurrence, Rule, Schedule, Start, Timetable, Weekday,
};

use crate::generated::{Job, config, dense_jobs, extreme_jobs, far_instants, jobs, near};
use crate::oracle;
use crate::timetable;

const TICK: SignedDuration = SignedDuration::from_nanos(1);

proptest! {
    #![proptest_config(config())]

    #[test]
    fn counting_agrees_with_walking(job in jobs(), from in 0..60_usize, length in 0..60_usize) {
        counts_as_walked(&job, from, length)?;
    }

    #[test]
    fn counting_agrees_with_walking_where_occurrences_are_dense(
        job in dense_jobs(), from in 0..150_usize, length in 0..150_usize
    ) {
        counts_as_walked(&job, from, length)?;
    }

    #[test]
    fn counting_agrees_with_walking_far_from_the_start(
        job in jobs(), asked_at in far_instants(), from in 0..40_usize, length in 0..40_usize
    ) {
        counts_as_walked(&Job { asked_at, ..job }, from, length)?;
    }

    #[test]
    fn counting_agrees_with_the_oracle_around_a_transition(job in dense_jobs(), hours in 1..60_i64) {
        let timetable = timetable(&job.rule, job.start);
        let until_at = near(job.asked_at, SignedDuration::from_hours(hours));
        let due = oracle::due_between(&job.rule, job.start, near(job.asked_at, TICK), until_at);
        prop_assert_eq!(timetable.count_between(job.asked_at, until_at), due.len() as u64);
        prop_assert_eq!(timetable.due_between(job.asked_at, until_at), told(&due.into_iter().collect::<Vec<_>>()));
    }

}

proptest! {
    // Each counts up to the year 9999 several times.
    #![proptest_config(ProptestConfig { cases: config().cases.div_ceil(4), ..config() })]

    #[test]
    fn counts_of_parts_add_up_to_the_count_of_the_whole(
        job in jobs(), mut parts in proptest::collection::vec(far_instants(), 1..4)
    ) {
        let timetable = timetable(&job.rule, job.start);
        parts.push(job.start.put_at);
        parts.push(Timestamp::MAX);
        parts.sort_unstable();
        let sum: u64 = parts.windows(2).map(|pair| timetable.count_between(pair[0], pair[1])).sum();
        prop_assert_eq!(timetable.count_between(parts[0], Timestamp::MAX), sum, "{:?}", parts);
    }

    #[test]
    fn counting_ends_at_the_ends_of_time(job in extreme_jobs()) {
        let timetable = timetable(&job.rule, job.start);
        let (before, behind) =
            (timetable.count_between(Timestamp::MIN, job.asked_at), timetable.count_between(job.asked_at, Timestamp::MAX));
        prop_assert_eq!(before + behind, timetable.count_between(Timestamp::MIN, Timestamp::MAX));
        prop_assert_eq!(behind > 0, timetable.next_after(job.asked_at).is_some());
    }
}

/// Walks to the window and through it, and asks for it.
fn counts_as_walked(job: &Job, from: usize, length: usize) -> Result<(), TestCaseError> {
    let timetable = timetable(&job.rule, job.start);
    let walk = std::iter::successors(timetable.next_after(job.asked_at), |at| timetable.next_after(*at));
    let walked: Vec<Timestamp> = walk.take(from + length + 1).collect();
    let Some(last) = walked.len().checked_sub(1) else {
        prop_assert_eq!(timetable.count_between(job.asked_at, Timestamp::MAX), 0);
        return Ok(());
    };
    let (first, last) = (from.min(last), (from + length).min(last));
    let window = &walked[first..=last];
    let (after, until) = (near(window[0], -TICK), window[window.len() - 1]);
    let count = |after, until| timetable.count_between(after, until);
    prop_assert_eq!(count(after, until), window.len() as u64, "{:?}", window);
    prop_assert_eq!(count(window[0], until), window.len() as u64 - 1);
    prop_assert_eq!(count(after, near(until, -TICK)), window.len() as u64 - 1);
    prop_assert_eq!(count(job.asked_at, until), last as u64 + 1);
    prop_assert_eq!(timetable.due_between(after, until), told(window));
    Ok(())
}

/// What is to be said of some occurrences.
fn told(window: &[Timestamp]) -> Option<DueRange> {
    let (first, last) = (*window.first()?, *window.last()?);
    let before_last = window.len().checked_sub(2).map(|index| window[index]);
    Some(DueRange { first, last, before_last, count: window.len() as u64 })
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn in_berlin(frequency: Frequency, interval: i64, schedule: Schedule) -> Timetable {
    let rule = Rule {
        schedule: Some(schedule),
        time_zone: Some("Europe/Berlin".to_owned()),
        ..Rule::every(interval, frequency)
    };
    let start_at = at("2026-01-01T00:00:00Z");
    timetable(&rule, Start { start_at: Some(start_at), put_at: start_at })
}

/// From 2026 to the year 9990 there are 2,908,791 days, 7,964 years and 1,931 leap years.
#[test]
fn a_window_in_the_year_9990_is_counted() {
    const DAYS: u64 = 2_908_791;
    let until = at("9989-12-31T22:59:59Z");
    let check = |name: &str, timetable: Timetable, expected: u64| {
        assert_eq!(timetable.count_between(at("2025-12-31T22:59:59Z"), until), expected, "{name}");
        let due = timetable.due_between(at("2025-12-31T22:59:59Z"), until).unwrap();
        assert_eq!(due.count, expected, "{name}");
        assert_eq!(timetable.next_after(due.last).filter(|&next| next <= until), None, "{name}");
        assert_eq!(timetable.next_after(due.before_last.unwrap()), Some(due.last), "{name}");
    };
    let times = |hours: Vec<i64>, minutes: Vec<i64>| Schedule { hours, minutes, ..Schedule::default() };
    let all_minutes = || (0..60).collect::<Vec<i64>>();
    let plain = Rule::every(1, Frequency::Minute);
    let plain = timetable(
        &plain,
        Start { start_at: Some(at("2025-12-31T23:00:00Z")), put_at: at("2025-12-31T23:00:00Z") },
    );
    check("every minute", plain, DAYS * 1440);
    let nine = in_berlin(Frequency::Minute, 1, times(vec![9], vec![]));
    check("every minute of 9 o'clock", nine, DAYS * 60);
    let walk = in_berlin(Frequency::Hour, 1, times(vec![], vec![0]));
    // The start at 01:00 Berlin time misses the first hour; what spring takes, autumn gives.
    check("every hour", walk, DAYS * 24 - 1);
    let wall = in_berlin(Frequency::Day, 1, times(vec![2, 3], vec![0]));
    // Once a year 02:00 moves onto 03:00.
    check("02:00 and 03:00", wall, DAYS * 2 - 7_964);
    let hours = in_berlin(Frequency::Day, 1, times(vec![], all_minutes()));
    check("every minute of every day", hours, DAYS * 1440 - 60);
    let leap_day = Schedule { months: vec![2], month_days: vec![29], ..times(vec![12], vec![0]) };
    check("29 February", in_berlin(Frequency::Year, 1, leap_day), 1_931);
    let fridays = MonthlyOccurrence { day: Weekday::Friday, occurrence: Some(-1) };
    let fridays = Schedule { monthly_occurrences: vec![fridays], ..times(vec![12], vec![0]) };
    check("the last Friday", in_berlin(Frequency::Month, 1, fridays), 7_964 * 12);
}

#[test]
fn no_occurrence_is_counted_before_the_put_and_none_behind_the_end() {
    let rule = Rule { end_at: Some(at("2026-11-20T00:00:00Z")), ..Rule::every(1, Frequency::Day) };
    let start = Start { start_at: Some(at("2026-01-01T06:00:00Z")), put_at: at("2026-11-15T12:00:00Z") };
    let timetable = timetable(&rule, start);
    assert_eq!(timetable.count_between(Timestamp::MIN, Timestamp::MAX), 4);
}

#[test]
fn the_first_occurrence_at_once_is_counted() {
    let put_at = at("2026-11-15T12:00:00.5Z");
    let noon = Schedule { hours: vec![12], minutes: vec![0], ..Schedule::default() };
    let rule = Rule { schedule: Some(noon), ..Rule::every(1, Frequency::Day) };
    let timetable = timetable(&rule, Start { start_at: None, put_at });
    assert_eq!(timetable.count_between(Timestamp::MIN, at("2026-11-18T00:00:00Z")), 3);
    assert_eq!(timetable.count_between(put_at, at("2026-11-18T00:00:00Z")), 2);
    assert_eq!(timetable.count_between(Timestamp::MIN, put_at), 1);
    assert_eq!(timetable.count_between(Timestamp::MIN, near(put_at, -TICK)), 0);
}
