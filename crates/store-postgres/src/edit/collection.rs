//! Edits of collections and groups.

use std::sync::{Arc, PoisonError};

use punctual_model::audit::AuditEntry;
use punctual_model::{Collection, CollectionKey, GroupKey, Job, JobId, Name, Sku};
use punctual_store::codec::{self, Number};
use punctual_store::instant::to_ticks;
use punctual_store::{CollectionDecision, CollectionWrite, Group, Refusal};
use tokio_postgres::Row;

use super::{Taken, append_skips, folded, note, remove_jobs, update_standings};
use crate::columns::Standings;
use crate::connection::Connection;
use crate::error::PgError;
use crate::param::params;
use crate::pool::work;
use crate::query;
use crate::row::{self, Last};
use crate::store::{Inner, decode};

/// The number that whoever makes or deletes collections locks, so that plans are counted right.
const PLANS: &str = "plans";

/// A collection that is locked.
struct Known {
    id: i64,
    key: CollectionKey,
    revision: i64,
    sku: Option<Sku>,
    job_count: i64,
}

impl Known {
    /// A row of `collection_locked.sql`. The document is not read: one that can't be read can still be deleted.
    fn read(row: &Row) -> Result<Self, PgError> {
        Ok(Self {
            id: row.try_get(0)?,
            key: row::collection_key(row)?,
            revision: row.try_get(5)?,
            sku: Sku::from_number(row.try_get::<_, i16>(6)?.into()),
            job_count: row.try_get(7)?,
        })
    }
}

impl Inner {
    pub(crate) async fn put_collection(
        self: &Arc<Self>,
        write: CollectionWrite,
    ) -> Result<Collection, PgError> {
        let moved = Moved::by(&write);
        let (write, taken) = (Arc::new(write), Taken::default());
        let (inner, mine) = (Arc::clone(self), taken.clone());
        let edit = work!(|connection| with inner, write, mine; {
            if counts_plans(connection, &write.collection).await? {
                connection.execute_for(1, query::count_up, params![PLANS]).await?;
            }
            let known = locked(connection, &write.collection.key).await?;
            put(connection, &inner, &mine, &write, known).await
        });
        let collection = self.edit(&taken, edit).await?;
        self.moved(&moved);
        Ok(collection)
    }

    /// Reads a collection with its jobs, and writes what is decided on them.
    pub(crate) async fn edit_collection(
        self: &Arc<Self>,
        key: &CollectionKey,
        decide: CollectionDecision,
    ) -> Result<Collection, PgError> {
        let taken = Taken::default();
        let moved = Arc::new(std::sync::Mutex::new(Moved::default()));
        let decide = Arc::new(std::sync::Mutex::new(decide));
        let (inner, mine, key, noted) = (Arc::clone(self), taken.clone(), key.clone(), Arc::clone(&moved));
        let edit = work!(|connection| with inner, mine, key, noted, decide; {
            // The decision may be to change the plan.
            connection.execute_for(1, query::count_up, params![PLANS]).await?;
            let [subscription, group, name] = folded(&key);
            let row = connection.one(query::collection_locked, params![subscription, group, name]).await?;
            let known = row.as_ref().map(Known::read).transpose()?;
            let collection = row.as_ref().map(row::collection).transpose()?.map(|(_, collection)| collection);
            let rows = match &known {
                Some(known) => connection.rows(query::jobs_locked, params![known.id]).await?,
                None => Vec::new(),
            };
            let vault = Arc::clone(&inner.vault);
            let decided = decode(rows.len(), move || {
                let mut last = Last::default();
                let jobs: Result<Vec<Job>, PgError> =
                    rows.iter().map(|row| Ok(row::job(row, &vault, &mut last)?.job)).collect();
                let mut jobs = jobs?;
                jobs.sort_by(|one, other| one.key.name.cmp(&other.key.name));
                let mut decide = decide.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(decide(collection.as_ref(), &jobs))
            });
            let write = decided.await?.ok_or(Refusal::Declined)?;
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = Moved::by(&write);
            put(connection, &inner, &mine, &write, known).await
        });
        let collection = self.edit(&taken, edit).await?;
        let moved = std::mem::take(&mut *moved.lock().unwrap_or_else(PoisonError::into_inner));
        self.moved(&moved);
        Ok(collection)
    }

    fn moved(&self, moved: &Moved) {
        if moved.any {
            self.wrote(moved.earliest);
            self.wake();
        }
    }

    pub(crate) async fn delete_collection(
        self: &Arc<Self>,
        key: &CollectionKey,
        entry: Option<AuditEntry>,
    ) -> Result<bool, PgError> {
        let taken = Taken::default();
        let (inner, mine, key) = (Arc::clone(self), taken.clone(), key.clone());
        let edit = work!(|connection| with inner, mine, key, entry; {
            let Some(known) = locked(connection, &key).await? else { return Ok(false) };
            remove_collections(connection, &inner, &mine, vec![known.id]).await?;
            note(connection, entry.as_ref()).await?;
            Ok(true)
        });
        let deleted = self.edit(&taken, edit).await?;
        if deleted {
            self.wake();
        }
        Ok(deleted)
    }

