//! Groups, collections and jobs.

use async_trait::async_trait;
use punctual_model::audit::AuditEntry;
use punctual_model::inspect::Subject;
use punctual_model::{Collection, CollectionKey, GroupKey, Job, JobId, JobKey, Name};
use punctual_store::codec::{self, Number};
use punctual_store::{
    CollectionDecision, CollectionWrite, CollectionsAsk, FoundJob, Group, JobWrite, JobsAsk, Page, Resources,
    SUBSCRIPTIONS_MAX, Trouble, WriteError,
};
use rusqlite::{Connection, Row, params};

use super::SqliteStore;
use crate::error::SqliteError;
use crate::row::{Last, bound};
use crate::writer_state::EncodedCollection;
use crate::{query, row};

/// The most groups of a subscription that are listed; the API has no pages of groups.
const GROUPS_MAX: usize = 10_000;

#[async_trait]
impl Resources for SqliteStore {
    async fn collection(&self, key: &CollectionKey) -> Result<Option<Collection>, Trouble> {
        let key = key.clone();
        self.readers.call("read a collection", move |conn| read_collection(conn, &key)).await
    }

    async fn collections(&self, ask: &CollectionsAsk) -> Result<Page<Collection, CollectionKey>, Trouble> {
        let ask = ask.clone();
        self.readers.call_long("list collections", move |conn| list_collections(conn, &ask)).await
    }

    async fn put_collection(&self, write: CollectionWrite) -> Result<Collection, WriteError> {
        let written = EncodedCollection::new(write);
        let write = self.writer.call("write a collection", move |state| state.put_collection(&written));
        Ok(write.await??)
    }

    async fn edit_collection(
        &self,
        key: &CollectionKey,
        mut decide: CollectionDecision,
    ) -> Result<Collection, WriteError> {
        let key = key.clone();
        let edit =
            self.writer.call("edit a collection", move |state| state.edit_collection(&key, &mut decide));
        Ok(edit.await??)
    }

    async fn delete_collection(
        &self,
        key: &CollectionKey,
        note: Option<AuditEntry>,
    ) -> Result<bool, Trouble> {
        let note = note.as_ref().map(codec::encode_audit);
        let key = key.clone();
        self.writer
            .call("delete a collection", move |state| {
                let deleted = state.delete_collection(&key)?;
                state.note_if(deleted, note.as_deref())?;
                Ok(deleted)
            })
            .await
    }

    async fn find_job(&self, key: &JobKey) -> Result<FoundJob, Trouble> {
        let key = key.clone();
        let read = self.readers.call("find a job", move |conn| {
            let found = row::one(conn, query::find_job, job_params(&key), row::found_job)?;
            Ok(found.unwrap_or(FoundJob::NoCollection))
        });
        read.await
    }

    async fn job_in_collection(&self, key: &JobKey) -> Result<Option<(Collection, Option<Job>)>, Trouble> {
        let (key, vault) = (key.clone(), self.vault.clone());
        let read = self.readers.call("read a job with its collection", move |conn| {
            let Some(collection) = read_collection(conn, &key.collection)? else { return Ok(None) };
            let read = |row: &Row<'_>| row::job(row, &vault, &mut Last::default());
            let job = row::one(conn, query::job, job_params(&key), read)?;
            Ok(Some((collection, job.map(|row| row.job))))
        });
        read.await
    }

    async fn jobs(&self, collection: &CollectionKey, ask: &JobsAsk) -> Result<Page<Job, Name>, Trouble> {
        let (key, ask, vault) = (collection.clone(), ask.clone(), self.vault.clone());
        let read = self.readers.call_long("list jobs", move |conn| {
            let [subscription, group, name] = row::collection_params(&key);
            let state = ask.state.map(Number::number);
            // No name is empty, so all are after the empty one.
            let after = ask.after.as_ref().map_or("", Name::folded);
            let (limit, skip) = (one_more(ask.limit), bound(ask.skip));
            let params = params![subscription, group, name, state, after, limit, skip];
            let mut last = Last::default();
            row::page(conn, query::jobs, params, ask.limit, |row| {
                let subject = Subject::Job(JobId(row::number_of(row)));
                let name = row.get::<_, String>(1).ok().map(Name::from);
                (name, subject, row::job(row, &vault, &mut last).map(|row| row.job))
            })
        });
        read.await
    }

    async fn put_job(&self, write: JobWrite) -> Result<Job, WriteError> {
        let JobWrite { job, collection_revision, skips, job_count_max, rerun, note } = write;
        let written = self.encode(job);
        let note = note.as_ref().map(codec::encode_audit);
        let write = self.writer.call("write a job", move |state| {
            let written = state.put_job(&written, collection_revision, &skips, job_count_max)?;
            if let (Ok(job), Some(rerun)) = (&written, rerun) {
                state.append_rerun(job.id, rerun)?;
            }
            state.note_if(written.is_ok(), note.as_deref())?;
            Ok(written)
        });
        Ok(write.await??)
    }

