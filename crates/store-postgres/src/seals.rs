//! What is sealed with which key, as rows; and which key seals, which all nodes agree on.
//!
//! The number of the key that seals is a row of `numbers`. Whoever writes something sealed holds that row shared until it has
//! committed, and whoever has another key seal holds it alone. So when a key begins to seal, nothing is on its way that another
//! one has sealed, and a pass over all jobs leaves nothing behind.
//!
//! Sealed are the secrets of jobs (`jobs.sealed`) and the server's own: `server_secrets.sealed`, `audit_chain.key`,
//! `counters.key_check` and, each with its own key, `keys.seal`.

use std::sync::Arc;

use punctual_model::RandomSource;
use punctual_model::audit::AuditEntry;
use punctual_store::{KeyUse, Resealing, SealContext, Vault, VaultError, codec};
use tokio_postgres::Row;

use crate::connection::Connection;
use crate::error::PgError;
use crate::open::{OpenError, Options};
use crate::param::params;
use crate::{audit, query};

/// The number of the key that seals.
pub(crate) const SEALING_KEY: &str = "sealing_key";

/// How often another key began to seal, or one was retired.
const KEY_CHANGES: &str = "key_changes";

pub(crate) const KEY_CHECK: SealContext<'_> = SealContext { kind: "key check", row: 1 };
const KEY_CHECK_TEXT: &[u8] = b"punctual";

/// How many different keys are looked for among jobs; damaged rows may name any.
const JOB_KEYS_MAX: usize = 1_000;

/// The seal context of the text that is sealed with a key when it becomes known.
fn key_context(id: u32) -> SealContext<'static> {
    SealContext { kind: "key", row: i64::from(id) }
}

/// The seal context of a secret of the server. The name stands for the row: there is one of each.
pub(crate) fn server_secret_context(name: &str) -> SealContext<'_> {
    SealContext { kind: name, row: 0 }
}

/// What the audit log calls a key.
pub(crate) fn subject(id: u32) -> Arc<str> {
    format!("key {id}").into()
}

/// A key that the store knows; without a text when it is retired.
pub(crate) struct KnownKey {
    pub(crate) id: u32,
    pub(crate) seal: Option<Vec<u8>>,
}

pub(crate) async fn known_keys(connection: &Connection) -> Result<Vec<KnownKey>, PgError> {
    let rows = connection.rows(query::keys, &[]).await?;
    rows.iter().map(|row| Ok(KnownKey { id: number(row.try_get(0)?)?, seal: row.try_get(1)? })).collect()
}

/// The number of a key.
pub(crate) fn number(stored: i64) -> Result<u32, PgError> {
    u32::try_from(stored).map_err(|_| PgError::invalid("the number of a key"))
}

/// The keys that jobs are sealed with. What does not name a key is damaged and needs none.
async fn job_keys(connection: &Connection) -> Result<Vec<u32>, PgError> {
    let (mut found, mut after) = (Vec::new(), Vec::new());
    for _ in 0..JOB_KEYS_MAX {
        let Some(row) = connection.one(query::next_job_key, params![after]).await? else { break };
        let next: Vec<u8> = row.try_get(0)?;
        found.extend(<[u8; 4]>::try_from(next.as_slice()).ok().map(u32::from_be_bytes));
        after = next;
    }
    Ok(found)
}

/// The keys that the server's own secrets are sealed with, one entry each.
async fn server_keys(connection: &Connection) -> Result<Vec<u32>, PgError> {
    let mut rows = connection.rows(query::server_secrets, &[]).await?;
    let mut sealed: Vec<Vec<u8>> = rows.drain(..).map(|row| row.try_get(1)).collect::<Result<_, _>>()?;
    sealed.extend(bytes(connection.one(query::audit_chain, &[]).await?)?);
    sealed.extend(bytes(connection.one(query::key_check, &[]).await?)?);
    Ok(sealed.iter().filter_map(|blob| Vault::key_of(blob).ok()).collect())
}

