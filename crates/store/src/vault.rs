//! Seals secrets, so that the data file alone reveals nothing.
//!
//! AES-256-GCM-SIV, which tolerates a repeated nonce. A sealed blob is bound to its [`SealContext`]: one that
//! was moved to another row can't be opened. A blob is
//!
//! ```text
//!   1 byte  format, 1 or 2
//!   4 bytes id of the key, big endian
//!  12 bytes nonce
//!   n bytes ciphertext and tag
//! ```
//!
//! In format 2 it is bound to a document as well: if a byte of that was changed, the blob can't be opened. So whoever can
//! write to the data file can't have the secrets of a job sent to another address.
//!
//! Keys can be added and forgotten while others use the vault. Whoever reads something sealed and opens it later must be
//! done before its key is forgotten; the store sees to that.
//!
//! Errors say which key is missing or that a seal is broken, never what is inside.

use std::fmt;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use aes_gcm_siv::aead::{Aead, KeyInit, Payload};
use aes_gcm_siv::{Aes256GcmSiv, Nonce};
use punctual_model::{CredentialHeaders, RandomSource};
use thiserror::Error;

use crate::KeyRing;

/// Bound to its context.
const FORMAT: u8 = 1;
/// Bound to its context and to a document.
const FORMAT_BOUND: u8 = 2;
const KEY_ID_LENGTH: usize = 4;
const NONCE_LENGTH: usize = 12;
const HEAD_LENGTH: usize = 1 + KEY_ID_LENGTH + NONCE_LENGTH;

/// Seals with the newest key of a ring and opens with any of them.
pub struct Vault {
    keys: RwLock<Ciphers>,
    credential_headers: CredentialHeaders,
}

/// The keys, ready for use. They are overwritten when they are dropped.
struct Ciphers {
    newest: u32,
    /// Ascending by id.
    ciphers: Vec<(u32, Aes256GcmSiv)>,
}

/// What a sealed blob belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealContext<'a> {
    /// The kind of row, such as `job`.
    pub kind: &'a str,
    /// Which row.
    pub row: i64,
}

/// Why a sealed blob can't be opened.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum VaultError {
    /// It was sealed with a key that is not in the ring.
    #[error("it was sealed with key {id}, which is not among the keys")]
    UnknownKey {
        /// The key's id.
        id: u32,
    },
    /// Too short, or made by a later version.
    #[error("it is not in a known sealed format")]
    UnknownFormat,
    /// It was sealed with another key or for another context, or the bytes were changed.
    #[error("its seal is broken: it was changed, moved, or sealed with another key {id}")]
    Broken {
        /// The id of the key that was tried.
        id: u32,
    },
}

impl Vault {
    /// A vault with the keys of a ring.
    pub fn new(ring: &KeyRing) -> Self {
        Self { keys: RwLock::new(Ciphers::of(ring)), credential_headers: CredentialHeaders::default() }
    }

    /// The same with another choice of headers whose values are secrets.
    pub fn with_credential_headers(self, credential_headers: CredentialHeaders) -> Self {
        Self { credential_headers, ..self }
    }

    /// The headers whose values are secrets, also where they were stored in the clear before.
    pub(crate) fn credential_headers(&self) -> &CredentialHeaders {
        &self.credential_headers
    }

    /// The id of the key that seals: the newest, or the newest that all nodes know.
    pub fn newest(&self) -> u32 {
        self.keys().newest
    }

    /// The ids of all keys, ascending.
    pub fn ids(&self) -> Vec<u32> {
        self.keys().ciphers.iter().map(|(id, _)| *id).collect()
    }

    /// Takes the keys of a ring instead of those that there were. Its newest one seals from now on.
    pub fn replace(&self, ring: &KeyRing) {
        *self.keys_mut() = Ciphers::of(ring);
    }

