//! Callers: tokens and their grants, and the secrets by which the server knows them.
//!
//! Tokens are few and needed for every request, so authentication keeps all of them in memory and reads them
//! again when they change; nothing here is in the path of a request.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::Secret;
use punctual_model::access::{Token, TokenId};
use punctual_model::audit::AuditEntry;
use tokio::sync::watch;

use crate::{Sessions, Trouble, WriteError};

/// The most tokens of a store. All of them are kept in memory.
pub const TOKENS_MAX: usize = 10_000;

/// Stores tokens. Each method is one transaction.
#[async_trait]
pub trait Callers: Sessions {
    /// All tokens, by name.
    async fn tokens(&self) -> Result<Vec<Token>, Trouble>;

    /// Writes a new token. Refused as [`Refusal::TokenExists`](crate::Refusal::TokenExists) if one has its
    /// name in any letter case, its id or its secret, and if there are [`TOKENS_MAX`].
    async fn create_token(&self, token: &Token, note: Option<AuditEntry>) -> Result<(), WriteError>;

    /// Replaces the token with the same id, for example with a new secret. False if it does not exist. Its name
    /// and creation time are not changed.
    async fn replace_token(&self, token: &Token, note: Option<AuditEntry>) -> Result<bool, Trouble>;

    /// Deletes a token. False if it does not exist.
    async fn delete_token(&self, id: &TokenId, note: Option<AuditEntry>) -> Result<bool, Trouble>;

    /// Records when tokens were last used. Times before the recorded one and deleted tokens are ignored. Does
    /// not count as a change.
    async fn note_token_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<(), Trouble>;

    /// A secret of the server itself, such as the key that it signs with; none if none was kept by this name.
    async fn server_secret(&self, name: &'static str) -> Result<Option<Secret>, Trouble>;

    /// Keeps a secret of the server, unless one is kept by this name already. Answers the one that is kept, so that
    /// all nodes of a store have the same.
    async fn keep_server_secret(&self, name: &'static str, secret: &Secret) -> Result<Secret, Trouble>;

    /// Changes whenever a token is created, replaced or deleted. It has no content: a receiver reads the tokens
    /// again.
    fn token_changes(&self) -> watch::Receiver<u64>;
}
