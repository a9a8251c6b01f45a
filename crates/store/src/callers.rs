//! Who may call: tokens and what they grant.
//!
//! Tokens are few and asked for with every request, so whoever authenticates keeps them all in memory and
//! reads them again when they change; nothing here is on the path of a request.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::access::{Token, TokenId};
use tokio::sync::watch;

use crate::{Trouble, WriteError};

/// How many tokens a store holds at most. All of them are kept in memory.
pub const TOKENS_MAX: usize = 10_000;

/// Keeps tokens. Each method is one transaction.
#[async_trait]
pub trait Callers: Send + Sync {
    /// All tokens, by name.
    async fn tokens(&self) -> Result<Vec<Token>, Trouble>;

    /// Writes a new token. Refused as [`Refusal::TokenExists`](crate::Refusal::TokenExists) if one has its
    /// name in any letter case, its id or its secret, and if there are [`TOKENS_MAX`].
    async fn create_token(&self, token: &Token) -> Result<(), WriteError>;

    /// Writes a token in place of the one with its id, for example with a new secret. False if there is
    /// none. Name and time of creation are not changed.
    async fn replace_token(&self, token: &Token) -> Result<bool, Trouble>;

    /// Deletes a token. False if there was none.
    async fn delete_token(&self, id: &TokenId) -> Result<bool, Trouble>;

    /// Notes when tokens were last used. A time before the one that is noted, and a token that is gone, are
    /// passed over. Does not count as a change.
    async fn note_token_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<(), Trouble>;

    /// Changes whenever a token was created, replaced or deleted. Carries nothing: whoever is woken reads
    /// the tokens again.
    fn token_changes(&self) -> watch::Receiver<u64>;
}
