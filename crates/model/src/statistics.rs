//! Statistics of what became of occurrences: counts for a stretch of time, which add up.
//!
//! Outcomes are counted in the minute in which the occurrence was due, skips in that of the last one skipped. Lateness is counted in
//! buckets that grow by a factor of about 1.6, five to a decade, from which quantiles are told within their width.

use jiff::{SignedDuration, Timestamp};

use crate::{Entry, Record, RecordStatus, Skip, SkipReason};

/// An occurrence whose first attempt begins later than this is late.
pub const LATE_AFTER: SignedDuration = SignedDuration::from_secs(1);

/// The base of all statistics.
pub const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// The upper bounds of the buckets of lateness, in microseconds; above them is one more.
const BOUNDS: [i64; 36] = {
    let steps = [100, 158, 251, 398, 631];
    let mut bounds = [0; 36];
    let (mut index, mut factor) = (0, 1);
    while index < 36 {
        bounds[index] = steps[index % 5] * factor;
        if index % 5 == 4 {
            factor *= 10;
        }
        index += 1;
    }
    bounds
};

/// How many numbers there are: one for each [`Measure`], then one for each bucket of lateness.
pub const PLACES: usize = Measure::ALL.len() + BOUNDS.len() + 1;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Occurrences that succeeded at the first attempt.
    Succeeded,
    /// Occurrences that succeeded at a later attempt.
    Retried,
    /// Occurrences whose main action failed for good.
    Failed,
    /// Failed attempts of main actions.
    FailedAttempts,
    /// Occurrences whose first attempt began late.
    Late,
    /// Error actions that were started.
    ErrorActions,
    /// Occurrences that were skipped because the one before was still under way.
    SkippedOverlap,
    /// Occurrences that were skipped because the server was down.
    SkippedMissed,
    /// Occurrences that were skipped for another reason.
    SkippedOther,
}

impl Measure {
    /// All of them, in the order in which they are stored, which never changes.
    pub const ALL: [Self; 9] = [
        Self::Succeeded,
        Self::Retried,
        Self::Failed,
        Self::FailedAttempts,
        Self::Late,
        Self::ErrorActions,
        Self::SkippedOverlap,
        Self::SkippedMissed,
        Self::SkippedOther,
    ];
}

/// Counts of a stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// One number for each place.
    pub counts: [u64; PLACES],
    /// The greatest lateness.
    pub lateness_max: SignedDuration,
}

impl Default for Statistics {
    fn default() -> Self {
        Self { counts: [0; PLACES], lateness_max: SignedDuration::ZERO }
    }
}

/// What one settlement adds to the statistics of a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The minute.
    pub minute_at: Timestamp,
    /// The place.
    pub place: usize,
    /// How many.
    pub amount: u64,
    /// The lateness that is counted; zero if none is.
    pub lateness: SignedDuration,
}

impl Statistics {
    /// A number.
    pub fn get(&self, measure: Measure) -> u64 {
        self.counts[measure as usize]
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// Adds what a settlement counts.
    pub fn count(&mut self, count: &Count) {
        self.counts[count.place] = self.counts[count.place].saturating_add(count.amount);
        self.lateness_max = self.lateness_max.max(count.lateness);
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.lateness_max = self.lateness_max.max(other.lateness_max);
    }

    /// The lateness that a share of all occurrences does not exceed; none if no lateness was counted.
    pub fn lateness(&self, share: f64) -> Option<SignedDuration> {
        let buckets = &self.counts[Measure::ALL.len()..];
        let total: u64 = buckets.iter().sum();
        if total == 0 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rank among so many need not be exact")]
        let rank = share * total as f64;
        let mut below = 0.0;
        for (index, count) in buckets.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "as above")]
            let here = *count as f64;
            if here > 0.0 && below + here >= rank {
                let bound = |index: usize| SignedDuration::from_micros(BOUNDS[index]);
                let low = if index == 0 { SignedDuration::ZERO } else { bound(index - 1) };
                let high = if index < BOUNDS.len() { bound(index) } else { self.lateness_max };
                let part = ((rank - below) / here).clamp(0.0, 1.0);
                let within = high.saturating_sub(low).as_secs_f64() * part;
                let found = low.saturating_add(SignedDuration::from_secs_f64(within.max(0.0)));
                return Some(found.min(self.lateness_max));
            }
            below += here;
        }
        Some(self.lateness_max)
    }
}

/// What a settlement counts: its records, its skips, and the entry that the job has afterwards.
pub fn counts(records: &[Record], skips: &[Skip], next: Option<Entry>) -> Vec<Count> {
    let mut counts = Vec::with_capacity(2 * records.len() + skips.len());
    for record in records {
        count_record(record, next, &mut counts);
    }
    for skip in skips {
        let measure = match skip.reason {
            SkipReason::Overlap => Measure::SkippedOverlap,
            SkipReason::Missed => Measure::SkippedMissed,
        };
        counts.push(Count { amount: skip.count, ..one(skip.last_at, measure as usize) });
    }
    counts
}

