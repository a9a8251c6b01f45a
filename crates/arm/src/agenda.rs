//! The agenda: how many jobs are due when, and which. Only under Punctual's own api-version.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use punctual_model::statistics::{MINUTE, floor};
use punctual_model::{CollectionKey, JobSort, Scope, SearchPlace};

use crate::job_row::{ROWS_LIMIT, read_after};
use crate::json::{Json, Members};
use crate::view_query::QueryReader;
use crate::{ApiError, Query, id, time};

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The longest range by the minute, and by the hour.
const LONGEST: [(SignedDuration, SignedDuration, &str); 2] =
    [(MINUTE, DAY, "24 hours"), (HOUR, SignedDuration::from_hours(30 * 24), "30 days")];

/// The range of an agenda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgendaQuery {
    /// Of this scope.
    pub scope: Scope,
    /// From this instant on.
    pub from: Timestamp,
    /// Before this instant.
    pub to: Timestamp,
    /// By the minute or by the hour.
    pub step: SignedDuration,
}

impl AgendaQuery {
    /// Reads the query of an agenda. Without a range it is the next 24 hours.
    pub fn read(query: &Query, now: Timestamp) -> Result<Self, ApiError> {
        let mut reader = QueryReader::new(query);
        let scope = reader.scope();
        let step = reader.choice("step", &[("minute", MINUTE), ("hour", HOUR)]).unwrap_or(MINUTE);
        let (from, to) = (reader.instant("from"), reader.instant("to"));
        let from = from.unwrap_or(now);
        let to = to.unwrap_or_else(|| from.checked_add(DAY).unwrap_or(Timestamp::MAX));
        if from >= to {
            reader.problem("from", "must be earlier than 'to'");
        }
        for (of, longest, words) in LONGEST {
            if step == of && to.duration_since(from) > longest {
                let name = if of == MINUTE { "minute" } else { "hour" };
                reader.problem("to", format!("must be at most {words} after 'from' with step {name}"));
            }
        }
        reader.finish(Self { scope, from, to, step })
    }
}

/// Which jobs of a minute to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgendaJobsQuery {
    /// In this scope.
    pub scope: Scope,
    /// The beginning of the minute.
    pub at: Timestamp,
    /// Behind this place.
    pub after: Option<SearchPlace>,
    /// The most jobs of the page.
    pub limit: usize,
}

impl AgendaJobsQuery {
    /// Reads the query of the jobs of a minute.
    pub fn read(query: &Query) -> Result<Self, ApiError> {
        let mut reader = QueryReader::new(query);
        let scope = reader.scope();
        let at = reader.instant("at");
        if reader.text("at").is_none() {
            reader.problem("at", "must be an instant of the minute that is asked for");
        }
        let after = read_after(&mut reader, JobSort::Next);
        let limit = reader.number("$top", 1..=ROWS_LIMIT).unwrap_or(ROWS_LIMIT);
        let at = floor(at.unwrap_or(Timestamp::UNIX_EPOCH), MINUTE);
        reader.finish(Self { scope, at, after, limit })
    }
}

/// How many are due when.
#[derive(Clone, Debug, Default)]
pub struct AgendaCounts {
    /// By the beginning of each step.
    pub buckets: BTreeMap<Timestamp, u64>,
    /// The busiest steps, the busiest first, each with its collections.
    pub busiest: Vec<BusyStep>,
    /// Not all jobs were looked at.
    pub estimate: bool,
    /// How many jobs were looked at.
    pub job_count: usize,
    /// How many jobs there are to look at; at least so many if not all were counted.
    pub job_total: usize,
}

/// A busy step.
#[derive(Clone, Debug)]
pub struct BusyStep {
    /// Its beginning.
    pub start_at: Timestamp,
    /// How many are due in it.
    pub count: u64,
    /// How many of each collection, the most first.
    pub collections: Vec<(CollectionKey, u64)>,
}

/// Renders an agenda.
pub fn answer(query: &AgendaQuery, counts: &AgendaCounts) -> Json<'static> {
    let number = |number: u64| Json::from(i64::try_from(number).unwrap_or(i64::MAX));
    let bucket = |start: Timestamp, count: u64| {
        let mut members = Members::new();
        members.insert("start", time::instant(start).into());
        members.insert("count", number(count));
        members
    };
    let mut members = Members::new();
    members.insert("from", time::instant(query.from).into());
    members.insert("to", time::instant(query.to).into());
    members.insert("step", if query.step == MINUTE { "minute" } else { "hour" }.into());
    let buckets = counts.buckets.iter().map(|(start, count)| bucket(*start, *count).into());
    members.insert("buckets", Json::List(buckets.collect()));
    members.insert("estimate", counts.estimate.into());
    let mut covered = Members::new();
    covered.insert("jobs", number(counts.job_count as u64));
    covered.insert("of", number(counts.job_total as u64));
    members.insert("covered", covered.into());
    let busiest = counts.busiest.iter().map(|step| {
        let mut members = bucket(step.start_at, step.count);
        let collections = step.collections.iter().map(|(key, count)| {
            let mut members = Members::new();
            members.insert("id", id::collection(key).into());
            members.insert("count", number(*count));
            members.into()
        });
        members.insert("collections", Json::List(collections.collect()));
        members.into()
    });
    members.insert("busiest", Json::List(busiest.collect()));
    members.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> Result<AgendaQuery, String> {
        AgendaQuery::read(&Query::decode(raw), "2026-11-15T12:07:00Z".parse().unwrap())
            .map_err(|error| error.message)
    }

    #[test]
    fn a_range_is_bounded_by_its_step() {
        let day = read("").unwrap();
        assert_eq!(day.to.duration_since(day.from), DAY);
        assert!(read("to=2026-12-14T00:00:00Z&step=hour").is_ok());
        assert!(read("to=2026-12-16T00:00:00Z&step=hour").unwrap_err().contains("at most 30 days"));
        assert!(read("to=2026-11-17T00:00:00Z").unwrap_err().contains("at most 24 hours"));
        assert!(read("to=2026-11-15T00:00:00Z").unwrap_err().contains("must be earlier"));
        let told = read("scope=x&from=a&to=b&step=day").unwrap_err();
        for name in ["scope", "from", "to", "step"] {
            assert!(told.contains(&format!("{name}: ")), "{told}");
        }
    }

    #[test]
    fn the_jobs_of_a_minute_need_an_instant_of_it() {
        let read = |raw: &str| AgendaJobsQuery::read(&Query::decode(raw)).map_err(|error| error.message);
        let asked = read("at=2026-11-15T12:07:31Z&$top=3").unwrap();
        assert_eq!((asked.at, asked.limit), ("2026-11-15T12:07:00Z".parse().unwrap(), 3));
        let told = read("scope=x&after=y&$top=0").unwrap_err();
        for name in ["scope", "at", "after", "$top"] {
            assert!(told.contains(&format!("{name}: ")), "{told}");
        }
    }
}
