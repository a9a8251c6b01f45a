//! Values as they are in columns: the same bytes in every store that has columns, so that rows can be copied from one to
//! another.

use jiff::{SignedDuration, Timestamp};
use punctual_model::statistics::Statistics;
use punctual_model::{Name, OccurrenceRange, Scope};
use punctual_recurrence::TICK;
use sha2::{Digest, Sha256};

use crate::instant::{from_ticks, to_ticks};

/// A hash of a target: short in an index, and equal for equal targets.
pub fn target_hash(target: &str) -> i64 {
    let digest = Sha256::digest(target.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(bytes)
}

/// The first byte of the runs of a job if the latest one comes before the waiting ones. Rows without it have
/// only the waiting ones: that is the first form.
const WITH_LATEST: u8 = 1;

/// The runs of a job that wait, and the latest one; none if there are none.
pub fn runs_bytes(runs: &[Timestamp], last_run_at: Option<Timestamp>) -> Option<Vec<u8>> {
    let ticks = last_run_at.iter().chain(runs).flat_map(|at| to_ticks(*at).to_be_bytes());
    let first = last_run_at.map(|_| WITH_LATEST);
    let bytes: Vec<u8> = first.into_iter().chain(ticks).collect();
    (!bytes.is_empty()).then_some(bytes)
}

/// Reads runs; none if the bytes are no runs.
pub fn runs_from(bytes: &[u8]) -> Option<(Vec<Timestamp>, Option<Timestamp>)> {
    match bytes {
        [WITH_LATEST, rest @ ..] if rest.len() % 8 == 0 => {
            let mut runs = instants(rest)?;
            if runs.is_empty() {
                return None;
            }
            let latest = runs.remove(0);
            Some((runs, Some(latest)))
        }
        bytes => Some((instants(bytes)?, None)),
    }
}

/// What a job started ahead of the clock; none if it is nothing.
pub fn ahead_bytes(ahead: &[OccurrenceRange]) -> Option<Vec<u8>> {
    let ticks = ahead.iter().flat_map(|stretch| [stretch.first_at, stretch.last_at].map(to_ticks));
    let bytes: Vec<u8> = ticks.flat_map(i64::to_be_bytes).collect();
    (!bytes.is_empty()).then_some(bytes)
}

/// Reads what a job started ahead of the clock; none if the bytes are not that.
pub fn ahead_from(bytes: &[u8]) -> Option<Vec<OccurrenceRange>> {
    let ends = instants(bytes)?;
    let (pairs, odd) = ends.as_chunks::<2>();
    let read =
        |[first_at, last_at]: &[Timestamp; 2]| OccurrenceRange { first_at: *first_at, last_at: *last_at };
    odd.is_empty().then(|| pairs.iter().map(read).collect())
}

/// Statistics as bytes: the greatest lateness in ticks, then the counts up to the last that is not zero, each seven bits a byte, the
/// lowest first.
pub fn statistics_bytes(statistics: &Statistics) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32);
    let used = statistics.counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    for number in std::iter::once(lateness_ticks(statistics)).chain(statistics.counts[..used].iter().copied())
    {
        let mut left = number;
        while left >= 0x80 {
            bytes.push(u8::try_from(left & 0x7f).unwrap_or(0) | 0x80);
            left >>= 7;
        }
        bytes.push(u8::try_from(left).unwrap_or(0));
    }
    bytes
}

/// Reads statistics; none if the bytes are not that.
pub fn statistics_from(bytes: &[u8]) -> Option<Statistics> {
    let (mut numbers, mut number, mut shift) = (Vec::new(), 0_u64, 0);
    for byte in bytes {
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            numbers.push(number);
            (number, shift) = (0, 0);
        }
    }
    let (lateness, counts) = numbers.split_first()?;
    let mut statistics = Statistics::default();
    if counts.len() > statistics.counts.len() || shift != 0 {
        return None;
    }
    statistics.counts[..counts.len()].copy_from_slice(counts);
    statistics.lateness_max = lateness_from(*lateness)?;
    Some(statistics)
}

/// The greatest lateness of statistics in ticks.
fn lateness_ticks(statistics: &Statistics) -> u64 {
    u64::try_from(statistics.lateness_max.as_nanos() / TICK.as_nanos()).unwrap_or(0)
}

/// A lateness of so many ticks.
fn lateness_from(ticks: u64) -> Option<SignedDuration> {
    let nanos = i128::from(ticks) * TICK.as_nanos();
    i64::try_from(nanos).ok().map(SignedDuration::from_nanos)
}

fn instants(bytes: &[u8]) -> Option<Vec<Timestamp>> {
    let (ticks, rest) = bytes.as_chunks::<8>();
    let read = |bytes: &[u8; 8]| from_ticks(i64::from_be_bytes(*bytes));
    if rest.is_empty() { ticks.iter().map(read).collect() } else { None }
}

/// The names of the subscription, the group and the collection that a scope is in, as they are compared; empty where the
/// scope is wider. A job counts as its collection.
pub fn place_of(scope: &Scope) -> [String; 3] {
    let (group, collection) = (scope.group(), scope.collection());
    let names = [scope.subscription(), group.map(|key| &key.name), collection.map(|key| &key.name)];
    names.map(|name| name.map(Name::folded).unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn runs_are_read_as_they_were_written_now_and_at_first() {
        let check = |runs: &[Timestamp], last_run_at: Option<Timestamp>| {
            let written = runs_bytes(runs, last_run_at).unwrap_or_default();
            assert_eq!(runs_from(&written).unwrap(), (runs.to_vec(), last_run_at));
        };
        check(&[], None);
        check(&[], Some(at(3)));
        check(&[at(1), at(2)], Some(at(2)));
        let at_first: Vec<u8> = [at(1), at(2)].iter().flat_map(|at| to_ticks(*at).to_be_bytes()).collect();
        assert_eq!(runs_from(&at_first).unwrap(), (vec![at(1), at(2)], None));
        for bytes in [&[1][..], &[2; 9], &[0; 12]] {
            assert!(runs_from(bytes).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn what_was_started_ahead_is_read_as_it_was_written() {
        let ahead = [OccurrenceRange { first_at: at(1), last_at: at(2) }];
        let written = ahead_bytes(&ahead).unwrap();
        assert_eq!(ahead_from(&written).unwrap(), ahead);
        assert_eq!((ahead_bytes(&[]), ahead_from(&[])), (None, Some(Vec::new())));
        assert_eq!((ahead_from(&written[..8]), ahead_from(&written[..9])), (None, None));
    }

    #[test]
    fn statistics_are_read_as_they_were_written() {
        let mut statistics = Statistics::default();
        assert_eq!(statistics_from(&statistics_bytes(&statistics)).unwrap(), statistics);
        (statistics.counts[0], statistics.counts[3]) = (u64::MAX, 300);
        statistics.lateness_max = SignedDuration::from_micros(1_234);
        let written = statistics_bytes(&statistics);
        assert_eq!(statistics_from(&written).unwrap(), statistics);
        assert_eq!(statistics_from(&written[..written.len() - 1]), None);
        assert_eq!((statistics_from(&[]), statistics_from(&[0; 99])), (None, None));
    }

    #[test]
    fn the_hash_of_a_target_does_not_change() {
        assert_eq!(target_hash("example.com"), -6_667_114_193_848_649_307);
    }
}
