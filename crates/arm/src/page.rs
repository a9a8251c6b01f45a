//! Pages of lists: `$top`, `$skip`, `$filter`, and the opaque `$skiptoken` of our own next links.

use serde_json::{Map, Value};

use crate::json::{Json, Members};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use punctual_model::access::SessionId;
use punctual_model::{JobState, Name, RecordStatus};

use crate::reader::shown;
use crate::{ApiError, Query};

/// The page size of jobs without `$top`: as many as a collection could hold in the original service.
pub const JOBS_LIMIT: usize = 1000;
/// The page size of records without `$top`, as in the original service.
pub const HISTORY_LIMIT: usize = 500;
/// The page size of collections.
pub const COLLECTIONS_LIMIT: usize = 1000;
/// How many tokens are listed at a time.
pub const TOKENS_LIMIT: usize = 1000;
const TOP_MAX: usize = 100;

/// Which jobs of a collection to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobsPage {
    /// Only jobs in this state.
    pub state: Option<JobState>,
    /// The filter contradicts itself: the list is empty without a look at the store.
    pub empty: bool,
    /// After this name.
    pub after: Option<Name>,
    /// The number of jobs to leave out at the start.
    pub skip: usize,
    /// The most jobs of the page.
    pub limit: usize,
    /// Whether `$top` was given: then there is no next link, because the caller pages itself.
    pub topped: bool,
}

/// Which records of a job to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    /// Only records with one of these statuses; all if empty.
    pub statuses: Vec<RecordStatus>,
    /// The filter contradicts itself: the list is empty without a look at the store.
    pub empty: bool,
    /// After this record: its start and its sequence number.
    pub after: Option<(Timestamp, i64)>,
    /// The number of records to leave out at the start.
    pub skip: usize,
    /// The most records of the page.
    pub limit: usize,
    /// Whether `$top` was given: then there is no next link, because the caller pages itself.
    pub topped: bool,
}

/// Which collections to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionsPage {
    /// After this collection: its group and its name.
    pub after: Option<(Name, Name)>,
    /// The most collections of the page.
    pub limit: usize,
}

impl JobsPage {
    /// Reads the query of a list of jobs.
    pub fn read(query: &Query) -> Result<Self, ApiError> {
        let (skip, top) = read_numbers(query)?;
        let mut states = Selection::default();
        for condition in read_filter(query)? {
            match condition.property.as_str() {
                "state" => states.narrow(&[read_state(&condition)?]),
                _ => return Err(unknown_filter(&condition.text)),
            }
        }
        let (mut allowed, empty) = states.finish();
        let after = query.get("$skiptoken").map(read_jobs_token).transpose()?;
        Ok(Self {
            state: allowed.pop(),
            empty,
            after,
            skip,
            limit: top.unwrap_or(JOBS_LIMIT),
            topped: top.is_some(),
        })
    }

    /// The `$skiptoken` of the page after a job.
    pub fn token(name: &Name) -> String {
        URL_SAFE_NO_PAD.encode(format!("j1\n{name}"))
    }
}

impl HistoryPage {
    /// Reads the query of a list of records.
    pub fn read(query: &Query) -> Result<Self, ApiError> {
        let (skip, top) = read_numbers(query)?;
        let mut statuses = Selection::default();
        for condition in read_filter(query)? {
            match condition.property.as_str() {
                "status" => statuses.narrow(&[read_status(&condition)?]),
                // A state of the job in a filter of records selects the status that matches it.
                "state" => match read_state(&condition)? {
                    JobState::Completed => statuses.narrow(&[RecordStatus::Completed]),
                    JobState::Faulted => statuses.narrow(&[RecordStatus::Failed]),
                    JobState::Enabled | JobState::Disabled => statuses.narrow(&[]),
                },
                _ => return Err(unknown_filter(&condition.text)),
            }
        }
        let (statuses, empty) = statuses.finish();
        let after = query.get("$skiptoken").map(read_history_token).transpose()?;
        Ok(Self { statuses, empty, after, skip, limit: top.unwrap_or(HISTORY_LIMIT), topped: top.is_some() })
    }

