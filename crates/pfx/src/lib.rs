//! Opens PKCS#12 files (`.pfx`, `.p12`).
//!
//! [`open`] gives the private key with its certificates in DER, ready for a TLS library, and the
//! [`Facts`] of the certificate that may be shown to anybody. Both old (RC2, 3DES) and new (AES)
//! encryption is read. A file is untrusted input: its size and the work that it may ask for are bounded before
//! anything is decrypted.
//!
//! This crate stands alone and knows nothing of what the certificate is for.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod cost;
mod facts;
mod subject;

use std::fmt;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use p12_keystore::error::Error as KeystoreError;
use p12_keystore::{CertificateBag, Pkcs12Archive, PrivateKeyBag};
use thiserror::Error;

pub use cost::ROUNDS_MAX;
pub use facts::Facts;

/// The largest file that is opened. A key with a chain of three takes about 6 KiB.
pub const FILE_BYTES_MAX: usize = 64 * 1024;

/// The most certificates of a chain.
const CHAIN_LENGTH_MAX: usize = 16;

/// An opened file.
#[derive(Clone)]
pub struct Pfx {
    /// The public facts of the certificate.
    pub facts: Facts,
    /// The private key: PKCS#8 in DER. Secret.
    pub key_der: Vec<u8>,
    /// The key's certificate, then its issuers as far as the file has them, in DER.
    pub chain_der: Vec<Vec<u8>>,
}

impl fmt::Debug for Pfx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pfx")
            .field("facts", &self.facts)
            .field("key_der", &"***")
            .field("chain_length", &self.chain_der.len())
            .finish()
    }
}

/// Why a file can't be opened. Messages never repeat anything of the file or the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// The text is not base64.
    #[error("is not base64")]
    NotBase64,
    /// The file is larger than any useful one.
    #[error("is larger than {} KiB", FILE_BYTES_MAX / 1024)]
    TooLarge,
    /// The bytes are something else, or damaged, or not in DER.
    #[error("is not a PKCS#12 file")]
    NotPkcs12,
    /// The file asks for more work than is allowed.
    #[error("asks for too many key derivation rounds")]
    TooCostly,
    /// The file uses a cipher or a digest that is not supported.
    #[error("uses an encryption that is not supported")]
    Unsupported,
    /// The password does not fit, or the file was changed since it was made.
    #[error("can't be opened with this password")]
    WrongPassword,
    /// There are certificates only.
    #[error("has no private key")]
    NoPrivateKey,
    /// There is a key but not its certificate.
    #[error("has no certificate for its private key")]
    NoCertificate,
}

/// Decodes the base64 of a file; blanks and line breaks in it are skipped.
pub fn decode(base64: &str) -> Result<Vec<u8>, OpenError> {
    const CODE: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    // Four letters for three bytes, and as much again for line breaks.
    if base64.len() > FILE_BYTES_MAX * 8 / 3 {
        return Err(OpenError::TooLarge);
    }
    let compact = strip(base64);
    let bytes = CODE.decode(compact.as_bytes()).map_err(|_| OpenError::NotBase64)?;
    if bytes.is_empty() { Err(OpenError::NotBase64) } else { Ok(bytes) }
}

/// The text without white space.
pub fn strip(base64: &str) -> String {
    base64.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// The rounds of key derivation that opening a file takes, computed without opening it; an error if they are more than
/// [`ROUNDS_MAX`].
pub fn rounds(file: &[u8]) -> Result<u64, OpenError> {
    if file.len() > FILE_BYTES_MAX { Err(OpenError::TooLarge) } else { cost::rounds(file) }
}

/// Opens a file.
pub fn open(file: &[u8], password: &str) -> Result<Pfx, OpenError> {
    rounds(file)?;
    let archive = Pkcs12Archive::from_pkcs12(file, password).map_err(|error| refusal(&error))?;
    let key = archive.keys.first().ok_or(OpenError::NoPrivateKey)?;
    let leaf = leaf_of(key, &archive.certs).ok_or(OpenError::NoCertificate)?;
    let facts = Facts::of(leaf.cert.as_der()).ok_or(OpenError::NotPkcs12)?;
    let chain = chain_of(leaf, &archive.certs);
    let chain_der = chain.into_iter().map(|bag| bag.cert.as_der().to_vec()).collect();
    Ok(Pfx { facts, key_der: key.key.as_der().to_vec(), chain_der })
}

fn refusal(error: &KeystoreError) -> OpenError {
    match error {
        // Without a MAC a wrong password shows only as a decryption that makes no sense.
        KeystoreError::MacError(_) | KeystoreError::Pkcs5Error(_) | KeystoreError::UnpadError => {
            OpenError::WrongPassword
        }
        KeystoreError::UnsupportedEncryptionScheme
        | KeystoreError::UnsupportedMacAlgorithm
        | KeystoreError::UnsupportedCertificateType
        | KeystoreError::UnsupportedContentType => OpenError::Unsupported,
        KeystoreError::IoError(_)
        | KeystoreError::DerError(_)
        | KeystoreError::InvalidVersion
        | KeystoreError::X509Error(_)
        | KeystoreError::InvalidLength
        | KeystoreError::InvalidParameters
        | KeystoreError::InvalidData
        | KeystoreError::InvalidPrivateKey => OpenError::NotPkcs12,
    }
}

/// The certificate of a key: the one with the same local id; where the file has no ids, the only one.
fn leaf_of<'a>(key: &PrivateKeyBag, certificates: &'a [CertificateBag]) -> Option<&'a CertificateBag> {
    let same_id = key
        .local_key_id
        .as_ref()
        .and_then(|id| certificates.iter().find(|bag| bag.local_key_id.as_deref() == Some(id.as_ref())));
    match (same_id, certificates) {
        (Some(leaf), _) => Some(leaf),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

/// The certificate and its issuers, each once, however the file is tangled.
fn chain_of<'a>(leaf: &'a CertificateBag, certificates: &'a [CertificateBag]) -> Vec<&'a CertificateBag> {
    let mut chain = vec![leaf];
    while chain.len() < CHAIN_LENGTH_MAX {
        let last = chain[chain.len() - 1];
        let issuer = certificates.iter().find(|bag| {
            bag.cert.subject() == last.cert.issuer() && !chain.iter().any(|seen| seen.cert == bag.cert)
        });
        match issuer {
            Some(issuer) if last.cert.subject() != last.cert.issuer() => chain.push(issuer),
            Some(_) | None => break,
        }
    }
    chain
}
