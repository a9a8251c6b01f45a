//! Edits of one job.

use std::sync::Arc;

use punctual_model::{CollectionKey, Job, JobKey, Name};
use punctual_store::codec::{self, StoredSpec};
use punctual_store::instant::to_ticks;
use punctual_store::{JobWrite, Refusal};
use tokio_postgres::Row;

use super::{Taken, append_skips, folded, note, remove_jobs, update_standings};
use crate::columns::Standings;
use crate::connection::Connection;
use crate::error::PgError;
use crate::param::{param, params};
use crate::pool::work;
use crate::row::text;
use crate::store::Inner;
use crate::{query, seals};

/// A job to write, encoded.
struct EncodedJob {
    write: JobWrite,
    spec: StoredSpec,
    standing: Standings,
}

impl Inner {
    pub(crate) async fn put_job(self: &Arc<Self>, mut write: JobWrite) -> Result<Job, PgError> {
        let new = write.job.revision == 0;
        if new {
            // If it is refused later, the id is unused.
            write.job.id = self.job_ids.next(&self.api).await?;
        }
        let spec = codec::encode_spec(&write.job.spec, write.job.id, &self.vault, &*self.random);
        let standing = Standings::one(&write.job);
        let place = standing.earliest();
        let (written, taken) = (Arc::new(EncodedJob { write, spec, standing }), Taken::default());
        let (inner, mine) = (Arc::clone(self), taken.clone());
        let edit = work!(|connection| with inner, written, mine; {
            if new { written.create(connection, &inner).await } else { written.rewrite(connection, &inner, &mine).await }
        });
        let job = self.edit(&taken, edit).await?;
        self.wrote(place);
        self.wrote_recently(place);
        self.wake();
        Ok(job)
    }

    /// Deletes a job; false if it does not exist.
    pub(crate) async fn delete_job(
        self: &Arc<Self>,
        key: &JobKey,
        entry: Option<punctual_model::audit::AuditEntry>,
    ) -> Result<bool, PgError> {
        let taken = Taken::default();
        let (inner, mine, key) = (Arc::clone(self), taken.clone(), key.clone());
        let edit = work!(|connection| with inner, mine, key, entry; {
            let [subscription, group, name] = folded(&key.collection);
            let collection = connection.one(query::collection_locked, params![subscription, group, name]).await?;
            let Some(collection) = collection else { return Ok(false) };
            let collection: i64 = collection.try_get(0)?;
            let folded = key.name.folded();
            let job = connection.one(query::job_locked, params![collection, folded]).await?;
            let Some(job) = job else { return Ok(false) };
            let job: i64 = job.try_get(0)?;
            mine.take(&inner, punctual_model::JobId(job));
            let traces = connection.number(query::trace_count, params![job]).await?.unwrap_or(0);
            remove_jobs(connection, &[(job, traces)]).await?;
            connection.execute_for(1, query::discount_jobs, params![vec![collection], vec![1_i64]]).await?;
            note(connection, entry.as_ref()).await?;
            Ok(true)
        });
        let deleted = self.edit(&taken, edit).await?;
        if deleted {
            self.wake();
        }
        Ok(deleted)
    }
}

impl EncodedJob {
    /// Writes a new job. Counting it locks the collection, so that its quota is never exceeded.
    async fn create(&self, connection: &Connection, inner: &Inner) -> Result<Job, PgError> {
        self.check_key(connection, inner).await?;
        // A new job has nothing to repeat.
        let JobWrite { job, collection_revision, skips, job_count_max, rerun: _, note: entry } = &self.write;
        let [subscription, group, name] = folded(&job.key.collection);
        let max = i64::from(*job_count_max);
        let Some(collection) = connection
            .one(query::count_job, params![subscription, group, name, *collection_revision, max])
            .await?
        else {
            return Err(self.uncounted(connection).await?.into());
        };
        let (id, (written, folded)) =
            (collection.try_get::<_, i64>(0)?, (job.key.name.as_str(), job.key.name.folded()));
        let StoredSpec { document, sealed } = &self.spec;
        if connection
            .execute(query::insert_job, params![job.id.0, id, written, folded, *document, *sealed])
            .await?
            == 0
        {
            return Err(Refusal::Stale.into());
        }
        connection.execute_for(1, query::insert_standings, &self.standing.edited()).await?;
        append_skips(connection, skips).await?;
        note(connection, entry.as_ref()).await?;
        self.answer(&collection, job.key.name.clone())
    }

