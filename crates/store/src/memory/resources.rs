//! Groups, collections and jobs in memory.

use async_trait::async_trait;
use punctual_model::audit::AuditEntry;
use punctual_model::{Collection, CollectionKey, GroupKey, Job, JobId, JobKey, Name};

use super::{MemoryStore, State, page};
use crate::{
    CollectionDecision, CollectionWrite, CollectionsAsk, FoundJob, Group, JobWrite, JobsAsk, Page, Refusal,
    Resources, SUBSCRIPTIONS_MAX, Trouble, WriteError,
};

#[async_trait]
impl Resources for MemoryStore {
    async fn collection(&self, key: &CollectionKey) -> Result<Option<Collection>, Trouble> {
        Ok(self.state().collections.get(key).cloned())
    }

    async fn collections(&self, ask: &CollectionsAsk) -> Result<Page<Collection, CollectionKey>, Trouble> {
        let state = self.state();
        let wanted = |key: &CollectionKey| {
            key.group.subscription == ask.subscription
                && ask.group.as_ref().is_none_or(|group| key.group.name == *group)
                && ask.after.as_ref().is_none_or(|after| key > after)
        };
        let found = state.collections.iter().filter(|(key, _)| wanted(key));
        let found = found.map(|(key, collection)| (key.clone(), collection.clone()));
        Ok(page(found, ask.limit))
    }

    async fn put_collection(&self, write: CollectionWrite) -> Result<Collection, WriteError> {
        let moves = !write.jobs.is_empty();
        let collection = self.state().put_collection(write)?;
        self.wake_if(moves);
        Ok(collection)
    }

    async fn edit_collection(
        &self,
        key: &CollectionKey,
        mut decide: CollectionDecision,
    ) -> Result<Collection, WriteError> {
        let mut state = self.state();
        let jobs: Vec<Job> = state.jobs_of(key).cloned().collect();
        let write = decide(state.collections.get(key), &jobs).ok_or(Refusal::Declined)?;
        let moves = !write.jobs.is_empty();
        let collection = state.put_collection(write)?;
        drop(state);
        self.wake_if(moves);
        Ok(collection)
    }

    async fn delete_collection(
        &self,
        key: &CollectionKey,
        note: Option<AuditEntry>,
    ) -> Result<bool, Trouble> {
        let mut state = self.state();
        let deleted = state.remove_collection(key);
        state.note(note.as_ref().filter(|_| deleted));
        drop(state);
        self.wake_if(deleted);
        Ok(deleted)
    }

    async fn find_job(&self, key: &JobKey) -> Result<FoundJob, Trouble> {
        let state = self.state();
        Ok(match state.jobs.get(key) {
            Some(job) => FoundJob::Job { id: job.id, key: job.key.clone() },
            None if state.collections.contains_key(&key.collection) => FoundJob::NoJob,
            None => FoundJob::NoCollection,
        })
    }

    async fn job_in_collection(&self, key: &JobKey) -> Result<Option<(Collection, Option<Job>)>, Trouble> {
        let state = self.state();
        let collection = state.collections.get(&key.collection);
        Ok(collection.map(|collection| (collection.clone(), state.jobs.get(key).cloned())))
    }

    async fn jobs(&self, collection: &CollectionKey, ask: &JobsAsk) -> Result<Page<Job, Name>, Trouble> {
        let state = self.state();
        let wanted = |job: &&Job| {
            ask.state.is_none_or(|wanted| job.state == wanted)
                && ask.after.as_ref().is_none_or(|after| job.key.name > *after)
        };
        let found = state.jobs_of(collection).filter(wanted).skip(ask.skip).cloned();
        Ok(page(found.map(|job| (job.key.name.clone(), job)), ask.limit))
    }

    async fn put_job(&self, write: JobWrite) -> Result<Job, WriteError> {
        let job = self.state().put_job(write)?;
        self.wake();
        Ok(job)
    }

    async fn delete_job(&self, key: &JobKey, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let mut state = self.state();
        let deleted = state.remove_job(key);
        state.note(note.as_ref().filter(|_| deleted));
        drop(state);
        self.wake_if(deleted);
        Ok(deleted)
    }

    async fn group(&self, key: &GroupKey) -> Result<Option<Group>, Trouble> {
        Ok(self.state().groups.get(key).cloned())
    }

    async fn groups(&self, subscription: &Name) -> Result<Page<Group, Name>, Trouble> {
        let state = self.state();
        let found = state.groups.values().filter(|group| group.key.subscription == *subscription);
        Ok(page(found.map(|group| (group.key.name.clone(), group.clone())), usize::MAX))
    }

    async fn subscriptions(&self) -> Result<Vec<Name>, Trouble> {
        let state = self.state();
        let mut found: Vec<Name> = state.groups.keys().map(|key| key.subscription.clone()).collect();
        found.dedup();
        found.truncate(SUBSCRIPTIONS_MAX);
        Ok(found)
    }

