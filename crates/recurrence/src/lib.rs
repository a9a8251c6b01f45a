//! When does a recurring job run?
//!
//! A [`Rule`] is a recurrence as somebody wrote it. [`Rule::check`] reports all of its problems or returns a
//! [`CheckedRule`]; together with a [`Start`] that makes a [`Timetable`], which answers one question: what
//! comes [next](Timetable::next_after)?
//!
//! ```
//! use punctual_recurrence::{Frequency, Rule, Schedule, Start};
//!
//! let mut rule = Rule::every(1, Frequency::Month);
//! rule.schedule = Some(Schedule { month_days: vec![-1], hours: vec![6], minutes: vec![0], ..Schedule::default() });
//! let start = Start { start_at: Some("2026-11-10T12:25:00Z".parse()?), put_at: "2026-11-15T12:00:00Z".parse()? };
//! let timetable = rule.check().unwrap().timetable(start);
//! assert_eq!(timetable.first(), Some("2026-11-30T06:00:00Z".parse()?));
//! # Ok::<(), jiff::Error>(())
//! ```
//!
//! The crate reads no clock and knows no JSON: time is an argument. Problems name JSON members because that is
//! where people look for them. Time zones are the machine's; a machine without them uses a copy that is
//! compiled in.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod calendar;
mod check;
mod describe;
mod instant;
mod problem;
mod rule;
mod span;
mod steps;
mod timetable;
mod zone;

pub use check::CheckedRule;
pub use instant::{Malformed, TICK, parse_instant};
pub use problem::Problem;
pub use rule::{Frequency, MonthlyOccurrence, Rule, Schedule, Start, UnknownName, Weekday};
pub use span::parse_span;
pub use timetable::{ClockNote, DueRange, Timetable};
