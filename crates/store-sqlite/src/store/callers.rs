//! Tokens.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::Secret;
use punctual_model::access::{Token, TokenId};
use punctual_model::audit::AuditEntry;
use punctual_store::{Callers, TOKENS_MAX, Trouble, Vault, WriteError, codec};
use tokio::sync::watch;

use super::SqliteStore;
use crate::error::SqliteError;
use crate::query;
use crate::row::{self, bound};
use crate::seals::server_secret_context;

impl SqliteStore {
    fn tokens_changed(&self) {
        self.token_changes.send_modify(|count| *count = count.wrapping_add(1));
    }
}

fn open_server_secret(vault: &Vault, name: &str, sealed: &[u8]) -> Result<Secret, SqliteError> {
    let damaged = |detail: String| SqliteError::Unreadable { what: format!("the server's {name}"), detail };
    let opened =
        vault.open(server_secret_context(name), sealed).map_err(|error| damaged(error.to_string()))?;
    String::from_utf8(opened).map(Secret::new).map_err(|_| damaged("it is no text".to_owned()))
}

#[async_trait]
impl Callers for SqliteStore {
    async fn tokens(&self) -> Result<Vec<Token>, Trouble> {
        let read = self
            .readers
            .call_long("list tokens", |conn| row::many(conn, query::tokens, [bound(TOKENS_MAX)], row::token));
        read.await
    }

    async fn create_token(&self, token: &Token, note: Option<AuditEntry>) -> Result<(), WriteError> {
        let (token, note) = (token.clone(), note.as_ref().map(codec::encode_audit));
        self.writer
            .call("create a token", move |state| {
                let created = state.create_token(&token)?;
                state.note_if(created.is_ok(), note.as_deref())?;
                Ok(created)
            })
            .await??;
        self.tokens_changed();
        Ok(())
    }

    async fn replace_token(&self, token: &Token, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let (token, note) = (token.clone(), note.as_ref().map(codec::encode_audit));
        let replaced = self
            .writer
            .call("replace a token", move |state| {
                let replaced = state.replace_token(&token)?;
                state.note_if(replaced, note.as_deref())?;
                Ok(replaced)
            })
            .await?;
        if replaced {
            self.tokens_changed();
        }
        Ok(replaced)
    }

    async fn delete_token(&self, id: &TokenId, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let (id, note) = (id.clone(), note.as_ref().map(codec::encode_audit));
        let deleted = self
            .writer
            .call("delete a token", move |state| {
                let deleted = state.delete_token(&id)?;
                state.note_if(deleted, note.as_deref())?;
                Ok(deleted)
            })
            .await?;
        if deleted {
            self.tokens_changed();
        }
        Ok(deleted)
    }

    async fn note_token_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<(), Trouble> {
        let uses = uses.to_vec();
        self.writer.call("note uses of tokens", move |state| state.note_token_uses(&uses)).await
    }

    async fn server_secret(&self, name: &'static str) -> Result<Option<Secret>, Trouble> {
        let vault = Arc::clone(&self.vault);
        let read = self.readers.call("read a secret of the server", move |conn| {
            let sealed = row::one(conn, query::server_secret, [name], |row| Ok(row.get::<_, Vec<u8>>(0)?))?;
            sealed.map(|sealed| open_server_secret(&vault, name, &sealed)).transpose()
        });
        read.await
    }

    async fn keep_server_secret(&self, name: &'static str, secret: &Secret) -> Result<Secret, Trouble> {
        let (vault, random, secret) = (Arc::clone(&self.vault), Arc::clone(&self.random), secret.clone());
        let write = self.writer.call("keep a secret of the server", move |state| {
            // Sealed here, where no other key can begin to seal meanwhile.
            let sealed = vault.seal(server_secret_context(name), secret.expose().as_bytes(), &*random);
            let kept = state.keep_server_secret(name, &sealed)?;
            open_server_secret(&vault, name, &kept)
        });
        write.await
    }

    fn token_changes(&self) -> watch::Receiver<u64> {
        self.token_changes.subscribe()
    }
}
