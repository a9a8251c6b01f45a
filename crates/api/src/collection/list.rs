//! `GET …/jobCollections`, of a subscription or of a group: those that the caller may read

use punctual_arm::{ApiError, CollectionsPage, collection, page};
use punctual_model::access::Role;
use punctual_model::{Collection, CollectionKey, GroupKey, Name, Scope};
use punctual_store::{CollectionsAsk, Page, Trouble};

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
    let scope = match group {
        None => Scope::Subscription(subscription.clone()),
        Some(name) => Scope::Group(GroupKey { subscription: subscription.clone(), name: name.clone() }),
    };
    let parts = call.caller.parts(Role::Reader, &scope);
    let found = gather(state, &parts, after.as_ref(), page.limit).await.map_err(|error| trouble(&error))?;
    let next = found.next.map(|last| {
        let token = CollectionsPage::token(&last.group.name, &last.name);
        call.next_link(state, "$skiptoken", &token)
    });
    let values = found.items.iter().map(|one| collection::answer(one, version)).collect();
    Ok(unreadable::tell(state, Answer::ok(&page::answer(values, next))?, &found.unreadable))
}

/// The collections of some parts of a subscription, which come in their order and don't overlap. Only they are read,
/// so that neither the length of a page nor its link tells of others.
pub(crate) async fn gather(
    state: &ApiState,
    parts: &[Scope],
    after: Option<&CollectionKey>,
    limit: usize,
) -> Result<Page<Collection, CollectionKey>, Trouble> {
    let mut page = Page { items: Vec::new(), unreadable: Vec::new(), next: None };
    for part in parts {
        let left = limit.saturating_sub(page.items.len() + page.unreadable.len());
        if left == 0 {
            page.next = page.items.last().map(|last: &Collection| last.key.clone());
            break;
        }
        let ask = match part {
            Scope::Subscription(name) => {
                let subscription = name.clone();
                CollectionsAsk { subscription, group: None, after: after.cloned(), limit: left }
            }
            Scope::Group(key) => {
                if after.is_some_and(|after| after.group > *key) {
                    continue;
                }
                let after = after.filter(|after| after.group == *key).cloned();
                let (subscription, group) = (key.subscription.clone(), Some(key.name.clone()));
                CollectionsAsk { subscription, group, after, limit: left }
            }
            Scope::Collection(key) => {
                if after.is_none_or(|after| key > after) {
                    page.items.extend(readable(state, key).await?);
                }
                continue;
            }
            // Everything is above what is listed, and nobody is given rights on single jobs.
            Scope::Everything | Scope::Job(_) => continue,
        };
        let found = state.store.collections(&ask).await?;
        page.items.extend(found.items);
        page.unreadable.extend(found.unreadable);
        if found.next.is_some() {
            page.next = found.next;
            break;
        }
    }
    Ok(page)
}

/// A collection, if it is there and can be read.
async fn readable(state: &ApiState, key: &CollectionKey) -> Result<Option<Collection>, Trouble> {
    match state.store.collection(key).await {
        Err(Trouble::Corrupt { what, detail }) => {
            tracing::error!(
                what,
                detail,
                "a list leaves out what can't be read; `punctual doctor` says what to do"
            );
            Ok(None)
        }
        found => found,
    }
}
