//! How blocks on a grid coincide with chosen times of day, while the clocks don't change.
//!
//! Blocks every 7 minutes coincide with the times of a day in the same way again after 7 days. One such cycle
//! is counted block by block; after that counting hits and finding the next one is arithmetic.

use super::times::Times;
use crate::calendar::DAY_MINUTES;
use crate::steps;

/// Minutes of wall time that are in a block and at a chosen time of day.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    /// The first minute of the first block.
    begin: i64,
    /// The distance between the starts of two blocks, in minutes.
    step: i64,
    /// The length of a block, in minutes: at most an hour.
    length: i64,
    times: Times,
    /// The number of hits before each block of the cycle; the last element is the number of all hits.
    hits_before: Vec<i64>,
}

impl Cycle {
    /// Counts through one cycle, which has at most as many blocks as a day has minutes.
    pub(super) fn new(begin: i64, step: i64, length: i64, times: Times) -> Self {
        let block_count = DAY_MINUTES / greatest_common_divisor(step, DAY_MINUTES);
        let mut cycle = Self { begin, step, length, times, hits_before: vec![0] };
        let mut hits = 0;
        for block in 0..block_count {
            steps::step();
            hits += cycle.hits_in_block(block, length);
            cycle.hits_before.push(hits);
        }
        cycle
    }

    /// Whether there is never a hit.
    pub(super) fn is_empty(&self) -> bool {
        self.hits() == 0
    }

    /// Counts the hits before a minute.
    pub(super) fn count_before(&self, minute: i64) -> i64 {
        let elapsed = (minute - self.begin).max(0);
        let (block, rest) = (elapsed / self.step, elapsed % self.step);
        let (cycle, block_of_cycle) = (block / self.block_count(), block % self.block_count());
        let before = self.hits_before[usize::try_from(block_of_cycle).expect("a remainder")];
        cycle * self.hits() + before + self.hits_in_block(block, rest.min(self.length))
    }

    /// The first hit at or after a minute.
    pub(super) fn at_or_after(&self, minute: i64) -> Option<i64> {
        if self.is_empty() {
            return None;
        }
        let before = self.count_before(minute);
        let (cycle, rest) = (before / self.hits(), before % self.hits());
        // The block that has the hit with this number.
        let block = self.hits_before.partition_point(|&hits| hits <= rest) - 1;
        let block = cycle * self.block_count() + i64::try_from(block).expect("a block of a day");
        let from = minute.max(self.begin + block * self.step);
        let (day, minute_of_day) = (from.div_euclid(DAY_MINUTES), from.rem_euclid(DAY_MINUTES));
        match self.times.at_or_after(minute_of_day) {
            Some(found) => Some(day * DAY_MINUTES + found),
            // The block continues after midnight.
            None => self.times.at_or_after(0).map(|found| (day + 1) * DAY_MINUTES + found),
        }
    }

    fn hits(&self) -> i64 {
        self.hits_before.last().copied().unwrap_or(0)
    }

    fn block_count(&self) -> i64 {
        i64::try_from(self.hits_before.len() - 1).expect("as many as a day has minutes")
    }

    /// Counts the hits in the first `length` minutes of a block.
    fn hits_in_block(&self, block: i64, length: i64) -> i64 {
        self.times.count_from((self.begin + block * self.step).rem_euclid(DAY_MINUTES), length)
    }
}

pub(super) fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::super::times::{ALL_HOURS, ALL_MINUTES};
    use super::*;

    #[test]
    fn a_cycle_agrees_with_looking_at_every_minute() {
        let dense = Times::new(ALL_HOURS, ALL_MINUTES);
        let sparse = Times::new(1 << 9 | 1 << 23, 1 << 15 | 1 << 58);
        let never = Times::new(1 << 3, 1 << 1);
        for (begin, step, length, times) in [
            (-77, 1, 1, sparse),
            (1_234_567, 7, 1, sparse),
            (40, 60, 60, dense),
            (-100_000, 1000, 1, sparse),
            (17, 997, 1, dense),
            (50, 37 * 60, 60, sparse),
            (30, 1440, 60, Times::new(0b10, ALL_MINUTES)),
            (0, 1440, 60, never),
        ] {
            let cycle = Cycle::new(begin, step, length, times);
            let hit = |minute: i64| {
                let chosen = times.at_or_after(minute.rem_euclid(DAY_MINUTES));
                minute >= begin
                    && (minute - begin) % step < length
                    && chosen == Some(minute.rem_euclid(DAY_MINUTES))
            };
            let mut before = 0;
            let mut asked = begin - 100;
            for minute in begin - 100..begin + 100_000 {
                if minute % 13 == 0 {
                    assert_eq!(cycle.count_before(minute), before, "{step} {minute}");
                }
                if hit(minute) {
                    before += 1;
                    assert_eq!(cycle.at_or_after(asked), Some(minute), "{step} {asked}");
                    assert_eq!(cycle.at_or_after(minute), Some(minute), "{step} {minute}");
                    asked = minute + 1;
                }
            }
            assert_eq!(cycle.is_empty(), before == 0);
        }
    }
}
