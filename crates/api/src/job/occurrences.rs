//! `GET …/jobs/{job}/occurrences`: of each instant that the schedule yields, what became of it and why

use jiff::{SignedDuration, Timestamp};
use punctual_arm::{ApiError, OccurrencesPage, occurrence, page};
use punctual_model::JobKey;
use punctual_model::ledger::{Ledger, RECORDS_MAX, SKIPS_MAX};

use super::find;
use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

/// How far ahead is looked where the caller does not say.
const AHEAD: SignedDuration = SignedDuration::from_hours(31 * 24);

/// The resolution of our times: the next page begins this much behind the last row of the one before.
const TICK: SignedDuration = SignedDuration::from_nanos(100);

pub(crate) async fn occurrences(state: &ApiState, call: &Call<'_>, key: &JobKey) -> Result<Answer, ApiError> {
    let version = call.version()?;
    if !version.has_additions() {
        return Err(ApiError::operation_needs("occurrences", version));
    }
    let asked = OccurrencesPage::read(&call.query)?;
    let (collection, job) = find(state, key).await?;
    let now = state.now();
    let from = asked.after.map_or(asked.from, |after| Some(after + TICK));
    let from = from.unwrap_or(Timestamp::MIN);
    let to = asked.to.unwrap_or_else(|| now.saturating_add(AHEAD).unwrap_or(Timestamp::MAX));
    let store = &state.store;
    let records =
        store.records_between(job.id, from, to, RECORDS_MAX).await.map_err(|error| trouble(&error))?;
    let skips = store.skips(job.id, from, to, SKIPS_MAX).await.map_err(|error| trouble(&error))?;
    let in_flight = store.in_flight(&[job.id]).await.map_err(|error| trouble(&error))?;
    let ledger = Ledger {
        job: &job,
        collection_enabled: collection.enabled(),
        in_flight: !in_flight.is_empty(),
        now,
        records: records.iter().map(|stored| &stored.record).collect(),
        skips: &skips,
    };
    // One more than is shown says whether there is more.
    let (mut rows, complete) = ledger.rows(from, to, asked.limit + 1);
    let more = (rows.len() > asked.limit || !complete) && !asked.topped;
    rows.truncate(asked.limit);
    let last = rows.last().filter(|_| more);
    let next = last.map(|last| call.next_link(state, "$skiptoken", &OccurrencesPage::token(last.due_at)));
    let dialect = call.dialect(true);
    let values = rows.iter().map(|row| occurrence::answer(row, dialect)).collect();
    Answer::ok(&page::answer(values, next))
}
