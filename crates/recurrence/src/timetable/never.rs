//! Schedules that never match, and why.

use super::days::NeverReason;
use super::{Pattern, Timetable};
use crate::CheckedRule;
use crate::describe::{self, month_names};

impl Timetable {
    /// Why the schedule never matches from the start on; none if it matches, however seldom, up to the year
    /// 9999. The end of the rule, its count and a first occurrence at the PUT play no part.
    ///
    /// ```
    /// use punctual_recurrence::{Frequency, Rule, Schedule, Start};
    ///
    /// let start = Start { start_at: None, put_at: "2026-11-15T12:00:00Z".parse().unwrap() };
    /// let in_february = |day: i64| {
    ///     let schedule = Schedule { months: vec![2], month_days: vec![day], ..Schedule::default() };
    ///     let rule = Rule { schedule: Some(schedule), ..Rule::every(1, Frequency::Month) };
    ///     rule.check().unwrap().timetable(start).never_matches()
    /// };
    /// assert_eq!(in_february(29), None);
    /// assert_eq!(in_february(30).as_deref(), Some("none of the chosen days exists in February"));
    /// ```
    pub fn never_matches(&self) -> Option<String> {
        let rule = self.rule.as_ref().filter(|rule| rule.choice.is_some())?;
        let endless = Self::recurring(&CheckedRule { end_at: None, ..rule.clone() }, self.start);
        let never_reason = match &endless.pattern {
            Pattern::Once | Pattern::Grid(_) => return None,
            Pattern::Wall(times) => times.never_reason(),
            Pattern::WholeHours(hours) => hours.never_reason(),
            Pattern::Blocks(_) => None,
        };
        let every = || describe::every_from(rule, self.start.anchor_at());
        match never_reason {
            Some(NeverReason::NoSuchDay(months)) => {
                Some(format!("none of the chosen days exists in {}", month_names(months.bits())))
            }
            Some(NeverReason::NotMet(months)) => {
                Some(format!("{} never meets {}", every(), month_names(months.bits())))
            }
            None if endless.pattern.at_or_after(self.not_before()).is_none() => {
                Some(format!("{} never meets the schedule up to the year 9999", every()))
            }
            None => None,
        }
    }
}
