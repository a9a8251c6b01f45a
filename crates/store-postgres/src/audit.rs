//! The audit log: its key, and sealing it as a chain.
//!
//! Entries get their numbers while their transactions run, so that a lower one may become visible later. Whoever seals
//! locks the head of the chain, so that it can't fork, and then the table against writers: when that lock is there, no
//! entry below the last one can appear any more.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_model::RandomSource;
use punctual_store::instant::{from_ticks, to_ticks};
use punctual_store::{
    AuditKey, AuditPiece, AuditProblem, AuditVerification, SealContext, Vault, VaultError, audit_code_text,
    seal_piece, verify_piece,
};
use tokio_postgres::Row;

use crate::OpenError;
use crate::connection::Connection;
use crate::error::PgError;
use crate::param::params;
use crate::query;
use crate::row::bound;

/// The seal context of the key.
pub(crate) const KEY: SealContext<'_> = SealContext { kind: "audit", row: 1 };

/// How many pieces are looked at in one call.
const PIECES: usize = 64;

/// How many entries that are not sealed are counted.
const UNSEALED_MAX: usize = 1_000_000;

/// The ends of the chain.
struct Chain {
    /// Entries up to this one are in a piece.
    sealed_to: i64,
    /// The last piece that was deleted, and its code.
    anchor: (i64, Vec<u8>),
}

impl Chain {
    fn read(row: Option<&Row>) -> Result<Self, PgError> {
        let row = row.ok_or(PgError::Rows(0))?;
        Ok(Self { sealed_to: row.try_get(1)?, anchor: (row.try_get(2)?, row.try_get(3)?) })
    }
}

/// The key of the chain, made by the first node.
pub(crate) async fn open_key(
    connection: &Connection,
    vault: &Vault,
    random: &dyn RandomSource,
) -> Result<AuditKey, OpenError> {
    let seal = |key: &AuditKey| vault.seal(KEY, key.bytes(), random);
    let stored = match connection.one(query::audit_chain, &[]).await? {
        Some(row) => row,
        None => {
            let new = seal(&AuditKey::generate(random));
            connection.execute(query::insert_audit_chain, params![new]).await?;
            connection.one(query::audit_chain, &[]).await?.ok_or(PgError::Rows(0))?
        }
    };
    let stored: Vec<u8> = stored.try_get(0).map_err(PgError::from)?;
    let bytes = vault.open(KEY, &stored).map_err(OpenError::WrongKey)?;
    let key = AuditKey::from_bytes(&bytes).ok_or(OpenError::WrongKey(VaultError::UnknownFormat))?;
    Ok(key)
}

/// Appends entries to the log, in the transaction of what they tell of.
pub(crate) async fn append(connection: &Connection, entries: Vec<Vec<u8>>) -> Result<(), PgError> {
    if entries.is_empty() {
        return Ok(());
    }
    connection.execute_for(entries.len(), query::insert_audit, params![entries]).await
}

/// Seals what is not sealed yet as the next piece, in a transaction; returns how many entries it has.
pub(crate) async fn seal(
    connection: &Connection,
    key: &AuditKey,
    at: Timestamp,
    limit: usize,
) -> Result<usize, PgError> {
    connection.batch(query::lock_timeout).await?;
    let row = connection.one(query::audit_chain_locked, &[]).await?;
    let Chain { sealed_to, anchor } = Chain::read(row.as_ref())?;
    // Without entries nobody needs to wait.
    let unsealed = connection.number(query::audit_count_after, params![sealed_to, 1_i64]).await?;
    if unsealed == Some(0) {
        return Ok(0);
    }
    connection.batch(query::lock_audit).await?;
    let rows = connection.rows(query::audit_after, params![sealed_to, bound(limit)]).await?;
    let entries: Vec<(i64, Vec<u8>)> = rows.iter().map(entry).collect::<Result<_, _>>()?;
    let Some((last_entry, _)) = entries.last() else { return Ok(0) };
    let last = connection.one(query::last_audit_piece, &[]).await?.as_ref().map(entry).transpose()?;
    let (number, code) = last.unwrap_or(anchor);
    let sealed = entries.iter().map(|(number, entry)| (*number, entry.as_slice()));
    let piece = seal_piece(key, Some((number, &code)), at, sealed);
    let sealed_at = to_ticks(piece.sealed_at);
    connection
        .execute_for(1, query::insert_audit_piece, params![piece.number, sealed_at, piece.rows, piece.code])
        .await?;
    connection.execute_for(1, query::set_audit_sealed, params![*last_entry]).await?;
    Ok(piece.entry_count())
}

