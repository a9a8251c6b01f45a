//! A set of months, and the spans of days that it covers.

use crate::calendar::{date_of, day_number};
use crate::steps::step;

/// Months of the year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Months(u16);

impl Months {
    pub(super) const ALL: Self = Self(0b1_1111_1111_1110);

    /// Bit 1 to 12.
    pub(super) fn new(bits: u16) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u16 {
        self.0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn contains(self, month: u8) -> bool {
        self.0 & (1 << month) != 0
    }

    /// The months for which `fits` is true.
    pub(super) fn filter(self, fits: impl Fn(u8) -> bool) -> Self {
        Self(
            (1..=12)
                .filter(|&month| self.contains(month) && fits(month))
                .fold(0, |bits, month| bits | 1 << month),
        )
    }

    /// The first month of the set at or after a month of the same year.
    pub(super) fn at_or_after(self, month: u8) -> Option<u8> {
        (month..=12).find(|&month| self.contains(month))
    }

    /// The first day at or after `day` that is in a month of the set; none if the set is empty.
    pub(super) fn open_from(self, day: i64) -> Option<i64> {
        let (year, month, _) = date_of(day);
        if self.contains(month) {
            return Some(day);
        }
        match self.at_or_after(month) {
            Some(later) => Some(day_number(year, later, 1)),
            None => self.at_or_after(1).map(|first| day_number(year + 1, first, 1)),
        }
    }

    /// The spans of days in `from..until` that are in months of the set.
    pub(super) fn spans(self, from: i64, until: i64) -> impl Iterator<Item = (i64, i64)> {
        let others = Self(!self.0 & Self::ALL.0);
        let mut next = from;
        std::iter::from_fn(move || {
            step();
            let begin = self.open_from(next).filter(|&begin| begin < until)?;
            next = others.open_from(begin).map_or(until, |end| end.min(until));
            Some((begin, next))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_hold_the_days_of_the_months_and_no_other() {
        let (from, until) = (day_number(2023, 11, 17), day_number(2026, 3, 2));
        for bits in [0, 1 << 2, 0b111 << 1 | 1 << 12, 1 << 3 | 1 << 11, Months::ALL.bits()] {
            let months = Months::new(bits);
            let listed: Vec<i64> = (from..until).filter(|&day| months.contains(date_of(day).1)).collect();
            let spans: Vec<i64> = months.spans(from, until).flat_map(|(begin, end)| begin..end).collect();
            assert_eq!(spans, listed, "{bits:b}");
        }
        assert_eq!(Months::ALL.spans(from, until).count(), 1);
    }
}
