//! What `check` refuses and what it accepts (contract 7, 17.2), and what the lenient readers of
//! instants and spans take (contract 5.5, 5.6).

use Frequency::{Day, Hour, Minute, Month, Week, Year};
use Weekday::{Friday, Monday, Sunday};
use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Weekday, parse_instant, parse_span};

#[test]
fn interval_reaches_about_18_months() {
    for (frequency, max) in [(Minute, 1000), (Hour, 1000), (Day, 548), (Week, 78), (Month, 18), (Year, 1000)]
    {
        for interval in [1, 2, max] {
            accepts(&Rule::every(interval, frequency));
        }
        for interval in [0, -1, max + 1, i64::MIN, i64::MAX] {
            refuses(&Rule::every(interval, frequency), &["interval"]);
        }
        accepts(&Rule { interval: None, ..Rule::every(1, frequency) });
    }
}

#[test]
fn count_is_1_to_2147483647() {
    let counted = |count| Rule { count: Some(count), ..Rule::every(1, Day) };
    for count in [1, 2, 10_000, i64::from(i32::MAX)] {
        accepts(&counted(count));
    }
    for count in [0, -1, i64::from(i32::MAX) + 1, i64::MIN, i64::MAX] {
        refuses(&counted(count), &["count"]);
    }
}

#[test]
fn an_end_in_the_past_is_accepted() {
    accepts(&Rule { end_at: Some(Timestamp::MIN), ..Rule::every(1, Day) });
}

#[test]
fn count_and_end_go_together() {
    accepts(&Rule { count: Some(3), end_at: Some(Timestamp::UNIX_EPOCH), ..Rule::every(1, Day) });
}

#[test]
fn minutes_are_0_to_59() {
    for frequency in Frequency::ALL {
        accepts(&scheduled(frequency, |schedule| schedule.minutes = vec![0, 59]));
        for minute in [-1, 60, i64::MIN, i64::MAX] {
            refuses(
                &scheduled(frequency, |schedule| schedule.minutes = vec![0, minute]),
                &["schedule.minutes[1]"],
            );
        }
    }
}

#[test]
fn hours_are_0_to_24() {
    for frequency in Frequency::ALL {
        accepts(&scheduled(frequency, |schedule| schedule.hours = vec![0, 23, 24]));
        for hour in [-1, 25, i64::MIN, i64::MAX] {
            refuses(&scheduled(frequency, |schedule| schedule.hours = vec![hour, 0]), &["schedule.hours[0]"]);
        }
    }
}

#[test]
fn months_are_1_to_12() {
    for frequency in Frequency::ALL {
        accepts(&scheduled(frequency, |schedule| schedule.months = vec![1, 12]));
        for month in [-1, 0, 13, i64::MIN, i64::MAX] {
            refuses(&scheduled(frequency, |schedule| schedule.months = vec![month]), &["schedule.months[0]"]);
        }
    }
}

#[test]
fn month_days_are_1_to_31_from_either_end() {
    for frequency in [Month, Year] {
        accepts(&scheduled(frequency, |schedule| schedule.month_days = vec![1, 31, -1, -31]));
        for day in [0, 32, -32, i64::MIN, i64::MAX] {
            refuses(
                &scheduled(frequency, |schedule| schedule.month_days = vec![1, -1, day]),
                &["schedule.monthDays[2]"],
            );
        }
    }
}

#[test]
fn occurrences_are_1_to_5_from_either_end_or_absent() {
    let with = |frequency, occurrence| {
        scheduled(frequency, |schedule| {
            schedule.monthly_occurrences = vec![MonthlyOccurrence { day: Friday, occurrence }];
        })
    };
    for frequency in [Month, Year] {
        for occurrence in [None, Some(1), Some(5), Some(-1), Some(-5)] {
            accepts(&with(frequency, occurrence));
        }
        for occurrence in [0, 6, -6, i64::MIN, i64::MAX] {
            refuses(&with(frequency, Some(occurrence)), &["schedule.monthlyOccurrences[0].occurrence"]);
        }
    }
}

#[test]
fn week_days_need_frequency_week() {
    for frequency in Frequency::ALL {
        let rule = scheduled(frequency, |schedule| schedule.week_days = vec![Monday, Sunday]);
        if frequency == Week {
            accepts(&rule);
        } else {
            refuses(&rule, &["schedule.weekDays"]);
        }
    }
}

