//! Callers that fail to sign in, by where they come from.
//!
//! The table has a fixed size, so that no number of sources takes more memory: a source has the place that the hash of its
//! address says, and may share it with others. That only slows down more of those that fail: a caller that signs in is
//! never held up.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::bucket::{Bucket, Rate};
use crate::source::Source;

/// The number of places.
const PLACES: usize = 4096;

/// How often callers fail to sign in.
pub(super) struct Failures {
    rate: Option<Rate>,
    places: Mutex<Vec<Option<Bucket>>>,
}

impl Failures {
    pub(super) fn new(rate: Option<Rate>) -> Self {
        let places = if rate.is_some() { vec![None; PLACES] } else { Vec::new() };
        Self { rate, places: Mutex::new(places) }
    }

    /// Takes note of a failure; how long the caller should wait before it tries again, if it fails too often.
    pub(super) fn note(&self, source: Source, now: Timestamp) -> Option<Duration> {
        let rate = self.rate?;
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let place = places.get_mut(place(source))?;
        let bucket = place.get_or_insert_with(|| Bucket::full(rate, now));
        let wait = bucket.wait(1.0, rate, now);
        if wait.is_none() {
            bucket.take(1.0);
        }
        wait
    }
}

fn place(source: Source) -> usize {
    let mut hasher = DefaultHasher::new();
    network(source.0).hash(&mut hasher);
    usize::try_from(hasher.finish() % PLACES as u64).unwrap_or_default()
}

/// What counts as one source: everybody with IPv6 has 2^64 addresses.
fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn from(text: &str) -> Source {
        Source(text.parse().unwrap())
    }

    #[test]
    fn a_source_that_fails_too_often_has_to_wait_and_others_have_not() {
        let failures = Failures::new(Some(Rate { per_second: 0.5, burst: 3.0 }));
        let now = Timestamp::UNIX_EPOCH;
        for _ in 0..3 {
            assert_eq!(failures.note(from("192.0.2.1"), now), None);
        }
        assert_eq!(failures.note(from("192.0.2.1"), now), Some(Duration::from_secs(2)));
        assert_eq!(failures.note(from("192.0.2.2"), now), None);
        assert_eq!(failures.note(from("192.0.2.1"), now + SignedDuration::from_secs(2)), None);
    }

    #[test]
    fn the_addresses_of_one_network_are_one_source() {
        let failures = Failures::new(Some(Rate { per_second: 1.0, burst: 1.0 }));
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(failures.note(from("2001:db8:0:1::1"), now), None);
        assert!(failures.note(from("2001:db8:0:1:ffff::2"), now).is_some());
        assert_eq!(failures.note(from("2001:db8:0:2::1"), now), None);
    }

    #[test]
    fn a_million_sources_take_no_more_memory_than_one() {
        let failures = Failures::new(Some(Rate { per_second: 1.0, burst: 1.0 }));
        for number in 0..1_000_000_u32 {
            failures.note(Source(std::net::Ipv4Addr::from_bits(number).into()), Timestamp::UNIX_EPOCH);
        }
        assert_eq!(failures.places.lock().unwrap().len(), PLACES);
    }
}