    async fn put_group(&self, group: &Group, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let mut state = self.state();
        state.note(note.as_ref());
        if let Some(known) = state.groups.get_mut(&group.key) {
            known.location.clone_from(&group.location);
            known.tags.clone_from(&group.tags);
            return Ok(false);
        }
        state.groups.insert(group.key.clone(), group.clone());
        Ok(true)
    }

    async fn delete_group(&self, key: &GroupKey, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let mut state = self.state();
        let collections: Vec<CollectionKey> =
            state.collections.keys().filter(|collection| collection.group == *key).cloned().collect();
        for collection in &collections {
            state.remove_collection(collection);
        }
        let deleted = state.groups.remove(key).is_some();
        state.note(note.as_ref().filter(|_| deleted));
        drop(state);
        self.wake_if(!collections.is_empty());
        Ok(deleted)
    }

    async fn unregistered(&self, subscription: &Name) -> Result<bool, Trouble> {
        Ok(self.state().unregistered.contains(subscription))
    }

    async fn set_unregistered(
        &self,
        subscription: &Name,
        unregistered: bool,
        note: Option<AuditEntry>,
    ) -> Result<(), Trouble> {
        let mut state = self.state();
        state.note(note.as_ref());
        if unregistered {
            state.unregistered.insert(subscription.clone());
        } else {
            state.unregistered.remove(subscription);
        }
        Ok(())
    }
}

impl State {
    fn job_count(&self, collection: &CollectionKey) -> u32 {
        u32::try_from(self.jobs_of(collection).count()).unwrap_or(u32::MAX)
    }

    fn put_job(&mut self, write: JobWrite) -> Result<Job, Refusal> {
        let JobWrite { mut job, collection_revision, skips, job_count_max, rerun, note } = write;
        let collection = self.collections.get(&job.key.collection).ok_or(Refusal::NoCollection)?;
        if collection.revision != collection_revision {
            return Err(Refusal::Stale);
        }
        match self.jobs.get(&job.key) {
            Some(known) => {
                if (known.id, known.revision) != (job.id, job.revision) {
                    return Err(Refusal::Stale);
                }
                job.key = known.key.clone();
            }
            None => {
                if job.revision != 0 {
                    return Err(Refusal::Stale);
                }
                if self.job_count(&job.key.collection) >= job_count_max {
                    return Err(Refusal::TooManyJobs { max: job_count_max });
                }
                self.last_job += 1;
                job.id = JobId(self.last_job);
                job.key.collection = collection.key.clone();
            }
        }
        job.revision += 1;
        self.claims.take_back(job.id);
        self.write_job(job.clone());
        self.skips.extend(skips);
        self.reruns.extend(rerun.map(|rerun| ((job.id, rerun.run_at), rerun.of_at)));
        self.note(note.as_ref());
        Ok(job)
    }

    fn put_collection(&mut self, write: CollectionWrite) -> Result<Collection, Refusal> {
        let CollectionWrite { mut collection, jobs, skips, job_count_seen, collection_count_max, note } =
            write;
        let known = self.collections.get(&collection.key);
        if known.map_or(0, |known| known.revision) != collection.revision {
            return Err(Refusal::Stale);
        }
        if known.is_none_or(|known| known.sku != collection.sku) {
            let same_plan = |one: &&Collection| {
                one.key.group.subscription == collection.key.group.subscription && one.sku == collection.sku
            };
            let count = self.collections.values().filter(same_plan).count();
            if count >= usize::try_from(collection_count_max).unwrap_or(usize::MAX) {
                let (sku, max) = (collection.sku, collection_count_max);
                return Err(Refusal::TooManyCollections { sku, max });
            }
        }
        let current = |job: &Job| {
            let known = self.jobs.get(&job.key).map(|known| (known.id, known.revision));
            job.key.collection == collection.key && known == Some((job.id, job.revision))
        };
        let count = self.jobs.keys().filter(|key| key.collection == collection.key).count();
        let seen = job_count_seen.is_none_or(|seen| usize::try_from(seen) == Ok(count));
        if !seen || !jobs.iter().all(current) {
            return Err(Refusal::Stale);
        }

        if let Some(known) = known {
            collection.key = known.key.clone();
        }
        self.last_revision += 1;
        collection.revision = self.last_revision;
        let group = &collection.key.group;
        self.groups.entry(group.clone()).or_insert_with(|| Group {
            key: group.clone(),
            location: collection.location.clone(),
            tags: Vec::new(),
            created_at: collection.created_at,
        });
        self.collections.insert(collection.key.clone(), collection.clone());
        for mut job in jobs {
            let known = &self.jobs[&job.key];
            (job.key, job.spec) = (known.key.clone(), known.spec.clone());
            job.revision += 1;
            self.claims.take_back(job.id);
            self.write_job(job);
        }
        self.skips.extend(skips);
        self.note(note.as_ref());
        Ok(collection)
    }
}
