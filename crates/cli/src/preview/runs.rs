//! The runs of a job, each with notes.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use punctual_arm::{Preview, time};
use punctual_model::preview::{End, Run, Timing};
use punctual_recurrence::{Start, Timetable};
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

impl Runs {
    pub(super) fn of(
        timetable: &Timetable,
        job: &Preview,
        now: Timestamp,
        count: u64,
        zone: Option<&str>,
    ) -> Result<Self, WrongUsage> {
        let zone = show_in(zone)?;
        let start = Start { start_at: job.start_at, put_at: now };
        let rule = job.rule.as_ref();
        let timing = Timing { timetable, rule, start, now, from: None, started_count: 0 };
        let coming = timing.runs(usize::try_from(count).unwrap_or(usize::MAX));
        let never_matches = timetable.never_matches();
        let description = timetable.describe();
        Ok(Self { description, zone, now, runs: coming.runs, end: coming.end, never_matches })
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
