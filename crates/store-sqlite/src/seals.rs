//! What is sealed with which key, as rows: the same for a store that is opened, one that runs, and the data of a stopped one.
//!
//! Sealed are the secrets of jobs (`jobs.sealed`) and the server's own: `server_secrets.sealed`, `audit_chain.key`,
//! `counters.key_check` and, each with its own key, `keys.seal`. A test compares this list with the schema.

use punctual_model::RandomSource;
use punctual_model::audit::AuditEntry;
use punctual_store::{KeyUse, Resealing, SealContext, Vault, VaultError, codec};
use rusqlite::{Connection, params};

use crate::directory::KEY_CHECK;
use crate::error::SqliteError;
use crate::{audit, query, row};

/// What is sealed to see whether a key is the right one.
pub(crate) const KEY_CHECK_TEXT: &[u8] = b"punctual";

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

/// A key that the store knows; without a text when it is retired.
struct KnownKey {
    id: u32,
    seal: Option<Vec<u8>>,
}

fn known_keys(conn: &Connection) -> Result<Vec<KnownKey>, SqliteError> {
    row::many(conn, query::keys, [], |row| Ok(KnownKey { id: row.get(0)?, seal: row.get(1)? }))
}

/// The keys that jobs are sealed with. What does not name a key is damaged and needs none.
fn job_keys(conn: &Connection) -> Result<Vec<u32>, SqliteError> {
    let mut found = Vec::new();
    let mut after: Vec<u8> = Vec::new();
    for _ in 0..JOB_KEYS_MAX {
        let next = row::one(conn, query::next_job_key, [&after], |row| Ok(row.get::<_, Vec<u8>>(0)?))?;
        let Some(next) = next else { break };
        if let Ok(bytes) = <[u8; 4]>::try_from(next.as_slice()) {
            found.push(u32::from_be_bytes(bytes));
        }
        after = next;
    }
    Ok(found)
}

/// The keys that the server's own secrets are sealed with, one entry each.
fn server_keys(conn: &Connection) -> Result<Vec<u32>, SqliteError> {
    let mut sealed: Vec<Vec<u8>> =
        row::many(conn, query::server_secrets, [], |row| Ok(row.get::<_, Vec<u8>>(1)?))?;
    sealed.extend(row::one(conn, query::audit_chain, [], |row| Ok(row.get::<_, Vec<u8>>(0)?))?);
    sealed.extend(row::one(conn, query::key_check, [], |row| Ok(row.get::<_, Vec<u8>>(0)?))?);
    Ok(sealed.iter().filter_map(|blob| Vault::key_of(blob).ok()).collect())
}

/// What a key has sealed.
fn key_use(conn: &Connection, id: u32, vault: &Vault) -> Result<KeyUse, SqliteError> {
    let jobs = row::number(conn, query::job_count_of_key, [id.to_be_bytes()])?;
    let server_count = server_keys(conn)?.into_iter().filter(|one| *one == id).count() as u64;
    let job_count = u64::try_from(jobs.unwrap_or(0)).unwrap_or(0);
    Ok(KeyUse { id, seals: id == vault.newest(), job_count, server_count })
}

/// What each key of the vault has sealed.
pub(crate) fn uses(conn: &Connection, vault: &Vault) -> Result<Vec<KeyUse>, SqliteError> {
    vault.ids().into_iter().map(|id| key_use(conn, id, vault)).collect()
}

/// Whether anything is sealed with a key, at no cost that grows.
pub(crate) fn is_needed(conn: &Connection, id: u32) -> Result<bool, SqliteError> {
    let job = row::number(conn, query::job_of_key, [id.to_be_bytes()])?;
    Ok(job.is_some() || server_keys(conn)?.contains(&id))
}

