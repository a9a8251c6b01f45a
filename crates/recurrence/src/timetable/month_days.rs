//! Which days of a month a rule chooses.

use crate::calendar::{day_number, month_length, weekday_index};
use crate::check::Choice;

/// Days within a month.
#[derive(Clone, Debug)]
pub(super) enum MonthDays {
    /// The anchor's day of month, or the last day of a shorter month.
    Anchor(u8),
    Chosen(Choice),
}

impl MonthDays {
    /// The chosen days of a month, as bits 1 to 31.
    pub(super) fn of(&self, year: i64, month: u8) -> u32 {
        let length = month_length(year, month);
        match self {
            Self::Anchor(day) => 1 << (*day).min(length),
            Self::Chosen(choice) => {
                let first_weekday = weekday_index(day_number(year, month, 1));
                chosen_days(choice, length, first_weekday)
            }
        }
    }

    /// Whether a month can have a chosen day in any year.
    pub(super) fn possible_in(&self, month: u8) -> bool {
        let Self::Chosen(choice) = self else { return true };
        let lengths = if month == 2 { 28..=29 } else { month_length(1, month)..=month_length(1, month) };
        lengths
            .flat_map(|length| (0..7).map(move |weekday| (length, weekday)))
            .any(|(length, weekday)| chosen_days(choice, length, weekday) != 0)
    }
}

/// The chosen days, as bits 1 to 31, of a month with this length and this weekday as its first day.
fn chosen_days(choice: &Choice, length: u8, first_weekday: u8) -> u32 {
    let mut days = choice.days_from_begin;
    let mut from_end = choice.days_from_end;
    while from_end != 0 {
        let back = from_end.trailing_zeros();
        from_end &= from_end - 1;
        if let Some(day) = (u32::from(length) + 1).checked_sub(back) {
            days |= 1 << day;
        }
    }
    for weekday in 0..7 {
        let begin = choice.weekdays_from_begin[usize::from(weekday)];
        let end = choice.weekdays_from_end[usize::from(weekday)];
        if begin | end == 0 {
            continue;
        }
        let first = 1 + (weekday + 7 - first_weekday) % 7;
        let count = (length - first) / 7 + 1;
        for nth in 1..=count {
            if begin & (1 << nth) != 0 || end & (1 << (count + 1 - nth)) != 0 {
                days |= 1 << (first + 7 * (nth - 1));
            }
        }
    }
    // Bit 0 is no day, and bits beyond the month's length are days that it lacks.
    days & !1 & (u32::MAX >> (31 - length))
}
