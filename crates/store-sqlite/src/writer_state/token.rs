//! Tokens.

use jiff::Timestamp;
use punctual_model::Name;
use punctual_model::access::{Token, TokenId};
use punctual_store::instant::to_ticks;
use punctual_store::{Refusal, TOKENS_MAX, codec};
use rusqlite::params;

use super::WriterState;
use crate::error::SqliteError;
use crate::{query, row};

impl WriterState {
    pub(crate) fn create_token(&mut self, token: &Token) -> Result<Result<(), Refusal>, SqliteError> {
        let count = row::number(&self.conn, query::token_count, [])?.unwrap_or(0);
        if count >= row::bound(TOKENS_MAX) {
            return Ok(Err(Refusal::TooManyTokens { max: TOKENS_MAX }));
        }
        let rows = self.conn.prepare_cached(query::insert_token)?.execute(params![
            token.id.0,
            token.name,
            Name::new(token.name.as_str()).folded(),
            token.hash.0,
            codec::encode_grants(&token.grants),
            to_ticks(token.created_at),
            token.expires_at.map(to_ticks),
            token.last_used_at.map(to_ticks),
        ])?;
        Ok(if rows == 1 { Ok(()) } else { Err(Refusal::TokenExists) })
    }

    pub(crate) fn replace_token(&mut self, token: &Token) -> Result<bool, SqliteError> {
        let rows = self.conn.prepare_cached(query::update_token)?.execute(params![
            token.id.0,
            token.hash.0,
            codec::encode_grants(&token.grants),
            token.expires_at.map(to_ticks),
            token.last_used_at.map(to_ticks),
        ])?;
        Ok(rows == 1)
    }

    pub(crate) fn delete_token(&mut self, id: &TokenId) -> Result<bool, SqliteError> {
        Ok(self.conn.prepare_cached(query::delete_token)?.execute([&id.0])? == 1)
    }

    /// Keeps a sealed secret unless there is one by this name; answers the one that is kept.
    pub(crate) fn keep_server_secret(&mut self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, SqliteError> {
        self.conn.prepare_cached(query::insert_server_secret)?.execute(params![name, sealed])?;
        let kept = row::one(&self.conn, query::server_secret, [name], |row| Ok(row.get(0)?))?;
        Ok(kept.unwrap_or_else(|| sealed.to_vec()))
    }

    pub(crate) fn note_token_uses(&mut self, uses: &[(TokenId, Timestamp)]) -> Result<(), SqliteError> {
        let mut statement = self.conn.prepare_cached(query::note_token_use)?;
        for (id, used_at) in uses {
            statement.execute(params![id.0, to_ticks(*used_at)])?;
        }
        Ok(())
    }
}
