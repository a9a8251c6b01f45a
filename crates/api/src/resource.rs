//! `GET …/resources`, of a subscription or of a group: what there is of any type, which is job collections. Those that
//! the caller may read.

use punctual_arm::page::COLLECTIONS_LIMIT;
use punctual_arm::{ApiError, CollectionsPage, ResourcesPage, page, resource};
use punctual_model::access::Role;
use punctual_model::{Collection, CollectionKey, GroupKey, Name, Scope};

use crate::answer::{Answer, trouble};
use crate::collection::gather;
use crate::request::Call;
use crate::state::ApiState;
use crate::unreadable;

/// How many collections one request looks at in search of those that a filter selects. What is behind them is on the
/// next page.
const LOOKED_AT_MAX: usize = 5 * COLLECTIONS_LIMIT;

pub(crate) async fn list(
    state: &ApiState,
    call: &Call<'_>,
    subscription: &Name,
    group: Option<&Name>,
) -> Result<Answer, ApiError> {
    call.any_version()?;
    let page = ResourcesPage::read(&call.query)?;
    let group = match (group, &page.group) {
        (Some(one), Some(other)) if one != other => return Answer::ok(&page::answer(Vec::new(), None)),
        (one, other) => one.or(other.as_ref()),
    };
    if page.empty {
        return Answer::ok(&page::answer(Vec::new(), None));
    }
    let scope = match group {
        None => Scope::Subscription(subscription.clone()),
        Some(name) => Scope::Group(GroupKey { subscription: subscription.clone(), name: name.clone() }),
    };
    let parts = call.caller.parts(Role::Reader, &scope);
    let mut after = page
        .after
        .as_ref()
        .map(|(group, name)| CollectionKey::new(subscription.clone(), group.clone(), name.clone()));
    let (mut found, mut damaged, mut looked_at) = (Vec::<Collection>::new(), Vec::new(), 0);
    let next = loop {
        let read = gather(state, &parts, after.as_ref(), COLLECTIONS_LIMIT).await;
        let read = read.map_err(|error| trouble(&error))?;
        looked_at += read.items.len() + read.unreadable.len();
        damaged.extend(read.unreadable);
        found.extend(read.items.into_iter().filter(|one| page.selects(one)));
        if found.len() > page.limit {
            found.truncate(page.limit);
            break found.last().map(|last| last.key.clone());
        }
        match read.next {
            None => break None,
            Some(next) if looked_at >= LOOKED_AT_MAX => break Some(next),
            next => after = next,
        }
    };
    let next = next.map(|last| {
        call.next_link(state, "$skiptoken", &CollectionsPage::token(&last.group.name, &last.name))
    });
    let values = found.iter().map(resource::answer).collect();
    Ok(unreadable::tell(state, Answer::ok(&page::answer(values, next))?, &damaged))
}
