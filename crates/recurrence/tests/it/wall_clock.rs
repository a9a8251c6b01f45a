//! What the clock on the wall of a zone shows, as a plain list of stretches of constant offset.
//!
//! Only the offsets come from jiff. Which instants show a wall time, what a gap is and how long it is
//! are worked out here by looking at every stretch, so that the oracle does not lean on the same
//! disambiguation as the engine.
//!
//! Instants are seconds since 1970 UTC. A wall time is written as the instant at which a clock in UTC
//! would show it.

use jiff::civil::{Date, DateTime, date};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

const EPOCH: Date = date(1970, 1, 1);

pub(crate) struct WallClock {
    stretches: Vec<Stretch>,
}

/// From `from_at` until just before `until_at` the clock is `offset` seconds ahead of UTC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) from_at: i64,
    pub(crate) until_at: i64,
    pub(crate) offset: i64,
}

impl WallClock {
    /// The clock of a zone, right between the two instants.
    pub(crate) fn of(zone: &TimeZone, from_at: i64, until_at: i64) -> Self {
        let first_at = timestamp_near(from_at);
        let last_at = timestamp_near(until_at);
        let offset = i64::from(zone.to_offset(first_at).seconds());
        let mut stretches = vec![Stretch { from_at: i64::MIN, until_at: i64::MAX, offset }];
        for transition in zone.following(first_at).take_while(|one| one.timestamp() <= last_at) {
            let at = transition.timestamp().as_second();
            let offset = i64::from(transition.offset().seconds());
            let last = stretches.last_mut().unwrap();
            // Some transitions only change the name of the zone.
            if last.offset != offset {
                last.until_at = at;
                stretches.push(Stretch { from_at: at, until_at: i64::MAX, offset });
            }
        }
        Self { stretches }
    }

    pub(crate) fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// What the clock shows at an instant.
    pub(crate) fn reading(&self, at: i64) -> DateTime {
        datetime_of(at + self.offset(at))
    }

    /// Every instant at which the clock shows this time, in order: none in a gap, two in a fold.
    pub(crate) fn instants(&self, wall: i64) -> Vec<i64> {
        let at = |stretch: &Stretch| wall - stretch.offset;
        let holds = |stretch: &&Stretch| (stretch.from_at..stretch.until_at).contains(&at(stretch));
        self.stretches.iter().filter(holds).map(at).collect()
    }

    /// The first instant at which the clock shows this time; one that it never shows moves forward by
    /// the length of the gap.
    pub(crate) fn first_or_moved(&self, wall: i64) -> i64 {
        if let Some(first) = self.instants(wall).first() {
            return *first;
        }
        for pair in self.stretches.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            let gap = before.until_at + before.offset..after.from_at + after.offset;
            if gap.contains(&wall) {
                let moved = wall + (gap.end - gap.start);
                return moved - after.offset;
            }
        }
        unreachable!("a wall time is shown, or lies in a gap")
    }

    /// Every instant from `from_at` to just before `until_at` at which the clock shows second 0.
    ///
    /// Stretch by stretch, because offsets had seconds once: Monrovia was at -00:44:30 until 1972.
    pub(crate) fn whole_minutes(&self, from_at: i64, until_at: i64) -> Vec<i64> {
        let mut found = Vec::new();
        for stretch in &self.stretches {
            let last_at = until_at.min(stretch.until_at);
            let mut at = from_at.max(stretch.from_at);
            if at >= last_at {
                continue;
            }
            at += (-(at + stretch.offset)).rem_euclid(60);
            while at < last_at {
                found.push(at);
                at += 60;
            }
        }
        found
    }

    fn offset(&self, at: i64) -> i64 {
        let after = self.stretches.partition_point(|stretch| stretch.from_at <= at);
        self.stretches[after - 1].offset
    }
}

/// Days since 1970-01-01.
pub(crate) fn day_number(day: Date) -> i64 {
    day.duration_since(EPOCH).as_hours() / 24
}

/// A wall time as seconds; a fraction of a second is dropped.
pub(crate) fn wall_of(reading: DateTime) -> i64 {
    let time = reading.time();
    day_number(reading.date()) * 86_400
        + i64::from(time.hour()) * 3600
        + i64::from(time.minute()) * 60
        + i64::from(time.second())
}

/// The wall time that seconds stand for.
pub(crate) fn datetime_of(wall: i64) -> DateTime {
    EPOCH.to_datetime(jiff::civil::Time::midnight()).saturating_add(SignedDuration::from_secs(wall))
}

/// The reading of a zone's clock at any instant, by jiff itself.
pub(crate) fn reading_at(zone: &TimeZone, at: Timestamp) -> DateTime {
    zone.to_offset(at).to_datetime(at)
}

/// The instant, or the nearest one that there is.
fn timestamp_near(at: i64) -> Timestamp {
    Timestamp::from_second(at.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second())).unwrap()
}

#[test]
fn a_gap_has_no_instant_and_a_fold_has_two() {
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    let clock = WallClock::of(&berlin, 1_700_000_000, 1_800_000_000);
    let wall = |text: &str| wall_of(text.parse().unwrap());
    let utc = |text: &str| text.parse::<Timestamp>().unwrap().as_second();

    assert!(clock.instants(wall("2026-03-29T02:30:00")).is_empty());
    assert_eq!(clock.first_or_moved(wall("2026-03-29T02:30:00")), utc("2026-03-29T03:30:00+02:00"));
    let both = [utc("2026-10-25T02:30:00+02:00"), utc("2026-10-25T02:30:00+01:00")];
    assert_eq!(clock.instants(wall("2026-10-25T02:30:00")), both);
    assert_eq!(clock.first_or_moved(wall("2026-10-25T02:30:00")), both[0]);
}

#[test]
fn readings_are_those_of_jiff() {
    let from: i64 = -200_000_000;
    for name in ["Africa/Monrovia", "Australia/Lord_Howe", "Pacific/Apia", "UTC"] {
        let zone = TimeZone::get(name).unwrap();
        let clock = WallClock::of(&zone, from, 2_000_000_000);
        for at in (from..2_000_000_000).step_by(1_234_567) {
            assert_eq!(
                clock.reading(at),
                reading_at(&zone, Timestamp::from_second(at).unwrap()),
                "{name} {at}"
            );
        }
    }
}