    /// Takes the keys of a ring instead of those that there were, and has one of them seal, which need not be the newest. False,
    /// and nothing is changed, if it is none of them.
    pub fn replace_sealing(&self, ring: &KeyRing, id: u32) -> bool {
        let ciphers = Ciphers { newest: id, ..Ciphers::of(ring) };
        let there = ciphers.cipher(id).is_some();
        if there {
            *self.keys_mut() = ciphers;
        }
        there
    }

    /// Has one of the keys seal from now on. False, and nothing is changed, if it is none of them.
    pub fn seal_with(&self, id: u32) -> bool {
        let mut keys = self.keys_mut();
        let there = keys.cipher(id).is_some();
        if there {
            keys.newest = id;
        }
        there
    }

    /// Forgets a key, unless it is the one that seals: nothing that was sealed with it opens from now on.
    pub fn forget(&self, id: u32) {
        let mut keys = self.keys_mut();
        let newest = keys.newest;
        keys.ciphers.retain(|(one, _)| *one != id || *one == newest);
    }

    /// Seals bytes for a context. The random source must be unpredictable.
    pub fn seal(&self, context: SealContext<'_>, bytes: &[u8], random: &dyn RandomSource) -> Vec<u8> {
        self.seal_as(FORMAT, &context.bytes(), bytes, random)
    }

    /// Seals bytes for a context and a document.
    pub fn seal_bound(
        &self,
        context: SealContext<'_>,
        document: &[u8],
        bytes: &[u8],
        random: &dyn RandomSource,
    ) -> Vec<u8> {
        self.seal_as(FORMAT_BOUND, &context.bound_bytes(document), bytes, random)
    }

    /// Seals bytes for a context with a key that need not be the newest. None if there is no such key.
    pub fn seal_by(
        &self,
        id: u32,
        context: SealContext<'_>,
        bytes: &[u8],
        random: &dyn RandomSource,
    ) -> Option<Vec<u8>> {
        self.keys().seal(id, FORMAT, &context.bytes(), bytes, random)
    }

    fn seal_as(&self, format: u8, associated: &[u8], bytes: &[u8], random: &dyn RandomSource) -> Vec<u8> {
        let keys = self.keys();
        keys.seal(keys.newest, format, associated, bytes, random).expect("the newest key is one of the ring")
    }

    /// Opens what was sealed for a context.
    pub fn open(&self, context: SealContext<'_>, blob: &[u8]) -> Result<Vec<u8>, VaultError> {
        self.open_as(&context.bytes(), blob)
    }

    /// Opens what was sealed for a context and a document, or for the context alone, as it was done before.
    pub fn open_bound(
        &self,
        context: SealContext<'_>,
        document: &[u8],
        blob: &[u8],
    ) -> Result<Vec<u8>, VaultError> {
        match blob.first() {
            Some(&FORMAT_BOUND) => self.open_as(&context.bound_bytes(document), blob),
            _ => self.open_as(&context.bytes(), blob),
        }
    }

    fn open_as(&self, associated: &[u8], blob: &[u8]) -> Result<Vec<u8>, VaultError> {
        let id = Self::key_of(blob)?;
        let keys = self.keys();
        let cipher = keys.cipher(id).ok_or(VaultError::UnknownKey { id })?;
        let mut nonce = [0; NONCE_LENGTH];
        nonce.copy_from_slice(&blob[1 + KEY_ID_LENGTH..HEAD_LENGTH]);
        let payload = Payload { msg: &blob[HEAD_LENGTH..], aad: associated };
        cipher.decrypt(&Nonce::from(nonce), payload).map_err(|_| VaultError::Broken { id })
    }

    /// The id of the key that a blob was sealed with.
    pub fn key_of(blob: &[u8]) -> Result<u32, VaultError> {
        match blob {
            [FORMAT | FORMAT_BOUND, a, b, c, d, rest @ ..] if rest.len() > NONCE_LENGTH => {
                Ok(u32::from_be_bytes([*a, *b, *c, *d]))
            }
            _ => Err(VaultError::UnknownFormat),
        }
    }

