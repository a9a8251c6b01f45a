//! Seals and opens the secrets of a job.
//!
//! The plain form is each secret with its length before it, in the order of the document's numbers. Plain
//! buffers are overwritten after use.

use punctual_model::{CredentialHeaders, JobId, RandomSource, Secret};

use super::CodecError;
use crate::{SealContext, Vault, VaultError};

const LENGTH_BYTES: usize = 4;

/// The seal context of a job's secrets.
fn seal_context(job: JobId) -> SealContext<'static> {
    SealContext { kind: "job", row: job.0 }
}

/// Collects secrets and numbers them.
#[derive(Default)]
pub(super) struct Outgoing<'a> {
    secrets: Vec<&'a Secret>,
}

impl<'a> Outgoing<'a> {
    pub(super) fn take(&mut self, secret: &'a Secret) -> usize {
        self.secrets.push(secret);
        self.secrets.len() - 1
    }

    /// Appends the plain form.
    pub(super) fn append_to(&self, plain: &mut Vec<u8>) {
        // Sized exactly, so that growing leaves no copies in memory.
        plain.reserve_exact(self.secrets.iter().map(|secret| LENGTH_BYTES + secret.expose().len()).sum());
        for secret in &self.secrets {
            let text = secret.expose().as_bytes();
            let length = u32::try_from(text.len()).expect("a secret is far below 4 GiB");
            plain.extend_from_slice(&length.to_be_bytes());
            plain.extend_from_slice(text);
        }
    }

    /// Seals them for a job and its document, which names every address that they are sent to.
    pub(super) fn seal(
        self,
        job: JobId,
        document: &[u8],
        vault: &Vault,
        random: &dyn RandomSource,
    ) -> Option<Vec<u8>> {
        if self.secrets.is_empty() {
            return None;
        }
        let mut plain = Vec::new();
        self.append_to(&mut plain);
        let sealed = vault.seal_bound(seal_context(job), document, &plain, random);
        wipe(plain);
        Some(sealed)
    }
}

/// Returns secrets by number, each once.
pub(super) struct Incoming<'a> {
    secrets: Vec<Option<Secret>>,
    credential_headers: &'a CredentialHeaders,
}

impl<'a> Incoming<'a> {
    pub(super) fn open(
        sealed: Option<&[u8]>,
        job: JobId,
        document: &[u8],
        vault: &'a Vault,
    ) -> Result<Self, CodecError> {
        let credential_headers = vault.credential_headers();
        let Some(sealed) = sealed else { return Ok(Self { secrets: Vec::new(), credential_headers }) };
        let plain = vault.open_bound(seal_context(job), document, sealed)?;
        let secrets = split(&plain);
        wipe(plain);
        let secrets = secrets.ok_or(CodecError::Sealed(VaultError::UnknownFormat))?;
        Ok(Self { secrets, credential_headers })
    }

    /// Whether the value of a header is a secret, although it was stored in the clear.
    pub(super) fn is_credential(&self, header: &str) -> bool {
        self.credential_headers.contains(header)
    }

    pub(super) fn give(&mut self, number: usize) -> Result<Secret, CodecError> {
        self.secrets.get_mut(number).and_then(Option::take).ok_or(CodecError::Mismatch)
    }
}

fn split(mut plain: &[u8]) -> Option<Vec<Option<Secret>>> {
    let mut secrets = Vec::new();
    while !plain.is_empty() {
        let (length, rest) = plain.split_first_chunk::<LENGTH_BYTES>()?;
        let (text, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        secrets.push(Some(Secret::new(std::str::from_utf8(text).ok()?)));
        plain = rest;
    }
    Some(secrets)
}

/// Overwrites what was secret.
pub fn wipe(mut plain: Vec<u8>) {
    plain.fill(0);
    std::hint::black_box(&plain);
}