    /// The `$skiptoken` of the page after a record.
    pub fn token(started_at: Timestamp, sequence: i64) -> String {
        URL_SAFE_NO_PAD.encode(format!("h1 {} {sequence}", started_at.as_nanosecond()))
    }
}

impl CollectionsPage {
    /// Reads the query of a list of collections.
    pub fn read(query: &Query) -> Result<Self, ApiError> {
        let after = query.get("$skiptoken").map(read_collections_token).transpose()?;
        Ok(Self { after, limit: COLLECTIONS_LIMIT })
    }

    /// The `$skiptoken` of the page after a collection.
    pub fn token(group: &Name, name: &Name) -> String {
        URL_SAFE_NO_PAD.encode(format!("c1\n{group}\n{name}"))
    }
}

/// Which tokens of callers to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokensPage {
    /// Those behind this name.
    pub after: Option<Name>,
    /// At most so many.
    pub limit: usize,
}

impl TokensPage {
    /// Reads the query of a list of tokens.
    pub fn read(query: &Query) -> Result<Self, ApiError> {
        let after = query.get("$skiptoken").map(|token| match read_token(token)?.split_once('\n') {
            Some(("t1", name)) => Ok(name.into()),
            _ => Err(unknown_token()),
        });
        Ok(Self { after: after.transpose()?, limit: TOKENS_LIMIT })
    }

    /// The `$skiptoken` of the page behind a token.
    pub fn token(name: &str) -> String {
        URL_SAFE_NO_PAD.encode(format!("t1\n{name}"))
    }
}

/// The page of a list of sessions that a query asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionsPage {
    /// Those behind this id.
    pub after: Option<SessionId>,
    /// At most so many.
    pub limit: usize,
}

impl SessionsPage {
    /// Reads the query of a list of sessions.
    pub fn read(query: &Query) -> Result<Self, ApiError> {
        let after = query.get("$skiptoken").map(|token| match read_token(token)?.split_once('\n') {
            Some(("s1", id)) => Ok(SessionId(id.to_owned())),
            _ => Err(unknown_token()),
        });
        Ok(Self { after: after.transpose()?, limit: TOKENS_LIMIT })
    }

    /// The `$skiptoken` of the page behind a session.
    pub fn token(id: &SessionId) -> String {
        URL_SAFE_NO_PAD.encode(format!("s1\n{id}"))
    }
}

