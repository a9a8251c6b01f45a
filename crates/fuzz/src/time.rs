//! Instants and durations: what is written reads back the same.

use punctual_arm::time::{instant, iso_duration, time_span};
use punctual_recurrence::{parse_instant, parse_span};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(at) = parse_instant(text) {
        assert_eq!(parse_instant(&instant(at)), Ok(at), "{text:?} is written as {}", instant(at));
    }
    if let Ok(span) = parse_span(text) {
        assert!(!span.is_negative(), "{text:?}");
        for written in [iso_duration(span), time_span(span)] {
            assert_eq!(parse_span(&written), Ok(span), "{text:?} is written as {written}");
        }
    }
}