    /// Whether a blob is sealed as it would be sealed now: with the newest key, and for a document.
    pub(crate) fn is_current(&self, blob: &[u8]) -> bool {
        blob.first() == Some(&FORMAT_BOUND) && Self::key_of(blob) == Ok(self.newest())
    }

    /// Nothing panics while the lock is held, so that a poisoned one can be used.
    fn keys(&self) -> RwLockReadGuard<'_, Ciphers> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn keys_mut(&self) -> RwLockWriteGuard<'_, Ciphers> {
        self.keys.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ciphers {
    fn of(ring: &KeyRing) -> Self {
        let cipher = |key: &[u8; 32]| Aes256GcmSiv::new(key.into());
        Self { newest: ring.newest(), ciphers: ring.keys().map(|(id, key)| (id, cipher(key))).collect() }
    }

    fn cipher(&self, id: u32) -> Option<&Aes256GcmSiv> {
        self.ciphers.iter().find(|(one, _)| *one == id).map(|(_, cipher)| cipher)
    }

    fn seal(
        &self,
        id: u32,
        format: u8,
        associated: &[u8],
        bytes: &[u8],
        random: &dyn RandomSource,
    ) -> Option<Vec<u8>> {
        let cipher = self.cipher(id)?;
        let mut nonce = [0; NONCE_LENGTH];
        nonce.copy_from_slice(&random.random().to_be_bytes()[..NONCE_LENGTH]);
        let payload = Payload { msg: bytes, aad: associated };
        let sealed = cipher
            .encrypt(&Nonce::from(nonce), payload)
            .expect("a document is far below the cipher's limit of 64 GiB");
        let mut blob = Vec::with_capacity(HEAD_LENGTH + sealed.len());
        blob.push(format);
        blob.extend_from_slice(&id.to_be_bytes());
        blob.extend_from_slice(&nonce);
        blob.extend_from_slice(&sealed);
        Some(blob)
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vault(newest key {})", self.newest())
    }
}

impl SealContext<'_> {
    /// The associated data of the cipher. The row has a fixed width, so that no two contexts have the same
    /// bytes.
    fn bytes(self) -> Vec<u8> {
        let mut bytes = self.row.to_be_bytes().to_vec();
        bytes.extend_from_slice(self.kind.as_bytes());
        bytes
    }

    /// The same with a document. No kind has a NUL, so that neither form can be taken for the other: a blob whose format
    /// is changed does not open.
    fn bound_bytes(self, document: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes();
        bytes.push(0);
        bytes.extend_from_slice(document);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Counting;

    const PLACE: SealContext<'_> = SealContext { kind: "job", row: 7 };

    #[test]
    fn what_was_sealed_opens_at_its_place_only() {
        let random = Counting::default();
        let vault = Vault::new(&KeyRing::generate(&random));
        let blob = vault.seal(PLACE, b"secret", &random);
        assert!(!blob.windows(6).any(|window| window == b"secret"));
        assert_eq!(vault.open(PLACE, &blob).as_deref(), Ok(b"secret".as_slice()));

        let broken = Err(VaultError::Broken { id: 1 });
        assert_eq!(vault.open(SealContext { row: 8, ..PLACE }, &blob), broken);
        assert_eq!(vault.open(SealContext { kind: "store", ..PLACE }, &blob), broken);
    }

    #[test]
    fn what_was_sealed_for_a_document_opens_with_that_alone() {
        let random = Counting::default();
        let vault = Vault::new(&KeyRing::generate(&random));
        let blob = vault.seal_bound(PLACE, b"document", b"secret", &random);
        let open = |document: &[u8], blob: &[u8]| vault.open_bound(PLACE, document, blob);
        assert_eq!(open(b"document", &blob).as_deref(), Ok(b"secret".as_slice()));
        let broken = Err(VaultError::Broken { id: 1 });
        assert_eq!(open(b"dokument", &blob), broken);
        assert_eq!(open(b"", &blob), broken);
        let mut as_before = blob;
        as_before[0] = FORMAT;
        assert_eq!(open(b"document", &as_before), broken, "its format can't be changed");
        let before = vault.seal(PLACE, b"secret", &random);
        assert_eq!(
            open(b"document", &before).as_deref(),
            Ok(b"secret".as_slice()),
            "what was sealed before opens"
        );
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let random = Counting::default();
        let vault = Vault::new(&KeyRing::generate(&random));
        let blob = vault.seal(PLACE, b"secret", &random);
        for at in 0..blob.len() {
            let mut changed = blob.clone();
            changed[at] ^= 1;
            assert!(vault.open(PLACE, &changed).is_err(), "byte {at}");
            assert!(vault.open(PLACE, &blob[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn after_a_rotation_old_seals_still_open() {
        let random = Counting::default();
        let old = KeyRing::generate(&random);
        let rotated = old.rotated(&random);
        let blob = Vault::new(&old).seal(PLACE, b"secret", &random);
        let vault = Vault::new(&rotated);
        assert_eq!(vault.open(PLACE, &blob).as_deref(), Ok(b"secret".as_slice()));
        let newer = vault.seal(PLACE, b"secret", &random);
        assert_eq!(Vault::key_of(&newer), Ok(2));
        assert_eq!(Vault::new(&old).open(PLACE, &newer), Err(VaultError::UnknownKey { id: 2 }));
    }

    #[test]
    fn a_key_that_is_added_seals_and_one_that_is_forgotten_opens_nothing() {
        let random = Counting::default();
        let old = KeyRing::generate(&random);
        let vault = Vault::new(&old);
        let blob = vault.seal(PLACE, b"secret", &random);
        vault.replace(&old.rotated(&random));
        assert_eq!((vault.newest(), vault.ids()), (2, vec![1, 2]));
        let newer = vault.seal(PLACE, b"secret", &random);
        assert_eq!(Vault::key_of(&newer), Ok(2));
        assert!(vault.open(PLACE, &blob).is_ok());
        let by_the_old = vault.seal_by(1, PLACE, b"secret", &random).unwrap();
        assert_eq!(Vault::key_of(&by_the_old), Ok(1));
        assert_eq!(vault.seal_by(3, PLACE, b"secret", &random), None);
        vault.forget(2);
        vault.forget(1);
        assert_eq!(vault.ids(), [2], "the newest stays");
        assert_eq!(vault.open(PLACE, &blob), Err(VaultError::UnknownKey { id: 1 }));
        assert!(vault.open(PLACE, &newer).is_ok());
    }

    #[test]
    fn a_key_that_is_known_need_not_seal_yet() {
        let random = Counting::default();
        let old = KeyRing::generate(&random);
        let both = old.rotated(&random);
        let vault = Vault::new(&old);
        assert!(vault.replace_sealing(&both, 1));
        assert_eq!((vault.newest(), vault.ids()), (1, vec![1, 2]));
        assert_eq!(Vault::key_of(&vault.seal(PLACE, b"secret", &random)), Ok(1));
        let newer = Vault::new(&both).seal(PLACE, b"secret", &random);
        assert!(vault.open(PLACE, &newer).is_ok(), "others may seal with it already");
        assert!(!vault.seal_with(3) && !vault.replace_sealing(&both, 3));
        assert!(vault.seal_with(2));
        assert_eq!(Vault::key_of(&vault.seal(PLACE, b"secret", &random)), Ok(2));
    }

    #[test]
    fn equal_secrets_are_sealed_differently() {
        let random = Counting::default();
        let vault = Vault::new(&KeyRing::generate(&random));
        assert_ne!(vault.seal(PLACE, b"secret", &random), vault.seal(PLACE, b"secret", &random));
    }
}
