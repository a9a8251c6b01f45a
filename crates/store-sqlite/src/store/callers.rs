//! Tokens.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::Secret;
use punctual_model::access::{Token, TokenId};
use punctual_model::audit::AuditEntry;
use punctual_store::{Callers, SealContext, TOKENS_MAX, Trouble, WriteError, codec};
use tokio::sync::watch;

use super::SqliteStore;
use crate::query;
use crate::row::{self, bound};

impl SqliteStore {
    fn tokens_changed(&self) {
        self.token_changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn open_server_secret(&self, name: &'static str, sealed: &[u8]) -> Result<Secret, Trouble> {
        let damaged = |detail: String| Trouble::Corrupt { what: format!("the server's {name}"), detail };
        let opened =
            self.vault.open(seal_context(name), sealed).map_err(|error| damaged(error.to_string()))?;
        String::from_utf8(opened).map(Secret::new).map_err(|_| damaged("it is no text".to_owned()))
    }
}

/// The name stands for the row: there is one of each.
fn seal_context(name: &'static str) -> SealContext {
    SealContext { kind: name, row: 0 }
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
        let read = self.readers.call("read a secret of the server", move |conn| {
            row::one(conn, query::server_secret, [name], |row| Ok(row.get::<_, Vec<u8>>(0)?))
        });
        read.await?.map(|sealed| self.open_server_secret(name, &sealed)).transpose()
    }

    async fn keep_server_secret(&self, name: &'static str, secret: &Secret) -> Result<Secret, Trouble> {
        let sealed = self.vault.seal(seal_context(name), secret.expose().as_bytes(), &*self.random);
        let doing = "keep a secret of the server";
        let kept = self.writer.call(doing, move |state| state.keep_server_secret(name, &sealed)).await?;
        self.open_server_secret(name, &kept)
    }

    fn token_changes(&self) -> watch::Receiver<u64> {
        self.token_changes.subscribe()
    }
}
