//! Instants as whole ticks of 100 ns since 1970: the precision of the contract, in a 64-bit integer
//! that holds every year of the calendar. Finer parts are rounded down.

use jiff::Timestamp;
use punctual_recurrence::TICK;

/// An instant as ticks, rounded down.
pub fn to_ticks(at: Timestamp) -> i64 {
    let ticks = at.as_nanosecond().div_euclid(TICK.as_nanos());
    i64::try_from(ticks).expect("jiff's years -9999 to 9999 fit into 64 bits of ticks")
}

/// The instant of a number of ticks; none if it is outside of the calendar.
pub fn from_ticks(ticks: i64) -> Option<Timestamp> {
    Timestamp::from_nanosecond(i128::from(ticks) * TICK.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_round_trip_over_the_whole_calendar() {
        let check = |text: &str| {
            let at: Timestamp = text.parse().unwrap();
            assert_eq!(from_ticks(to_ticks(at)), Some(at), "{text}");
        };
        check("1970-01-01T00:00:00Z");
        check("2026-11-15T12:00:00.1234567Z");
        check("1601-01-01T00:00:00.0000001Z");
        check("9999-12-30T21:59:59.9999999Z");
        check("-009999-01-02T03:04:05Z");
        assert_eq!(from_ticks(i64::MAX), None);
    }

    #[test]
    fn finer_parts_are_rounded_down_before_1970_too() {
        let check = |nanosecond, ticks| {
            assert_eq!(to_ticks(Timestamp::from_nanosecond(nanosecond).unwrap()), ticks, "{nanosecond}");
        };
        check(199, 1);
        check(-1, -1);
        check(-100, -1);
    }
}
