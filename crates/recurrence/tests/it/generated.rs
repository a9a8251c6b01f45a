//! Random jobs with a taste for trouble: odd zones, instants around transitions, sparse and dense rules.

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Start, Weekday};

/// A rule that `check` accepts, and an instant to ask it about.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) rule: Rule,
    pub(crate) start: Start,
    pub(crate) asked_at: Timestamp,
}

/// The seed is fixed, so that a run can be repeated.
pub(crate) fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let rng_seed = match config.rng_seed {
        RngSeed::Random => RngSeed::Fixed(18),
        chosen => chosen,
    };
    // What fails becomes a test with a name, not a file of seeds.
    ProptestConfig { rng_seed, failure_persistence: None, ..config }
}

/// Each is here for a reason: half-hour daylight saving, offsets of 30 and 45 minutes, clocks set at
/// midnight or a minute after it, a day that was skipped or repeated, two hours of daylight saving, seconds in the
/// offset, winter time in summer, no transition at all.
const ZONES: [&str; 20] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "America/Sao_Paulo",
    "Antarctica/Troll",
    "Africa/Monrovia",
    "Europe/Dublin",
    "Europe/Paris",
    "Asia/Gaza",
    "Pacific/Kwajalein",
    "America/Juneau",
    "Asia/Manila",
    "Pacific/Chatham",
    "America/Havana",
    "Asia/Tehran",
];

static TRANSITIONS: LazyLock<Vec<Vec<Timestamp>>> = LazyLock::new(|| {
    let (from_at, until_at) = (instant("1840-01-01T00:00:00Z"), instant("2100-01-01T00:00:00Z"));
    let of_zone = |name| {
        let zone = TimeZone::get(name).unwrap();
        let found = zone.following(from_at).map(|one| one.timestamp()).take_while(|at| *at < until_at);
        let found: Vec<Timestamp> = found.collect();
        // A zone without any gets a date to gather around all the same.
        if found.is_empty() { vec![instant("2026-11-15T00:00:00Z")] } else { found }
    };
    ZONES.into_iter().map(of_zone).collect()
});

/// Jobs whose instants gather around the transitions of their zone.
pub(crate) fn jobs() -> impl Strategy<Value = Job> {
    jobs_of(rules())
}

/// Such jobs that are due many times a day, so that a transition skips, repeats and moves some.
pub(crate) fn dense_jobs() -> impl Strategy<Value = Job> {
    jobs_of(dense_rules())
}

fn jobs_of(rules: impl Strategy<Value = Rule>) -> impl Strategy<Value = Job> {
    (0..ZONES.len(), rules)
        .prop_flat_map(|(zone, mut rule)| {
            rule.time_zone = (ZONES[zone] != "UTC").then(|| ZONES[zone].to_owned());
            let anchor = instants(zone);
            let starts =
                (anchor, prop_oneof![3 => Just(true), 1 => Just(false)], distances(), instants(zone), 0..4);
            (Just(zone), Just(rule), starts)
        })
        .prop_flat_map(|(zone, rule, (anchor_at, with_start, distance, other_at, relation))| {
            let put_at = match relation {
                0 => anchor_at,
                1 => near(anchor_at, distance),
                _ => other_at,
            };
            let start = if with_start {
                Start { start_at: Some(anchor_at), put_at }
            } else {
                Start { start_at: None, put_at: anchor_at }
            };
            let asked = asked_instants(zone, &rule, start);
            let ends = prop_oneof![4 => Just(None), 1 => distances().prop_map(Some)];
            (Just(rule), Just(start), asked, ends)
        })
        .prop_map(|(mut rule, start, asked_at, end)| {
            rule.end_at =
                end.map(|distance| near(start.put_at.max(start.anchor_at()).max(asked_at), distance));
            Job { rule, start, asked_at }
        })
}

/// Jobs at the ends of time.
pub(crate) fn extreme_jobs() -> impl Strategy<Value = Job> {
    let zone = select(&ZONES[..]);
    let ends = prop_oneof![2 => Just(None), 1 => extreme_instants().prop_map(Some)];
    (zone, rules(), any::<bool>(), extreme_instants(), extreme_instants(), extreme_instants(), ends).prop_map(
        |(zone, rule, with_start, start_at, put_at, asked_at, end_at)| {
            let rule = Rule { time_zone: Some(zone.to_owned()), end_at, ..rule };
            Job { rule, start: Start { start_at: with_start.then_some(start_at), put_at }, asked_at }
        },
    )
}

