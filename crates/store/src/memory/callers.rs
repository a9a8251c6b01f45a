//! Tokens in memory.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::access::{Token, TokenId};
use punctual_model::audit::AuditEntry;
use punctual_model::{Name, Secret};
use tokio::sync::watch;

use super::MemoryStore;
use crate::{Callers, Refusal, TOKENS_MAX, Trouble, WriteError};

impl MemoryStore {
    fn tokens_changed(&self) {
        self.token_changes.send_modify(|count| *count = count.wrapping_add(1));
    }
}

#[async_trait]
impl Callers for MemoryStore {
    async fn tokens(&self) -> Result<Vec<Token>, Trouble> {
        let state = self.state();
        Ok(state.token_names.values().map(|id| state.tokens[id].clone()).collect())
    }

    async fn create_token(&self, token: &Token, note: Option<AuditEntry>) -> Result<(), WriteError> {
        let mut state = self.state();
        if state.tokens.len() >= TOKENS_MAX {
            return Err(Refusal::TooManyTokens { max: TOKENS_MAX }.into());
        }
        let name = Name::new(token.name.as_str());
        let taken = state.tokens.contains_key(&token.id)
            || state.token_names.contains_key(&name)
            || state.token_hashes.contains_key(&token.hash);
        if taken {
            return Err(Refusal::TokenExists.into());
        }
        state.token_names.insert(name, token.id.clone());
        state.token_hashes.insert(token.hash, token.id.clone());
        state.tokens.insert(token.id.clone(), token.clone());
        state.note(note.as_ref());
        drop(state);
        self.tokens_changed();
        Ok(())
    }

    async fn replace_token(&self, token: &Token, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let mut state = self.state();
        let Some(old) = state.tokens.get_mut(&token.id) else { return Ok(false) };
        let (name, created_at, old_hash) = (std::mem::take(&mut old.name), old.created_at, old.hash);
        *old = Token { name, created_at, ..token.clone() };
        state.token_hashes.remove(&old_hash);
        state.token_hashes.insert(token.hash, token.id.clone());
        state.note(note.as_ref());
        drop(state);
        self.tokens_changed();
        Ok(true)
    }

    async fn delete_token(&self, id: &TokenId, note: Option<AuditEntry>) -> Result<bool, Trouble> {
        let mut state = self.state();
        let Some(token) = state.tokens.remove(id) else { return Ok(false) };
        state.token_names.remove(&Name::new(token.name.as_str()));
        state.token_hashes.remove(&token.hash);
        state.note(note.as_ref());
        drop(state);
        self.tokens_changed();
        Ok(true)
    }

    async fn note_token_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<(), Trouble> {
        let mut state = self.state();
        for (id, used_at) in uses {
            if let Some(token) = state.tokens.get_mut(id) {
                token.last_used_at = token.last_used_at.max(Some(*used_at));
            }
        }
        Ok(())
    }

    async fn server_secret(&self, name: &'static str) -> Result<Option<Secret>, Trouble> {
        Ok(self.state().server_secrets.get(name).cloned())
    }

    async fn keep_server_secret(&self, name: &'static str, secret: &Secret) -> Result<Secret, Trouble> {
        Ok(self.state().server_secrets.entry(name).or_insert_with(|| secret.clone()).clone())
    }

    fn token_changes(&self) -> watch::Receiver<u64> {
        self.token_changes.subscribe()
    }
}
