//! The tokens in the data of a stopped server, or in the database that several nodes share. As long as the data of a server is
//! looked at, none starts on it; nodes of a database may run.

use std::sync::Arc;

use anyhow::Context;
use punctual_arm::{ApiError, NewExpiry, NewToken, token};
use punctual_model::access::{Caller, Token, TokenId, TokenSecret};
use punctual_model::audit::{AuditEntry, AuditOutcome, Author};
use punctual_model::{CredentialHeaders, RandomSource, Scope};
use punctual_store::{Refusal, WriteError};
use punctual_store_sqlite::{OpenError, layout};
use serde_json::Value;

use crate::clock::{RealClock, real_now};
use crate::config::Data;
use crate::exit::WrongUsage;
use crate::file_size;
use crate::keys::{Keeper, note_of};
use crate::options::Stored;
use crate::random::SystemRandom;
use crate::store::{self, AnyStore, OpenedStore, Sealing, SharedPlace, Watchers};

pub(crate) struct Stopped {
    pub(crate) store: Arc<dyn AnyStore>,
    pub(crate) keeper: Arc<Keeper>,
    random: Arc<dyn RandomSource>,
    /// What the audit log calls whoever changes something.
    whoever: &'static str,
}

impl Stopped {
    /// `new` makes what is not there, as a first start would.
    pub(crate) async fn open(stored: &Stored, new: bool) -> anyhow::Result<Self> {
        file_size::survive_limit().await.context("could not listen for signals")?;
        let random: Arc<dyn RandomSource> = Arc::new(SystemRandom::default());
        let sealing = Sealing {
            random: Arc::clone(&random),
            credential_headers: CredentialHeaders::default(),
            note: Some(note_of("Punctual/keys/rotate/action")),
        };
        let OpenedStore { store, keeper, .. } = match stored {
            Stored::Data(data) => open_data(data, sealing, new)?,
            Stored::Shared(url, data) => {
                let place = SharedPlace { url, data, api_connections: 2, prepare: false };
                store::open_shared(&place, sealing, Arc::new(RealClock), None).await?
            }
        };
        let whoever = match stored {
            Stored::Data(_) => "whoever can write the data directory",
            Stored::Shared(..) => "whoever can write the database",
        };
        Ok(Self { store, keeper, random, whoever })
    }

    pub(super) async fn list(&self) -> anyhow::Result<Vec<Value>> {
        Ok(self.tokens().await?.iter().map(|token| token::answer(token).to_value()).collect())
    }

    pub(super) async fn create(&self, body: &Value) -> anyhow::Result<Value> {
        let now = real_now();
        let read = token::read_create(body.to_string().as_bytes(), now).map_err(refused)?;
        let NewToken { name, grants, expires_at } = read;
        let (token, secret) = Token::issue(name, grants, expires_at, now, &*self.random);
        let note = self.note("Punctual/tokens/write", None, Some(&token));
        match self.store.create_token(&token, note).await {
            Ok(()) => Ok(token::answer_with_secret(&token, &secret).to_value()),
            Err(WriteError::Trouble(error)) => Err(error).context("could not create the token"),
            Err(WriteError::Refused(Refusal::TooManyTokens { max })) => {
                Err(refused(ApiError::too_many_tokens(max)).into())
            }
            Err(WriteError::Refused(_)) => Err(refused(ApiError::token_exists(&token.name)).into()),
        }
    }

    pub(super) async fn rotate(&self, id: &str, body: &Value) -> anyhow::Result<Value> {
        let now = real_now();
        let tokens = self.tokens().await?;
        let missing = || refused(ApiError::token_not_found(id));
        let old = tokens.into_iter().find(|token| token.id.0 == id).ok_or_else(missing)?;
        let mut token = old.clone();
        match token::read_rotate(body.to_string().as_bytes(), now).map_err(refused)? {
            NewExpiry::Until(expires_at) => token.expires_at = expires_at,
            NewExpiry::Kept if token.expired(now) => {
                let message =
                    format!("the token '{}' is expired: say by --expires how long it shall live", token.name);
                return Err(WrongUsage(message).into());
            }
            NewExpiry::Kept => {}
        }
        let secret = TokenSecret::generate(&*self.random);
        token.hash = secret.hash();
        let note = self.note("Punctual/tokens/rotate/action", Some(&old), Some(&token));
        self.store.replace_token(&token, note).await.context("could not rotate the token")?;
        Ok(token::answer_with_secret(&token, &secret).to_value())
    }

    pub(super) async fn revoke(&self, id: &str) -> anyhow::Result<()> {
        let tokens = self.tokens().await?;
        let old = tokens.iter().find(|token| token.id.0 == id);
        let note = self.note("Punctual/tokens/delete", old, None);
        self.store.delete_token(&TokenId(id.to_owned()), note).await.context("could not revoke the token")?;
        Ok(())
    }

    /// What the audit log says of a change: whoever can write there may do everything.
    fn note(&self, action: &str, before: Option<&Token>, after: Option<&Token>) -> Option<AuditEntry> {
        let token = after.or(before)?;
        let caller = Caller { name: self.whoever.into(), ..Caller::anonymous() };
        let author = Author { action: action.into(), ..Author::of(caller, real_now()) };
        let digest = |token: &Token| self.store.audit_key().token(token);
        let entry = author.entry(Scope::Everything, AuditOutcome::Done);
        let entry = entry.with_digests(before.map(digest), after.map(digest));
        Some(AuditEntry { subject: format!("token {} ({})", token.name, token.id).into(), ..entry })
    }

    async fn tokens(&self) -> anyhow::Result<Vec<Token>> {
        self.store.tokens().await.context("could not read the tokens")
    }
}

/// Opens the data of a stopped server.
fn open_data(data: &Data, sealing: Sealing, new: bool) -> anyhow::Result<OpenedStore> {
    if !new && !data.dir.join(layout::DATABASE).exists() {
        let message =
            format!("there is no data of a server in {}: --data names its directory", data.dir.display());
        return Err(WrongUsage(message).into());
    }
    store::open_own(data, sealing, Watchers::default()).map_err(|error| {
        match error.downcast_ref::<OpenError>() {
            Some(owned @ OpenError::Owned { .. }) => {
                WrongUsage(format!("{owned}; or ask the server that runs, with --server and without --data"))
                    .into()
            }
            _ => error,
        }
    })
}

#[expect(clippy::needless_pass_by_value, reason = "the end of the error's life")]
fn refused(error: ApiError) -> WrongUsage {
    WrongUsage(error.message.trim_end_matches('.').to_owned())
}