#[test]
fn days_of_the_month_need_frequency_month_or_year() {
    for frequency in Frequency::ALL {
        let month_days = scheduled(frequency, |schedule| schedule.month_days = vec![1]);
        let occurrences = scheduled(frequency, |schedule| {
            schedule.monthly_occurrences = vec![MonthlyOccurrence { day: Monday, occurrence: Some(1) }];
        });
        if matches!(frequency, Month | Year) {
            accepts(&month_days);
            accepts(&occurrences);
        } else {
            refuses(&month_days, &["schedule.monthDays"]);
            refuses(&occurrences, &["schedule.monthlyOccurrences"]);
        }
    }
}

#[test]
fn misplaced_days_are_refused_in_the_known_words() {
    let weekly = scheduled(Week, |schedule| schedule.month_days = vec![1]);
    let problems = weekly.check().unwrap_err();
    assert_eq!(problems[0].message, "Cannot set days of month with recurrence unit 'Week'.");
}

#[test]
fn month_days_and_monthly_occurrences_go_together() {
    accepts(&scheduled(Month, |schedule| {
        schedule.month_days = vec![1];
        schedule.monthly_occurrences = vec![MonthlyOccurrence { day: Monday, occurrence: None }];
    }));
}

#[test]
fn an_empty_schedule_and_empty_lists_are_none() {
    for frequency in Frequency::ALL {
        accepts(&scheduled(frequency, |_| ()));
    }
}

#[test]
fn duplicates_are_accepted() {
    accepts(&scheduled(Week, |schedule| {
        schedule.hours = vec![0, 24, 0];
        schedule.minutes = vec![5; 100];
        schedule.week_days = vec![Monday; 8];
    }));
}

#[test]
fn the_time_zone_has_a_name_of_the_iana_database() {
    let zoned = |name: &str| Rule { time_zone: Some(name.to_owned()), ..Rule::every(1, Day) };
    for name in ["UTC", "Europe/Berlin", "America/Argentina/ComodRivadavia", "Pacific/Apia"] {
        accepts(&zoned(name));
    }
    for name in ["", "Mars/Olympus_Mons", "Europe/Berlin ", "+01:00", "../../etc/passwd"] {
        refuses(&zoned(name), &["timeZone"]);
    }
}

#[test]
fn second_is_no_frequency() {
    assert!("Second".parse::<Frequency>().is_err());
}

#[test]
fn every_problem_is_reported_at_once_with_its_path() {
    let rule = Rule {
        frequency: Day,
        interval: Some(549),
        count: Some(0),
        end_at: None,
        schedule: Some(Schedule {
            minutes: vec![60, 0, -1],
            hours: vec![5, 25],
            week_days: vec![Monday],
            month_days: vec![1],
            monthly_occurrences: vec![MonthlyOccurrence { day: Friday, occurrence: Some(1) }],
            months: vec![13],
        }),
        time_zone: Some("Nowhere".to_owned()),
    };
    refuses(
        &rule,
        &[
            "interval",
            "count",
            "schedule.minutes[0]",
            "schedule.minutes[2]",
            "schedule.hours[1]",
            "schedule.weekDays",
            "schedule.monthDays",
            "schedule.monthlyOccurrences",
            "schedule.months[0]",
            "timeZone",
        ],
    );
}

#[test]
fn a_problem_says_what_is_wrong() {
    for problem in Rule::every(79, Week).check().unwrap_err() {
        assert_eq!(problem.to_string(), "interval: must be from 1 to 78 with frequency week, not 79");
    }
}

