//! The key of the audit log: keyed digests of definitions, and the codes of the chain.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use punctual_model::access::Token;
use punctual_model::audit::Digest;
use punctual_model::{Collection, JobSpec, RandomSource};
use sha2::Sha256;

use crate::{Group, codec};

/// How long a key is.
const LENGTH: usize = 32;

/// A key of the server's own. A digest without a key could be guessed: definitions are short.
#[derive(Clone)]
pub struct AuditKey([u8; LENGTH]);

impl AuditKey {
    /// A new key. The random source must be unpredictable.
    pub fn generate(random: &dyn RandomSource) -> Self {
        let mut bytes = [0; LENGTH];
        bytes[..16].copy_from_slice(&random.random().to_be_bytes());
        bytes[16..].copy_from_slice(&random.random().to_be_bytes());
        Self(bytes)
    }

    /// A key that was stored.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The key of a store in memory, which protects nothing.
    #[cfg(feature = "memory")]
    pub(crate) fn of_memory() -> Self {
        Self([7; LENGTH])
    }

    /// What is to be stored, sealed.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The digest of a job's definition, its secrets included.
    pub fn job(&self, spec: &JobSpec) -> Digest {
        let bytes = codec::spec_with_secrets(spec);
        let digest = self.digest("job", &bytes);
        codec::wipe(bytes);
        digest
    }

    /// The digest of a collection.
    pub fn collection(&self, collection: &Collection) -> Digest {
        self.digest("collection", &codec::encode_collection(collection))
    }

    /// The digest of a group.
    pub fn group(&self, group: &Group) -> Digest {
        let mut bytes = group.location.clone();
        for (name, value) in &group.tags {
            bytes.push_str(&format!("\0{name}\0{value}"));
        }
        self.digest("group", bytes.as_bytes())
    }

    /// The digest of a token: its grants, its expiry and the hash of its secret.
    pub fn token(&self, token: &Token) -> Digest {
        let mut bytes = codec::encode_grants(&token.grants);
        bytes.extend_from_slice(&token.hash.0);
        bytes.extend_from_slice(format!("{:?}", token.expires_at).as_bytes());
        self.digest("token", &bytes)
    }

    fn digest(&self, kind: &str, bytes: &[u8]) -> Digest {
        Digest(self.code(&[kind.as_bytes(), bytes]))
    }

    /// The first half of an HMAC-SHA-256 over parts, each with its length before it, so that no two lists of parts are
    /// the same bytes.
    pub(super) fn code(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        let code = mac.finalize().into_bytes();
        let mut half = [0; 16];
        half.copy_from_slice(&code[..16]);
        half
    }
}

impl Drop for AuditKey {
    /// Overwrites the key, as far as that is possible without `unsafe`.
    fn drop(&mut self) {
        self.0.fill(0);
        std::hint::black_box(&self.0);
    }
}

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditKey")
    }
}