    pub(crate) async fn put_group(
        self: &Arc<Self>,
        group: &Group,
        entry: Option<AuditEntry>,
    ) -> Result<bool, PgError> {
        let group = group.clone();
        let edit = work!(|connection| with group, entry; {
            let new = insert_group(connection, &group).await?;
            if !new {
                let (subscription, name) = (group.key.subscription.folded(), group.key.name.folded());
                connection.execute_for(1, query::update_group, params![subscription, name, group.location, tags_text(&group.tags)]).await?;
            }
            note(connection, entry.as_ref()).await?;
            Ok(new)
        });
        self.edit(&Taken::default(), edit).await
    }

    /// Deletes a group with its collections; true if there was one.
    pub(crate) async fn delete_group(
        self: &Arc<Self>,
        key: &GroupKey,
        entry: Option<AuditEntry>,
    ) -> Result<bool, PgError> {
        let taken = Taken::default();
        let (inner, mine, key) = (Arc::clone(self), taken.clone(), key.clone());
        let edit = work!(|connection| with inner, mine, key, entry; {
            // Nobody makes a collection in it meanwhile.
            connection.execute_for(1, query::count_up, params![PLANS]).await?;
            let (subscription, name) = (key.subscription.folded(), key.name.folded());
            let rows = connection.rows(query::collections_locked, params![subscription, name]).await?;
            let ids: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
            remove_collections(connection, &inner, &mine, ids).await?;
            let deleted = connection.execute(query::delete_group, params![subscription, name]).await? == 1;
            note(connection, entry.as_ref().filter(|_| deleted)).await?;
            Ok((deleted, !rows.is_empty()))
        });
        let (deleted, moved) = self.edit(&taken, edit).await?;
        if moved {
            self.wake();
        }
        Ok(deleted)
    }

    pub(crate) async fn set_unregistered(
        self: &Arc<Self>,
        subscription: &Name,
        unregistered: bool,
        entry: Option<AuditEntry>,
    ) -> Result<(), PgError> {
        let subscription = subscription.clone();
        let edit = work!(|connection| with subscription, entry; {
            let sql = if unregistered { query::unregister } else { query::register };
            let folded = subscription.folded();
            connection.execute(sql, params![folded]).await?;
            note(connection, entry.as_ref()).await
        });
        self.edit(&Taken::default(), edit).await
    }
}

/// What a write of a collection moves of the agenda.
#[derive(Default)]
struct Moved {
    any: bool,
    earliest: Option<(i64, i64)>,
}

impl Moved {
    fn by(write: &CollectionWrite) -> Self {
        let due = write.jobs.iter().filter_map(|job| Some((to_ticks(job.progress.entry?.due_at), job.id.0)));
        Self { any: !write.jobs.is_empty(), earliest: due.min() }
    }
}

async fn locked(connection: &Connection, key: &CollectionKey) -> Result<Option<Known>, PgError> {
    let [subscription, group, name] = folded(key);
    let row = connection.one(query::collection_locked, params![subscription, group, name]).await?;
    row.as_ref().map(Known::read).transpose()
}

/// Whether a write may make one more collection of its plan. If that is wrong because somebody writes meanwhile, the write
/// is stale.
async fn counts_plans(connection: &Connection, collection: &Collection) -> Result<bool, PgError> {
    let [subscription, group, name] = folded(&collection.key);
    let row = connection.one(query::collection_plan, params![subscription, group, name]).await?;
    let sku: Option<i16> = row.map(|row| row.try_get(0)).transpose()?;
    Ok(sku != Some(collection.sku.number().into()))
}

