//! Time zones: what the clocks show at an instant, and at which instant they show a wall time.
//!
//! Everything is in seconds since 1970, of real time or of wall time.

use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use crate::calendar::DAY_SECONDS;
use crate::steps::step;

/// A time zone. UTC is a variant of its own because most rules use it and it needs no lookup.
#[derive(Clone, Debug)]
pub(crate) enum Zone {
    Utc,
    Named(TimeZone),
}

/// Within this many seconds no zone changes its offset and changes it back, so equal offsets at both ends mean
/// that there was no change in between. A test checks the bundled database for it.
pub(crate) const QUIET_SECONDS: i64 = 26 * 3_600;

/// No zone is farther from UTC than this.
pub(crate) const OFFSET_SECONDS_MAX: i64 = 26 * 3_600;

/// From here on no zone has more than two offsets.
pub(crate) const SETTLED_FROM: i64 = 2_208_988_800; // 2040-01-01T00:00:00Z

/// From here on every zone repeats its changes every 400 years, as the calendar does: no change is listed
/// singly any more, and the rules name weekdays and days of the year.
pub(crate) const REPEATING_FROM: i64 = 4_102_444_800; // 2100-01-01T00:00:00Z

/// The instant that a wall time resolves to.
pub(crate) struct Resolved {
    pub(crate) at: i64,
    /// The offset, if the wall time occurs exactly once.
    pub(crate) plain_offset: Option<i64>,
}

/// A range of time in which a zone has one offset, so that wall time runs in parallel with real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// The change of the clocks at its start.
    pub(crate) from: i64,
    /// The change of the clocks at its end, which is not part of it; [`FOREVER`] if there is none.
    pub(crate) until: i64,
    pub(crate) offset: i64,
    /// The offset before `from`.
    pub(crate) offset_before: i64,
}

/// Later than the end of time, and small enough to calculate with.
const FOREVER: i64 = i64::MAX / 2;

impl Stretch {
    /// The first wall time in it that the clocks have not shown before.
    pub(crate) fn first_new_wall(&self) -> i64 {
        self.from + self.offset.max(self.offset_before)
    }
}

impl Zone {
    /// The zone of an IANA name, in any letter case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let zone = jiff::tz::db().get(name).ok()?;
        let utc = zone.iana_name().is_some_and(|name| matches!(name, "UTC" | "Etc/UTC" | "Etc/GMT" | "GMT"));
        Some(if utc { Self::Utc } else { Self::Named(zone) })
    }

    /// How many seconds the zone is ahead of UTC at an instant.
    pub(crate) fn offset_at(&self, second: i64) -> i64 {
        match self {
            Self::Utc => 0,
            Self::Named(zone) => i64::from(zone.to_offset(instant(second)).seconds()),
        }
    }

    /// The next instant at which the clocks may change; none if there is none.
    pub(crate) fn change_after(&self, second: i64) -> Option<i64> {
        match self {
            Self::Utc => None,
            Self::Named(zone) => {
                zone.following(instant(second)).next().map(|change| change.timestamp().as_second())
            }
        }
    }

    /// The stretches from an instant on, in order. The first begins with that instant, as if there were no
    /// change before.
    pub(crate) fn stretches(&self, from: i64) -> impl Iterator<Item = Stretch> {
        let changes = match self {
            Self::Utc => None,
            Self::Named(zone) => Some(zone.following(instant(from))),
        };
        let mut changes = changes
            .into_iter()
            .flatten()
            .map(|change| (change.timestamp().as_second(), i64::from(change.offset().seconds())));
        let offset = self.offset_at(from);
        let mut begin = Some((from, offset, offset));
        std::iter::from_fn(move || {
            step();
            let (from, offset, offset_before) = begin?;
            // Some changes are only of the zone's name.
            let change = changes.find(|(_, new_offset)| *new_offset != offset);
            begin = change.map(|(at, new_offset)| (at, new_offset, offset));
            let until = change.map_or(FOREVER, |(at, _)| at);
            Some(Stretch { from, until, offset, offset_before })
        })
    }

    /// The instant of a wall time: the first of two; moved forward by the length of the gap if the wall time
    /// does not exist.
    pub(crate) fn resolve(&self, local: i64) -> Resolved {
        let Self::Named(zone) = self else {
            return Resolved { at: local, plain_offset: Some(0) };
        };
        let wall = Offset::UTC.to_datetime(instant(local));
        match zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } => {
                let offset = i64::from(offset.seconds());
                Resolved { at: local - offset, plain_offset: Some(offset) }
            }
            // The offset before the change gives the first of two wall times, and it moves one in a gap forward
            // by exactly the gap.
            AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => {
                Resolved { at: local - i64::from(before.seconds()), plain_offset: None }
            }
        }
    }
}

