//! Every row of the documentation's tables of schedules, so that the list of tests reads like it.
//!
//! Each row is a line of `vectors/documented_schedules.jsonl`; unless a row says otherwise its anchor is a
//! Tuesday, the 10th, at 12:25.

use crate::case::{Case, DOCUMENTED};
use crate::timetable;

macro_rules! rows {
    ($($row:literal $name:ident $meaning:literal)*) => {
        $(#[test]
        fn $name() {
            check($row, $meaning);
        })*

        const ROWS: &[usize] = &[$($row),*];
    };
}

rows! {
     1 day_with_hours_runs_at_the_anchors_minute "every day at 05:mm, mm the anchor's minute"
     2 day_with_an_hour_and_a_minute_runs_once_a_day "every day at 05:15"
     3 day_with_two_hours_runs_twice_a_day "every day at 05:15 and 17:15"
     4 day_with_hours_and_minutes_runs_at_each_pair "every day at 05:15, 05:45, 17:15, 17:45"
     5 day_with_quarters_runs_every_15_minutes "every 15 minutes"
     6 day_with_all_hours_runs_hourly_at_the_anchors_minute "every hour at the anchor's minute"
     7 week_with_all_hours_runs_on_the_anchors_weekday "every hour of one day a week, the anchor's weekday"
     8 month_with_all_hours_runs_on_the_anchors_day "every hour of one day a month, the anchor's day"
     9 day_with_minute_0_runs_every_hour "every hour on the hour"
    10 week_with_minute_0_runs_every_hour_of_one_day "every hour on the hour of one day a week"
    11 month_with_minute_0_runs_every_hour_of_one_day "every hour on the hour of one day a month"
    12 day_with_minute_15_runs_every_hour_at_quarter_past "every hour at quarter past"
    13 a_weekday_with_an_hour_runs_at_the_anchors_minute "Saturdays at 17:mm"
    14 three_weekdays_with_an_hour_run_at_the_anchors_minute "Mondays, Wednesdays, Fridays at 17:mm"
    15 three_weekdays_with_an_hour_and_two_minutes "Mondays, Wednesdays, Fridays at 17:15 and 17:45"
    16 three_weekdays_with_two_hours "Mondays, Wednesdays, Fridays at 05:mm and 17:mm"
    17 three_weekdays_with_hours_and_minutes "Mondays, Wednesdays, Fridays at 05:15, 05:45, 17:15, 17:45"
    18 five_weekdays_with_quarters_run_around_the_clock "every 15 minutes on weekdays"
    19 five_weekdays_with_quarters_in_office_hours "every 15 minutes from 09:00 to 16:45 on weekdays"
    20 a_weekday_alone_runs_at_the_anchors_time "Sundays at the anchor's time"
    21 two_weekdays_alone_run_at_the_anchors_time "Tuesdays and Thursdays at the anchor's time"
    22 a_month_day_with_a_time "the 28th of each month at 06:00"
    23 month_day_minus_1_is_the_last_day "the last day of each month at 06:00"
    24 month_days_1_and_minus_1_are_the_first_and_the_last "the first and the last day of each month at 06:00"
    25 month_days_alone_run_at_the_anchors_time "the first and the last day of each month at the anchor's time"
    26 two_month_days_alone "the 1st and the 14th at the anchor's time"
    27 one_month_day_alone "the 2nd at the anchor's time"
    28 month_day_31_skips_shorter_months "the 31st, so only months that have one"
    29 the_first_friday_with_a_time "the first Friday of each month at 05:00"
    30 the_first_friday_alone_runs_at_the_anchors_time "the first Friday at the anchor's time"
    31 occurrence_minus_3_counts_from_the_end "the third Friday from the end at the anchor's time"
    32 the_first_and_the_last_friday_with_a_time "the first and the last Friday at 05:15"
    33 the_first_and_the_last_friday_alone "the first and the last Friday at the anchor's time"
    34 the_fifth_friday_skips_months_without_one "the fifth Friday, so only months that have one"
    35 the_last_friday_with_quarters_runs_around_the_clock "every 15 minutes of the last Friday"
    36 the_third_wednesday_with_hours_and_minutes "the third Wednesday at 05:15, 05:45, 17:15, 17:45"
    37 a_weekday_without_occurrence_is_each_one_of_the_month "every Sunday of each month at the anchor's time"
    38 a_grid_from_yesterday_skips_what_is_past "every two days from a past start: the first one in the future"
    39 a_grid_from_three_days_ago_skips_what_is_past "every two days from a past start: the first one in the future"
    40 a_grid_from_a_week_ago_skips_what_is_past "every two days from a past start: the first one in the future"
    41 count_7_ends_a_daily_job_after_a_week "daily, seven times from a Monday: ends on the Sunday"
    42 no_start_time_runs_at_once_and_then_every_interval "every ten weeks, first at once"
}

#[test]
fn every_row_is_a_test() {
    let rows: Vec<usize> = (1..=DOCUMENTED.lines().count()).collect();
    assert_eq!(ROWS, rows);
}

fn check(row: usize, meaning: &str) {
    let case = Case::read(DOCUMENTED.lines().nth(row - 1).unwrap());
    assert_eq!(case.meaning, meaning);
    let due: Vec<_> = timetable(&case.rule, case.start).occurrences().take(case.count).collect();
    assert_eq!(due, case.occurrences, "{meaning}");
}