/// Writes a collection that is locked, if it exists, and jobs of it.
async fn put(
    connection: &Connection,
    inner: &Inner,
    taken: &Taken,
    write: &CollectionWrite,
    known: Option<Known>,
) -> Result<Collection, PgError> {
    let CollectionWrite { collection, jobs, skips, job_count_seen, collection_count_max, note: entry } =
        write;
    if known.as_ref().map_or(0, |known| known.revision) != collection.revision {
        return Err(Refusal::Stale.into());
    }
    let (subscription, sku) =
        (collection.key.group.subscription.folded(), i16::from(collection.sku.number()));
    if known.as_ref().is_none_or(|known| known.sku != Some(collection.sku)) {
        let count = connection.number(query::collection_count, params![subscription, sku]).await?;
        if count.unwrap_or(0) >= i64::from(*collection_count_max) {
            let (sku, max) = (collection.sku, *collection_count_max);
            return Err(Refusal::TooManyCollections { sku, max }.into());
        }
    }
    if let (Some(seen), Some(known)) = (job_count_seen, &known)
        && known.job_count != i64::from(*seen)
    {
        return Err(Refusal::Stale.into());
    }
    let mut sorted: Vec<&Job> = jobs.iter().collect();
    sorted.sort_by_key(|job| job.id);
    check_jobs(connection, &sorted, collection, known.as_ref()).await?;

    let mut answer = collection.clone();
    answer.revision = connection.number(query::next_revision, &[]).await?.ok_or(PgError::Rows(0))?;
    let document = codec::encode_collection(collection);
    if let Some(known) = known {
        connection
            .execute_for(
                1,
                query::update_collection,
                params![known.id, answer.location, sku, document, answer.revision],
            )
            .await?;
        answer.key = known.key;
    } else {
        let group = Group {
            key: answer.key.group.clone(),
            location: answer.location.clone(),
            tags: Vec::new(),
            created_at: answer.created_at,
        };
        insert_group(connection, &group).await?;
        if !insert_collection(connection, &answer, document).await? {
            return Err(Refusal::Stale.into());
        }
    }
    let mut standings = Standings::default();
    sorted.iter().for_each(|job| standings.push(job));
    if standings.len() > 0 {
        let tickets: Vec<_> = sorted.iter().map(|job| taken.take(inner, job.id)).collect();
        update_standings(connection, &standings, &tickets).await?;
    }
    append_skips(connection, skips).await?;
    note(connection, entry.as_ref()).await?;
    Ok(answer)
}

/// Locks the jobs of a write, and refuses it if one of them is not what it was decided on.
async fn check_jobs(
    connection: &Connection,
    jobs: &[&Job],
    collection: &Collection,
    known: Option<&Known>,
) -> Result<(), PgError> {
    if jobs.is_empty() {
        return Ok(());
    }
    let id = known.ok_or(Refusal::Stale)?.id;
    let ids: Vec<i64> = jobs.iter().map(|job| job.id.0).collect();
    let rows = connection.rows(query::standings_locked, params![ids]).await?;
    if rows.len() != jobs.len() {
        return Err(Refusal::Stale.into());
    }
    for (row, job) in rows.iter().zip(jobs) {
        let found: (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(3)?);
        let same = found == (job.id.0, job.revision, id) && row::text(row, 4)? == job.key.name.folded();
        if !same || job.key.collection != collection.key {
            return Err(Refusal::Stale.into());
        }
    }
    Ok(())
}

async fn insert_collection(
    connection: &Connection,
    collection: &Collection,
    document: Vec<u8>,
) -> Result<bool, PgError> {
    let CollectionKey { group: GroupKey { subscription, name: group }, name } = &collection.key;
    let names = [subscription, group, name].map(|name| (name.as_str(), name.folded()));
    let [(subscription, subscription_folded), (group, group_folded), (name, name_folded)] = names;
    Ok(connection
        .execute(
            query::insert_collection,
            params![
                subscription,
                subscription_folded,
                group,
                group_folded,
                name,
                name_folded,
                collection.location,
                i16::from(collection.sku.number()),
                document,
                collection.revision,
            ],
        )
        .await?
        == 1)
}

/// Writes a group unless it exists; true if it is new.
async fn insert_group(connection: &Connection, group: &Group) -> Result<bool, PgError> {
    let Group { key: GroupKey { subscription, name }, location, tags, created_at } = group;
    let names = [subscription, name].map(|name| (name.as_str(), name.folded()));
    let [(subscription, subscription_folded), (name, name_folded)] = names;
    Ok(connection
        .execute(
            query::insert_group,
            params![
                subscription,
                subscription_folded,
                name,
                name_folded,
                *location,
                tags_text(tags),
                to_ticks(*created_at),
            ],
        )
        .await?
        == 1)
}

/// Deletes collections that are locked, with their jobs, which are locked in one order whatever collection they are in.
async fn remove_collections(
    connection: &Connection,
    inner: &Inner,
    taken: &Taken,
    ids: Vec<i64>,
) -> Result<(), PgError> {
    let rows = connection.rows(query::job_ids_of, params![ids]).await?;
    let jobs = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
    let jobs: Vec<(i64, i64)> = jobs.collect::<Result<_, PgError>>()?;
    for (job, _) in &jobs {
        taken.take(inner, JobId(*job));
    }
    remove_jobs(connection, &jobs).await?;
    // Those that have lost their row of the agenda go as well.
    connection.execute(query::delete_jobs_of, params![ids]).await?;
    connection.execute_for(ids.len(), query::delete_collections, params![ids]).await
}

fn tags_text(tags: &[(String, String)]) -> String {
    serde_json::to_string(tags).expect("pairs of texts are JSON")
}
