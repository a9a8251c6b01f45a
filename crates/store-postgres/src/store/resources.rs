//! Groups, collections and jobs.

use std::sync::Arc;

use async_trait::async_trait;
use punctual_model::audit::AuditEntry;
use punctual_model::inspect::Subject;
use punctual_model::{Collection, CollectionKey, GroupKey, Job, JobId, JobKey, Name};
use punctual_store::codec::Number;
use punctual_store::{
    CollectionDecision, CollectionWrite, CollectionsAsk, FoundJob, Group, JobWrite, JobsAsk, Page, Resources,
    SUBSCRIPTIONS_MAX, Trouble, WriteError,
};
use tokio_postgres::Row;

use super::{PostgresStore, decode};
use crate::connection::Connection;
use crate::edit::folded;
use crate::error::PgError;
use crate::param::params;
use crate::pool::work;
use crate::row::{Last, bound, one_more};
use crate::{query, row};

/// The most groups of a subscription that are listed; the API has no pages of groups.
const GROUPS_MAX: usize = 10_000;

#[async_trait]
impl Resources for PostgresStore {
    async fn collection(&self, key: &CollectionKey) -> Result<Option<Collection>, Trouble> {
        let key = key.clone();
        let read = work!(|connection| with key; read_collection(connection, &key).await);
        self.inner.api.run(read).await.map_err(|error| error.trouble("read a collection"))
    }

    async fn collections(&self, ask: &CollectionsAsk) -> Result<Page<Collection, CollectionKey>, Trouble> {
        let ask = ask.clone();
        let read = work!(|connection| with ask; list_collections(connection, &ask).await);
        self.inner.api.run(read).await.map_err(|error| error.trouble("list collections"))
    }

    async fn put_collection(&self, write: CollectionWrite) -> Result<Collection, WriteError> {
        self.inner.put_collection(write).await.map_err(|error| error.write_error("write a collection"))
    }

    async fn edit_collection(
        &self,
        key: &CollectionKey,
        decide: CollectionDecision,
    ) -> Result<Collection, WriteError> {
        let edited = self.inner.edit_collection(key, decide).await;
        edited.map_err(|error| error.write_error("edit a collection"))
    }

    async fn delete_collection(
        &self,
        key: &CollectionKey,
        note: Option<AuditEntry>,
    ) -> Result<bool, Trouble> {
        let deleted = self.inner.delete_collection(key, note).await;
        deleted.map_err(|error| error.trouble("delete a collection"))
    }

