//! Edits of collections and groups.

use punctual_model::{Collection, CollectionKey, GroupKey, Job, JobId, Name, Skip};
use punctual_store::codec::{self, Number};
use punctual_store::instant::to_ticks;
use punctual_store::{CollectionDecision, CollectionWrite, Group, Refusal};
use rusqlite::params;

use super::{WriterState, expect_rows};
use crate::error::SqliteError;
use crate::query;
use crate::row;
use crate::standing::Standing;

/// A collection to write, encoded, with its jobs.
pub(crate) struct EncodedCollection {
    collection: Collection,
    document: Vec<u8>,
    jobs: Vec<(Job, Standing)>,
    skips: Vec<Skip>,
    job_count_seen: Option<u32>,
    collection_count_max: u32,
    note: Option<Vec<u8>>,
}

impl EncodedCollection {
    pub(crate) fn new(write: CollectionWrite) -> Self {
        let CollectionWrite { collection, jobs, skips, job_count_seen, collection_count_max, note } = write;
        Self {
            document: codec::encode_collection(&collection),
            collection,
            jobs: jobs.into_iter().map(with_standing).collect(),
            skips,
            job_count_seen,
            collection_count_max,
            note: note.as_ref().map(codec::encode_audit),
        }
    }
}

impl WriterState {
    /// Reads a collection with its jobs, and writes what is decided on them.
    pub(crate) fn edit_collection(
        &mut self,
        key: &CollectionKey,
        decide: &mut CollectionDecision,
    ) -> Result<Result<Collection, Refusal>, SqliteError> {
        let known = self.collection(key)?;
        let jobs = if known.is_some() { self.jobs(key)? } else { Vec::new() };
        match decide(known.as_ref().map(|(_, collection)| collection), &jobs) {
            Some(write) => self.put_collection(&EncodedCollection::new(write)),
            None => Ok(Err(Refusal::Declined)),
        }
    }

    /// All jobs of a collection by name, up to the most that it may have.
    fn jobs(&self, key: &CollectionKey) -> Result<Vec<Job>, SqliteError> {
        let [subscription, group, name] = row::collection_params(key);
        let all = params![subscription, group, name, None::<u8>, "", i64::MAX, 0];
        let mut last = row::Last::default();
        row::many(&self.conn, query::jobs, all, |row| Ok(row::job(row, &self.vault, &mut last)?.job))
    }

    pub(crate) fn put_collection(
        &mut self,
        written: &EncodedCollection,
    ) -> Result<Result<Collection, Refusal>, SqliteError> {
        let EncodedCollection {
            collection,
            document,
            jobs,
            skips,
            job_count_seen,
            collection_count_max,
            note,
        } = written;
        let known = self.collection(&collection.key)?;
        if known.as_ref().map_or(0, |(_, known)| known.revision) != collection.revision {
            return Ok(Err(Refusal::Stale));
        }
        let more_of_its_plan = known.as_ref().is_none_or(|(_, known)| known.sku != collection.sku);
        if more_of_its_plan && self.plan_count(collection)? >= i64::from(*collection_count_max) {
            let (sku, max) = (collection.sku, *collection_count_max);
            return Ok(Err(Refusal::TooManyCollections { sku, max }));
        }
        if let (Some(seen), Some((id, _))) = (job_count_seen, &known)
            && row::number(&self.conn, query::job_count_of, [id])?.unwrap_or(0) != i64::from(*seen)
        {
            return Ok(Err(Refusal::Stale));
        }
        // Everything is checked before anything is written: a refusal leaves nothing in the transaction.
        let mut moves = Vec::with_capacity(jobs.len());
        for (job, standing) in jobs {
            let id = known.as_ref().filter(|_| job.key.collection == collection.key).map(|(id, _)| *id);
            let before = id.map(|id| self.before(id, &job.key)).transpose()?.flatten();
            match before.filter(|before| (before.id, before.revision) == (job.id, job.revision)) {
                Some(before) => moves.push((job, standing, before.due)),
                None => return Ok(Err(Refusal::Stale)),
            }
        }

        self.revision += 1;
        self.staged.counted = true;
        let mut answer = collection.clone();
        answer.revision = self.revision;
        if let Some((id, known)) = known {
            let row = params![id, answer.location, answer.sku.number(), document, answer.revision];
            expect_rows(1, self.conn.prepare_cached(query::update_collection)?.execute(row)?)?;
            answer.key = known.key;
        } else {
            self.make_group(&answer)?;
            self.insert_collection(&answer, document)?;
        }
        self.collection_cache.remove(&collection.key);
        for (job, standing, old) in moves {
            self.update_standing(job, standing, old)?;
        }
        self.append_skips(skips)?;
        self.note_if(true, note.as_deref())?;
        Ok(Ok(answer))
    }

