//! Keys, and sealing anew.

use std::sync::Arc;

use async_trait::async_trait;
use punctual_model::audit::AuditEntry;
use punctual_model::{JobId, RandomSource};
use punctual_store::codec::{self, StoredSpec};
use punctual_store::{KeyError, KeyRing, KeyUse, Resealing, Seals, Trouble, Vault};
use rusqlite::params;

use super::SqliteStore;
use crate::row::bound;
use crate::writer_state::{ResealedJob, ResealedPiece};
use crate::{query, row, seals};

#[async_trait]
impl Seals for SqliteStore {
    async fn keys(&self) -> Result<Vec<KeyUse>, Trouble> {
        let vault = Arc::clone(&self.vault);
        self.readers.call_long("count what is sealed", move |conn| seals::uses(conn, &vault)).await
    }

    async fn seal_with(&self, ring: &KeyRing, note: Option<AuditEntry>) -> Result<(), KeyError> {
        let (ring, random) = (ring.clone(), Arc::clone(&self.random));
        let write =
            self.writer.call("take new keys", move |state| state.seal_with(&ring, &*random, note.as_ref()));
        write.await?
    }

    async fn resealing(&self) -> Result<Resealing, Trouble> {
        let newest = self.vault.newest();
        let read = self.readers.call("read how far sealing anew is", |conn| {
            Ok(seals::resealing(conn)?.map(|found| found.told()))
        });
        let none = Resealing { key: newest, visited_count: 0, job_count: 0, done: true };
        Ok(read.await?.unwrap_or(none))
    }

    /// A reader reads, another thread opens and seals, and the writer writes what is still as it was: firing waits for no
    /// more than a few updates.
    async fn reseal(&self, limit: usize) -> Result<Resealing, Trouble> {
        let limit = limit.max(1);
        let read = self.readers.call_long("read jobs to seal anew", move |conn| {
            let Some(found) = seals::resealing(conn)?.filter(|found| !found.told().done) else {
                return Ok(None);
            };
            let range = params![found.after_job, found.until_job, bound(limit)];
            let page = row::many(conn, query::stored_specs, range, |row| {
                Ok((JobId(row.get(0)?), StoredSpec { document: row.get(1)?, sealed: row.get(2)? }))
            })?;
            Ok(Some((found, page)))
        });
        let Some((found, page)) = read.await? else { return self.resealing().await };
        let piece = ResealedPiece {
            key: found.key,
            from: found.after_job,
            to: page.last().map_or(found.until_job, |(job, _)| job.0),
            visited_count: bound(page.len()),
            jobs: Vec::new(),
            last: page.len() < limit,
        };
        let (vault, random) = (Arc::clone(&self.vault), Arc::clone(&self.random));
        let doing = "seal jobs anew";
        let sealing = tokio::task::spawn_blocking(move || resealed(page, &vault, &*random));
        let random = Arc::clone(&self.random);
        let jobs = sealing.await.map_err(|error| Trouble::Failed { doing, source: error.into() })?;
        let piece = ResealedPiece { jobs, ..piece };
        self.writer.call(doing, move |state| state.reseal(&piece, &*random)).await?;
        self.resealing().await
    }

    async fn retire_key(&self, id: u32, note: Option<AuditEntry>) -> Result<(), KeyError> {
        let found = self.keys().await?.into_iter().find(|key| key.id == id);
        let found = found.ok_or(KeyError::Unknown { id })?;
        if found.seals {
            return Err(KeyError::Seals { id });
        }
        // Counted by a reader, since there may be many; the writer looks again whether there is any.
        if found.needed_by().is_some() {
            return Err(KeyError::Needed(found));
        }
        self.writer.call("retire a key", move |state| state.retire_key(id, note.as_ref())).await??;
        // What was read before may still have to be opened.
        self.readers.finish_earlier().await?;
        self.vault.forget(id);
        Ok(())
    }
}

/// Those of some jobs that are to be stored otherwise. What can't be opened is left as it is, and told by the inspector.
fn resealed(page: Vec<(JobId, StoredSpec)>, vault: &Vault, random: &dyn RandomSource) -> Vec<ResealedJob> {
    let reseal = |(job, before): (JobId, StoredSpec)| match codec::reseal_spec(&before, job, vault, random) {
        Ok(after) => after.map(|after| ResealedJob { job, before, after }),
        Err(error) => {
            tracing::warn!(job = job.0, %error, "a job can't be read, and is not sealed anew");
            None
        }
    };
    page.into_iter().filter_map(reseal).collect()
}