/// Anything that fits the type, sense or nonsense.
pub(crate) fn written_rules() -> impl Strategy<Value = Rule> {
    let number = || prop_oneof![any::<i64>(), -70..70_i64, Just(i64::MIN), Just(i64::MAX)];
    let numbers = move || vec(number(), 0..5);
    let occurrence = (weekdays(), proptest::option::of(number()))
        .prop_map(|(day, occurrence)| MonthlyOccurrence { day, occurrence });
    let schedule = (numbers(), numbers(), vec(weekdays(), 0..9), numbers(), vec(occurrence, 0..5), numbers());
    let schedule =
        schedule.prop_map(|(minutes, hours, week_days, month_days, monthly_occurrences, months)| Schedule {
            minutes,
            hours,
            week_days,
            month_days,
            monthly_occurrences,
            months,
        });
    let zone = prop_oneof![select(&ZONES[..]).prop_map(str::to_owned), any::<String>()];
    let optional = || proptest::option::of(number());
    let end = proptest::option::of(extreme_instants());
    let frequency = select(&Frequency::ALL[..]);
    let parts =
        (frequency, optional(), optional(), end, proptest::option::of(schedule), proptest::option::of(zone));
    parts.prop_map(|(frequency, interval, count, end_at, schedule, time_zone)| Rule {
        frequency,
        interval,
        count,
        end_at,
        schedule,
        time_zone,
    })
}

/// Roughly the length of one step of a rule.
pub(crate) fn step(rule: &Rule) -> SignedDuration {
    let hours = |count: i64| SignedDuration::from_hours(rule.interval.unwrap_or(1) * count);
    match rule.frequency {
        Frequency::Minute => SignedDuration::from_mins(rule.interval.unwrap_or(1)),
        Frequency::Hour => hours(1),
        Frequency::Day => hours(24),
        Frequency::Week => hours(24 * 7),
        Frequency::Month => hours(24 * 30),
        Frequency::Year => hours(24 * 365),
    }
}

/// That far from an instant, or at the end of time.
pub(crate) fn near(at: Timestamp, distance: SignedDuration) -> Timestamp {
    at.saturating_add(distance).unwrap()
}

/// Rules in UTC without an end.
fn rules() -> impl Strategy<Value = Rule> {
    select(&Frequency::ALL[..]).prop_flat_map(|frequency| {
        let interval = prop_oneof![
            2 => Just(None),
            3 => (1..=4_i64).prop_map(Some),
            2 => (1..=frequency.interval_max()).prop_map(Some),
        ];
        let schedule = prop_oneof![1 => Just(None), 3 => schedules(frequency).prop_map(Some)];
        (interval, schedule).prop_map(move |(interval, schedule)| Rule {
            interval,
            schedule,
            ..Rule::every(1, frequency)
        })
    })
}

/// Rules with many minutes in many hours, or in every hour.
fn dense_rules() -> impl Strategy<Value = Rule> {
    let minutes = prop_oneof![1..=20_usize, Just(30), Just(60)]
        .prop_map(|step| (0..60_i64).step_by(step).collect::<Vec<i64>>());
    let hours = prop_oneof![
        2 => Just(vec![]),
        2 => Just((0..24).collect()),
        2 => (0..24_i64, 1..8_i64).prop_map(|(first, count)| (first..first + count).map(|hour| hour % 24).collect()),
    ];
    let parts = (select(&Frequency::ALL[..]), 1..=3_i64, minutes, hours, rules());
    parts.prop_map(|(frequency, interval, minutes, hours, other)| {
        let schedule = Schedule { minutes, hours, ..Schedule::default() };
        let schedule = match other.schedule {
            Some(days) if other.frequency == frequency => Schedule {
                week_days: days.week_days,
                month_days: days.month_days,
                monthly_occurrences: days.monthly_occurrences,
                months: days.months,
                ..schedule
            },
            Some(_) | None => schedule,
        };
        Rule { schedule: Some(schedule), ..Rule::every(interval, frequency) }
    })
}

