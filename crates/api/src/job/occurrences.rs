//! `GET …/jobs/{job}/occurrences`: each instant that the schedule yields, with its outcome and the reason

use jiff::{SignedDuration, Timestamp};
use punctual_arm::{ApiError, OccurrencesPage, occurrence, page};
use punctual_model::ledger::{Ledger, Page, RECORDS_MAX, RERUNS_MAX, SKIPS_MAX};
use punctual_model::{Collection, Job, JobKey, Rerun};

use super::find;
use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

/// How far the window reaches from now, or from its start, if the caller does not say.
const AHEAD: SignedDuration = SignedDuration::from_hours(31 * 24);

pub(crate) async fn occurrences(state: &ApiState, call: &Call<'_>, key: &JobKey) -> Result<Answer, ApiError> {
    call.own_version("occurrences")?;
    let asked = OccurrencesPage::read(&call.query)?;
    let (collection, job) = find(state, key).await?;
    let now = state.now();
    let from = match asked.after {
        None => asked.from.unwrap_or(Timestamp::MIN),
        Some(after) => match after.checked_add(SignedDuration::from_nanos(1)) {
            Ok(from) => from,
            // There is nothing after the end of time.
            Err(_) => return Answer::ok(&page::answer(Vec::new(), None)),
        },
    };
    let to = asked.to.unwrap_or_else(|| {
        let begin = asked.from.map_or(now, |from| from.max(now));
        begin.checked_add(AHEAD).unwrap_or(Timestamp::MAX)
    });
    let (shown, reruns) = ledger_page(state, &collection, &job, (from, to), asked.limit).await?;
    let until = shown.shown_until.filter(|_| !asked.topped);
    let next = until.map(|until| call.next_link(state, "$skiptoken", &OccurrencesPage::token(until)));
    Answer::ok(&occurrence::answer_page(&shown, &reruns, next, call.dialect(true)))
}

/// The occurrences of a job in a window, and the runs that repeat one of them or are one of them.
pub(super) async fn ledger_page(
    state: &ApiState,
    collection: &Collection,
    job: &Job,
    (from, to): (Timestamp, Timestamp),
    limit: usize,
) -> Result<(Page, Vec<Rerun>), ApiError> {
    let store = &state.store;
    let records =
        store.records_between(job.id, from, to, RECORDS_MAX).await.map_err(|error| trouble(&error))?;
    let reruns = store.reruns(job.id, from, to, RERUNS_MAX).await.map_err(|error| trouble(&error))?;
    let skips = store.skips(job.id, from, to, SKIPS_MAX).await.map_err(|error| trouble(&error))?;
    let pruned_before = store.pruned_before(job.id).await.map_err(|error| trouble(&error))?;
    let in_flight = store.in_flight(&[job.id]).await.map_err(|error| trouble(&error))?;
    let ledger = Ledger {
        job,
        collection_enabled: collection.enabled(),
        in_flight: !in_flight.is_empty(),
        now: state.now(),
        records: records.iter().map(|stored| &stored.record).collect(),
        skips: &skips,
        reruns: &reruns,
        pruned_before,
    };
    let page = ledger.page(from, to, limit);
    Ok((page, reruns))
}
