//! Tokens.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::access::{Token, TokenId};
use punctual_store::{Callers, TOKENS_MAX, Trouble, WriteError};
use tokio::sync::watch;

use super::SqliteStore;
use crate::query;
use crate::row::{self, bound};

impl SqliteStore {
    fn tokens_changed(&self) {
        self.token_changes.send_modify(|count| *count = count.wrapping_add(1));
    }
}

#[async_trait]
impl Callers for SqliteStore {
    async fn tokens(&self) -> Result<Vec<Token>, Trouble> {
        let read = self
            .readers
            .call_long("list tokens", |conn| row::many(conn, query::tokens, [bound(TOKENS_MAX)], row::token));
        read.await
    }

    async fn create_token(&self, token: &Token) -> Result<(), WriteError> {
        let token = token.clone();
        self.writer.call("create a token", move |state| state.create_token(&token)).await??;
        self.tokens_changed();
        Ok(())
    }

    async fn replace_token(&self, token: &Token) -> Result<bool, Trouble> {
        let token = token.clone();
        let replaced = self.writer.call("replace a token", move |state| state.replace_token(&token)).await?;
        if replaced {
            self.tokens_changed();
        }
        Ok(replaced)
    }

    async fn delete_token(&self, id: &TokenId) -> Result<bool, Trouble> {
        let id = id.clone();
        let deleted = self.writer.call("delete a token", move |state| state.delete_token(&id)).await?;
        if deleted {
            self.tokens_changed();
        }
        Ok(deleted)
    }

    async fn note_token_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<(), Trouble> {
        let uses = uses.to_vec();
        self.writer.call("note uses of tokens", move |state| state.note_token_uses(&uses)).await
    }

    fn token_changes(&self) -> watch::Receiver<u64> {
        self.token_changes.subscribe()
    }
}
