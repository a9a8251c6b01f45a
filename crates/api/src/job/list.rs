//! `GET …/jobs`

use punctual_arm::{ApiError, JobsPage, page};
use punctual_model::CollectionKey;
use punctual_store::JobsAsk;

use super::{in_flight, render};
use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;
use crate::unreadable;

pub(crate) async fn list(state: &ApiState, call: &Call<'_>, key: &CollectionKey) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let page = JobsPage::read(&call.query)?;
    let collection = state.store.collection(key).await.map_err(|error| trouble(&error))?;
    let collection = collection.ok_or_else(|| ApiError::collection_not_found(key))?;
    if page.empty {
        return Answer::ok(&page::answer(Vec::new(), None));
    }
    let ask = JobsAsk { state: page.state, after: page.after, skip: page.skip, limit: page.limit };
    let jobs = state.store.jobs(key, &ask).await.map_err(|error| trouble(&error))?;
    let next = jobs.next.filter(|_| !page.topped);
    let next = next.map(|last| call.next_link(state, "$skiptoken", &JobsPage::token(&last)));
    let in_flight = in_flight(state, &jobs.items).await?;
    let dialect = call.dialect(true);
    let shown = jobs.items.iter().map(|job| render(job, &collection, &in_flight, version, dialect));
    let answer = Answer::ok(&page::answer(shown.collect(), next))?;
    Ok(unreadable::tell(state, answer, &jobs.unreadable))
}