/// Renders a list; `nextLink` is present even if it is null.
pub fn answer(values: Vec<Json<'_>>, next_link: Option<String>) -> Json<'_> {
    members(values, next_link).into()
}

/// The members of such a list.
pub(crate) fn members(values: Vec<Json<'_>>, next_link: Option<String>) -> Members<'_> {
    let mut members = Members::new();
    members.insert("value", values.into());
    members.insert("nextLink", next_link.map_or(Json::Null, Json::from));
    members
}

/// Renders a list of `serde_json` values.
pub fn render(values: Vec<Value>, next_link: Option<String>) -> Value {
    let mut members = Map::new();
    members.insert("value".into(), values.into());
    members.insert("nextLink".into(), next_link.map_or(Value::Null, Value::String));
    members.into()
}

fn read_history_token(token: &str) -> Result<(Timestamp, i64), ApiError> {
    let text = read_token(token)?;
    let mut parts = text.split(' ');
    let place = (parts.next() == Some("h1")).then(|| {
        let started_at = Timestamp::from_nanosecond(parts.next()?.parse().ok()?).ok()?;
        Some((started_at, parts.next()?.parse().ok()?))
    });
    place.flatten().ok_or_else(unknown_token)
}

fn read_jobs_token(token: &str) -> Result<Name, ApiError> {
    match read_token(token)?.split_once('\n') {
        Some(("j1", name)) => Ok(name.into()),
        _ => Err(unknown_token()),
    }
}

pub(crate) fn read_collections_token(token: &str) -> Result<(Name, Name), ApiError> {
    let text = read_token(token)?;
    let parts: Vec<_> = text.split('\n').collect();
    match parts[..] {
        ["c1", group, name] => Ok((group.into(), name.into())),
        _ => Err(unknown_token()),
    }
}

pub(crate) fn read_token(token: &str) -> Result<String, ApiError> {
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| unknown_token())?;
    String::from_utf8(bytes).map_err(|_| unknown_token())
}

pub(crate) fn unknown_token() -> ApiError {
    ApiError::bad_request("The $skiptoken is invalid: use the nextLink of the page before as it is.")
}

/// Reads `$skip` and `$top`.
pub(crate) fn read_numbers(query: &Query) -> Result<(usize, Option<usize>), ApiError> {
    let number = |name: &str, fits: fn(usize) -> bool, rule: &str| match query.get(name) {
        None => Ok(None),
        Some(text) => match text.trim().parse().ok().filter(|number| fits(*number)) {
            Some(number) => Ok(Some(number)),
            None => Err(ApiError::bad_request(format!(
                "The {name} value '{}' is invalid: it must be {rule}.",
                shown(text)
            ))),
        },
    };
    let top = number("$top", |top| (1..=TOP_MAX).contains(&top), "from 1 to 100")?;
    let skip = number("$skip", |_| true, "0 or more")?;
    Ok((skip.unwrap_or(0), top))
}

/// One `property eq value`; the property in lower case, the value without quotes.
pub(crate) struct Condition {
    pub(crate) property: String,
    pub(crate) value: String,
    text: String,
}

/// The conditions of a `$filter`, joined by `and`.
pub(crate) fn read_filter(query: &Query) -> Result<Vec<Condition>, ApiError> {
    let Some(filter) = query.get("$filter").filter(|filter| !filter.trim().is_empty()) else {
        return Ok(Vec::new());
    };
    let words: Vec<_> = filter.split_whitespace().collect();
    let mut conditions = Vec::new();
    for (index, clause) in words.chunks(4).enumerate() {
        let (condition, last) = match clause {
            [property, operator, value] => ((property, operator, value), true),
            [property, operator, value, and] if and.eq_ignore_ascii_case("and") => {
                ((property, operator, value), false)
            }
            _ => return Err(unknown_filter(filter)),
        };
        let (property, operator, value) = condition;
        // An `and` with nothing after it, or a further condition without one before it.
        let ends_here = (index + 1) * 4 >= words.len();
        if !operator.eq_ignore_ascii_case("eq") || last != ends_here {
            return Err(unknown_filter(filter));
        }
        let quoted = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        conditions.push(Condition {
            property: property.to_ascii_lowercase(),
            value: quoted.unwrap_or(value).to_owned(),
            text: filter.to_owned(),
        });
    }
    Ok(conditions)
}

fn read_state(condition: &Condition) -> Result<JobState, ApiError> {
    let all = [JobState::Enabled, JobState::Disabled, JobState::Completed, JobState::Faulted];
    let known =
        all.into_iter().find(|one| crate::job::state_name(*one).eq_ignore_ascii_case(&condition.value));
    known.ok_or_else(|| unknown_filter(&condition.text))
}

fn read_status(condition: &Condition) -> Result<RecordStatus, ApiError> {
    let all = [RecordStatus::Completed, RecordStatus::Failed, RecordStatus::Postponed];
    let known =
        all.into_iter().find(|one| crate::history::status_name(*one).eq_ignore_ascii_case(&condition.value));
    known.ok_or_else(|| unknown_filter(&condition.text))
}

fn unknown_filter(filter: &str) -> ApiError {
    ApiError::bad_request(format!(
        "The $filter '{}' is invalid: jobs are filtered by 'state eq Enabled' (or Disabled, Completed, \
         Faulted), history by 'status eq Completed' (or Failed, Postponed); conditions are joined by 'and'.",
        shown(filter)
    ))
}

/// The values that several conditions have in common; none if there was no condition.
struct Selection<T>(Option<Vec<T>>);

impl<T> Default for Selection<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Copy + PartialEq> Selection<T> {
    fn narrow(&mut self, to: &[T]) {
        match &mut self.0 {
            None => self.0 = Some(to.to_vec()),
            Some(left) => left.retain(|one| to.contains(one)),
        }
    }

    /// The values that are left (an empty list if there was no condition), and whether that is none at all.
    fn finish(self) -> (Vec<T>, bool) {
        let empty = self.0.as_ref().is_some_and(Vec::is_empty);
        (self.0.unwrap_or_default(), empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_pages_are_read() {
        let all = JobsPage { state: None, empty: false, after: None, skip: 0, limit: 1000, topped: false };
        let check = |raw: &str, expected: Option<JobsPage>| {
            assert_eq!(JobsPage::read(&Query::decode(raw)).ok(), expected, "{raw}");
        };
        check("", Some(all.clone()));
        check("$top=5&$skip=10", Some(JobsPage { skip: 10, limit: 5, topped: true, ..all.clone() }));
        let disabled = JobsPage { state: Some(JobState::Disabled), ..all.clone() };
        check("$filter=state%20eq%20Disabled", Some(disabled.clone()));
        check("$filter=State+EQ+'disabled'", Some(disabled.clone()));
        check("$filter=state+eq+disabled+and+state+eq+disabled", Some(disabled));
        let nothing = JobsPage { empty: true, ..all.clone() };
        check("$filter=state+eq+disabled+and+state+eq+enabled", Some(nothing));
        check("$filter=", Some(all));
        for bad in [
            "$top=0",
            "$top=101",
            "$top=x",
            "$top=",
            "$skip=-1",
            "$filter=state",
            "$filter=state+ne+enabled",
            "$filter=state+eq+on",
            "$filter=status+eq+failed",
            "$filter=state+eq+enabled+and",
            "$filter=state+eq+enabled+or+state+eq+disabled",
            "$filter=state+eq+enabled+state+eq+disabled",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn history_pages_are_read() {
        use RecordStatus::{Completed, Failed, Postponed};
        let check = |raw: &str, expected: Option<(&[RecordStatus], bool)>| {
            let page = HistoryPage::read(&Query::decode(raw)).ok();
            assert_eq!(
                page.map(|page| (page.statuses, page.empty)),
                expected.map(|(s, e)| (s.to_vec(), e)),
                "{raw}"
            );
        };
        check("", Some((&[], false)));
        check("$filter=status+eq+Failed", Some((&[Failed], false)));
        check("$filter=status+eq+'postponed'", Some((&[Postponed], false)));
        check("$filter=state+eq+completed", Some((&[Completed], false)));
        check("$filter=state+eq+Faulted+and+status+eq+Failed", Some((&[Failed], false)));
        check("$filter=state+eq+Faulted+and+status+eq+Completed", Some((&[], true)));
        check("$filter=state+eq+Enabled", Some((&[], true)));
        check("$filter=status+eq+Faulted", None);
        check("$skiptoken=nonsense", None);
    }

    #[test]
    fn tokens_lead_back_to_their_place() {
        let place = ("2026-11-15T08:30:00.1234567Z".parse().unwrap(), 42);
        let token = HistoryPage::token(place.0, place.1);
        let page = HistoryPage::read(&Query::decode(&format!("$skiptoken={token}"))).unwrap();
        assert_eq!((page.after, page.limit), (Some(place), 500));
        let token = CollectionsPage::token(&"Rg".into(), &"Jc".into());
        let page = CollectionsPage::read(&Query::decode(&format!("$SKIPTOKEN={token}"))).unwrap();
        assert_eq!(page.after, Some(("Rg".into(), "Jc".into())));
        assert!(HistoryPage::read(&Query::decode(&format!("$skiptoken={token}"))).is_err());
        assert!(JobsPage::read(&Query::decode(&format!("$skiptoken={token}"))).is_err());
        let token = JobsPage::token(&"a\nb".into());
        let page = JobsPage::read(&Query::decode(&format!("$skiptoken={token}"))).unwrap();
        assert_eq!((page.after, page.skip), (Some("a\nb".into()), 0));
    }

    #[test]
    fn lists_say_that_there_is_no_next_page() {
        assert_eq!(render(Vec::new(), None).to_string(), r#"{"value":[],"nextLink":null}"#);
    }
}
