//! The stored form of what callers define: versioned documents, with the secrets taken out and sealed.
//!
//! A document is one ASCII digit, the version, and compact JSON. The structs in `codec/` are the stored form
//! only: a change of the model is a compile error in a conversion, never a silent change of what is on disk,
//! and a new version is a new module beside the old one. The secrets of a job are one blob, sealed for that
//! job and this document; the document refers to them by number.

mod audit;
mod collection;
mod grants;
mod number;
mod peek;
mod seal;
mod session;
mod spec;

use punctual_model::{Collection, CollectionKey, JobId, JobSpec, RandomSource};
use thiserror::Error;

pub use audit::{decode_audit, encode_audit};
pub use grants::{decode_grants, encode_grants};
pub use number::Number;
pub use peek::{ActionFacts, action_facts};
pub use seal::wipe;
pub use session::{decode_session_holder, encode_session_holder};

use crate::{Vault, VaultError};

/// The version that is written.
const VERSION: u8 = b'1';

/// A job's definition as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSpec {
    /// All but the secrets.
    pub document: Vec<u8>,
    /// The secrets, if there are any.
    pub sealed: Option<Vec<u8>>,
}

/// Why a stored document can't be read.
#[derive(Debug, Error)]
pub enum CodecError {
    /// It was written by a later version of the program.
    #[error("the document has a version that this program does not know")]
    UnknownVersion,
    /// It does not have the form of its version. Only the position is reported, since the text around it may be
    /// private.
    #[error("the document is damaged at column {column}")]
    Damaged {
        /// Where.
        column: usize,
    },
    /// A value is unknown in its version.
    #[error("the document has no valid {what}")]
    Invalid {
        /// Which value.
        what: &'static str,
    },
    /// The document refers to a secret that the sealed part does not have.
    #[error("the sealed part does not fit the document")]
    Mismatch,
    /// The sealed part can't be opened.
    #[error("the sealed part can't be opened")]
    Sealed(#[from] VaultError),
}

/// Encodes a job's definition and seals its secrets for that job and that document.
pub fn encode_spec(spec: &JobSpec, job: JobId, vault: &Vault, random: &dyn RandomSource) -> StoredSpec {
    let mut secrets = seal::Outgoing::default();
    let document = versioned(&spec::Spec1::of(spec, &mut secrets));
    let sealed = secrets.seal(job, &document, vault, random);
    StoredSpec { document, sealed }
}

/// A job's definition with its secrets, as bytes for a digest. They are not stored.
pub(crate) fn spec_with_secrets(spec: &JobSpec) -> Vec<u8> {
    let mut secrets = seal::Outgoing::default();
    let mut bytes = versioned(&spec::Spec1::of(spec, &mut secrets));
    secrets.append_to(&mut bytes);
    bytes
}

/// Decodes a job's definition.
pub fn decode_spec(
    document: &[u8],
    sealed: Option<&[u8]>,
    job: JobId,
    vault: &Vault,
) -> Result<JobSpec, CodecError> {
    let json = body(document)?;
    let stored: spec::Spec1<'_> = serde_json::from_slice(json).map_err(damaged)?;
    let mut secrets = seal::Incoming::open(sealed, job, document, vault)?;
    stored.into_model(&mut secrets)
}

/// A job's definition as it would be stored now: sealed with the newest key for its document, with what was stored in the
/// clear before it counted as a secret. None if it is stored so already.
pub fn reseal_spec(
    stored: &StoredSpec,
    job: JobId,
    vault: &Vault,
    random: &dyn RandomSource,
) -> Result<Option<StoredSpec>, CodecError> {
    let sealed = stored.sealed.as_deref();
    let spec = decode_spec(&stored.document, sealed, job, vault)?;
    let mut secrets = seal::Outgoing::default();
    let document = versioned(&spec::Spec1::of(&spec, &mut secrets));
    if document == stored.document && sealed.is_none_or(|sealed| vault.is_current(sealed)) {
        return Ok(None);
    }
    let sealed = secrets.seal(job, &document, vault, random);
    Ok(Some(StoredSpec { document, sealed }))
}

/// Encodes a collection, but for its key and revision.
pub fn encode_collection(collection: &Collection) -> Vec<u8> {
    versioned(&collection::Collection1::of(collection))
}

/// Decodes a collection.
pub fn decode_collection(
    document: &[u8],
    key: CollectionKey,
    revision: i64,
) -> Result<Collection, CodecError> {
    let stored: collection::Collection1<'_> = serde_json::from_slice(body(document)?).map_err(damaged)?;
    stored.into_model(key, revision)
}

fn versioned(document: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    bytes.push(VERSION);
    serde_json::to_writer(&mut bytes, document).expect("a document has only text keys, and a Vec takes all");
    bytes
}

/// The JSON after the version. With a second version this chooses between them.
fn body(document: &[u8]) -> Result<&[u8], CodecError> {
    match document {
        [VERSION, json @ ..] => Ok(json),
        _ => Err(CodecError::UnknownVersion),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is the argument of map_err")]
fn damaged(error: serde_json::Error) -> CodecError {
    CodecError::Damaged { column: error.column() }
}

#[cfg(test)]
mod tests;
