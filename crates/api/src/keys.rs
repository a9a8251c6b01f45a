//! The operations of the keys that seal what is stored. Keys themselves never come here: only their numbers.

use async_trait::async_trait;
use percent_encoding::percent_decode_str;
use punctual_arm::ApiError;
use punctual_model::Scope;
use punctual_model::audit::{AuditEntry, AuditOutcome};
use punctual_store::{KeyError, Trouble};
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

/// Keeps the keys that seal, and knows where they come from.
#[async_trait]
pub trait KeyKeeper: Send + Sync {
    /// The keys and how far sealing anew has come.
    async fn keys(&self) -> Result<Keys, KeyProblem>;

    /// Has a new key seal from now on. Everything is sealed anew in the background.
    async fn rotate(&self, note: Option<AuditEntry>) -> Result<Keys, KeyProblem>;

    /// Lets a key go that nothing needs any more.
    async fn retire(&self, id: u32, note: Option<AuditEntry>) -> Result<Keys, KeyProblem>;
}

/// Why keys were not rotated or retired.
#[derive(Debug)]
pub enum KeyProblem {
    /// There is no such key.
    Unknown {
        /// Its number.
        id: u32,
    },
    /// It can't be done as things are; a sentence that says why, and what to do.
    Refused(String),
    /// The store failed.
    Trouble(Trouble),
}

impl From<KeyError> for KeyProblem {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Unknown { id } => Self::Unknown { id },
            KeyError::Trouble(trouble) => Self::Trouble(trouble),
            KeyError::Seals { .. }
            | KeyError::Needed(_)
            | KeyError::Waits { .. }
            | KeyError::Missing { .. }
            | KeyError::Different { .. } => Self::Refused(error.to_string()),
        }
    }
}

/// The keys, as JSON.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Keys {
    /// Where they come from, in words.
    pub source: String,
    /// Ascending by number.
    pub keys: Vec<KeyView>,
    /// How far sealing anew has come.
    pub resealing: ResealingView,
    /// What is to be known or done, a sentence each.
    pub notes: Vec<String>,
}

/// A key, as JSON.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    /// Its number.
    pub id: u32,
    /// When it was made; none if that is not known.
    pub made_at: Option<String>,
    /// `seals`, or `opens` if it only opens what it has sealed.
    pub state: String,
    /// How many jobs have secrets that are sealed with it.
    pub job_count: u64,
    /// How many secrets of the server itself are.
    pub server_secret_count: u64,
}

/// How far sealing anew has come, as JSON.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResealingView {
    /// The key that everything is to be sealed with.
    pub key: u32,
    /// Whether everything is that can be opened.
    pub done: bool,
    /// How many jobs were looked at.
    pub job_done_count: u64,
    /// How many jobs there are.
    pub job_count: u64,
}

/// `GET /keys`: their numbers, and what each has sealed
pub(crate) async fn list(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("keys")?;
    Answer::ok(&state.keys.keys().await.map_err(refused)?)
}

/// `POST /keys/rotate`: a new key seals from now on
pub(crate) async fn rotate(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("keys")?;
    let keys = state.keys.rotate(note(state, call)).await.map_err(refused)?;
    tracing::info!(by = %call.caller.name, by_id = %call.caller.id, key = keys.resealing.key, "a new key seals");
    Answer::ok(&keys)
}

/// `POST /keys/{id}/retire`: nothing needs it, and it is gone
pub(crate) async fn retire(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("keys")?;
    let path = call.path();
    let segment = path.trim_matches('/').split('/').nth(1).unwrap_or_default();
    let shown = percent_decode_str(segment).decode_utf8_lossy();
    let id = shown.parse().map_err(|_| ApiError::key_not_found(&shown))?;
    let keys = state.keys.retire(id, note(state, call)).await.map_err(refused)?;
    tracing::info!(by = %call.caller.name, by_id = %call.caller.id, key = id, "a key was retired");
    Answer::ok(&keys)
}

/// What the audit log says; the store adds which key it is about.
fn note(state: &ApiState, call: &Call<'_>) -> Option<AuditEntry> {
    state.auditor.key().map(|_| call.author.entry(Scope::Everything, AuditOutcome::Done))
}

fn refused(problem: KeyProblem) -> ApiError {
    match problem {
        KeyProblem::Unknown { id } => ApiError::key_not_found(&id.to_string()),
        KeyProblem::Refused(why) => ApiError::conflict(sentence(&why)),
        KeyProblem::Trouble(error) => trouble(&error),
    }
}

/// A message as an error of the API has it: a capital at its beginning, a full stop at its end.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
