//! Tokens: what is shown once and what is stored.
//!
//! A secret is `pct_`, 43 letters and digits with 256 random bits, and six check digits. The prefix lets
//! scanners find a leaked secret; the check digits tell a real one from a mistyped one without a look at the
//! store. Only the SHA-256 of a secret is stored. That is sufficient, because nobody can try 2^256 secrets; a
//! slow hash would only slow down each request.

use std::fmt;
use std::hash::{Hash, Hasher};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{Grant, secret_text};
use crate::{RandomSource, Secret, guid, hex};

/// The prefix of every secret.
const PREFIX: &str = "pct_";

/// Identifies a token: a GUID, which is also the client id of the service principal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub String);

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A token as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Identifies it.
    pub id: TokenId,
    /// The name of the caller.
    pub name: String,
    /// The hash of its secret.
    pub hash: TokenHash,
    /// The grants of the caller.
    pub grants: Vec<Grant>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
}

impl Token {
    /// A new token, and its secret, which is not stored.
    pub fn issue(
        name: String,
        grants: Vec<Grant>,
        expires_at: Option<Timestamp>,
        now: Timestamp,
        random: &dyn RandomSource,
    ) -> (Self, TokenSecret) {
        let secret = TokenSecret::generate(random);
        let id = TokenId(guid(random.random()));
        let (hash, created_at) = (secret.hash(), now);
        (Self { id, name, hash, grants, created_at, expires_at, last_used_at: None }, secret)
    }

    /// Whether it has expired.
    pub fn expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }
}

/// The secret of a token, shown once. Prints as `***`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSecret(Secret);

impl TokenSecret {
    /// A new one.
    pub fn generate(random: &dyn RandomSource) -> Self {
        Self(secret_text::generate(PREFIX, random))
    }

    /// Parses a secret that somebody sent. None if it can't be one of ours.
    pub fn parse(text: &str) -> Option<Self> {
        secret_text::parse(PREFIX, text).map(Self)
    }

    /// The hash, which is stored.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }

    /// The text, to be shown once to the caller that asked for it.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

/// The SHA-256 of the secret of a token, or of a session. Comparing two takes the same time wherever they differ.
#[derive(Clone, Copy)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The hash of a secret.
    pub(super) fn of(secret: &Secret) -> Self {
        Self(Sha256::digest(secret.expose().as_bytes()).into())
    }

    /// Tells secrets apart without giving the hash away: 32 hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::new().chain_update(b"fingerprint").chain_update(self.0).finalize();
        let mut text = String::with_capacity(32);
        digest.iter().take(16).for_each(|&byte| hex::push(byte, &mut text));
        text
    }
}

impl PartialEq for TokenHash {
    fn eq(&self, other: &Self) -> bool {
        let bytes = self.0.iter().zip(&other.0);
        let difference =
            bytes.fold(0, |difference, (one, two)| std::hint::black_box(difference | (one ^ two)));
        difference == 0
    }
}

impl Eq for TokenHash {}

impl Hash for TokenHash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The first bytes are enough to tell two hashes apart in a failed test.
        let mut text = String::new();
        self.0[..4].iter().for_each(|&byte| hex::push(byte, &mut text));
        write!(f, "{text}…")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    struct Counting(AtomicU64);

    impl RandomSource for Counting {
        fn random(&self) -> u128 {
            u128::from(self.0.fetch_add(1, Ordering::Relaxed))
        }
    }

    struct Largest;

    impl RandomSource for Largest {
        fn random(&self) -> u128 {
            u128::MAX
        }
    }

    #[test]
    fn a_secret_reads_back_and_hashes_the_same() {
        let random = Counting(AtomicU64::new(0));
        let mut seen = std::collections::HashSet::new();
        for _ in 0..100 {
            let secret = TokenSecret::generate(&random);
            let read = TokenSecret::parse(secret.expose()).unwrap();
            assert_eq!(read.hash(), secret.hash());
            assert!(seen.insert(secret.hash().0), "no two are alike");
        }
    }

    #[test]
    fn a_secret_has_one_shape() {
        for secret in [TokenSecret::generate(&Largest), TokenSecret::generate(&Counting(AtomicU64::new(0)))] {
            let text = secret.expose();
            assert_eq!(text.len(), 53);
            assert!(text.starts_with("pct_"));
            assert!(text[4..].bytes().all(|byte| byte.is_ascii_alphanumeric()), "{text}");
        }
    }

    #[test]
    fn a_mistyped_secret_is_no_secret() {
        let secret = TokenSecret::generate(&Largest);
        let text = secret.expose();
        for place in 0..text.len() {
            let mut typed = text.as_bytes().to_vec();
            typed[place] = if typed[place] == b'x' { b'y' } else { b'x' };
            assert_eq!(TokenSecret::parse(std::str::from_utf8(&typed).unwrap()), None, "at {place}");
        }
        for wrong in ["", "pct_", &text[1..], &format!("{text}0"), "ï".repeat(27).as_str()] {
            assert_eq!(TokenSecret::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn hashes_are_alike_only_if_all_bytes_are() {
        let hash = TokenSecret::generate(&Largest).hash();
        assert_eq!(hash, TokenHash(hash.0));
        for place in 0..hash.0.len() {
            let mut other = hash;
            other.0[place] ^= 1;
            assert_ne!(hash, other, "at {place}");
        }
    }

    #[test]
    fn a_fingerprint_tells_hashes_apart_and_is_none() {
        let (one, other) = (TokenHash([1; 32]), TokenHash([2; 32]));
        assert_eq!(one.fingerprint(), TokenHash([1; 32]).fingerprint());
        assert_ne!(one.fingerprint(), other.fingerprint());
        assert_eq!(one.fingerprint().len(), 32);
        assert!(!one.fingerprint().starts_with("0101"));
    }

    #[test]
    fn an_issued_token_has_the_hash_of_its_secret_and_an_id_of_its_own() {
        let random = Counting(AtomicU64::new(0));
        let issue = || Token::issue("ci".to_owned(), Vec::new(), None, Timestamp::UNIX_EPOCH, &random);
        let (one, secret) = issue();
        let (other, _) = issue();
        assert_eq!(one.hash, secret.hash());
        assert_ne!(one.id, other.id);
        assert_ne!(one.hash, other.hash);
    }

    #[test]
    fn a_secret_is_not_printed() {
        let secret = TokenSecret::generate(&Largest);
        assert_eq!(format!("{secret:?}"), "TokenSecret(***)");
    }
}