/// Keys that something is sealed with and that the vault does not have. A number that is higher than any that there was is
/// damage and no key; its row is told as unreadable.
pub(crate) fn missing(conn: &Connection, vault: &Vault) -> Result<Vec<KeyUse>, SqliteError> {
    let (there, server) = (vault.ids(), server_keys(conn)?);
    let known = known_keys(conn)?.into_iter().map(|key| key.id);
    let highest = known.chain(server.iter().copied()).chain([vault.newest()]).max().unwrap_or(0);
    let jobs = job_keys(conn)?.into_iter().filter(|id| (1..=highest).contains(id));
    let mut needed: Vec<u32> = jobs.chain(server).filter(|id| !there.contains(id)).collect();
    needed.sort_unstable();
    needed.dedup();
    needed.into_iter().map(|id| key_use(conn, id, vault)).collect()
}

/// A key of the vault that is not the one that the store knows by its number.
pub(crate) fn different(conn: &Connection, vault: &Vault) -> Result<Option<u32>, SqliteError> {
    let known = known_keys(conn)?.into_iter().filter_map(|key| Some((key.id, key.seal?)));
    let differs = |id: u32, seal: &[u8]| {
        matches!(
            vault.open(key_context(id), seal),
            Err(VaultError::Broken { .. } | VaultError::UnknownFormat)
        )
    };
    Ok(known.into_iter().find(|(id, seal)| differs(*id, seal)).map(|(id, _)| id))
}

/// Makes the keys of the vault known, has the newest seal the secrets of the server, and begins sealing jobs anew if another
/// key sealed before. Of retired keys the vault forgets what it has; a key that was taken away, and that nothing needs, is
/// retired. Returns the retired ones that the vault had. To be called in a transaction; nothing needs a key that the vault
/// does not have.
///
/// The note is written if there is a key that was not known, on other data than new.
pub(crate) fn adopt(
    conn: &Connection,
    vault: &Vault,
    random: &dyn RandomSource,
    note: Option<&AuditEntry>,
) -> Result<Vec<u32>, SqliteError> {
    let known = known_keys(conn)?;
    let newest = vault.newest();
    let mut retired = Vec::new();
    for id in vault.ids() {
        match known.iter().find(|key| key.id == id) {
            Some(KnownKey { seal: None, .. }) => {
                vault.forget(id);
                retired.push(id);
            }
            Some(_) => {}
            None => {
                let seal = vault.seal_by(id, key_context(id), KEY_CHECK_TEXT, random);
                conn.execute(query::insert_key, params![id, seal])?;
            }
        }
    }
    let there = vault.ids();
    for gone in known.iter().filter(|key| key.seal.is_some() && !there.contains(&key.id)) {
        conn.execute(query::retire_key, [gone.id])?;
    }
    reseal_server_secrets(conn, vault, random)?;
    begin_resealing(conn, newest)?;
    if !known.is_empty()
        && known.iter().all(|key| key.id != newest)
        && let Some(note) = note
    {
        let note = AuditEntry { subject: subject(newest), ..note.clone() };
        conn.execute(query::insert_audit, [codec::encode_audit(&note)])?;
    }
    Ok(retired)
}

/// What the audit log calls a key.
pub(crate) fn subject(id: u32) -> std::sync::Arc<str> {
    format!("key {id}").into()
}