/// Deletes the oldest pieces with their entries, in a transaction; returns how many entries those were. The last piece
/// stays.
pub(crate) async fn prune(
    connection: &Connection,
    before: Timestamp,
    limit: usize,
) -> Result<usize, PgError> {
    let mut count = 0;
    while count < limit {
        let row = connection.one(query::audit_chain_locked, &[]).await?;
        let Chain { anchor: (anchor, _), .. } = Chain::read(row.as_ref())?;
        let rows = connection.rows(query::audit_pieces, params![anchor, 2_i64]).await?;
        let [first, _] = &rows[..] else { break };
        let piece = piece(first)?;
        if piece.sealed_at >= before {
            break;
        }
        count += piece.entry_count();
        if let Some((first, last)) = piece.range() {
            connection.execute(query::delete_audit_between, params![first, last]).await?;
        }
        connection.execute_for(1, query::delete_audit_piece, params![piece.number]).await?;
        connection.execute_for(1, query::set_audit_anchor, params![piece.number, piece.code]).await?;
    }
    Ok(count)
}

/// Checks pieces after one, until `limit` entries were looked at, in one snapshot.
pub(crate) async fn verify(
    connection: &Connection,
    key: &AuditKey,
    after: Option<i64>,
    limit: usize,
) -> Result<AuditVerification, PgError> {
    let row = connection.one(query::audit_chain, &[]).await?;
    let Chain { sealed_to, anchor } = Chain::read(row.as_ref())?;
    let mut last = match after.filter(|after| *after > anchor.0) {
        None => anchor,
        Some(after) => {
            let code = connection.one(query::audit_piece_code, params![after]).await?;
            (after, code.map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
        }
    };
    let mut found = AuditVerification::default();
    // The last entry that a piece has, as far as pieces were looked at.
    let mut ended_at = if after.is_none() { 0 } else { i64::MAX };
    loop {
        let rows = connection.rows(query::audit_pieces, params![last.0, bound(PIECES)]).await?;
        let end = rows.len() < PIECES;
        for row in &rows {
            if found.checked >= limit {
                found.next = Some(last.0);
                return Ok(found);
            }
            let piece = piece(row)?;
            let (from, to) = piece.range().unwrap_or((0, -1));
            let rows = connection.rows(query::audit_between, params![from, to]).await?;
            let entries: BTreeMap<i64, Vec<u8>> = rows.iter().map(entry).collect::<Result<_, _>>()?;
            verify_piece(key, Some((last.0, &last.1)), &piece, entries, &mut found);
            ended_at = to;
            last = (piece.number, piece.code);
        }
        if end {
            break;
        }
    }
    if ended_at < sealed_to {
        // More was sealed than there is: the end was cut off.
        found.problems.push(AuditProblem::PieceMissing { piece: last.0 + 1 });
    }
    let unsealed =
        connection.number(query::audit_count_after, params![sealed_to, bound(UNSEALED_MAX)]).await?;
    found.unsealed = usize::try_from(unsealed.unwrap_or(0)).unwrap_or(0);
    found.head = (last.0 > 0).then(|| (last.0, audit_code_text(&last.1)));
    Ok(found)
}

/// A number, and the bytes that belong to it.
pub(crate) fn entry(row: &Row) -> Result<(i64, Vec<u8>), PgError> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}

fn piece(row: &Row) -> Result<AuditPiece, PgError> {
    // A time that is no time was changed by somebody; the code will not fit.
    let sealed_at = from_ticks(row.try_get(1)?).unwrap_or(Timestamp::UNIX_EPOCH);
    Ok(AuditPiece { number: row.try_get(0)?, sealed_at, rows: row.try_get(2)?, code: row.try_get(3)? })
}