#[test]
fn instants_are_read_leniently() {
    let check = |text: &str, expected: &str| {
        assert_eq!(parse_instant(text).ok(), Some(expected.parse::<Timestamp>().unwrap()), "{text:?}");
    };
    check("2012-08-04T00:00:00Z", "2012-08-04T00:00:00Z");
    check("2012-08-04T00:00Z", "2012-08-04T00:00:00Z");
    check("2020-04-10T17:11:03+12:45", "2020-04-10T04:26:03Z");
    check("2012-08-04t00:00:00z", "2012-08-04T00:00:00Z");
    // Without an offset: UTC. A date alone: its first moment.
    check("2015-07-01T00:01:01.450666", "2015-07-01T00:01:01.450666Z");
    check("2012-11-04", "2012-11-04T00:00:00Z");
    check("2012-11-04T10:30", "2012-11-04T10:30:00Z");
    // Ticks of 100 ns are kept, more digits are rounded to them.
    check("2016-07-22T22:24:16.6617338Z", "2016-07-22T22:24:16.6617338Z");
    check("2016-07-22T22:24:16.66173381Z", "2016-07-22T22:24:16.6617338Z");
    check("2016-07-22T22:24:16.66173389Z", "2016-07-22T22:24:16.6617339Z");
    check("2016-07-22T22:24:16.9049999999999999Z", "2016-07-22T22:24:16.905Z");
    check("2016-12-31T23:59:59.99999999Z", "2017-01-01T00:00:00Z");
    check("1960-07-22T22:24:16.66173389Z", "1960-07-22T22:24:16.6617339Z");
    // What clients and people write besides.
    check("2012-08-04T00:00:00Z  ", "2012-08-04T00:00:00Z");
    check("2012-08-04T24:00:00Z", "2012-08-05T00:00:00Z");
    check("2012-12-31T24:00:00Z", "2013-01-01T00:00:00Z");
    check("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z");
    check("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z");
}

#[test]
fn the_greatest_dotnet_date_means_as_late_as_can_be() {
    let year_9999: Timestamp = "9999-12-30T22:00:00Z".parse().unwrap();
    for text in
        ["9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999", "9999-12-31T23:59:59Z", "9999-12-31"]
    {
        assert!(parse_instant(text).is_ok_and(|at| at >= year_9999), "{text:?}");
    }
}

#[test]
fn what_is_no_instant_is_refused() {
    for text in [
        "",
        " ",
        "tomorrow",
        "2012",
        "2012-13-01",
        "2012-02-30",
        "2012-02-30T00:00:00Z",
        "12:00",
        "2012-08-04T25:00:00Z",
        "2012-08-04T23:59:59.97.11Z",
        "2012-08-04T23:59:59.97,11Z",
        "2012-08-04T24:00:01Z",
        "2012-08-04T23:60:00Z",
        "2012-08-04T00:00:00Z and more",
        "1344038400",
        "T24:00:00Z",
    ] {
        assert!(parse_instant(text).is_err(), "{text:?}");
    }
}

#[test]
fn spans_are_read_in_both_forms() {
    let check = |text: &str, seconds: i64| {
        assert_eq!(parse_span(text).ok(), Some(SignedDuration::from_secs(seconds)), "{text:?}");
    };
    check("00:00:15", 15);
    check("00:00:30", 30);
    check("00:01:00", 60);
    check("23:59:59", 86_399);
    check("1.00:00:00", 86_400);
    check("30.00:00:00", 30 * 86_400);
    check("60.00:00:00", 60 * 86_400);
    check("1.02:03:04", 93_784);
    check("PT30S", 30);
    check("PT1M", 60);
    check("PT1H30M", 5400);
    check("P1D", 86_400);
    check("P1DT12H", 129_600);
    check("PT1D", 86_400);
    check("P30D", 30 * 86_400);
}

#[test]
fn what_is_no_span_is_refused() {
    for text in [
        "",
        " ",
        "soon",
        "P",
        "PT",
        "-PT5S",
        "-P1D",
        "-00:00:30",
        "-1.00:00:00",
        "1.-2:00:00",
        "00:60:00",
        "00:00:60",
    ] {
        assert!(parse_span(text).is_err(), "{text:?}");
    }
}

/// A rule with a schedule, into which the one thing that matters is written.
fn scheduled(frequency: Frequency, write: impl FnOnce(&mut Schedule)) -> Rule {
    let mut schedule = Schedule::default();
    write(&mut schedule);
    Rule { schedule: Some(schedule), ..Rule::every(1, frequency) }
}

#[track_caller]
fn accepts(rule: &Rule) {
    assert!(rule.check().is_ok(), "{rule:?}: {:?}", rule.check().err());
}

/// In any order, because a reader looks for paths; but each once and no other.
#[track_caller]
fn refuses(rule: &Rule, paths: &[&str]) {
    let problems = rule.check().err().unwrap_or_default();
    let mut found: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
    let mut expected = paths.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{rule:?}");
    assert!(problems.iter().all(|problem| !problem.message.is_empty()), "{problems:?}");
}
