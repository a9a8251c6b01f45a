//! Wall clocks: what the clocks of a zone show at an instant, and when they show a wall time.
//!
//! Everything is in seconds since 1970, of real time or of wall time.

use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

/// A zone. UTC is apart because most rules need no more, and it costs nothing.
#[derive(Clone, Debug)]
pub(crate) enum Zone {
    Utc,
    Named(TimeZone),
}

/// Within this many seconds no zone changes its offset and changes it back, so that equal offsets at
/// both ends mean that nothing happened in between. The bundled database is checked for it by a test.
pub(crate) const QUIET_SECONDS: i64 = 26 * 3_600;

/// No clock is farther from UTC than this.
pub(crate) const OFFSET_SECONDS_MAX: i64 = 26 * 3_600;

/// From here on all zones repeat themselves year by year.
pub(crate) const SETTLED_FROM: i64 = 2_208_988_800; // 2040-01-01T00:00:00Z

/// An instant to which a wall time came.
pub(crate) struct Resolved {
    pub(crate) at: i64,
    /// The offset, if the wall time occurs exactly once.
    pub(crate) plain_offset: Option<i64>,
}

impl Zone {
    /// The zone of an IANA name, in any letter case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let zone = jiff::tz::db().get(name).ok()?;
        let utc = zone.iana_name().is_some_and(|name| matches!(name, "UTC" | "Etc/UTC" | "Etc/GMT" | "GMT"));
        Some(if utc { Self::Utc } else { Self::Named(zone) })
    }

    /// Seconds that the zone's clocks are ahead of UTC at an instant.
    pub(crate) fn offset_at(&self, second: i64) -> i64 {
        match self {
            Self::Utc => 0,
            Self::Named(zone) => i64::from(zone.to_offset(instant(second)).seconds()),
        }
    }

    /// The next instant at which the clocks may change, if ever.
    pub(crate) fn change_after(&self, second: i64) -> Option<i64> {
        match self {
            Self::Utc => None,
            Self::Named(zone) => {
                zone.following(instant(second)).next().map(|change| change.timestamp().as_second())
            }
        }
    }

    /// The instant of a wall time: the first of two; moved forward by the length of the gap if there is
    /// none.
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
            // The offset before the change gives the first of two wall times, and it moves one in the
            // gap forward by exactly the gap.
            AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => {
                Resolved { at: local - i64::from(before.seconds()), plain_offset: None }
            }
        }
    }
}

/// An instant of a whole second, held within what the time library can say.
fn instant(second: i64) -> Timestamp {
    let held = second.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(held).expect("clamped to the range")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `QUIET_SECONDS` promises: the fast paths of the search rest on it.
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
}