/// The instant of a second, clamped to what the time library can represent.
fn instant(second: i64) -> Timestamp {
    let held = second.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(held).expect("clamped to the range")
}

/// The most changes of the clocks in a year, generously: four are known.
const CHANGES_MAX: u64 = 10;

/// A bound of how many days the clocks show in a range of so many seconds, where one that they show again counts again.
pub(crate) fn days_most(seconds: u64) -> u64 {
    let year = 365 * DAY_SECONDS.unsigned_abs();
    let stretches = CHANGES_MAX * (seconds / year + 1) + 1;
    seconds / DAY_SECONDS.unsigned_abs() + 2 * stretches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::CALENDAR_DAYS;

    /// `QUIET_SECONDS` relies on this.
    #[test]
    fn no_zone_changes_its_offset_and_back_within_the_quiet_time() {
        let begin: Timestamp = "1850-01-01T00:00:00Z".parse().unwrap();
        let end: Timestamp = "2100-01-01T00:00:00Z".parse().unwrap();
        let mut zones = 0;
        for name in jiff::tz::db().available() {
            let Some(zone @ Zone::Named(_)) = Zone::named(name.as_str()) else { continue };
            zones += 1;
            let mut offsets = vec![(begin.as_second(), zone.offset_at(begin.as_second()))];
            let mut at = begin.as_second();
            while let Some(change) = zone.change_after(at).filter(|change| *change < end.as_second()) {
                offsets.push((change, zone.offset_at(change)));
                at = change;
            }
            for (index, (from, offset)) in offsets.iter().enumerate() {
                for (until, later) in offsets[index + 1..].iter().skip(1) {
                    // The offset before `from` ended at the change after it, so compare from there.
                    let changed_at = offsets[index + 1].0;
                    if until - changed_at >= QUIET_SECONDS {
                        break;
                    }
                    assert_ne!(offset, later, "{} after {from} until {until}", name.as_str());
                }
            }
        }
        assert!(zones > 400, "only {zones} zones are bundled");
    }

    /// Counting and searching near a change rely on this: what one change skips or repeats is over when the
    /// next one comes.
    #[test]
    fn no_zone_changes_its_clocks_again_before_what_was_skipped_or_repeated_is_over() {
        let begin: Timestamp = "1800-01-01T00:00:00Z".parse().unwrap();
        let end: Timestamp = "2110-01-01T00:00:00Z".parse().unwrap();
        for name in jiff::tz::db().available() {
            let Some(zone) = Zone::named(name.as_str()) else { continue };
            let stretches = zone.stretches(begin.as_second());
            let stretches: Vec<Stretch> = stretches.take_while(|one| one.from < end.as_second()).collect();
            for pair in stretches.windows(2) {
                let shift = (pair[1].offset - pair[1].offset_before).abs();
                for stretch in pair {
                    assert!(stretch.until - stretch.from >= shift, "{} {pair:?}", name.as_str());
                }
            }
        }
    }

    /// Counting over thousands of years relies on this.
    #[test]
    fn zones_repeat_themselves_after_400_years() {
        let period = CALENDAR_DAYS * crate::calendar::DAY_SECONDS;
        for name in jiff::tz::db().available() {
            let Some(zone) = Zone::named(name.as_str()) else { continue };
            let stretches = |from: i64| -> Vec<Stretch> {
                let until = from + period;
                let stretches = zone.stretches(from).take_while(|one| one.from < until).skip(1);
                stretches
                    .map(|one| Stretch { from: one.from - from, until: one.until.min(until) - from, ..one })
                    .collect()
            };
            assert_eq!(stretches(REPEATING_FROM), stretches(REPEATING_FROM + period), "{}", name.as_str());
        }
    }

    /// The search for the next occurrence takes this as a proof.
    #[test]
    fn once_they_are_settled_zones_show_at_most_two_offsets() {
        let end: Timestamp = "2500-01-01T00:00:00Z".parse().unwrap();
        for name in jiff::tz::db().available() {
            let Some(zone) = Zone::named(name.as_str()) else { continue };
            let stretches = zone.stretches(SETTLED_FROM).take_while(|one| one.from < end.as_second());
            let mut offsets: Vec<i64> = stretches.map(|stretch| stretch.offset).collect();
            offsets.sort_unstable();
            offsets.dedup();
            assert!(offsets.len() <= 2, "{} {offsets:?}", name.as_str());
        }
    }
}
