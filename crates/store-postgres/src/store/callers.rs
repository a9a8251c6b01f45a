//! Tokens.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::access::{Token, TokenId};
use punctual_model::audit::AuditEntry;
use punctual_model::{Name, Secret};
use punctual_store::instant::to_ticks;
use punctual_store::{Callers, Refusal, TOKENS_MAX, Trouble, WriteError, codec};
use tokio::sync::watch;

use super::{Inner, PostgresStore};
use crate::connection::Connection;
use crate::error::PgError;
use crate::param::params;
use crate::pool::{Work, work};
use crate::row::bound;
use crate::seals::server_secret_context;
use crate::{audit, query, receipt, row};

/// The number of changes, which other nodes read every second.
const CHANGES: &str = "token_changes";

impl PostgresStore {
    fn open_server_secret(&self, name: &'static str, sealed: &[u8]) -> Result<Secret, Trouble> {
        let damaged = |detail: String| Trouble::Corrupt { what: format!("the server's {name}"), detail };
        let opened = self
            .inner
            .vault
            .open(server_secret_context(name), sealed)
            .map_err(|error| damaged(error.to_string()))?;
        String::from_utf8(opened).map(Secret::new).map_err(|_| damaged("it is no text".to_owned()))
    }
}

impl Inner {
    /// Changes tokens in a transaction, with the entry of the audit log. `change` says whether it has changed anything.
    async fn change_tokens<W>(self: &Arc<Self>, note: Option<AuditEntry>, change: W) -> Result<bool, PgError>
    where
        W: for<'c> FnMut(&'c Connection) -> Work<'c, bool> + Send + 'static,
    {
        let change = Arc::new(tokio::sync::Mutex::new(change));
        let note: Vec<Vec<u8>> = note.iter().map(codec::encode_audit).collect();
        let edit = work!(|connection| with change, note; {
            let changing = (*change.lock().await)(connection);
            if !changing.await? {
                return Ok(None);
            }
            audit::append(connection, note).await?;
            connection.number(query::count_up, params![CHANGES]).await
        });
        let version = receipt::edit(&self.api, &*self.random, edit).await?;
        if let Some(version) = version {
            // This one is not told again when it is seen in the database.
            self.token_version.fetch_max(version, Ordering::Relaxed);
            self.tokens_changed();
        }
        Ok(version.is_some())
    }
}

#[async_trait]
impl Callers for PostgresStore {
    async fn tokens(&self) -> Result<Vec<Token>, Trouble> {
        let read = work!(|connection| {
            let rows = connection.rows(query::tokens, params![bound(TOKENS_MAX)]).await?;
            rows.iter().map(row::token).collect::<Result<Vec<_>, _>>()
        });
        self.inner.api.run(read).await.map_err(|error| error.trouble("list tokens"))
    }

    async fn create_token(&self, token: &Token, note: Option<AuditEntry>) -> Result<(), WriteError> {
        let token = token.clone();
        let change = work!(|connection| with token; {
            let counted = connection.number(query::count_token, params![1_i64, bound(TOKENS_MAX)]).await?;
            counted.ok_or(Refusal::TooManyTokens { max: TOKENS_MAX })?;
            let name = Name::new(token.name.as_str());
            if connection.execute(query::insert_token, params![
                token.id.0,
                token.name,
                name.folded(),
                token.hash.0.to_vec(),
                codec::encode_grants(&token.grants),
                to_ticks(token.created_at),
                token.expires_at.map(to_ticks),
                token.last_used_at.map(to_ticks),
            ]).await? == 0 {
                return Err(Refusal::TokenExists.into());
            }
            Ok(true)
        });
        let created = self.inner.change_tokens(note, change).await;
        created.map(|_| ()).map_err(|error| error.write_error("create a token"))
    }

    async fn replace_token(&self, token: &Token, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let token = token.clone();
        let change = work!(|connection| with token; {
            Ok(connection.execute(query::update_token, params![
                token.id.0,
                token.hash.0.to_vec(),
                codec::encode_grants(&token.grants),
                token.expires_at.map(to_ticks),
                token.last_used_at.map(to_ticks),
            ]).await? == 1)
        });
        self.inner.change_tokens(note, change).await.map_err(|error| error.trouble("replace a token"))
    }

    async fn delete_token(&self, id: &TokenId, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let id = id.clone();
        let change = work!(|connection| with id; {
            // Locked first, as by whoever creates one.
            connection.number(query::count_token, params![-1_i64, i64::MAX]).await?;
            if connection.execute(query::delete_token, params![id.0]).await? == 1 {
                return Ok(true);
            }
            connection.number(query::count_token, params![1_i64, i64::MAX]).await?;
            Ok(false)
        });
        self.inner.change_tokens(note, change).await.map_err(|error| error.trouble("delete a token"))
    }

    async fn note_token_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<(), Trouble> {
        let mut uses: Vec<(String, i64)> =
            uses.iter().map(|(id, at)| (id.0.clone(), to_ticks(*at))).collect();
        // The last use of each, in the order in which rows are locked.
        uses.sort_unstable();
        uses.reverse();
        uses.dedup_by(|one, kept| one.0 == kept.0);
        uses.reverse();
        let (ids, times): (Vec<String>, Vec<i64>) = uses.into_iter().unzip();
        let write = work!(|connection| with ids, times; {
            connection.write(query::note_token_uses, params![ids, times]).await
        });
        let written = self.inner.api.run(write).await.map(|_| ());
        written.map_err(|error| error.trouble("note uses of tokens"))
    }

    async fn server_secret(&self, name: &'static str) -> Result<Option<Secret>, Trouble> {
        let read = work!(|connection| {
            let row = connection.one(query::server_secret, params![name]).await?;
            Ok::<Option<Vec<u8>>, PgError>(row.map(|row| row.try_get(0)).transpose()?)
        });
        let doing = "read a secret of the server";
        let sealed = self.inner.api.run(read).await.map_err(|error| error.trouble(doing))?;
        sealed.map(|sealed| self.open_server_secret(name, &sealed)).transpose()
    }

    async fn keep_server_secret(&self, name: &'static str, secret: &Secret) -> Result<Secret, Trouble> {
        let inner = &self.inner;
        let sealed =
            inner.vault.seal(server_secret_context(name), secret.expose().as_bytes(), &*inner.random);
        let write = work!(|connection| with sealed; {
            connection.write(query::insert_server_secret, params![name, sealed]).await?;
            let row = connection.one(query::server_secret, params![name]).await?.ok_or(PgError::Rows(0))?;
            Ok::<Vec<u8>, PgError>(row.try_get(0)?)
        });
        let doing = "keep a secret of the server";
        let kept = inner.api.run(write).await.map_err(|error| error.trouble(doing))?;
        self.open_server_secret(name, &kept)
    }

    fn token_changes(&self) -> watch::Receiver<u64> {
        self.inner.token_changes.subscribe()
    }
}
