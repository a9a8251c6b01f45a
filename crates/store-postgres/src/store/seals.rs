//! Keys, and sealing anew.

use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use punctual_model::audit::AuditEntry;
use punctual_model::{JobId, RandomSource};
use punctual_store::codec::{self, StoredSpec};
use punctual_store::{KeyError, KeyRing, KeyUse, Resealing, Seals, Trouble, Vault};
use tokio::sync::watch;

use super::{Inner, PostgresStore};
use crate::error::PgError;
use crate::param::params;
use crate::pool::work;
use crate::row::bound;
use crate::{audit, query, receipt, seals};

/// How long to wait before something about keys is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// What a node sees of keys when it looks at the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyNews {
    /// The key that seals.
    pub(crate) sealing: i64,
    /// How often another key began to seal, or one was retired.
    pub(crate) change_count: i64,
    /// The newest key that all nodes know.
    pub(crate) known_by_all: i64,
}

/// Jobs that were looked at, and those of them that are to be written: each as it is stored and as it is to be.
struct Piece {
    key: u32,
    from: i64,
    to: i64,
    visited_count: i64,
    last: bool,
    jobs: Vec<(JobId, StoredSpec, StoredSpec)>,
}

#[async_trait]
impl Seals for PostgresStore {
    async fn keys(&self) -> Result<Vec<KeyUse>, Trouble> {
        let vault = Arc::clone(&self.inner.vault);
        let read = work!(|connection| with vault; seals::uses(connection, &vault).await);
        self.inner.api.run(read).await.map_err(|error| error.trouble("count what is sealed"))
    }

    async fn seal_with(&self, ring: &KeyRing, note: Option<AuditEntry>) -> Result<(), KeyError> {
        let (inner, doing) = (&self.inner, "take new keys");
        let next = Arc::new(Vault::new(ring));
        let sealing = inner.vault.newest();
        if next.newest() < sealing {
            return Err(KeyError::Different { id: sealing });
        }
        let there = next.ids();
        if let Some(id) = inner.vault.ids().into_iter().find(|id| !there.contains(id)) {
            return Err(KeyError::Missing { id });
        }
        let (vault, random, lease) = (Arc::clone(&next), Arc::clone(&inner.random), inner.lease.number());
        let ids: Vec<i64> = there.iter().map(|id| i64::from(*id)).collect();
        let make_known = work!(|connection| with vault, random, ids; {
            connection.begin().await?;
            let known = seals::known_keys(connection).await?;
            seals::make_known(connection, &known, &vault, &*random).await?;
            // Compared afterwards: another node may have been first with another key of that number.
            let known = seals::known_keys(connection).await?;
            if let Some(id) = seals::different(&known, &vault) {
                connection.roll_back().await?;
                return Ok(Err(id));
            }
            connection.execute(query::set_node_keys, params![lease, ids]).await?;
            let sealing = connection.number(query::number, params![seals::SEALING_KEY]).await?.unwrap_or(0);
            connection.commit().await?;
            let retired = known.into_iter().filter(|key| key.seal.is_none()).map(|key| key.id);
            Ok(Ok((seals::number(sealing)?, retired.collect::<Vec<u32>>())))
        });
        let known = inner.api.run(make_known).await.map_err(|error| error.trouble(doing))?;
        // This node may not have seen yet that another key seals.
        let (sealing, retired) = known.map_err(|id| KeyError::Different { id })?;
        let ring = retired.into_iter().fold(ring.clone(), |ring, id| ring.without(id));
        if !inner.vault.replace_sealing(&ring, sealing) {
            return Err(KeyError::Missing { id: sealing });
        }
        inner.set_key_note(note);
        let waiting = inner.advance_keys().await.map_err(|error| error.trouble(doing))?;
        if inner.vault.newest() == ring.newest() {
            return Ok(());
        }
        Err(KeyError::Waits { id: ring.newest(), nodes: waiting })
    }

