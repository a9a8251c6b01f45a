//! Changes resource groups, and the registration of subscriptions.

use jiff::Timestamp;
use punctual_model::{GroupKey, Name, Scope};
use punctual_store::{AuditKey, Group};

use crate::editor::readable;
use crate::{EditError, Editor};

impl Editor<'_> {
    /// Creates or replaces a group. `wanted` makes its region and tags from the existing group. Returns the
    /// group, and whether it is new. Of two concurrent changes the last one wins.
    pub async fn put_group<E>(
        &self,
        key: &GroupKey,
        wanted: impl FnOnce(Option<&Group>) -> Result<(String, Vec<(String, String)>), E>,
    ) -> Result<(Group, bool), EditError<E>> {
        let existing = self.store.group(key).await?;
        let (location, tags) = wanted(existing.as_ref()).map_err(EditError::Rejected)?;
        let known = existing.as_ref().map(|group| (group.key.clone(), group.created_at));
        let (key, created_at): (GroupKey, Timestamp) =
            known.unwrap_or_else(|| (key.clone(), self.clock.now()));
        let group = Group { key, location, tags, created_at };
        let scope = || Scope::Group(group.key.clone());
        let note = self.note(scope, existing.as_ref(), Some(&group), AuditKey::group);
        let new = self.store.put_group(&group, note).await?;
        Ok((group, new))
    }

    /// Deletes a group and all that is in it.
    pub async fn delete_group<E>(&self, key: &GroupKey) -> Result<(), EditError<E>> {
        let existing = readable(self.store.group(key).await)?.flatten();
        let note = self.note(|| Scope::Group(key.clone()), existing.as_ref(), None, AuditKey::group);
        let deleted = self.store.delete_group(key, note).await?;
        if deleted { Ok(()) } else { Err(EditError::NoGroup(key.clone())) }
    }

    /// Registers a subscription with the provider, or unregisters it.
    pub async fn register<E>(&self, subscription: &Name, registered: bool) -> Result<(), EditError<E>> {
        let scope = || Scope::Subscription(subscription.clone());
        let note = self.note(scope, None, None, AuditKey::group);
        Ok(self.store.set_unregistered(subscription, !registered, note).await?)
    }
}
