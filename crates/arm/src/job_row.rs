//! Jobs across collections: which are asked for, and a job as a row of a list. Only under Punctual's own api-version.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use punctual_model::ledger::OccurrenceOutcome;
use punctual_model::{
    ActionKind, ActionType, Collection, Job, JobFilter, JobId, JobSort, JobState, Name, RecentOutcome, Scope,
    SearchPlace, SkipReason, split_user_info,
};

use crate::json::{Json, Members};
use crate::reader::shown;
use crate::stats::milliseconds;
use crate::view_query::QueryReader;
use crate::{ApiError, Query, collection, id, page, time};

/// The page size of jobs, and the most that `$top` takes.
pub const ROWS_LIMIT: usize = 200;

/// The longest text to search for in names; no name is longer.
const TEXT_CHARS_MAX: usize = 200;

const STATES: &[(&str, JobState)] = &[
    ("Enabled", JobState::Enabled),
    ("Disabled", JobState::Disabled),
    ("Completed", JobState::Completed),
    ("Faulted", JobState::Faulted),
];

const KINDS: &[(&str, ActionType)] = &[
    ("http", ActionType::Http),
    ("storageQueue", ActionType::StorageQueue),
    ("serviceBusQueue", ActionType::ServiceBusQueue),
    ("serviceBusTopic", ActionType::ServiceBusTopic),
];

/// Which jobs to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobsQuery {
    /// In this scope.
    pub scope: Scope,
    /// Which of them.
    pub filter: JobFilter,
    /// In this order.
    pub sort: JobSort,
    /// Behind this place.
    pub after: Option<SearchPlace>,
    /// The most jobs of the page.
    pub limit: usize,
    /// With their latest outcomes.
    pub recent: bool,
    /// With the number of all of them.
    pub count: bool,
}

impl JobsQuery {
    /// Reads the query of a list of jobs across collections.
    pub fn read(query: &Query) -> Result<Self, ApiError> {
        let mut reader = QueryReader::new(query);
        let scope = reader.scope();
        let filter = read_filter(&mut reader);
        let sort = reader.choice("sort", &[("next", JobSort::Next), ("name", JobSort::Name)]);
        let sort = sort.unwrap_or(JobSort::Name);
        let after = read_after(&mut reader, sort);
        let limit = reader.number("$top", 1..=ROWS_LIMIT).unwrap_or(ROWS_LIMIT);
        let recent = reader.choice("expand", &[("recent", true)]).unwrap_or(false);
        let count = reader.flag("count");
        reader.finish(Self { scope, filter, sort, after, limit, recent, count })
    }
}

/// Reads where a page begins, in the order that is asked for.
pub(crate) fn read_after(reader: &mut QueryReader<'_>, sort: JobSort) -> Option<SearchPlace> {
    let token = reader.text("after")?;
    let place = read_place(token).filter(|place| fits(place, sort));
    if place.is_none() {
        reader.problem("after", "must be what the page before has as 'after', with the same sort");
    }
    place
}

/// Reads a filter of jobs.
pub(crate) fn read_filter(reader: &mut QueryReader<'_>) -> JobFilter {
    let text = reader.text("q").map(|text| Name::new(text).folded().to_owned());
    if text.as_ref().is_some_and(|text| text.chars().count() > TEXT_CHARS_MAX) {
        reader.problem("q", format!("must have at most {TEXT_CHARS_MAX} characters"));
    }
    JobFilter {
        state: reader.choice("state", STATES),
        action_type: reader.choice("kind", KINDS),
        target: reader.text("target").map(str::to_lowercase),
        failing: reader.flag("failing"),
        text,
        due_before: reader.instant("dueBefore"),
    }
}

fn fits(place: &SearchPlace, sort: JobSort) -> bool {
    matches!((place, sort), (SearchPlace::Name(..), JobSort::Name) | (SearchPlace::Due(..), JobSort::Next))
}

/// The text of a place, for `after`.
pub fn place_token(place: &SearchPlace) -> String {
    let text = match place {
        SearchPlace::Name(name, job) => format!("n1\n{}\n{name}", job.0),
        SearchPlace::Due(due_at, job) => {
            let due_at = due_at.map_or_else(|| "-".to_owned(), |at| at.as_nanosecond().to_string());
            format!("d1\n{}\n{due_at}", job.0)
        }
    };
    URL_SAFE_NO_PAD.encode(text)
}

