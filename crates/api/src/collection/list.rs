//! `GET …/jobCollections`, of a subscription or of a group

use punctual_arm::{ApiError, CollectionsPage, collection, page};
use punctual_model::{CollectionKey, Name};
use punctual_store::CollectionsAsk;

use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

pub(crate) async fn list(
    state: &ApiState,
    call: &Call<'_>,
    subscription: &Name,
    group: Option<&Name>,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let page = CollectionsPage::read(&call.query)?;
    let after = page.after.map(|(group, name)| CollectionKey::new(subscription.clone(), group, name));
    // One more than is shown says whether there is more.
    let limit = page.limit + 1;
    let ask = CollectionsAsk { subscription: subscription.clone(), group: group.cloned(), after, limit };
    let mut found = state.store.collections(&ask).await.map_err(|error| trouble(&error))?;
    let more = found.len() > page.limit;
    found.truncate(page.limit);
    let last = found.last().filter(|_| more);
    let next = last.map(|last| {
        let token = CollectionsPage::token(&last.key.group.name, &last.key.name);
        call.next_link(state, "$skiptoken", &token)
    });
    let values = found.iter().map(|one| collection::answer(one, version)).collect();
    Answer::ok(&page::answer(values, next))
}