    /// Refuses what another key has sealed than the one that seals now: the caller seals again.
    async fn check_key(&self, connection: &Connection, inner: &Inner) -> Result<(), PgError> {
        let sealed = self.spec.sealed.as_deref();
        let may = seals::may_write(connection, &inner.vault, sealed).await?;
        if may { Ok(()) } else { Err(Refusal::Stale.into()) }
    }

    /// Why a new job could not be counted.
    async fn uncounted(&self, connection: &Connection) -> Result<Refusal, PgError> {
        let JobWrite { job, collection_revision, job_count_max, .. } = &self.write;
        let [subscription, group, name] = folded(&job.key.collection);
        let known = connection.one(query::collection_shared, params![subscription, group, name]).await?;
        let Some(known) = known else { return Ok(Refusal::NoCollection) };
        let (id, revision): (i64, i64) = (known.try_get(0)?, known.try_get(4)?);
        let folded = job.key.name.folded();
        let exists = connection.one(query::job_locked, params![id, folded]).await?.is_some();
        if revision != *collection_revision || exists {
            return Ok(Refusal::Stale);
        }
        Ok(Refusal::TooManyJobs { max: *job_count_max })
    }

    /// Writes an existing job. Its collection can't be written or deleted meanwhile.
    async fn rewrite(&self, connection: &Connection, inner: &Inner, taken: &Taken) -> Result<Job, PgError> {
        self.check_key(connection, inner).await?;
        let JobWrite { job, collection_revision, skips, rerun, note: entry, .. } = &self.write;
        let [subscription, group, name] = folded(&job.key.collection);
        let known = connection.one(query::collection_shared, params![subscription, group, name]).await?;
        let collection = known.ok_or(Refusal::NoCollection)?;
        let (id, revision): (i64, i64) = (collection.try_get(0)?, collection.try_get(4)?);
        if revision != *collection_revision {
            return Err(Refusal::Stale.into());
        }
        let folded = job.key.name.folded();
        let known = connection.one(query::job_locked, params![id, folded]).await?.ok_or(Refusal::Stale)?;
        if (known.try_get::<_, i64>(0)?, known.try_get::<_, i64>(2)?) != (job.id.0, job.revision) {
            return Err(Refusal::Stale.into());
        }
        // From here on this node does not begin it; others see the new revision.
        let ticket = taken.take(inner, job.id);
        update_standings(connection, &self.standing, &[ticket]).await?;
        let StoredSpec { document, sealed } = &self.spec;
        let row = [param(&job.id.0), param(document), param(sealed)];
        connection.execute_for(1, query::update_job, &row).await?;
        append_skips(connection, skips).await?;
        if let Some(rerun) = rerun {
            let (run_at, of_at) = (to_ticks(rerun.run_at), to_ticks(rerun.of_at));
            connection.execute_for(1, query::insert_rerun, params![job.id.0, run_at, of_at]).await?;
        }
        note(connection, entry.as_ref()).await?;
        self.answer(&collection, Name::new(text(&known, 1)?))
    }

    /// The job as it is stored: its names as they were created.
    fn answer(&self, collection: &Row, name: Name) -> Result<Job, PgError> {
        let key = CollectionKey::new(text(collection, 1)?, text(collection, 2)?, text(collection, 3)?);
        let mut job = self.write.job.clone();
        job.revision += 1;
        job.key = JobKey { collection: key, name };
        Ok(job)
    }
}
