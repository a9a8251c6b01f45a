//! Statistics: which are asked for, and how they are shown. Only under Punctual's own api-version.

use jiff::{SignedDuration, Timestamp};
use punctual_model::Scope;
use punctual_model::statistics::{LATE_AFTER, Measure, Statistics, floor};

use crate::json::{Json, Members};
use crate::view_query::QueryReader;
use crate::{ApiError, Query, time};

/// The most stretches of one answer.
const BUCKETS_MAX: i64 = 1_500;

const STEPS: &[(&str, SignedDuration)] = &[
    ("1m", SignedDuration::from_mins(1)),
    ("5m", SignedDuration::from_mins(5)),
    ("15m", SignedDuration::from_mins(15)),
    ("1h", SignedDuration::from_hours(1)),
    ("1d", SignedDuration::from_hours(24)),
];

/// Which statistics to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsQuery {
    /// Of this scope.
    pub scope: Scope,
    /// From the beginning of a stretch on.
    pub from: Timestamp,
    /// Before the end of a stretch.
    pub to: Timestamp,
    /// The length of a stretch.
    pub step: SignedDuration,
}

impl StatsQuery {
    /// Reads the query of statistics. Without a range it is the last 24 hours.
    pub fn read(query: &Query, now: Timestamp) -> Result<Self, ApiError> {
        let mut reader = QueryReader::new(query);
        let scope = reader.scope();
        let step = reader.choice("step", STEPS).unwrap_or(SignedDuration::from_mins(15));
        let (from, to) = (reader.instant("from"), reader.instant("to"));
        // What is due right now belongs to the last 24 hours.
        let to = to.unwrap_or_else(|| now.checked_add(SignedDuration::from_nanos(1)).unwrap_or(now));
        let day = SignedDuration::from_hours(24);
        let from = from.unwrap_or_else(|| to.checked_sub(day).unwrap_or(Timestamp::MIN));
        // Whole stretches, so that none is shown in part.
        let begin = floor(from, step);
        let end = floor(to, step);
        let end = if end < to { end.checked_add(step).unwrap_or(to) } else { end };
        if from >= to {
            reader.problem("from", "must be earlier than 'to'");
        } else if end.duration_since(begin).as_secs() / step.as_secs() > BUCKETS_MAX {
            reader.problem("step", format!("must be longer: the range has more than {BUCKETS_MAX} steps"));
        }
        reader.finish(Self { scope, from: begin, to: end, step })
    }
}

/// Renders statistics by the beginning of each stretch. `unread_before` says what was not read, if something was not.
pub fn answer<'a>(
    query: &StatsQuery,
    buckets: impl Iterator<Item = (Timestamp, &'a Statistics)>,
    unread_before: Option<Timestamp>,
) -> Json<'static> {
    let mut total = Statistics::default();
    let mut shown = Vec::new();
    for (start, statistics) in buckets {
        total.add(statistics);
        let mut members = Members::new();
        members.insert("start", time::instant(start).into());
        numbers(&mut members, statistics);
        shown.push(members.into());
    }
    let mut members = Members::new();
    members.insert("from", time::instant(query.from).into());
    members.insert("to", time::instant(query.to).into());
    let step = STEPS.iter().find(|(_, step)| *step == query.step).map_or("", |(name, _)| name);
    members.insert("step", step.into());
    members.insert("threshold", i64::try_from(LATE_AFTER.as_millis()).unwrap_or(i64::MAX).into());
    if let Some(before) = unread_before {
        members.insert("unreadBefore", time::instant(before).into());
    }
    members.insert("buckets", Json::List(shown));
    let mut sum = Members::new();
    numbers(&mut sum, &total);
    members.insert("total", sum.into());
    members.into()
}

fn numbers(members: &mut Members<'static>, statistics: &Statistics) {
    for (name, measure) in [
        ("succeeded", Measure::Succeeded),
        ("retried", Measure::Retried),
        ("failed", Measure::Failed),
        ("failedAttempts", Measure::FailedAttempts),
        ("late", Measure::Late),
        ("errorActions", Measure::ErrorActions),
        ("skippedOverlap", Measure::SkippedOverlap),
        ("skippedMissed", Measure::SkippedMissed),
        ("skippedOther", Measure::SkippedOther),
    ] {
        members.insert(name, i64::try_from(statistics.get(measure)).unwrap_or(i64::MAX).into());
    }
    let quantile = |share: f64| statistics.lateness(share).map(milliseconds);
    let lateness = quantile(0.5).zip(quantile(0.9)).zip(quantile(0.99)).map(|((p50, p90), p99)| {
        let mut members = Members::new();
        members.insert("p50", Json::Float(p50));
        members.insert("p90", Json::Float(p90));
        members.insert("p99", Json::Float(p99));
        members.insert("max", Json::Float(milliseconds(statistics.lateness_max)));
        members.into()
    });
    members.insert("lateness", lateness.unwrap_or(Json::Null));
}

/// A duration in milliseconds, to the microsecond.
pub(crate) fn milliseconds(duration: SignedDuration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> Result<StatsQuery, String> {
        let now = "2026-11-15T12:07:00Z".parse().unwrap();
        StatsQuery::read(&Query::decode(raw), now).map_err(|error| error.message)
    }

    #[test]
    fn a_range_is_widened_to_whole_steps() {
        let day = read("").unwrap();
        assert_eq!(day.from, "2026-11-14T12:00:00Z".parse().unwrap());
        assert_eq!(day.to, "2026-11-15T12:15:00Z".parse().unwrap());
        let hours = read("from=2026-11-14T00:30:00Z&to=2026-11-14T02:00:00Z&step=1h").unwrap();
        assert_eq!(hours.from, "2026-11-14T00:00:00Z".parse().unwrap());
        assert_eq!(hours.to, "2026-11-14T02:00:00Z".parse().unwrap());
    }

    #[test]
    fn everything_wrong_with_a_range_is_told() {
        let told = read("scope=x&step=2m&from=a&to=b").unwrap_err();
        for name in ["scope", "step", "from", "to"] {
            assert!(told.contains(&format!("{name}: ")), "{told}");
        }
        assert!(read("from=2026-11-16T00:00:00Z").unwrap_err().contains("must be earlier than 'to'"));
        assert!(read("from=2026-11-10T00:00:00Z&step=1m").unwrap_err().contains("more than 1500 steps"));
    }
}
