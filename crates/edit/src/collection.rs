//! Changes collections, and their jobs where a change affects them.
//!
//! Each settlement increments the revision of its job. Where jobs fire all the time, a change of all jobs that
//! was decided before the write would always be stale. So after the first stale write the store has the change
//! decided inside its transaction.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use punctual_model::access::Role;
use punctual_model::audit::{AuditEntry, Author};
use punctual_model::{Collection, CollectionKey, CollectionState, Job, Limits, Scope, decide};
use punctual_store::{
    AuditKey, CollectionDecision, CollectionWrite, JobsAsk, Refusal, Trouble, Unreadable, WriteError,
};

use crate::Editor;
use crate::editor::{note, readable};
use crate::error::{EditError, Missed};

/// Makes the new collection from the existing one, if any, and the time; none if nothing is to change.
pub trait Wish<E>:
    Fn(Option<&Collection>, Timestamp) -> Result<Option<Collection>, EditError<E>> + Send + Sync + 'static
{
}

impl<E, F> Wish<E> for F where
    F: Fn(Option<&Collection>, Timestamp) -> Result<Option<Collection>, EditError<E>> + Send + Sync + 'static
{
}

impl Editor<'_> {
    /// Creates or replaces a collection. `wanted` makes the new one from the existing one; it is called again
    /// at every try.
    pub async fn put_collection<E: Send + 'static>(
        &self,
        key: &CollectionKey,
        wanted: impl Fn(Option<&Collection>, Timestamp) -> Result<Collection, E> + Send + Sync + 'static,
    ) -> Result<Collection, EditError<E>> {
        let wish = move |existing: Option<&Collection>, now: Timestamp| {
            wanted(existing, now).map(Some).map_err(EditError::Rejected)
        };
        self.edit_collection(key, wish).await
    }

    /// Changes an existing collection. `wanted` makes the merged one; it is called again at every try.
    pub async fn patch_collection<E: Send + 'static>(
        &self,
        key: &CollectionKey,
        wanted: impl Fn(&Collection, Timestamp) -> Result<Collection, E> + Send + Sync + 'static,
    ) -> Result<Collection, EditError<E>> {
        let name = key.clone();
        let scope = Scope::Collection(key.clone());
        let caller = self.author.caller.clone();
        let free = caller.may(Role::Contributor, &scope);
        let wish = move |existing: Option<&Collection>, now: Timestamp| {
            let existing = existing.ok_or_else(|| EditError::NoCollection(name.clone()))?;
            let wanted = wanted(existing, now).map_err(EditError::Rejected)?;
            if !free && more_than_state(existing, &wanted) {
                return Err(EditError::Denied(Box::new((caller.clone(), scope.clone()))));
            }
            Ok(Some(wanted))
        };
        self.edit_collection(key, wish).await
    }

    /// Enables or disables a collection. Nothing is written if it has that state already.
    pub async fn switch_collection<E: Send + 'static>(
        &self,
        key: &CollectionKey,
        state: CollectionState,
    ) -> Result<Collection, EditError<E>> {
        let name = key.clone();
        let wish = move |existing: Option<&Collection>, _: Timestamp| {
            let existing = existing.ok_or_else(|| EditError::NoCollection(name.clone()))?;
            Ok((existing.state != state).then(|| Collection { state, ..existing.clone() }))
        };
        self.edit_collection(key, wish).await
    }

    /// Deletes a collection with its jobs and their history.
    pub async fn delete_collection<E>(&self, key: &CollectionKey) -> Result<(), EditError<E>> {
        let existing = readable(self.store.collection(key).await)?.flatten();
        let scope = || Scope::Collection(key.clone());
        let note = self.note(scope, existing.as_ref(), None, AuditKey::collection);
        let deleted = self.store.delete_collection(key, note).await?;
        if deleted { Ok(()) } else { Err(EditError::NoCollection(key.clone())) }
    }

    async fn edit_collection<E: Send + 'static>(
        &self,
        key: &CollectionKey,
        wish: impl Wish<E>,
    ) -> Result<Collection, EditError<E>> {
        let attempt = async || {
            let existing = self.store.collection(key).await?;
            let Some(to) = wish(existing.as_ref(), self.clock.now())? else {
                return existing.map(Some).ok_or_else(|| EditError::NoCollection(key.clone()).into());
            };
            let concerned = concerns_jobs(existing.as_ref(), &to);
            let jobs = if concerned { self.all_jobs(key).await? } else { Vec::new() };
            let mut write = write(existing.as_ref(), to, &jobs, self.limits, self.clock.now())?;
            write.note = note_change(self.author, self.audit_key, existing.as_ref(), &write.collection);
            match self.store.put_collection(write).await.map_err(|error| Missed::of(error, key)) {
                Err(Missed::Stale) if concerned => Ok(None),
                written => written.map(Some),
            }
        };
        match self.until_written(attempt).await? {
            Some(collection) => Ok(collection),
            None => self.edit_inside(key, wish).await,
        }
    }

    /// Has the store decide inside its transaction.
    async fn edit_inside<E: Send + 'static>(
        &self,
        key: &CollectionKey,
        wish: impl Wish<E>,
    ) -> Result<Collection, EditError<E>> {
        let (clock, limits) = (Arc::clone(self.clock), *self.limits);
        let (author, key_of_log) = (self.author.clone(), self.audit_key.cloned());
        let declined = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&declined);
        let decide: CollectionDecision = Box::new(move |existing, jobs| {
            let now = clock.now();
            let decided = wish(existing, now)
                .and_then(|to| to.map(|to| write(existing, to, jobs, &limits, now)).transpose());
            let (write, why) = match decided {
                Ok(Some(mut write)) => {
                    write.note = note_change(&author, key_of_log.as_ref(), existing, &write.collection);
                    (Some(write), None)
                }
                Ok(None) => (None, existing.cloned().map(Ok)),
                Err(error) => (None, Some(Err(error))),
            };
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = why;
            write
        });
        match self.store.edit_collection(key, decide).await {
            Ok(written) => Ok(written),
            Err(WriteError::Refused(Refusal::Declined)) => {
                let why = declined.lock().unwrap_or_else(PoisonError::into_inner).take();
                why.unwrap_or_else(|| Err(EditError::NoCollection(key.clone())))
            }
            Err(error) => Err(match Missed::of(error, key) {
                Missed::Refused(error) => error,
                // Nobody can write in between; a store that reports this has a bug.
                Missed::Stale => EditError::Contention,
            }),
        }
    }

    /// All jobs of a collection, up to the most that it may have. A change of all jobs must not leave one out.
    async fn all_jobs(&self, key: &CollectionKey) -> Result<Vec<Job>, Trouble> {
        let ask = JobsAsk { state: None, after: None, skip: 0, limit: usize::MAX };
        let jobs = self.store.jobs(key, &ask).await?;
        match jobs.unreadable.into_iter().next() {
            None => Ok(jobs.items),
            Some(Unreadable { what, detail, .. }) => Err(Trouble::Corrupt { what, detail }),
        }
    }
}

