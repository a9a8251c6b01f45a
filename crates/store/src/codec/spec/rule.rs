//! A recurrence as it is stored, version 1.

use std::borrow::Cow;

use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Weekday};
use serde::{Deserialize, Serialize};

use super::{Instant1, owned, shared};
use crate::codec::{CodecError, Number};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule1<'a> {
    frequency: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end_at: Option<Instant1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schedule: Option<Schedule1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_zone: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Schedule1 {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    minutes: Vec<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hours: Vec<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    week_days: Vec<u8>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    month_days: Vec<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    monthly_occurrences: Vec<(u8, Option<i64>)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    months: Vec<i64>,
}

impl<'a> Rule1<'a> {
    pub(super) fn of(rule: &'a Rule) -> Self {
        let Rule { frequency, interval, count, end_at, schedule, time_zone } = rule;
        Self {
            frequency: frequency.number(),
            interval: *interval,
            count: *count,
            end_at: end_at.map(Instant1::of),
            schedule: schedule.as_ref().map(Schedule1::of),
            time_zone: shared(time_zone.as_ref()),
        }
    }

    pub(super) fn into_model(self) -> Result<Rule, CodecError> {
        Ok(Rule {
            frequency: Frequency::from_number(self.frequency.into())
                .ok_or(CodecError::Invalid { what: "frequency" })?,
            interval: self.interval,
            count: self.count,
            end_at: self.end_at.map(Instant1::into_model).transpose()?,
            schedule: self.schedule.map(Schedule1::into_model).transpose()?,
            time_zone: owned(self.time_zone),
        })
    }
}

impl Schedule1 {
    fn of(schedule: &Schedule) -> Self {
        let Schedule { minutes, hours, week_days, month_days, monthly_occurrences, months } = schedule;
        let occurrence = |one: &MonthlyOccurrence| (one.day.number(), one.occurrence);
        Self {
            minutes: minutes.clone(),
            hours: hours.clone(),
            week_days: week_days.iter().map(|day| day.number()).collect(),
            month_days: month_days.clone(),
            monthly_occurrences: monthly_occurrences.iter().map(occurrence).collect(),
            months: months.clone(),
        }
    }

    fn into_model(self) -> Result<Schedule, CodecError> {
        let occurrences = self.monthly_occurrences.into_iter();
        Ok(Schedule {
            minutes: self.minutes,
            hours: self.hours,
            week_days: self.week_days.into_iter().map(weekday).collect::<Result<_, _>>()?,
            month_days: self.month_days,
            monthly_occurrences: occurrences
                .map(|(day, occurrence)| Ok(MonthlyOccurrence { day: weekday(day)?, occurrence }))
                .collect::<Result<_, CodecError>>()?,
            months: self.months,
        })
    }
}

fn weekday(number: u8) -> Result<Weekday, CodecError> {
    Weekday::from_number(number.into()).ok_or(CodecError::Invalid { what: "weekday" })
}
