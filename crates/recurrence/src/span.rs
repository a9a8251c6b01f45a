//! Parses durations: ISO 8601, .NET time spans, and a form that the original service documents.

use jiff::SignedDuration;

use crate::Malformed;

const EXPECTED: Malformed = Malformed("is not a duration such as PT30S or 00:00:30");

/// Parses a duration that is not negative: `PT30S`, `P1DT12H`, `00:00:30`, `30.00:00:00`, and also `PT1D`,
/// which is not ISO 8601 but is what the original service documents. As in .NET a month is 30 days and a year
/// is 365.
///
/// ```
/// use jiff::SignedDuration;
/// use punctual_recurrence::parse_span;
///
/// assert_eq!(parse_span("00:00:30"), Ok(SignedDuration::from_secs(30)));
/// assert_eq!(parse_span("PT1D"), parse_span("1.00:00:00"));
/// assert!(parse_span("-PT30S").is_err());
/// ```
pub fn parse_span(text: &str) -> Result<SignedDuration, Malformed> {
    let text = text.trim();
    if text.len() > 80 || !text.is_ascii() {
        return Err(EXPECTED);
    }
    let ticks = match text.strip_prefix(['P', 'p']) {
        Some(rest) => iso_ticks(rest),
        None => time_span_ticks(text),
    };
    ticks.and_then(ticks_to_duration).ok_or(EXPECTED)
}

const TICKS: i128 = 10_000_000;
const DAY: i128 = 86_400 * TICKS;

/// Parses what follows the `P`: numbers, each with its unit, in the order of the units.
fn iso_ticks(mut rest: &str) -> Option<i128> {
    let mut total: i128 = 0;
    let mut in_time = false;
    let mut rank_min = 0;
    let mut any = false;
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix(['T', 't']) {
            if in_time || time.is_empty() {
                return None;
            }
            (in_time, rest) = (true, time);
            continue;
        }
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')?;
        let (number, unit) = (&rest[..length], rest[length..].chars().next()?.to_ascii_uppercase());
        let (rank, ticks) = match (unit, in_time) {
            ('Y', false) => (1, 365 * DAY),
            ('M', false) => (2, 30 * DAY),
            ('W', false) => (3, 7 * DAY),
            ('D', _) => (4, DAY),
            ('H', true) => (5, 3_600 * TICKS),
            ('M', true) => (6, 60 * TICKS),
            ('S', true) => (7, TICKS),
            _ => return None,
        };
        // Only the last number may have a fraction, and units come in order.
        if rank <= rank_min {
            return None;
        }
        rank_min = rank;
        total = total.checked_add(times(number, ticks, unit == 'S')?)?;
        any = true;
        rest = &rest[length + 1..];
    }
    any.then_some(total)
}

/// A decimal number times a unit; only seconds may have a fraction.
fn times(number: &str, unit: i128, fraction_allowed: bool) -> Option<i128> {
    match number.split_once(['.', ',']) {
        None => integer(number)?.checked_mul(unit),
        Some((whole, fraction)) if fraction_allowed => {
            integer(whole)?.checked_mul(unit)?.checked_add(fraction_ticks(fraction)?)
        }
        Some(_) => None,
    }
}

/// `[d.]hh:mm[:ss[.fffffff]]`.
fn time_span_ticks(text: &str) -> Option<i128> {
    let mut parts = text.split(':');
    let (days, hours) = match parts.next()?.split_once('.') {
        Some((days, hours)) => (integer(days)?, hours),
        None => (0, text.split(':').next()?),
    };
    let hours = bounded(hours, 23)?;
    let minutes = bounded(parts.next()?, 59)?;
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(seconds) => match seconds.split_once('.') {
            None => (bounded(seconds, 59)?, 0),
            Some((seconds, fraction)) => (bounded(seconds, 59)?, fraction_ticks(fraction)?),
        },
    };
    if parts.next().is_some() {
        return None;
    }
    let seconds = (hours * 60 + minutes) * 60 + seconds;
    days.checked_mul(DAY)?.checked_add(seconds * TICKS + fraction)
}

fn bounded(text: &str, max: i128) -> Option<i128> {
    integer(text).filter(|number| text.len() <= 2 && *number <= max)
}

fn integer(text: &str) -> Option<i128> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// The digits after the decimal point as ticks of 100 ns, rounded.
fn fraction_ticks(digits: &str) -> Option<i128> {
    integer(digits)?;
    let mut padded: String = digits.chars().chain("0000000".chars()).take(7).collect();
    if digits.as_bytes().get(7).is_some_and(|digit| *digit >= b'5') {
        padded = (integer(&padded)? + 1).to_string();
    }
    integer(&padded)
}

/// Allows durations of up to some ten thousand years; callers set narrower limits.
fn ticks_to_duration(ticks: i128) -> Option<SignedDuration> {
    let nanoseconds = ticks.checked_mul(100)?;
    let seconds = i64::try_from(nanoseconds / 1_000_000_000).ok()?;
    let rest = i32::try_from(nanoseconds % 1_000_000_000).ok()?;
    (seconds <= 315_360_000_000).then(|| SignedDuration::new(seconds, rest))
}