    async fn resealing(&self) -> Result<Resealing, Trouble> {
        let none = Resealing { key: self.inner.vault.newest(), visited_count: 0, job_count: 0, done: true };
        let read = work!(|connection| {
            let Some(found) = seals::resealing(connection).await? else { return Ok(none) };
            let job_count = connection.number(query::job_count_now, &[]).await?.unwrap_or(0);
            Ok::<_, PgError>(found.told(u64::try_from(job_count).unwrap_or(0)))
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("read how far sealing anew is"))
    }

    async fn reseal(&self, limit: usize) -> Result<Resealing, Trouble> {
        let (limit, doing) = (limit.max(1), "seal jobs anew");
        let read = work!(|connection| {
            let Some(found) = seals::resealing(connection).await?.filter(|found| !found.done) else {
                return Ok(None);
            };
            let rows = connection
                .rows(query::stored_specs, params![found.after_job, found.until_job, bound(limit)])
                .await?;
            let page = rows.iter().map(|row| {
                Ok((
                    JobId(row.try_get(0)?),
                    StoredSpec { document: row.try_get(1)?, sealed: row.try_get(2)? },
                ))
            });
            Ok::<_, PgError>(Some((found, page.collect::<Result<Vec<_>, PgError>>()?)))
        });
        let read = self.inner.api.run(read).await.map_err(|error| error.trouble("read jobs to seal anew"))?;
        let Some((found, page)) = read else { return self.resealing().await };
        // Another key began to seal, and this node does not know it yet.
        if !self.inner.vault.seal_with(found.key) {
            return self.resealing().await;
        }
        let piece = Piece {
            key: found.key,
            from: found.after_job,
            to: page.last().map_or(found.until_job, |(job, _)| job.0),
            visited_count: bound(page.len()),
            last: page.len() < limit,
            jobs: Vec::new(),
        };
        let (vault, random) = (Arc::clone(&self.inner.vault), Arc::clone(&self.inner.random));
        let sealing = tokio::task::spawn_blocking(move || resealed(page, &vault, &*random));
        let jobs = sealing.await.map_err(|error| Trouble::Failed { doing, source: error.into() })?;
        self.inner.write_piece(Piece { jobs, ..piece }).await.map_err(|error| error.trouble(doing))?;
        self.resealing().await
    }

    async fn retire_key(&self, id: u32, note: Option<AuditEntry>) -> Result<(), KeyError> {
        let (inner, doing) = (&self.inner, "retire a key");
        let found = self.keys().await?.into_iter().find(|key| key.id == id);
        let found = found.ok_or(KeyError::Unknown { id })?;
        if found.seals {
            return Err(KeyError::Seals { id });
        }
        if found.needed_by().is_some() {
            return Err(KeyError::Needed(found));
        }
        let note = note.map(|note| AuditEntry { subject: seals::subject(id), ..note });
        let note: Vec<Vec<u8>> = note.iter().map(codec::encode_audit).collect();
        let retire = work!(|connection| with note; {
            connection.batch(query::lock_timeout).await?;
            // Nobody writes with another key than the one that seals, so nobody can begin to need it.
            if seals::locked(connection).await? == id || seals::is_needed(connection, id).await? {
                return Ok(false);
            }
            if connection.execute(query::retire_key, params![i64::from(id)]).await? == 1 {
                seals::changed(connection).await?;
                audit::append(connection, note).await?;
            }
            Ok(true)
        });
        let retired = receipt::edit(&inner.api, &*inner.random, retire).await;
        if !retired.map_err(|error| error.trouble(doing))? {
            return Err(KeyError::Needed(KeyUse { job_count: 1, ..found }));
        }
        inner.forget(&[id]).await;
        Ok(())
    }
}

/// Those of some jobs that are to be stored otherwise. What can't be opened is left as it is, and told by the inspector.
fn resealed(
    page: Vec<(JobId, StoredSpec)>,
    vault: &Vault,
    random: &dyn RandomSource,
) -> Vec<(JobId, StoredSpec, StoredSpec)> {
    let reseal = |(job, before): (JobId, StoredSpec)| match codec::reseal_spec(&before, job, vault, random) {
        Ok(after) => after.map(|after| (job, before, after)),
        Err(error) => {
            tracing::warn!(job = job.0, %error, "a job can't be read, and is not sealed anew");
            None
        }
    };
    page.into_iter().filter_map(reseal).collect()
}

impl Inner {
    /// What the audit log says when a key of this node begins to seal.
    pub(crate) fn set_key_note(&self, note: Option<AuditEntry>) {
        *self.key_note.lock().unwrap_or_else(PoisonError::into_inner) = note;
    }