fn bytes(row: Option<Row>) -> Result<Option<Vec<u8>>, PgError> {
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// What a key has sealed.
async fn key_use(connection: &Connection, id: u32, sealing: u32) -> Result<KeyUse, PgError> {
    let jobs = connection.number(query::job_count_of_key, params![id.to_be_bytes().to_vec()]).await?;
    let server_count = server_keys(connection).await?.into_iter().filter(|one| *one == id).count() as u64;
    let job_count = u64::try_from(jobs.unwrap_or(0)).unwrap_or(0);
    Ok(KeyUse { id, seals: id == sealing, job_count, server_count })
}

/// What each key of the vault has sealed.
pub(crate) async fn uses(connection: &Connection, vault: &Vault) -> Result<Vec<KeyUse>, PgError> {
    let mut uses = Vec::new();
    for id in vault.ids() {
        uses.push(key_use(connection, id, vault.newest()).await?);
    }
    Ok(uses)
}

/// Whether anything is sealed with a key, at no cost that grows.
pub(crate) async fn is_needed(connection: &Connection, id: u32) -> Result<bool, PgError> {
    let job = connection.number(query::job_of_key, params![id.to_be_bytes().to_vec()]).await?;
    Ok(job.is_some() || server_keys(connection).await?.contains(&id))
}

/// Keys that something is sealed with and that the vault does not have. A number that is higher than any that there was is
/// damage and no key; its row is told as unreadable.
async fn missing(connection: &Connection, vault: &Vault, sealing: u32) -> Result<Vec<KeyUse>, PgError> {
    let (there, server) = (vault.ids(), server_keys(connection).await?);
    let known = known_keys(connection).await?.into_iter().map(|key| key.id);
    let highest = known.chain(server.iter().copied()).chain([vault.newest()]).max().unwrap_or(0);
    let jobs = job_keys(connection).await?.into_iter().filter(|id| (1..=highest).contains(id));
    let sealing_now = (sealing > 0).then_some(sealing);
    let mut needed: Vec<u32> =
        jobs.chain(server).chain(sealing_now).filter(|id| !there.contains(id)).collect();
    needed.sort_unstable();
    needed.dedup();
    let mut uses = Vec::new();
    for id in needed {
        uses.push(key_use(connection, id, sealing).await?);
    }
    Ok(uses)
}

/// A key of the vault that is not the one that the store knows by its number.
pub(crate) fn different(known: &[KnownKey], vault: &Vault) -> Option<u32> {
    let differs = |key: &&KnownKey| {
        let seal = key.seal.as_deref().map(|seal| vault.open(key_context(key.id), seal));
        matches!(seal, Some(Err(VaultError::Broken { .. } | VaultError::UnknownFormat)))
    };
    known.iter().find(differs).map(|key| key.id)
}

/// Makes keys of the vault known that are not, in a transaction.
pub(crate) async fn make_known(
    connection: &Connection,
    known: &[KnownKey],
    vault: &Vault,
    random: &dyn RandomSource,
) -> Result<(), PgError> {
    for id in vault.ids().into_iter().filter(|id| known.iter().all(|key| key.id != *id)) {
        let seal = vault.seal_by(id, key_context(id), KEY_CHECK_TEXT, random);
        connection.execute(query::insert_key, params![i64::from(id), seal]).await?;
    }
    Ok(())
}

/// Compares the keys of a node that starts with those of the database, and has the vault seal with the key that the others
/// seal with. Retired keys are forgotten.
pub(crate) async fn open(connection: &Connection, options: &Options) -> Result<(), OpenError> {
    let (vault, random) = (&options.vault, &*options.random);
    connection.begin().await?;
    let sealing = locked(connection).await?;
    let check = |id: u32| vault.seal_by(id, KEY_CHECK, KEY_CHECK_TEXT, random);
    match bytes(connection.one(query::key_check, &[]).await?)? {
        Some(stored) if Vault::key_of(&stored).is_ok_and(|id| vault.ids().contains(&id)) => {
            vault.open(KEY_CHECK, &stored).map_err(OpenError::WrongKey)?;
        }
        // Told below, with what needs it.
        Some(_) => {}
        None => {
            connection.execute(query::insert_counters, params![check(vault.newest())]).await?;
        }
    }
    let missing = missing(connection, vault, sealing).await?;
    if !missing.is_empty() {
        return Err(OpenError::MissingKeys(missing));
    }
    let known = known_keys(connection).await?;
    make_known(connection, &known, vault, random).await?;
    // Compared afterwards: another node may have been first with another key of that number.
    let known = known_keys(connection).await?;
    if let Some(id) = different(&known, vault) {
        return Err(OpenError::DifferentKey { id });
    }
    let sealing = if sealing == 0 {
        let newest = vault.newest();
        connection.execute_for(1, query::set_number, params![SEALING_KEY, i64::from(newest)]).await?;
        reseal_server_secrets(connection, vault, newest, random).await?;
        begin_resealing(connection, newest).await?;
        newest
    } else {
        sealing
    };
    connection.commit().await?;
    vault.seal_with(sealing);
    for retired in known.iter().filter(|key| key.seal.is_none()) {
        vault.forget(retired.id);
    }
    Ok(())
}

/// The key that seals, which nobody changes until the transaction ends, and with which nobody writes.
pub(crate) async fn locked(connection: &Connection) -> Result<u32, PgError> {
    number(connection.number(query::number_locked, params![SEALING_KEY]).await?.unwrap_or(0))
}

/// Whether something may be written that was sealed before the transaction began. If another key seals meanwhile, the vault
/// seals with that one from now on, and the caller has to seal again.
pub(crate) async fn may_write(
    connection: &Connection,
    vault: &Vault,
    sealed: Option<&[u8]>,
) -> Result<bool, PgError> {
    let Some(sealed) = sealed else { return Ok(true) };
    let sealing = connection.number(query::number_shared, params![SEALING_KEY]).await?.unwrap_or(0);
    let sealing = number(sealing)?;
    if Vault::key_of(sealed) == Ok(sealing) {
        return Ok(true);
    }
    if vault.seal_with(sealing) { Ok(false) } else { Err(PgError::KeyUnknown(sealing)) }
}

/// Has another key seal from now on, in a transaction that has [`locked`] the number of the one that did.
pub(crate) async fn change(
    connection: &Connection,
    vault: &Vault,
    id: u32,
    random: &dyn RandomSource,
    note: Option<&AuditEntry>,
) -> Result<(), PgError> {
    connection.execute_for(1, query::set_number, params![SEALING_KEY, i64::from(id)]).await?;
    changed(connection).await?;
    reseal_server_secrets(connection, vault, id, random).await?;
    begin_resealing(connection, id).await?;
    let note = note.map(|note| AuditEntry { subject: subject(id), ..note.clone() });
    audit::append(connection, note.iter().map(codec::encode_audit).collect()).await
}

/// Other nodes look at the keys again.
pub(crate) async fn changed(connection: &Connection) -> Result<(), PgError> {
    connection.execute_for(1, query::count_up, params![KEY_CHANGES]).await
}

/// Seals with a key what is sealed with another. What can't be opened is left as it is.
pub(crate) async fn reseal_server_secrets(
    connection: &Connection,
    vault: &Vault,
    id: u32,
    random: &dyn RandomSource,
) -> Result<(), PgError> {
    let reseal = |context: SealContext<'_>, sealed: &[u8]| {
        if Vault::key_of(sealed) == Ok(id) {
            return None;
        }
        match vault.open(context, sealed) {
            Ok(plain) => {
                let sealed = vault.seal_by(id, context, &plain, random);
                codec::wipe(plain);
                sealed
            }
            Err(error) => {
                tracing::error!(%error, what = context.kind, "a secret of the server can't be opened");
                None
            }
        }
    };
    let check = bytes(connection.one(query::key_check, &[]).await?)?;
    if let Some(sealed) = check.and_then(|check| reseal(KEY_CHECK, &check)) {
        connection.execute(query::set_key_check, params![sealed]).await?;
    }
    let key = bytes(connection.one(query::audit_chain, &[]).await?)?;
    if let Some(sealed) = key.and_then(|key| reseal(audit::KEY, &key)) {
        connection.execute(query::set_audit_key, params![sealed]).await?;
    }
    for row in connection.rows(query::server_secrets, &[]).await? {
        let (name, sealed): (String, Vec<u8>) = (row.try_get(0)?, row.try_get(1)?);
        if let Some(sealed) = reseal(server_secret_context(&name), &sealed) {
            connection.execute(query::set_server_secret, params![name, sealed]).await?;
        }
    }
    Ok(())
}