    fn plan_count(&self, collection: &Collection) -> Result<i64, SqliteError> {
        let plan = params![collection.key.group.subscription.folded(), collection.sku.number()];
        Ok(row::number(&self.conn, query::collection_count, plan)?.unwrap_or(0))
    }

    fn insert_collection(&self, collection: &Collection, document: &[u8]) -> Result<(), SqliteError> {
        let CollectionKey { group: GroupKey { subscription, name: group }, name } = &collection.key;
        let row = params![
            subscription.as_str(),
            subscription.folded(),
            group.as_str(),
            group.folded(),
            name.as_str(),
            name.folded(),
            collection.location,
            collection.sku.number(),
            document,
            collection.revision,
        ];
        expect_rows(1, self.conn.prepare_cached(query::insert_collection)?.execute(row)?)
    }

    fn make_group(&self, collection: &Collection) -> Result<(), SqliteError> {
        self.insert_group(&Group {
            key: collection.key.group.clone(),
            location: collection.location.clone(),
            tags: Vec::new(),
            created_at: collection.created_at,
        })
        .map(|_| ())
    }

    fn insert_group(&self, group: &Group) -> Result<bool, SqliteError> {
        let Group { key: GroupKey { subscription, name }, location, tags, created_at } = group;
        let row = params![
            subscription.as_str(),
            subscription.folded(),
            name.as_str(),
            name.folded(),
            location,
            tags_text(tags),
            to_ticks(*created_at),
        ];
        Ok(self.conn.prepare_cached(query::insert_group)?.execute(row)? == 1)
    }

    /// Writes a group; true if it is new.
    pub(crate) fn put_group(&mut self, group: &Group) -> Result<bool, SqliteError> {
        if self.insert_group(group)? {
            return Ok(true);
        }
        let GroupKey { subscription, name } = &group.key;
        let row = params![subscription.folded(), name.folded(), group.location, tags_text(&group.tags)];
        expect_rows(1, self.conn.prepare_cached(query::update_group)?.execute(row)?)?;
        Ok(false)
    }

    pub(crate) fn delete_collection(&mut self, key: &CollectionKey) -> Result<bool, SqliteError> {
        let Some(known) = self.cached_collection(key)? else { return Ok(false) };
        self.remove_collection(known.id)?;
        self.collection_cache.remove(key);
        Ok(true)
    }

    pub(crate) fn delete_group(&mut self, key: &GroupKey) -> Result<bool, SqliteError> {
        let folded = [key.subscription.folded(), key.name.folded()];
        for id in row::many(&self.conn, query::collection_ids, folded, |row| Ok(row.get(0)?))? {
            self.remove_collection(id)?;
        }
        self.collection_cache.clear();
        Ok(self.conn.prepare_cached(query::delete_group)?.execute(folded)? == 1)
    }

    fn remove_collection(&mut self, id: i64) -> Result<(), SqliteError> {
        let jobs = row::many(&self.conn, query::job_ids, [id], |row| Ok((JobId(row.get(0)?), row.get(1)?)))?;
        for (job, trace_count) in jobs {
            self.remove_job(job, trace_count)?;
            self.shared_claims.lock().take_back(job);
        }
        self.staged.rescan = true;
        expect_rows(1, self.conn.prepare_cached(query::delete_collection)?.execute([id])?)
    }

    pub(crate) fn set_unregistered(
        &mut self,
        subscription: &Name,
        unregistered: bool,
    ) -> Result<(), SqliteError> {
        let sql = if unregistered { query::unregister } else { query::register };
        self.conn.prepare_cached(sql)?.execute([subscription.folded()])?;
        Ok(())
    }
}

fn with_standing(job: Job) -> (Job, Standing) {
    let standing = Standing::of(&job);
    (job, standing)
}

fn tags_text(tags: &[(String, String)]) -> String {
    serde_json::to_string(tags).expect("pairs of texts are JSON")
}
