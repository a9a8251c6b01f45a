//! `GET /stats`: outcomes and lateness by stretches of time

use punctual_arm::{ApiError, StatsQuery, stats as arm_stats};
use punctual_store::StatsAsk;

use super::readable;
use crate::answer::{Answer, trouble};
use crate::operation::Operation;
use crate::request::Call;
use crate::state::ApiState;

/// The most rows that one request reads: a day of 100 collections that fire each minute.
const ROW_MAX: usize = 150_000;

pub(crate) async fn stats(state: &ApiState, asked: &Operation, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("stats")?;
    let query = StatsQuery::read(&call.query, state.now())?;
    let scopes = readable(asked, call, &query.scope)?;
    let ask = StatsAsk { scopes, from: query.from, to: query.to, step: query.step, row_max: ROW_MAX };
    let found = state.store.stats(&ask).await.map_err(|error| trouble(&error))?;
    let buckets = found.buckets.iter().map(|(start, statistics)| (*start, statistics));
    Answer::ok(&arm_stats::answer(&query, buckets, found.unread_before))
}
