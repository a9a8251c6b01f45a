//! The audit log as rows, and its key.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_store::instant::from_ticks;
use punctual_store::{
    AuditKey, AuditPiece, AuditProblem, AuditVerification, SealContext, VaultError, audit_code_text,
    verify_piece,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::SqliteError;
use crate::{OpenError, Options, query, row};

/// The seal context of the key.
pub(crate) const KEY: SealContext<'_> = SealContext { kind: "audit", row: 1 };

/// The ends of the chain.
pub(crate) struct Chain {
    /// Entries up to this one are in a piece.
    pub(crate) sealed_to: i64,
    /// The last piece that was deleted, and its code.
    pub(crate) anchor: (i64, Vec<u8>),
}

pub(crate) fn chain(conn: &Connection) -> Result<Chain, SqliteError> {
    let read = |row: &Row<'_>| Ok(Chain { sealed_to: row.get(1)?, anchor: (row.get(2)?, row.get(3)?) });
    Ok(row::one(conn, query::audit_chain, [], read)?
        .unwrap_or(Chain { sealed_to: 0, anchor: (0, Vec::new()) }))
}

/// An entry: its number and its document.
pub(crate) fn entry(row: &Row<'_>) -> Result<(i64, Vec<u8>), SqliteError> {
    Ok((row.get(0)?, row.get(1)?))
}

/// A piece without its entries: its number and its code.
pub(crate) fn end(row: &Row<'_>) -> Result<(i64, Vec<u8>), SqliteError> {
    Ok((row.get(0)?, row.get(1)?))
}

pub(crate) fn piece(row: &Row<'_>) -> Result<AuditPiece, SqliteError> {
    // A time that is no time was changed by somebody; the code will not fit.
    let sealed_at = from_ticks(row.get(1)?).unwrap_or(Timestamp::UNIX_EPOCH);
    Ok(AuditPiece { number: row.get(0)?, sealed_at, rows: row.get(2)?, code: row.get(3)? })
}

/// The key of the chain, made if there is none. With new key files that replace lost ones a new chain is begun, since
/// nobody can check the old one any more.
pub(crate) fn open_key(conn: &Connection, options: &Options) -> Result<AuditKey, OpenError> {
    let stored = conn.query_row(query::audit_chain, [], |row| row.get::<_, Vec<u8>>(0)).optional()?;
    let (Some(stored), vault) = (stored, &*options.vault) else { return make_key(conn, options) };
    let key = match vault.open(KEY, &stored) {
        Ok(bytes) => AuditKey::from_bytes(&bytes).ok_or(OpenError::WrongKey(VaultError::UnknownFormat))?,
        Err(_) if options.new_keys => {
            tracing::warn!("the key of the audit log was lost with the key file; its chain begins anew");
            conn.execute(query::delete_audit_pieces, [])?;
            return make_key(conn, options);
        }
        Err(error) => return Err(OpenError::WrongKey(error)),
    };
    Ok(key)
}

fn make_key(conn: &Connection, options: &Options) -> Result<AuditKey, OpenError> {
    let key = AuditKey::generate(&*options.random);
    let sealed = options.vault.seal(KEY, key.bytes(), &*options.random);
    conn.execute(query::insert_audit_chain, params![sealed])?;
    Ok(key)
}

/// How many pieces are looked at in one call.
const PIECES: usize = 64;

/// How many entries that are not sealed are counted.
const UNSEALED_MAX: usize = 1_000_000;

/// Checks pieces after one, until `limit` entries were looked at.
pub(crate) fn verify(
    conn: &Connection,
    key: &AuditKey,
    after: Option<i64>,
    limit: usize,
) -> Result<AuditVerification, SqliteError> {
    let Chain { sealed_to, anchor } = chain(conn)?;
    let mut last = match after.filter(|after| *after > anchor.0) {
        None => anchor,
        Some(after) => {
            let code = row::one(conn, query::audit_piece_code, [after], |row| Ok(row.get(0)?))?;
            (after, code.unwrap_or_default())
        }
    };
    let mut found = AuditVerification::default();
    // The last entry that a piece has, as far as pieces were looked at.
    let mut ended_at = if after.is_none() { 0 } else { i64::MAX };
    loop {
        let pieces = row::many(conn, query::audit_pieces, params![last.0, row::bound(PIECES)], piece)?;
        let end = pieces.len() < PIECES;
        for piece in pieces {
            if found.checked >= limit {
                found.next = Some(last.0);
                return Ok(found);
            }
            let (from, to) = piece.range().unwrap_or((0, -1));
            let entries: BTreeMap<i64, Vec<u8>> =
                row::many(conn, query::audit_between, [from, to], entry)?.into_iter().collect();
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
    let unsealed = row::number(conn, query::audit_count_after, [sealed_to, row::bound(UNSEALED_MAX)])?;
    found.unsealed = usize::try_from(unsealed.unwrap_or(0)).unwrap_or(0);
    found.head = (last.0 > 0).then(|| (last.0, audit_code_text(&last.1)));
    Ok(found)
}
