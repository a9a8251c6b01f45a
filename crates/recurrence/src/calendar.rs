//! Dates as day numbers.
//!
//! The time library has civil dates, but a search over months and weeks wants plain integers: day 0 is
//! 1 January 1970, and everything else is arithmetic. The formulas are the well-known ones for the
//! proleptic Gregorian calendar, with years that begin in March so that the leap day comes last.

pub(crate) const DAY_SECONDS: i64 = 86_400;
pub(crate) const DAY_MINUTES: i64 = 1_440;

/// The calendar repeats after this many days: 400 years, which are whole weeks.
pub(crate) const CALENDAR_DAYS: i64 = 146_097;

/// The last day of the year 9999, where every search ends.
pub(crate) const DAY_MAX: i64 = 2_932_896;

/// The day number of a date.
pub(crate) fn day_number(year: i64, month: u8, day: u8) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of month of a day number.
pub(crate) fn date_of(day: i64) -> (i64, u8, u8) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let day_of_era = day.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, narrow(month), narrow(day_of_month))
}

/// How many days a month has.
pub(crate) fn month_length(year: i64, month: u8) -> u8 {
    match month {
        2 if leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since Monday.
pub(crate) fn weekday_index(day: i64) -> u8 {
    narrow((day + 3).rem_euclid(7))
}

/// The number of the week, which begins on Monday.
pub(crate) fn week_number(day: i64) -> i64 {
    (day + 3).div_euclid(7)
}

/// The Monday of a week.
pub(crate) fn week_begin(week: i64) -> i64 {
    week * 7 - 3
}

fn leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn narrow(small: i64) -> u8 {
    u8::try_from(small).expect("months, days of month and weekdays fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_numbers_and_dates_are_inverse_and_agree_with_the_time_library() {
        let epoch = jiff::civil::date(1970, 1, 1);
        for day in (-4_000_000..DAY_MAX).step_by(97) {
            let (year, month, day_of_month) = date_of(day);
            assert_eq!(day_number(year, month, day_of_month), day);
            assert!(day_of_month <= month_length(year, month));
            let narrow_month = i8::try_from(month).unwrap();
            let narrow_day = i8::try_from(day_of_month).unwrap();
            let date = jiff::civil::date(i16::try_from(year).unwrap(), narrow_month, narrow_day);
            let days = epoch.until(date).unwrap().get_days();
            assert_eq!(i64::from(days), day);
            assert_eq!(date.weekday().to_monday_zero_offset(), i8::try_from(weekday_index(day)).unwrap());
            assert_eq!(date.days_in_month(), i8::try_from(month_length(year, month)).unwrap());
        }
    }

    #[test]
    fn the_last_day_is_the_end_of_9999() {
        assert_eq!(date_of(DAY_MAX), (9999, 12, 31));
    }

    #[test]
    fn weeks_begin_on_monday() {
        let day = day_number(2026, 11, 15);
        assert_eq!(weekday_index(day), 6);
        assert_eq!(week_begin(week_number(day)), day_number(2026, 11, 9));
    }
}