fn read_place(token: &str) -> Option<SearchPlace> {
    let text = page::read_token(token).ok()?;
    let mut parts = text.splitn(3, '\n');
    let (kind, job, key) = (parts.next()?, parts.next()?, parts.next()?);
    let job = JobId(job.parse().ok()?);
    match (kind, key) {
        ("n1", name) => Some(SearchPlace::Name(name.to_owned(), job)),
        ("d1", "-") => Some(SearchPlace::Due(None, job)),
        ("d1", at) => Some(SearchPlace::Due(Some(Timestamp::from_nanosecond(at.parse().ok()?).ok()?), job)),
        _ => None,
    }
}

/// A job as a row of a list.
pub struct JobRow<'a> {
    /// The job.
    pub job: &'a Job,
    /// Its collection.
    pub collection: &'a Collection,
    /// Whom its main action calls.
    pub target: String,
    /// When it runs next.
    pub next_at: Option<Timestamp>,
    /// Whether an attempt of it is in flight.
    pub in_flight: bool,
    /// Its latest outcomes, if they are asked for.
    pub recent: Option<Vec<RecentOutcome>>,
    /// The occurrence that the list is about, if it is about one.
    pub due_at: Option<Timestamp>,
}

/// Renders a row.
pub fn answer(row: JobRow<'_>) -> Json<'_> {
    let JobRow { job, collection, target, next_at, in_flight, recent, due_at } = row;
    let key = &job.key;
    let instant = |at: Option<Timestamp>| at.map_or(Json::Null, |at| time::instant(at).into());
    let mut members = Members::new();
    members.insert("id", id::job(key).into());
    members.insert("name", key.name.as_str().into());
    members.insert("collectionId", id::collection(&key.collection).into());
    members.insert("subscription", key.collection.group.subscription.as_str().into());
    members.insert("group", key.collection.group.name.as_str().into());
    members.insert("collection", key.collection.name.as_str().into());
    members.insert("collectionState", collection::state_name(collection.state).into());
    members.insert("state", named(STATES, job.state).into());
    members.insert("kind", named(KINDS, job.spec.action.kind.action_type()).into());
    members.insert("summary", summary(&job.spec.action.kind).into());
    members.insert("target", target.into());
    let zone = job.spec.recurrence.as_ref().and_then(|rule| rule.time_zone.as_deref());
    let rule = job.spec.timetable(job.put_at).map(|timetable| sentence(&timetable.describe()));
    members.insert("rule", rule.map_or(Json::Null, Json::from));
    members.insert("timeZone", zone.map_or(Json::Null, Json::from));
    members.insert("nextExecutionTime", instant(next_at));
    members.insert("lastExecutionTime", instant(job.last_started_at));
    members.insert("executionCount", job.counters.execution.into());
    members.insert("failureCount", job.counters.failure.into());
    members.insert("faultedCount", job.counters.faulted.into());
    members.insert("failing", job.failing().into());
    members.insert("inFlight", in_flight.into());
    if let Some(due_at) = due_at {
        members.insert("dueTime", time::instant(due_at).into());
    }
    if let Some(recent) = recent {
        members.insert("recent", recent.into_iter().map(outcome).collect::<Vec<_>>().into());
    }
    members.into()
}

/// A list of rows; `after` is where the next page begins.
pub fn answer_list<'a>(
    rows: Vec<Json<'a>>,
    after: Option<&SearchPlace>,
    count: Option<(usize, bool)>,
) -> Json<'a> {
    let mut members = Members::new();
    members.insert("value", rows.into());
    members.insert("after", after.map_or(Json::Null, |place| place_token(place).into()));
    if let Some((number, capped)) = count {
        let mut count = Members::new();
        count.insert("number", i64::try_from(number).unwrap_or(i64::MAX).into());
        count.insert("capped", capped.into());
        members.insert("count", count.into());
    }
    members.into()
}

fn outcome(recent: RecentOutcome) -> Json<'static> {
    let (outcome, reason) = outcome_names(recent.outcome);
    let mut members = Members::new();
    members.insert("dueTime", time::instant(recent.due_at).into());
    members.insert("outcome", outcome.into());
    members.insert("reason", reason.map_or(Json::Null, Json::from));
    let lateness = recent.started_at.map(|started_at| milliseconds(started_at.duration_since(recent.due_at)));
    members.insert("latenessMs", lateness.map_or(Json::Null, Json::Float));
    members.insert("attempts", recent.attempt_count.into());
    members.insert("message", recent.message.map_or(Json::Null, Json::from));
    if recent.count > 1 {
        members.insert("count", i64::try_from(recent.count).unwrap_or(i64::MAX).into());
    }
    members.into()
}

