//! Parses instants in the many forms in which people and programs write them.

use std::fmt;

use jiff::fmt::temporal::DateTimeParser;
use jiff::{SignedDuration, Timestamp, tz};

/// The resolution of time, which is that of the clients: 100 ns. Two different instants are at least this far
/// apart.
///
/// ```
/// use punctual_recurrence::{TICK, parse_instant};
///
/// let noon = parse_instant("2026-11-15T12:00:00Z").unwrap();
/// assert_eq!(parse_instant("2026-11-15T12:00:00.0000001Z"), Ok(noon + TICK));
/// ```
pub const TICK: SignedDuration = SignedDuration::from_nanos(100);

/// The number of digits of a second's fraction that ticks can hold.
const TICK_DIGITS: usize = 7;

/// A text that can't be parsed. Displays what a valid text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub(crate) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}

const EXPECTED: Malformed = Malformed("is not a date or time such as 2026-11-15T12:00:00Z");

/// Parses an instant: ISO 8601 with or without an offset (without one it is UTC), a date alone (midnight UTC),
/// any number of fractional digits (rounded to 100 ns), in any letter case, with blanks around it. The end of
/// the year 9999 becomes the last instant that can be represented, in whole ticks as all others.
///
/// ```
/// use punctual_recurrence::parse_instant;
///
/// let noon = parse_instant("2026-11-15T12:00:00Z").unwrap();
/// assert_eq!(parse_instant(" 2026-11-15T13:00+01:00 "), Ok(noon));
/// assert_eq!(parse_instant("2026-11-15t12:00:00.00000000"), Ok(noon));
/// assert_eq!(parse_instant("2026-11-14T36:00:00Z").is_err(), true);
/// assert_eq!(parse_instant("2012-11-04").unwrap().to_string(), "2012-11-04T00:00:00Z");
/// assert_eq!(parse_instant("9999-12-31").unwrap().to_string(), "9999-12-30T22:00:00.9999999Z");
/// ```
pub fn parse_instant(text: &str) -> Result<Timestamp, Malformed> {
    let text = text.trim();
    // No instant is this long. Checked first, so that a huge text is refused cheaply.
    if text.len() > 80 || !text.is_ascii() || text.contains(['[', '!']) {
        return Err(EXPECTED);
    }
    let (text, ticks) = take_fraction(text)?;
    let (text, day_later) = take_hour_24(&text, ticks);
    let pieces = DateTimeParser::new().parse_pieces(&text).map_err(|_| EXPECTED)?;
    if pieces.time().is_none() && text.len() > 10 {
        return Err(EXPECTED);
    }
    let wall = pieces.date().to_datetime(pieces.time().unwrap_or_default());
    let offset = pieces.to_numeric_offset().unwrap_or(tz::Offset::UTC);
    let more = SignedDuration::from_nanos(ticks * i64::from(TICK.subsec_nanos()))
        + if day_later { SignedDuration::from_hours(24) } else { SignedDuration::ZERO };
    match offset.to_timestamp(wall).ok().and_then(|at| at.checked_add(more).ok()) {
        Some(at) => Ok(at),
        None if wall.year() == 9999 => Ok(last()),
        None => Err(EXPECTED),
    }
}

/// The last instant in whole ticks: finer parts would not survive being written and read.
fn last() -> Timestamp {
    let finer = Timestamp::MAX.subsec_nanosecond() % TICK.subsec_nanos();
    Timestamp::MAX - SignedDuration::from_nanos(finer.into())
}

/// Splits the fraction of a second off a text. Returns the rest and the fraction in ticks, rounded.
fn take_fraction(text: &str) -> Result<(String, i64), Malformed> {
    let Some(dot) = text.find(['.', ',']) else { return Ok((text.to_owned(), 0)) };
    let behind = &text[dot + 1..];
    let length = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    let digits = &behind[..length];
    let another = behind[length..].contains(['.', ',']);
    if digits.is_empty() || another || !text[..dot].ends_with(|c: char| c.is_ascii_digit()) {
        return Err(EXPECTED);
    }
    let mut ticks = 0;
    for place in 0..TICK_DIGITS {
        let digit = digits.as_bytes().get(place).map_or(0, |byte| i64::from(byte - b'0'));
        ticks = ticks * 10 + digit;
    }
    if digits.as_bytes().get(TICK_DIGITS).is_some_and(|digit| *digit >= b'5') {
        ticks += 1;
    }
    Ok((format!("{}{}", &text[..dot], &behind[length..]), ticks))
}

/// Midnight may be written as 24:00 of the day before.
fn take_hour_24(text: &str, ticks: i64) -> (String, bool) {
    let Some(at) = text.find(['T', 't', ' ']) else { return (text.to_owned(), false) };
    let time = &text[at + 1..];
    let midnight = ["24:00:00", "240000", "24:00"].into_iter().find(|form| {
        let rest = time.strip_prefix(form);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c == ':' || c.is_ascii_digit()))
    });
    match midnight {
        Some(form) if ticks == 0 => {
            let zeros = form.replacen("24", "00", 1);
            (format!("{}{zeros}{}", &text[..=at], &time[form.len()..]), true)
        }
        Some(_) | None => (text.to_owned(), false),
    }
}
