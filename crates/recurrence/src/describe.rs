//! A rule in plain English.

use jiff::Timestamp;

use crate::calendar::{DAY_SECONDS, date_of, weekday_index};
use crate::check::Choice;
use crate::{CheckedRule, Frequency, Start, Weekday};

/// Up to this many times of day are listed one by one; more are described as a pattern.
const TIMES_LISTED_MAX: usize = 8;

pub(crate) fn describe(rule: Option<&CheckedRule>, start: Start) -> String {
    let Some(rule) = rule else {
        return match start.start_at {
            Some(start_at) if start_at > start.put_at => format!("once, at {} UTC", moment(start_at)),
            Some(_) | None => "once, at once".into(),
        };
    };
    let anchor = WallAnchor::new(rule, start.anchor_at());
    let zone = rule.zone_name.as_deref().unwrap_or("UTC");
    let mut text = match &rule.choice {
        None => grid(rule, &anchor, zone),
        Some(choice) => scheduled(rule, choice, &anchor, zone),
    };
    if start.start_at.is_none() {
        text += "; the first time at once";
    }
    match rule.count {
        None => {}
        Some(1) => text += "; once",
        Some(2) => text += "; twice",
        Some(count) => text += &format!("; {count} times"),
    }
    if let Some(end_at) = rule.end_at {
        text += &format!("; until {} UTC", moment(end_at));
    }
    text
}

/// The anchor on the wall clock, split into the parts that a rule may take from it.
struct WallAnchor {
    hour: i64,
    minute: i64,
    second: i64,
    weekday: Weekday,
    day_of_month: u8,
    month: u8,
    year: i64,
}

impl WallAnchor {
    fn new(rule: &CheckedRule, at: Timestamp) -> Self {
        let local = at.as_second() + rule.zone.offset_at(at.as_second());
        let second_of_day = local.rem_euclid(DAY_SECONDS);
        let day = local.div_euclid(DAY_SECONDS);
        let (year, month, day_of_month) = date_of(day);
        Self {
            hour: second_of_day / 3_600,
            minute: second_of_day / 60 % 60,
            second: second_of_day % 60,
            weekday: Weekday::ALL[usize::from(weekday_index(day))],
            day_of_month,
            month,
            year,
        }
    }

    fn time(&self) -> String {
        match self.second {
            0 => format!("{:02}:{:02}", self.hour, self.minute),
            second => format!("{:02}:{:02}:{second:02}", self.hour, self.minute),
        }
    }
}

fn grid(rule: &CheckedRule, anchor: &WallAnchor, zone: &str) -> String {
    let every = every(rule.interval, rule.frequency);
    let time = anchor.time();
    let month_day = match anchor.day_of_month {
        day @ 29.. => format!("the {} (or the last day of a shorter month)", ordinal(day.into())),
        day => format!("the {}", ordinal(day.into())),
    };
    match rule.frequency {
        Frequency::Minute | Frequency::Hour => format!("{every}, counted from {time} {zone}"),
        Frequency::Day => format!("{every} at {time} {zone}"),
        Frequency::Week => format!("{every} on {}, at {time} {zone}", anchor.weekday.name()),
        Frequency::Month => format!("{every} on {month_day}, at {time} {zone}"),
        Frequency::Year => {
            format!("{every} on {month_day} of {}, at {time} {zone}", month_name(anchor.month))
        }
    }
}

fn scheduled(rule: &CheckedRule, choice: &Choice, anchor: &WallAnchor, zone: &str) -> String {
    let mut text = every(rule.interval, rule.frequency);
    let months = choice.months.map(month_names);
    match rule.frequency {
        Frequency::Minute | Frequency::Hour => {
            text += &restriction(rule.frequency, choice, anchor);
            if let Some(months) = months {
                text += &format!(" in {months}");
            }
            return format!("{text} {zone}");
        }
        Frequency::Day => {}
        Frequency::Week => text += &format!(" on {}", week_days(choice, anchor)),
        Frequency::Month | Frequency::Year => text += &format!(" on {}", month_days(choice, anchor)),
    }
    match (months, rule.frequency) {
        (Some(months), Frequency::Year) => text += &format!(" of {months}"),
        (None, Frequency::Year) => text += &format!(" of {}", month_name(anchor.month)),
        (Some(months), _) => text += &format!(" in {months}"),
        (None, _) => {}
    }
    format!("{text}, {} {zone}", times(choice, anchor))
}

/// The interval of a rule and what it is counted from: `every 7 hours from 12:00 UTC`, `every 12 months from
/// November 2026`.
pub(crate) fn every_from(rule: &CheckedRule, anchor_at: Timestamp) -> String {
    let anchor = WallAnchor::new(rule, anchor_at);
    let from = match rule.frequency {
        Frequency::Minute | Frequency::Hour => {
            format!("{:02}:{:02} {}", anchor.hour, anchor.minute, rule.zone_name.as_deref().unwrap_or("UTC"))
        }
        Frequency::Day | Frequency::Week => {
            format!("{} {} {}", anchor.day_of_month, month_name(anchor.month), anchor.year)
        }
        Frequency::Month => format!("{} {}", month_name(anchor.month), anchor.year),
        Frequency::Year => anchor.year.to_string(),
    };
    format!("{} from {from}", every(rule.interval, rule.frequency))
}

/// The names of months, bit 1 to 12: `January, May and June`.
pub(crate) fn month_names(bits: u16) -> String {
    join(bits_of(bits.into()).map(|month| month_name(month as u8).into()))
}