fn schedules(frequency: Frequency) -> impl Strategy<Value = Schedule> {
    let by_week = frequency == Frequency::Week;
    let by_month = matches!(frequency, Frequency::Month | Frequency::Year);
    let month_day = prop_oneof![1..=31_i64, -31..=-1_i64, select(vec![28, 29, 30, 31, -1])];
    let occurrence =
        (weekdays(), select(vec![None, Some(1), Some(2), Some(4), Some(5), Some(-1), Some(-3), Some(-5)]))
            .prop_map(|(day, occurrence)| MonthlyOccurrence { day, occurrence });
    (
        some_of(0..=59),
        some_of(0..=24),
        vec(weekdays(), if by_week { 0..4 } else { 0..1 }),
        vec(month_day, if by_month { 0..3 } else { 0..1 }),
        vec(occurrence, if by_month { 0..3 } else { 0..1 }),
        prop_oneof![5 => Just(vec![]), 1 => vec(1..=12_i64, 1..4)],
    )
        .prop_map(|(minutes, hours, week_days, month_days, monthly_occurrences, months)| Schedule {
            minutes,
            hours,
            week_days,
            month_days,
            monthly_occurrences,
            months,
        })
}

fn some_of(values: std::ops::RangeInclusive<i64>) -> impl Strategy<Value = Vec<i64>> {
    prop_oneof![2 => Just(vec![]), 3 => vec(values, 1..5)]
}

fn weekdays() -> impl Strategy<Value = Weekday> {
    select(&Weekday::ALL[..])
}

/// Mostly around a transition, now and then on an odd nanosecond.
fn instants(zone: usize) -> impl Strategy<Value = Timestamp> {
    let around = (any::<Index>(), distances())
        .prop_map(move |(index, distance)| near(*index.get(&TRANSITIONS[zone]), distance));
    // 1890 to 2100.
    let anywhere = (-2_524_521_600..4_102_444_800_i64).prop_map(|at| Timestamp::from_second(at).unwrap());
    let instants = prop_oneof![4 => around, 1 => anywhere];
    (instants, prop_oneof![3 => Just(0), 1 => 0..1_000_000_000_i64])
        .prop_map(|(at, nanoseconds)| near(at, SignedDuration::from_nanos(nanoseconds)))
}

/// Minutes, hours or days in either direction.
fn distances() -> impl Strategy<Value = SignedDuration> {
    prop_oneof![
        Just(0),
        (-180..180_i64).prop_map(|minutes| minutes * 60),
        -7200..7200_i64,
        -259_200..259_200_i64,
        (-200..200_i64).prop_map(|days| days * 86_400),
    ]
    .prop_map(SignedDuration::from_secs)
}

/// Around a transition, or a few steps after the start, so that long intervals are met as well.
fn asked_instants(zone: usize, rule: &Rule, start: Start) -> impl Strategy<Value = Timestamp> + use<> {
    let step = step(rule);
    let after_steps = (0..6_i32, distances())
        .prop_map(move |(steps, distance)| near(near(start.anchor_at(), step * steps), distance));
    prop_oneof![
        after_steps,
        instants(zone),
        distances().prop_map(move |distance| near(start.put_at, distance))
    ]
}

/// From 2020 to 9999, so that no start is near.
pub(crate) fn far_instants() -> impl Strategy<Value = Timestamp> {
    (1_577_836_800..253_300_000_000_i64).prop_map(|at| Timestamp::from_second(at).unwrap())
}

fn extreme_instants() -> impl Strategy<Value = Timestamp> {
    let (min, max) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    let edges = vec![
        Timestamp::MIN,
        Timestamp::MAX,
        Timestamp::UNIX_EPOCH,
        instant("9999-01-01T00:00:00Z"),
        instant("9999-12-30T21:59:00Z"),
        instant("-009999-01-03T00:00:00Z"),
        instant("0001-01-01T00:00:00Z"),
        instant("2026-11-15T12:00:00.5Z"),
    ];
    let around = (select(edges), distances()).prop_map(|(at, distance)| near(at, distance));
    prop_oneof![3 => around, 1 => (min..=max).prop_map(|at| Timestamp::from_second(at).unwrap())]
}

fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}