/// The name of an outcome, and why it was skipped.
pub(crate) fn outcome_names(outcome: OccurrenceOutcome) -> (&'static str, Option<&'static str>) {
    match outcome {
        OccurrenceOutcome::Pending => ("pending", None),
        OccurrenceOutcome::Running => ("running", None),
        OccurrenceOutcome::Retrying => ("retrying", None),
        OccurrenceOutcome::Succeeded => ("succeeded", None),
        OccurrenceOutcome::Failed => ("failed", None),
        OccurrenceOutcome::Skipped(SkipReason::Overlap) => ("skipped", Some("overlap")),
        OccurrenceOutcome::Skipped(SkipReason::Missed) => ("skipped", Some("missed")),
    }
}

fn named<T: Copy + PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|(_, one)| *one == value).map_or("", |(name, _)| name)
}

/// What an action does, in a few words, without anything that may be secret.
fn summary(action: &ActionKind) -> String {
    match action {
        ActionKind::Http(http) => {
            let (uri, _) = split_user_info(&http.uri);
            let place = uri.split(['?', '#']).next().unwrap_or_default();
            format!("{} {}", shown(&http.method), place)
        }
        ActionKind::StorageQueue(queue) => {
            format!("message to queue {} of {}", queue.queue_name, queue.storage_account)
        }
        ActionKind::ServiceBusQueue(bus) => format!("message to queue {} of {}", bus.entity, bus.namespace),
        ActionKind::ServiceBusTopic(bus) => format!("message to topic {} of {}", bus.entity, bus.namespace),
    }
}

/// A text with a capital letter at its beginning.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> Result<JobsQuery, String> {
        JobsQuery::read(&Query::decode(raw)).map_err(|error| error.message)
    }

    #[test]
    fn a_query_without_parameters_asks_for_everything_by_name() {
        let all = JobsQuery {
            scope: Scope::Everything,
            filter: JobFilter::default(),
            sort: JobSort::Name,
            after: None,
            limit: 200,
            recent: false,
            count: false,
        };
        assert_eq!(read("api-version=2026-11-01"), Ok(all.clone()));
        let filter = JobFilter {
            state: Some(JobState::Faulted),
            action_type: Some(ActionType::ServiceBusTopic),
            target: Some("example.com:443".to_owned()),
            failing: true,
            text: Some("nightly".to_owned()),
            due_before: Some("2026-11-15T12:00:00Z".parse().unwrap()),
        };
        let query = "scope=/subscriptions/s&state=faulted&kind=servicebustopic&target=Example.com:443&failing=true\
                     &q=Nightly&dueBefore=2026-11-15T12:00:00Z&sort=next&$top=7&expand=recent&count=true";
        let scope = Scope::Subscription("s".into());
        let asked =
            JobsQuery { scope, filter, sort: JobSort::Next, limit: 7, recent: true, count: true, ..all };
        assert_eq!(read(query), Ok(asked));
    }

    #[test]
    fn everything_that_is_wrong_with_a_query_is_told_at_once() {
        let query = "scope=x&state=on&kind=ftp&failing=maybe&dueBefore=soon&sort=size&after=x&$top=0&expand=all&count=1";
        let told = read(query).unwrap_err();
        for name in
            ["scope", "state", "kind", "failing", "dueBefore", "sort", "after", "$top", "expand", "count"]
        {
            assert!(told.contains(&format!("{name}: ")), "{name} in {told}");
        }
        assert!(told.contains("must be http, storageQueue, serviceBusQueue or serviceBusTopic, not 'ftp'"));
        let long = format!("q={}", "x".repeat(201));
        assert_eq!(read(&long), Err("q: must have at most 200 characters".to_owned()));
    }

    #[test]
    fn a_place_leads_back_to_itself_in_its_own_order_only() {
        let at = "2026-11-15T12:00:00.1234567Z".parse().unwrap();
        let places = [
            (SearchPlace::Name("a\nb".to_owned(), JobId(7)), "name"),
            (SearchPlace::Due(Some(at), JobId(7)), "next"),
            (SearchPlace::Due(None, JobId(7)), "next"),
        ];
        for (place, sort) in places {
            let token = place_token(&place);
            assert_eq!(read(&format!("sort={sort}&after={token}")).unwrap().after, Some(place));
            let other = if sort == "name" { "next" } else { "name" };
            assert!(read(&format!("sort={other}&after={token}")).is_err());
        }
    }
}