/// What the audit log says of a change of a collection.
fn note_change(
    author: &Author,
    key: Option<&AuditKey>,
    from: Option<&Collection>,
    to: &Collection,
) -> Option<AuditEntry> {
    note(author, key, || Scope::Collection(to.key.clone()), from, Some(to), AuditKey::collection)
}

/// Whether a collection shall differ in more than its switch.
fn more_than_state(from: &Collection, to: &Collection) -> bool {
    let same = Collection { state: from.state, revision: from.revision, ..to.clone() };
    same != *from
}

/// Whether a change of a collection needs its jobs: they are paused or resumed when it is switched, and checked
/// when its plan changes.
fn concerns_jobs(from: Option<&Collection>, to: &Collection) -> bool {
    from.is_some_and(|from| from.enabled() != to.enabled() || from.sku != to.sku)
}

/// What a change of a collection writes; `jobs` are all of its jobs where the change affects them.
fn write<E>(
    from: Option<&Collection>,
    to: Collection,
    jobs: &[Job],
    limits: &Limits,
    now: Timestamp,
) -> Result<CollectionWrite, EditError<E>> {
    let mut write = CollectionWrite {
        collection_count_max: limits.of(to.sku).collection_count_max,
        collection: to,
        jobs: Vec::new(),
        skips: Vec::new(),
        job_count_seen: None,
        note: None,
    };
    let Some(from) = from.filter(|from| concerns_jobs(Some(from), &write.collection)) else {
        return Ok(write);
    };
    let obstacles = decide::obstacles(from, &write.collection, limits, jobs);
    if !obstacles.is_empty() {
        return Err(EditError::Obstructed(Box::new(write.collection), obstacles));
    }
    write.job_count_seen = u32::try_from(jobs.len()).ok();
    if from.enabled() != write.collection.enabled() {
        (write.jobs, write.skips) = decide::switch(jobs, write.collection.enabled(), now);
    }
    Ok(write)
}