/// The minutes and hours to which a rule of frequency minute or hour is limited.
fn restriction(frequency: Frequency, choice: &Choice, anchor: &WallAnchor) -> String {
    let minutes = choice.minutes.or((frequency == Frequency::Hour).then_some(1 << anchor.minute));
    let mut text = String::new();
    if let Some(minutes) = minutes {
        text += &format!(" at {}", minute_list(minutes));
    }
    if let Some(hours) = choice.hours {
        text += &format!(" of {}", hour_list(hours));
    }
    text
}

fn week_days(choice: &Choice, anchor: &WallAnchor) -> String {
    match choice.week_days {
        None => anchor.weekday.name().into(),
        Some(0b001_1111) => "weekdays".into(),
        Some(0b110_0000) => "weekends".into(),
        Some(0b111_1111) => "every day".into(),
        Some(bits) => join(bits_of(bits.into()).map(|day| Weekday::ALL[day].name().into())),
    }
}

fn month_days(choice: &Choice, anchor: &WallAnchor) -> String {
    if !choice.month_days_chosen {
        return match anchor.day_of_month {
            day @ 29.. => format!("the {} (or the last day of a shorter month)", ordinal(day.into())),
            day => format!("the {}", ordinal(day.into())),
        };
    }
    let mut days = Vec::new();
    for weekday in Weekday::ALL {
        let begin = choice.weekdays_from_begin[usize::from(weekday.index())];
        let end = choice.weekdays_from_end[usize::from(weekday.index())];
        if begin == 0b11_1110 {
            days.push(format!("every {}", weekday.name()));
            continue;
        }
        days.extend(bits_of(begin.into()).map(|nth| format!("the {} {}", rank(nth), weekday.name())));
        days.extend(bits_of(end.into()).map(|nth| match nth {
            1 => format!("the last {}", weekday.name()),
            nth => format!("the {} last {}", rank(nth), weekday.name()),
        }));
    }
    days.extend(bits_of(choice.days_from_begin.into()).map(|day| format!("the {}", ordinal(day as i64))));
    days.extend(bits_of(choice.days_from_end.into()).map(|day| match day {
        1 => "the last day".into(),
        2 => "the second last day".into(),
        day => format!("the {} last day", ordinal(day as i64)),
    }));
    join(days.into_iter())
}

/// The times of day at which a chosen day runs.
fn times(choice: &Choice, anchor: &WallAnchor) -> String {
    let (hours, minutes) = match (choice.hours, choice.minutes) {
        (None, None) => return format!("at {:02}:{:02}", anchor.hour, anchor.minute),
        (None, Some(minutes)) => return format!("every hour at {}", minute_list(minutes)),
        (Some(hours), minutes) => (hours, minutes.unwrap_or(1 << anchor.minute)),
    };
    let listed: Vec<String> = bits_of(hours.into())
        .flat_map(|hour| bits_of(minutes).map(move |minute| format!("{hour:02}:{minute:02}")))
        .collect();
    if listed.len() <= TIMES_LISTED_MAX {
        return format!("at {}", join(listed.into_iter()));
    }
    let contiguous =
        (hours >> hours.trailing_zeros()).count_zeros() == (hours >> hours.trailing_zeros()).leading_zeros();
    if let (true, Some(step)) = (contiguous, even_step(minutes)) {
        let (first, last) = (&listed[0], &listed[listed.len() - 1]);
        return format!("every {step} minutes from {first} to {last}");
    }
    format!("at {} of {}", minute_list(minutes), hour_list(hours))
}

/// The step of minutes that divide the hour evenly from minute 0 on; none if they don't.
fn even_step(minutes: u64) -> Option<u32> {
    let count = minutes.count_ones();
    let step = 60u32.checked_div(count).filter(|step| step * count == 60 && count > 1)?;
    (0..count).all(|k| minutes & (1 << (k * step)) != 0).then_some(step)
}

fn minute_list(minutes: u64) -> String {
    match (minutes.count_ones(), even_step(minutes)) {
        (60, _) => "every minute".into(),
        (_, Some(step)) if step < 30 => format!("every {step} minutes"),
        (1, _) => format!("minute {}", minutes.trailing_zeros()),
        (_, _) => format!("minutes {}", join(bits_of(minutes).map(|minute| minute.to_string()))),
    }
}

fn hour_list(hours: u32) -> String {
    let list = join(bits_of(hours.into()).map(|hour| hour.to_string()));
    if hours.count_ones() == 1 { format!("hour {list}") } else { format!("hours {list}") }
}

fn every(interval: i64, frequency: Frequency) -> String {
    match interval {
        1 => format!("every {frequency}"),
        2 if frequency >= Frequency::Day => format!("every second {frequency}"),
        interval => format!("every {interval} {frequency}s"),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn join(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.collect();
    match items.pop() {
        None => String::new(),
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{} and {last}", items.join(", ")),
    }
}

fn bits_of(bits: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| bits & (1 << bit) != 0)
}

fn ordinal(number: i64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn rank(nth: usize) -> &'static str {
    ["", "first", "second", "third", "fourth", "fifth"][nth]
}

fn month_name(month: u8) -> &'static str {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    NAMES[usize::from(month - 1)]
}

/// An instant without a time of day of midnight, and without seconds of zero.
fn moment(at: Timestamp) -> String {
    let text = at.strftime(if at.as_second() % 60 == 0 { "%Y-%m-%d %H:%M" } else { "%Y-%m-%d %H:%M:%S" });
    text.to_string()
}
