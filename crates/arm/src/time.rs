//! Instants and durations as the API writes them.
//!
//! .NET counts in ticks of 100 ns: instants have up to 7 fractional digits, trailing zeros trimmed.

use std::fmt::Write;

use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

const NANOSECONDS_PER_TICK: i128 = 100;
const TICKS_PER_SECOND: i128 = 10_000_000;
/// 1970-01-01T00:00:00Z in ticks since 0001-01-01.
const UNIX_EPOCH_TICKS: i128 = 621_355_968_000_000_000;

/// An instant: `2016-03-30T20:39:53.8021951Z`.
pub fn instant(at: Timestamp) -> String {
    let civil = Offset::UTC.to_datetime(at);
    let (date, time) = (civil.date(), civil.time());
    let mut text = String::with_capacity(28);
    // ISO 8601 writes years before the year 0 with a sign and six digits; other forms would not read back.
    let year = date.year();
    let (sign, width) = if year < 0 { ("-", 6) } else { ("", 4) };
    write!(
        text,
        "{sign}{:0width$}-{:02}-{:02}T{:02}:{:02}:{:02}",
        year.unsigned_abs(),
        date.month(),
        date.day(),
        time.hour(),
        time.minute(),
        time.second()
    )
    .expect("writing to a string does not fail");
    push_fraction(&mut text, time.subsec_nanosecond().unsigned_abs() / 100);
    text.push('Z');
    text
}

/// A duration as a .NET TimeSpan: `00:01:00`, `30.00:00:00`.
pub fn time_span(duration: SignedDuration) -> String {
    let Parts { negative, days, hours, minutes, seconds, ticks } = Parts::of(duration);
    let mut text = String::with_capacity(16);
    if negative {
        text.push('-');
    }
    if days > 0 {
        write!(text, "{days}.").expect("writing to a string does not fail");
    }
    write!(text, "{hours:02}:{minutes:02}:{seconds:02}").expect("writing to a string does not fail");
    if ticks > 0 {
        // Unlike instants, TimeSpans keep all seven digits.
        write!(text, ".{ticks:07}").expect("writing to a string does not fail");
    }
    text
}

/// A duration as ISO 8601: `PT1M`, `P30D`, `P1DT2H`.
pub fn iso_duration(duration: SignedDuration) -> String {
    let Parts { negative, days, hours, minutes, seconds, ticks } = Parts::of(duration);
    let mut text = String::from(if negative { "-P" } else { "P" });
    let mut part = |count: i128, unit: &str| {
        if count > 0 {
            write!(text, "{count}{unit}").expect("writing to a string does not fail");
        }
    };
    part(days, "D");
    let with_time = hours > 0 || minutes > 0 || seconds > 0 || ticks > 0 || days == 0;
    if !with_time {
        return text;
    }
    text.push('T');
    let mut part = |count: i128, unit: char| {
        if count > 0 {
            write!(text, "{count}{unit}").expect("writing to a string does not fail");
        }
    };
    part(hours, 'H');
    part(minutes, 'M');
    if seconds > 0 || ticks > 0 || text.ends_with('T') {
        write!(text, "{seconds}").expect("writing to a string does not fail");
        push_fraction(&mut text, u32::try_from(ticks).expect("less than a second"));
        text.push('S');
    }
    text
}

/// Ticks since 0001-01-01, the clock of .NET.
pub(crate) fn ticks(at: Timestamp) -> i128 {
    UNIX_EPOCH_TICKS + at.as_nanosecond().div_euclid(NANOSECONDS_PER_TICK)
}

struct Parts {
    negative: bool,
    days: i128,
    hours: i128,
    minutes: i128,
    seconds: i128,
    ticks: i128,
}

impl Parts {
    fn of(duration: SignedDuration) -> Self {
        let nanoseconds = duration.as_nanos();
        let all = nanoseconds.abs() / NANOSECONDS_PER_TICK;
        let seconds = all / TICKS_PER_SECOND;
        Self {
            negative: nanoseconds < 0,
            days: seconds / 86_400,
            hours: seconds / 3_600 % 24,
            minutes: seconds / 60 % 60,
            seconds: seconds % 60,
            ticks: all % TICKS_PER_SECOND,
        }
    }
}

/// Ticks of a second as a fraction without trailing zeros; empty for zero.
fn push_fraction(text: &mut String, ticks: u32) {
    if ticks > 0 {
        write!(text, ".{ticks:07}").expect("writing to a string does not fail");
        text.truncate(text.trim_end_matches('0').len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_have_ticks_with_trailing_zeros_trimmed() {
        let check = |at: &str, expected: &str| assert_eq!(instant(at.parse().unwrap()), expected);
        check("2015-07-13T00:00:00Z", "2015-07-13T00:00:00Z");
        check("2016-03-30T20:39:53.8021951Z", "2016-03-30T20:39:53.8021951Z");
        check("2017-09-10T18:50:16.905Z", "2017-09-10T18:50:16.905Z");
        check("2017-09-10T18:50:16.000000099Z", "2017-09-10T18:50:16Z");
        check("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5Z");
        check("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z");
        check("-000019-12-31T23:00:00Z", "-000019-12-31T23:00:00Z");
    }

    #[test]
    fn durations_are_written_both_ways() {
        let check = |seconds: i64, nanoseconds: i32, span: &str, iso: &str| {
            let duration = SignedDuration::new(seconds, nanoseconds);
            assert_eq!((time_span(duration).as_str(), iso_duration(duration).as_str()), (span, iso));
        };
        check(60, 0, "00:01:00", "PT1M");
        check(30, 0, "00:00:30", "PT30S");
        check(0, 0, "00:00:00", "PT0S");
        check(30 * 86_400, 0, "30.00:00:00", "P30D");
        check(86_400 + 7_200 + 3, 0, "1.02:00:03", "P1DT2H3S");
        check(3_600, 500_000_000, "01:00:00.5000000", "PT1H0.5S");
        check(-15, 0, "-00:00:15", "-PT15S");
    }

    #[test]
    fn ticks_count_from_the_year_one() {
        assert_eq!(ticks("0001-01-01T00:00:00Z".parse().unwrap()), 0);
        assert_eq!(
            ticks("9999-12-30T22:00:00Z".parse().unwrap()),
            3_155_378_976_000_000_000 - 26 * 3_600 * 10_000_000
        );
    }
}