fn count_record(record: &Record, next: Option<Entry>, counts: &mut Vec<Count>) {
    let mut add = |measure: Measure| counts.push(one(record.nominal_at, measure as usize));
    match (record.step, record.status) {
        (_, RecordStatus::Postponed) => return,
        (0, RecordStatus::Completed) if record.attempt == 0 => add(Measure::Succeeded),
        (0, RecordStatus::Completed) => add(Measure::Retried),
        (0, RecordStatus::Failed) => {
            add(Measure::FailedAttempts);
            let again = next.is_some_and(|next| {
                (next.nominal_at, next.cause, next.step) == (record.nominal_at, record.cause, 0)
                    && next.attempt > record.attempt
            });
            if !again {
                add(Measure::Failed);
            }
        }
        (_, RecordStatus::Completed | RecordStatus::Failed) => {
            if record.attempt == 0 {
                add(Measure::ErrorActions);
            }
        }
    }
    if (record.step, record.attempt) == (0, 0) {
        let lateness = record.started_at.duration_since(record.nominal_at).max(SignedDuration::ZERO);
        if lateness > LATE_AFTER {
            add(Measure::Late);
        }
        let micros = i64::try_from(lateness.as_micros()).unwrap_or(i64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        counts.push(Count { lateness, ..one(record.nominal_at, Measure::ALL.len() + bucket) });
    }
}

fn one(at: Timestamp, place: usize) -> Count {
    Count { minute_at: floor(at, MINUTE), place, amount: 1, lateness: SignedDuration::ZERO }
}

/// The beginning of the stretch that an instant is in, where stretches of this length follow one another from 1970 on.
pub fn floor(at: Timestamp, step: SignedDuration) -> Timestamp {
    let second = at.as_nanosecond().div_euclid(step.as_nanos().max(1)) * step.as_nanos();
    Timestamp::from_nanosecond(second).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, JobId};

    fn at(millisecond: i64) -> Timestamp {
        Timestamp::from_millisecond(millisecond).unwrap()
    }

    fn record(step: u8, attempt: u32, status: RecordStatus, late_ms: i64) -> Record {
        Record {
            job: JobId(1),
            generation: 1,
            nominal_at: at(90_000),
            cause: Cause::Schedule,
            step,
            attempt,
            ordinal: 1,
            started_at: at(90_000 + late_ms),
            ended_at: at(100_000),
            status,
            message: String::new(),
        }
    }

    fn total(records: &[Record], skips: &[Skip], next: Option<Entry>) -> Statistics {
        let mut total = Statistics::default();
        for count in counts(records, skips, next) {
            assert_eq!(count.minute_at, at(60_000));
            total.count(&count);
        }
        total
    }

    #[test]
    fn an_occurrence_is_counted_once_whatever_it_took() {
        use RecordStatus::{Completed, Failed, Postponed};
        let retry = Entry { attempt: 1, ordinal: 1, ..Entry::scheduled(at(90_000)) };
        let check = |record: Record, next: Option<Entry>, expected: &[(Measure, u64)]| {
            let total = total(&[record], &[], next);
            for measure in Measure::ALL {
                let expected =
                    expected.iter().find(|(one, _)| *one == measure).map_or(0, |(_, count)| *count);
                assert_eq!(total.get(measure), expected, "{measure:?}");
            }
        };
        check(record(0, 0, Completed, 0), None, &[(Measure::Succeeded, 1)]);
        check(record(0, 0, Completed, 1_001), None, &[(Measure::Succeeded, 1), (Measure::Late, 1)]);
        check(record(0, 2, Completed, 5_000), None, &[(Measure::Retried, 1)]);
        check(record(0, 0, Failed, 0), Some(retry), &[(Measure::FailedAttempts, 1)]);
        check(record(0, 1, Failed, 0), Some(retry), &[(Measure::FailedAttempts, 1), (Measure::Failed, 1)]);
        check(record(1, 0, Completed, 0), None, &[(Measure::ErrorActions, 1)]);
        check(record(1, 1, Completed, 0), None, &[]);
        check(record(0, 0, Postponed, 0), None, &[]);
        let skip = Skip {
            job: JobId(1),
            generation: 1,
            first_at: at(10_000),
            last_at: at(61_000),
            count: 7,
            reason: SkipReason::Missed,
            decided_at: at(99_000),
        };
        assert_eq!(total(&[], &[skip], None).get(Measure::SkippedMissed), 7);
    }

    #[test]
    fn quantiles_of_lateness_are_within_a_bucket_of_the_truth() {
        let mut sum = Statistics::default();
        let mut times: Vec<i64> = (1..=1_000).map(|number| number * number % 997).collect();
        for late_ms in &times {
            sum.add(&total(&[record(0, 0, RecordStatus::Completed, *late_ms)], &[], None));
        }
        times.sort_unstable();
        for (share, rank) in [(0.5, 499), (0.9, 899), (0.99, 989)] {
            let (told, truth) = (sum.lateness(share).unwrap().as_secs_f64() * 1e3, times[rank] as f64);
            assert!((truth / 1.6..=truth * 1.6).contains(&told), "{share}: {told} for {truth}");
        }
        assert_eq!(sum.lateness(1.0), Some(SignedDuration::from_millis(*times.last().unwrap())));
        assert_eq!(Statistics::default().lateness(0.5), None);
        let hour = total(&[record(0, 0, RecordStatus::Completed, 3_600_000)], &[], None);
        assert_eq!(hour.lateness(1.0), Some(SignedDuration::from_hours(1)));
        // Later than the last bound: between that and the greatest.
        let last = SignedDuration::from_micros(BOUNDS[BOUNDS.len() - 1]);
        let half = hour.lateness(0.5).unwrap();
        assert!((last..=SignedDuration::from_hours(1)).contains(&half), "{half:?}");
    }

    #[test]
    fn stretches_follow_one_another_before_1970_too() {
        assert_eq!(floor(at(-1), MINUTE), at(-60_000));
        assert_eq!(floor(at(60_000), MINUTE), at(60_000));
        assert_eq!(floor(at(59_999), MINUTE), at(0));
    }
}
