//! `GET …/jobCollections`, of a subscription or of a group

use punctual_arm::{ApiError, CollectionsPage, collection, page};
use punctual_model::{CollectionKey, Name};
use punctual_store::CollectionsAsk;

use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;
use crate::unreadable;

pub(crate) async fn list(
    state: &ApiState,
    call: &Call<'_>,
    subscription: &Name,
    group: Option<&Name>,
) -> Result<Answer, ApiError> {
    let version = call.version()?;
    let page = CollectionsPage::read(&call.query)?;
    let after = page.after.map(|(group, name)| CollectionKey::new(subscription.clone(), group, name));
    let (subscription, group, limit) = (subscription.clone(), group.cloned(), page.limit);
    let ask = CollectionsAsk { subscription, group, after, limit };
    let found = state.store.collections(&ask).await.map_err(|error| trouble(&error))?;
    let next = found.next.map(|last| {
        let token = CollectionsPage::token(&last.group.name, &last.name);
        call.next_link(state, "$skiptoken", &token)
    });
    let values = found.items.iter().map(|one| collection::answer(one, version)).collect();
    Ok(unreadable::tell(state, Answer::ok(&page::answer(values, next))?, &found.unreadable))
}