    async fn find_job(&self, key: &JobKey) -> Result<FoundJob, Trouble> {
        let key = key.clone();
        let read = work!(|connection| with key; {
            let [subscription, group, collection] = folded(&key.collection);
            let row = connection.one(query::find_job, params![subscription, group, collection, key.name.folded()]).await?;
            row.map_or(Ok(FoundJob::NoCollection), |row| row::found_job(&row))
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("find a job"))
    }

    async fn job_in_collection(&self, key: &JobKey) -> Result<Option<(Collection, Option<Job>)>, Trouble> {
        let (key, vault) = (key.clone(), Arc::clone(&self.inner.vault));
        let read = work!(|connection| with key, vault; {
            connection.begin_read().await?;
            let mut found = None;
            if let Some(collection) = read_collection(connection, &key.collection).await? {
                let [subscription, group, name] = folded(&key.collection);
                let row = connection.one(query::job, params![subscription, group, name, key.name.folded()]).await?;
                let job = row.map(|row| row::job(&row, &vault, &mut Last::default())).transpose()?;
                found = Some((collection, job.map(|row| row.job)));
            }
            connection.roll_back().await?;
            Ok(found)
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("read a job with its collection"))
    }

    async fn jobs(&self, collection: &CollectionKey, ask: &JobsAsk) -> Result<Page<Job, Name>, Trouble> {
        let (key, ask, vault) = (collection.clone(), ask.clone(), Arc::clone(&self.inner.vault));
        let read = work!(|connection| with key, ask, vault; {
            let [subscription, group, name] = folded(&key);
            let state: Option<i16> = ask.state.map(|state| state.number().into());
            // No name is empty, so all are after the empty one.
            let after = ask.after.as_ref().map_or("", Name::folded);
            let (limit, skip) = (one_more(ask.limit), bound(ask.skip));
            let rows = connection.rows(query::jobs, params![subscription, group, name, state, after, limit, skip]).await?;
            let most = ask.limit;
            let read = move || {
                let mut last = Last::default();
                row::page(&rows, most, |row| {
                    let subject = Subject::Job(JobId(row::number_of(row)));
                    let name = row.try_get::<_, String>(1).ok().map(Name::from);
                    (name, subject, row::job(row, &vault, &mut last).map(|row| row.job))
                })
            };
            decode(most, read).await
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("list jobs"))
    }

    async fn put_job(&self, write: JobWrite) -> Result<Job, WriteError> {
        self.inner.put_job(write).await.map_err(|error| error.write_error("write a job"))
    }

    async fn delete_job(&self, key: &JobKey, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        self.inner.delete_job(key, note).await.map_err(|error| error.trouble("delete a job"))
    }

    async fn group(&self, key: &GroupKey) -> Result<Option<Group>, Trouble> {
        let key = key.clone();
        let read = work!(|connection| with key; {
            connection.one(query::group, params![key.subscription.folded(), key.name.folded()]).await?.map(|row| row::group(&row)).transpose()
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("read a group"))
    }

    async fn groups(&self, subscription: &Name) -> Result<Page<Group, Name>, Trouble> {
        let subscription = subscription.clone();
        let read = work!(|connection| with subscription; {
            let rows = connection.rows(query::groups, params![subscription.folded(), one_more(GROUPS_MAX)]).await?;
            row::page(&rows, GROUPS_MAX, |row| {
                let key = row::group_key(row).ok();
                let nowhere = || GroupKey { subscription: subscription.clone(), name: "".into() };
                let subject = Subject::Group(key.clone().unwrap_or_else(nowhere));
                (key.map(|key| key.name), subject, row::group(row))
            })
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("list groups"))
    }

    async fn subscriptions(&self) -> Result<Vec<Name>, Trouble> {
        let read = work!(|connection| {
            let rows = connection.rows(query::subscriptions, params![bound(SUBSCRIPTIONS_MAX)]).await?;
            rows.iter().map(|row| Ok(Name::new(row::text(row, 0)?))).collect::<Result<Vec<_>, PgError>>()
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("list subscriptions"))
    }

    async fn put_group(&self, group: &Group, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        self.inner.put_group(group, note).await.map_err(|error| error.trouble("write a group"))
    }

    async fn delete_group(&self, key: &GroupKey, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        self.inner.delete_group(key, note).await.map_err(|error| error.trouble("delete a group"))
    }

    async fn unregistered(&self, subscription: &Name) -> Result<bool, Trouble> {
        let subscription = subscription.clone();
        let read = work!(|connection| with subscription; {
            Ok(connection.number(query::unregistered, params![subscription.folded()]).await? == Some(1))
        });
        self.inner.api.run(read).await.map_err(|error: PgError| error.trouble("read a registration"))
    }

    async fn set_unregistered(
        &self,
        subscription: &Name,
        unregistered: bool,
        note: Option<AuditEntry>,
    ) -> Result<(), Trouble> {
        let written = self.inner.set_unregistered(subscription, unregistered, note).await;
        written.map_err(|error| error.trouble("write a registration"))
    }
}

async fn read_collection(
    connection: &Connection,
    key: &CollectionKey,
) -> Result<Option<Collection>, PgError> {
    let [subscription, group, name] = folded(key);
    let row = connection.one(query::collection, params![subscription, group, name]).await?;
    Ok(row.as_ref().map(row::collection).transpose()?.map(|(_, collection)| collection))
}

async fn list_collections(
    connection: &Connection,
    ask: &CollectionsAsk,
) -> Result<Page<Collection, CollectionKey>, PgError> {
    let after = ask.after.as_ref().filter(|after| after.group.subscription >= ask.subscription);
    if after.is_some_and(|after| after.group.subscription > ask.subscription) {
        return Ok(Page::new(Vec::new(), 0));
    }
    let (after_group, after_name) =
        after.map_or(("", ""), |after| (after.group.name.folded(), after.name.folded()));
    let (subscription, limit) = (ask.subscription.folded(), one_more(ask.limit));
    let rows = match ask.group.as_ref().map(Name::folded) {
        None => {
            connection.rows(query::collections, params![subscription, after_group, after_name, limit]).await?
        }
        Some(group) if after_group > group => return Ok(Page::new(Vec::new(), 0)),
        Some(group) => {
            let after_name = if after_group == group { after_name } else { "" };
            connection
                .rows(query::collections_of_group, params![subscription, group, after_name, limit])
                .await?
        }
    };
    row::page(&rows, ask.limit, |row: &Row| {
        let key = row::collection_key(row).ok();
        let nowhere = || CollectionKey::new(ask.subscription.clone(), "", "");
        let subject = Subject::Collection(key.clone().unwrap_or_else(nowhere));
        (key, subject, row::collection(row).map(|(_, collection)| collection))
    })
}