/// Seals with the newest key what is sealed with another. What can't be opened is left as it is.
pub(crate) fn reseal_server_secrets(
    conn: &Connection,
    vault: &Vault,
    random: &dyn RandomSource,
) -> Result<(), SqliteError> {
    let reseal = |context: SealContext<'_>, sealed: &[u8]| {
        if Vault::key_of(sealed) == Ok(vault.newest()) {
            return None;
        }
        match vault.open(context, sealed) {
            Ok(plain) => {
                let sealed = vault.seal(context, &plain, random);
                codec::wipe(plain);
                Some(sealed)
            }
            Err(error) => {
                tracing::error!(%error, what = context.kind, "a secret of the server can't be opened");
                None
            }
        }
    };
    let check = row::one(conn, query::key_check, [], |row| Ok(row.get::<_, Vec<u8>>(0)?))?;
    if let Some(sealed) = check.and_then(|check| reseal(KEY_CHECK, &check)) {
        conn.execute(query::set_key_check, params![sealed])?;
    }
    let key = row::one(conn, query::audit_chain, [], |row| Ok(row.get::<_, Vec<u8>>(0)?))?;
    if let Some(sealed) = key.and_then(|key| reseal(audit::KEY, &key)) {
        conn.execute(query::set_audit_key, params![sealed])?;
    }
    let secrets = row::many(conn, query::server_secrets, [], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?))
    })?;
    for (name, sealed) in secrets {
        if let Some(sealed) = reseal(server_secret_context(&name), &sealed) {
            conn.execute(query::set_server_secret, params![name, sealed])?;
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
    job_count: u64,
    done: bool,
}

impl ResealingRow {
    pub(crate) fn told(&self) -> Resealing {
        let Self { key, visited_count, job_count, done, .. } = *self;
        Resealing { key, visited_count, job_count, done }
    }
}

pub(crate) fn resealing(conn: &Connection) -> Result<Option<ResealingRow>, SqliteError> {
    row::one(conn, query::resealing, [], |row| {
        let count = |column| Ok::<_, SqliteError>(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0));
        Ok(ResealingRow {
            key: row.get(0)?,
            after_job: row.get(1)?,
            until_job: row.get(2)?,
            visited_count: count(3)?,
            done: row.get(4)?,
            job_count: count(5)?,
        })
    })
}

/// Begins sealing jobs anew if another key sealed before. The first time there is nothing to do, unless some job is sealed
/// with another key, as after a rotation by an earlier version.
fn begin_resealing(conn: &Connection, newest: u32) -> Result<(), SqliteError> {
    let done = match resealing(conn)? {
        Some(before) if before.key == newest => return Ok(()),
        Some(_) => false,
        None => job_keys(conn)?.into_iter().all(|id| id == newest),
    };
    let last_job = row::number(conn, query::last_job, [])?.unwrap_or(0);
    conn.execute(query::begin_resealing, params![newest, last_job, done])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::schema;

    use super::*;

    /// Every column that holds bytes, and whether they are sealed. Who adds one says here which it is, and if it is sealed,
    /// has it sealed anew when a key is rotated, and counted before one is retired.
    const BYTES: [(&str, &str, bool); 19] = [
        ("agenda", "ahead", false),
        ("agenda", "runs", false),
        ("audit", "entry", false),
        ("audit_chain", "anchor_code", false),
        ("audit_chain", "key", true),
        ("audit_pieces", "code", false),
        ("audit_pieces", "entries", false),
        ("collections", "document", false),
        ("counters", "key_check", true),
        ("jobs", "document", false),
        ("jobs", "sealed", true),
        ("keys", "seal", true),
        ("server_secrets", "sealed", true),
        ("sessions", "hash", false),
        ("sessions", "holder", false),
        ("stats_hours", "counts", false),
        ("stats_minutes", "counts", false),
        ("tokens", "grants", false),
        ("tokens", "hash", false),
    ];

    #[test]
    fn every_place_that_holds_something_sealed_is_known() {
        let mut conn = Connection::open_in_memory().unwrap();
        schema::migrate(&mut conn).unwrap();
        let sql = "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
            WHERE t.type = 'table' AND upper(c.type) NOT IN ('INTEGER', 'TEXT', 'REAL') AND t.name NOT LIKE 'sqlite_%'
            ORDER BY 1, 2";
        let mut statement = conn.prepare(sql).unwrap();
        let found: Vec<(String, String)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let listed: Vec<(String, String)> =
            BYTES.iter().map(|(table, column, _)| ((*table).to_owned(), (*column).to_owned())).collect();
        assert_eq!(found, listed);
        let sealed: Vec<&str> =
            BYTES.iter().filter(|(.., sealed)| *sealed).map(|(table, ..)| *table).collect();
        assert_eq!(sealed, ["audit_chain", "counters", "jobs", "keys", "server_secrets"]);
    }
}