    /// Has the newest key seal that all nodes know. Returns the names of those that do not know the newest of this one.
    pub(crate) async fn advance_keys(self: &Arc<Self>) -> Result<Vec<String>, PgError> {
        let inner = Arc::clone(self);
        let advance = work!(|connection| with inner; {
            connection.begin().await?;
            connection.batch(query::lock_timeout).await?;
            let sealing = seals::locked(connection).await?;
            // Nobody joins meanwhile. Locked last: nobody who joins should have to wait for those who write.
            connection.number(query::number_locked, params!["lease"]).await?;
            let mut nodes = Vec::new();
            for row in connection.rows(query::node_keys, &[]).await? {
                nodes.push((row.try_get::<_, String>(0)?, row.try_get::<_, Vec<i64>>(1)?));
            }
            // This node may not have seen yet that a key was retired.
            let retired: Vec<u32> = seals::known_keys(connection)
                .await?
                .into_iter()
                .filter(|key| key.seal.is_none())
                .map(|key| key.id)
                .collect();
            let mut ours = inner.vault.ids();
            ours.retain(|id| !retired.contains(id));
            let known = |id: &u32| nodes.iter().all(|(_, keys)| keys.contains(&i64::from(*id)));
            let next = ours.iter().copied().filter(known).max().unwrap_or(0);
            if next > sealing {
                let note = inner.key_note.lock().unwrap_or_else(PoisonError::into_inner).clone();
                seals::change(connection, &inner.vault, next, &*inner.random, note.as_ref()).await?;
                connection.commit().await?;
                inner.vault.seal_with(next);
                tracing::info!(key = next, "another key seals from now on");
            } else {
                connection.roll_back().await?;
                inner.vault.seal_with(sealing);
            }
            let newest = ours.iter().copied().max().map_or(0, i64::from);
            Ok(nodes.into_iter().filter(|(_, keys)| !keys.contains(&newest)).map(|(name, _)| name).collect())
        });
        self.api.run(advance).await
    }

    /// Writes what was sealed anew, and remembers where to go on. A job that was written meanwhile is left as it is: it is
    /// sealed with the newest key then.
    async fn write_piece(self: &Arc<Self>, piece: Piece) -> Result<(), PgError> {
        let (inner, piece) = (Arc::clone(self), Arc::new(piece));
        let write = work!(|connection| with inner, piece; {
            connection.begin().await?;
            let Piece { key, from, to, visited_count, last, jobs } = &*piece;
            let sealing = connection.number(query::number_shared, params![seals::SEALING_KEY]).await?;
            let number = i64::from(*key);
            let went_on = connection
                .execute(query::go_on_resealing, params![number, *from, *to, *visited_count, *last])
                .await?;
            // Another key seals by now, or another node has done this piece.
            if sealing != Some(number) || went_on == 0 {
                return connection.roll_back().await;
            }
            let ids: Vec<i64> = jobs.iter().map(|(job, ..)| job.0).collect();
            let documents = |spec: fn(&(JobId, StoredSpec, StoredSpec)) -> &StoredSpec| -> (Vec<Vec<u8>>, Vec<Option<Vec<u8>>>) {
                jobs.iter().map(|job| (spec(job).document.clone(), spec(job).sealed.clone())).unzip()
            };
            let (old_documents, old_sealed) = documents(|(_, before, _)| before);
            let (new_documents, new_sealed) = documents(|(.., after)| after);
            if !ids.is_empty() {
                connection.execute(query::reseal_jobs, params![ids, new_documents, new_sealed, old_documents, old_sealed]).await?;
            }
            if *last {
                // One may have been kept while the key became the newest.
                seals::reseal_server_secrets(connection, &inner.vault, *key, &*inner.random).await?;
            }
            connection.commit().await
        });
        self.api.run(write).await
    }

    /// Forgets keys when whatever was read before is opened.
    async fn forget(&self, ids: &[u32]) {
        self.api.finish_earlier().await;
        self.claims.finish_earlier().await;
        ids.iter().for_each(|id| self.vault.forget(*id));
    }

    /// Does as other nodes have decided: seals with the key that they seal with, and forgets what was retired.
    async fn follow_keys(&self) -> Result<(), PgError> {
        let read = work!(|connection| {
            let sealing = connection.number(query::number, params![seals::SEALING_KEY]).await?.unwrap_or(0);
            Ok::<_, PgError>((seals::number(sealing)?, seals::known_keys(connection).await?))
        });
        let (sealing, known) = self.api.run(read).await?;
        self.vault.seal_with(sealing);
        let there = self.vault.ids();
        let retired = known.iter().filter(|key| key.seal.is_none() && there.contains(&key.id));
        let retired: Vec<u32> = retired.map(|key| key.id).collect();
        if !retired.is_empty() {
            self.forget(&retired).await;
        }
        Ok(())
    }
}

/// Follows what other nodes decide about keys, and decides with them, for as long as there is a store.
pub(crate) async fn attend(inner: Weak<Inner>, mut news: watch::Receiver<KeyNews>) {
    let mut followed = 0;
    while news.changed().await.is_ok() {
        loop {
            let now = *news.borrow_and_update();
            let Some(inner) = inner.upgrade() else { return };
            let follows = followed != now.change_count || now.sealing != i64::from(inner.vault.newest());
            let done = if follows { inner.follow_keys().await } else { Ok(()) };
            let done = match done {
                Ok(()) if now.known_by_all > now.sealing => inner.advance_keys().await.map(drop),
                done => done,
            };
            match done {
                Ok(()) => {
                    followed = now.change_count;
                    break;
                }
                Err(error) => tracing::debug!(%error, "could not look after the keys; trying again"),
            }
            drop(inner);
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }
}