/// Where sealing anew is.
pub(crate) struct ResealingRow {
    pub(crate) key: u32,
    pub(crate) after_job: i64,
    pub(crate) until_job: i64,
    visited_count: u64,
    pub(crate) done: bool,
}

impl ResealingRow {
    pub(crate) fn told(&self, job_count: u64) -> Resealing {
        let Self { key, visited_count, done, .. } = *self;
        Resealing { key, visited_count, job_count, done }
    }
}

pub(crate) async fn resealing(connection: &Connection) -> Result<Option<ResealingRow>, PgError> {
    let Some(row) = connection.one(query::resealing, &[]).await? else { return Ok(None) };
    Ok(Some(ResealingRow {
        key: number(row.try_get(0)?)?,
        after_job: row.try_get(1)?,
        until_job: row.try_get(2)?,
        visited_count: u64::try_from(row.try_get::<_, i64>(3)?).unwrap_or(0),
        done: row.try_get(4)?,
    }))
}

/// Begins sealing jobs anew if another key sealed before. The first time there is nothing to do, unless some job is sealed
/// with another key.
async fn begin_resealing(connection: &Connection, newest: u32) -> Result<(), PgError> {
    let done = match resealing(connection).await? {
        Some(before) if before.key == newest => return Ok(()),
        Some(_) => false,
        None => job_keys(connection).await?.into_iter().all(|id| id == newest),
    };
    let last_job = connection.number(query::last_job, &[]).await?.unwrap_or(0);
    connection.execute(query::begin_resealing, params![i64::from(newest), last_job, done]).await?;
    Ok(())
}
