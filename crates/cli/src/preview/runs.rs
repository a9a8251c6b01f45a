//! The runs of a job, each with notes.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use punctual_arm::{Preview, time};
use punctual_recurrence::{ClockNote, Timetable};
use serde_json::{Value, json};

use crate::exit::WrongUsage;

/// What a preview shows.
pub(super) struct Runs {
    pub(super) description: String,
    pub(super) zone: TimeZone,
    pub(super) now: Timestamp,
    pub(super) runs: Vec<Run>,
    pub(super) end: End,
    /// Why the schedule can never match, if it can't.
    pub(super) never_matches: Option<String>,
}

/// One run.
pub(super) struct Run {
    pub(super) at: Timestamp,
    pub(super) notes: Vec<String>,
}

/// Why the list ends where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// As many as were asked for; there are more.
    Cut,
    Count(u32),
    AtTime(Timestamp),
    /// The job runs once.
    Once,
    /// There are no more up to the year 9999.
    Never,
}

impl Runs {
    pub(super) fn of(
        timetable: &Timetable,
        job: &Preview,
        now: Timestamp,
        count: u64,
        zone: Option<&str>,
    ) -> Result<Self, WrongUsage> {
        let zone = show_in(zone)?;
        let limit = usize::try_from(count).unwrap_or(usize::MAX);
        let mut instants: Vec<Timestamp> = timetable.occurrences().take(limit.saturating_add(1)).collect();
        let cut = instants.len() > limit;
        instants.truncate(limit);
        let end = match (&job.rule, cut) {
            (_, true) => End::Cut,
            (None, false) => End::Once,
            (Some(rule), false) => match (timetable.count(), rule.end_at) {
                (Some(count), _) if instants.len() == count as usize => End::Count(count),
                (_, Some(end_at)) => End::AtTime(end_at),
                (_, None) => End::Never,
            },
        };
        let job_zone = job.rule.as_ref().and_then(|rule| rule.time_zone.as_deref());
        let job_zone = job_zone.and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
        let runs = instants.iter().enumerate().map(|(index, &at)| {
            let before = index.checked_sub(1).map_or(now, |before| instants[before]);
            Run { at, notes: notes(timetable, at, before, &job_zone) }
        });
        let runs = runs.collect();
        let never_matches = timetable.never_matches();
        Ok(Self { description: timetable.describe(), zone, now, runs, end, never_matches })
    }

    pub(super) fn local(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.zone.clone())
    }

    pub(super) fn to_json(&self) -> Value {
        let runs = self.runs.iter().map(|run| {
            let in_seconds = run.at.duration_since(self.now).as_secs_f64();
            json!({
                "at": time::instant(run.at),
                "local": self.local(run.at).to_string(),
                "inSeconds": in_seconds,
                "notes": run.notes,
            })
        });
        let end = match self.end {
            End::Cut => Value::Null,
            End::Count(_) => "count".into(),
            End::AtTime(_) => "endTime".into(),
            End::Once => "once".into(),
            End::Never => "never".into(),
        };
        let mut shown = json!({
            "description": self.description,
            "now": time::instant(self.now),
            "occurrences": runs.collect::<Vec<_>>(),
            "end": end,
        });
        if let Some(reason) = &self.never_matches {
            shown["neverMatches"] = reason.as_str().into();
        }
        shown
    }
}

/// The zone to show times in.
fn show_in(name: Option<&str>) -> Result<TimeZone, WrongUsage> {
    let Some(name) = name else { return Ok(TimeZone::UTC) };
    TimeZone::get(name).map_err(|_| {
        WrongUsage(format!("--zone: '{name}' is not the IANA name of a time zone, such as Europe/Berlin"))
    })
}

fn notes(timetable: &Timetable, at: Timestamp, before: Timestamp, zone: &TimeZone) -> Vec<String> {
    match timetable.clock_note(at) {
        None => {}
        Some(ClockNote::Moved { wall }) => {
            return vec![format!("{} does not exist: moved past the gap", wall.strftime("%H:%M"))];
        }
        Some(ClockNote::FirstOfTwo) => return vec!["the clocks show this time twice: the first".into()],
        Some(ClockNote::RepeatedHour) => return vec!["in the hour that the clocks show twice".into()],
    }
    let (old, new) = (zone.to_offset(before), zone.to_offset(at));
    if old != new && before < at {
        let forward = new.seconds() > old.seconds();
        let direction = if forward { "forward" } else { "back" };
        return vec![format!("clocks were set {direction} since the last run: UTC{old} to UTC{new}")];
    }
    Vec::new()
}

/// The time between two instants, in its two largest units.
pub(crate) fn distance(from: Timestamp, to: Timestamp) -> String {
    let distance = to.duration_since(from);
    if distance.abs() < SignedDuration::from_secs(1) {
        return "now".into();
    }
    let seconds = distance.as_secs().unsigned_abs();
    let units = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
    let first = units.iter().position(|(_, unit)| seconds >= *unit).unwrap_or(3);
    let (name, unit) = units[first];
    let mut text = format!("{} {name}", seconds / unit);
    if let Some((name, smaller)) = units.get(first + 1) {
        let rest = seconds % unit / smaller;
        if rest > 0 {
            text += &format!(" {rest} {name}");
        }
    }
    if distance.is_negative() { format!("{text} ago") } else { format!("in {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_told_in_their_two_largest_units() {
        let now = Timestamp::UNIX_EPOCH;
        let check = |seconds, expected: &str| {
            assert_eq!(distance(now, now + SignedDuration::from_secs(seconds)), expected);
        };
        check(0, "now");
        check(59, "in 59 s");
        check(60, "in 1 min");
        check(3_725, "in 1 h 2 min");
        check(90_000, "in 1 d 1 h");
        check(86_400 * 400 + 59, "in 400 d");
        check(-61, "1 min 1 s ago");
    }
}
