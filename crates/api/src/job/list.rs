//! `GET …/jobs`

use punctual_arm::{ApiError, JobsPage, page};
use punctual_model::CollectionKey;
use punctual_store::JobsAsk;

use super::{in_flight, render};
use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn list(state: &ApiState, call: &Call<'_>, key: &CollectionKey) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let page = JobsPage::read(&call.query)?;
    let collection = state.store.collection(key).await.map_err(|error| trouble(&error))?;
    let collection = collection.ok_or_else(|| ApiError::collection_not_found(key))?;
    if page.empty {
        return Answer::ok(&page::answer(Vec::new(), None));
    }
    // One more than is shown says whether there is more.
    let ask = JobsAsk { state: page.state, skip: page.skip, limit: page.limit + 1 };
    let mut jobs = state.store.jobs(key, &ask).await.map_err(|error| trouble(&error))?;
    let more = jobs.len() > page.limit && !page.topped;
    jobs.truncate(page.limit);
    let next = more.then(|| call.next_link(state, "$skip", &(page.skip + page.limit).to_string()));
    let in_flight = in_flight(state, &jobs).await?;
    let dialect = call.dialect(true);
    let values = jobs.iter().map(|job| render(job, &collection, &in_flight, version, dialect)).collect();
    Answer::ok(&page::answer(values, next))
}