    async fn delete_job(&self, key: &JobKey, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let note = note.as_ref().map(codec::encode_audit);
        let key = key.clone();
        self.writer
            .call("delete a job", move |state| {
                let deleted = state.delete_job(&key)?;
                state.note_if(deleted, note.as_deref())?;
                Ok(deleted)
            })
            .await
    }

    async fn group(&self, key: &GroupKey) -> Result<Option<Group>, Trouble> {
        let key = key.clone();
        let read = self.readers.call("read a group", move |conn| {
            row::one(conn, query::group, [key.subscription.folded(), key.name.folded()], row::group)
        });
        read.await
    }

    async fn groups(&self, subscription: &Name) -> Result<Page<Group, Name>, Trouble> {
        let subscription = subscription.clone();
        let read = self.readers.call_long("list groups", move |conn| {
            let params = params![subscription.folded(), one_more(GROUPS_MAX)];
            row::page(conn, query::groups, params, GROUPS_MAX, |row| {
                let key = row::group_key(row).ok();
                let nowhere = || GroupKey { subscription: subscription.clone(), name: "".into() };
                let subject = Subject::Group(key.clone().unwrap_or_else(nowhere));
                (key.map(|key| key.name), subject, row::group(row))
            })
        });
        read.await
    }

    async fn subscriptions(&self) -> Result<Vec<Name>, Trouble> {
        let read = self.readers.call_long("list subscriptions", |conn| {
            row::many(conn, query::subscriptions, [bound(SUBSCRIPTIONS_MAX)], |row| {
                Ok(Name::new(row.get::<_, String>(0)?))
            })
        });
        read.await
    }

    async fn put_group(&self, group: &Group, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let note = note.as_ref().map(codec::encode_audit);
        let group = group.clone();
        self.writer
            .call("write a group", move |state| {
                let new = state.put_group(&group)?;
                state.note_if(true, note.as_deref())?;
                Ok(new)
            })
            .await
    }

    async fn delete_group(&self, key: &GroupKey, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let note = note.as_ref().map(codec::encode_audit);
        let key = key.clone();
        self.writer
            .call("delete a group", move |state| {
                let deleted = state.delete_group(&key)?;
                state.note_if(deleted, note.as_deref())?;
                Ok(deleted)
            })
            .await
    }

    async fn unregistered(&self, subscription: &Name) -> Result<bool, Trouble> {
        let subscription = subscription.clone();
        let read = self.readers.call("read a registration", move |conn| {
            Ok(row::number(conn, query::unregistered, [subscription.folded()])? == Some(1))
        });
        read.await
    }

    async fn set_unregistered(
        &self,
        subscription: &Name,
        unregistered: bool,
        note: Option<AuditEntry>,
    ) -> Result<(), Trouble> {
        let note = note.as_ref().map(codec::encode_audit);
        let subscription = subscription.clone();
        let write = self.writer.call("write a registration", move |state| {
            state.set_unregistered(&subscription, unregistered)?;
            state.note_if(true, note.as_deref())
        });
        write.await
    }
}

fn read_collection(conn: &Connection, key: &CollectionKey) -> Result<Option<Collection>, SqliteError> {
    let found = row::one(conn, query::collection, row::collection_params(key), row::collection)?;
    Ok(found.map(|(_, collection)| collection))
}

/// One row more than a page has, which tells whether there are more.
pub(super) fn one_more(limit: usize) -> i64 {
    bound(limit.saturating_add(1))
}

fn list_collections(
    conn: &Connection,
    ask: &CollectionsAsk,
) -> Result<Page<Collection, CollectionKey>, SqliteError> {
    let after = ask.after.as_ref().filter(|after| after.group.subscription >= ask.subscription);
    if after.is_some_and(|after| after.group.subscription > ask.subscription) {
        return Ok(Page::new(Vec::new(), 0));
    }
    let (after_group, after_name) =
        after.map_or(("", ""), |after| (after.group.name.folded(), after.name.folded()));
    let subscription = ask.subscription.folded();
    let read = |row: &Row<'_>| {
        let key = row::collection_key(row).ok();
        let nowhere = || CollectionKey::new(ask.subscription.clone(), "", "");
        let subject = Subject::Collection(key.clone().unwrap_or_else(nowhere));
        (key, subject, row::collection(row).map(|(_, collection)| collection))
    };
    match ask.group.as_ref().map(Name::folded) {
        None => {
            let params = params![subscription, after_group, after_name, one_more(ask.limit)];
            row::page(conn, query::collections, params, ask.limit, read)
        }
        Some(group) if after_group > group => Ok(Page::new(Vec::new(), 0)),
        Some(group) => {
            let after_name = if after_group == group { after_name } else { "" };
            let params = params![subscription, group, after_name, one_more(ask.limit)];
            row::page(conn, query::collections_of_group, params, ask.limit, read)
        }
    }
}

fn job_params(key: &JobKey) -> [&str; 4] {
    let [subscription, group, collection] = row::collection_params(&key.collection);
    [subscription, group, collection, key.name.folded()]
}
