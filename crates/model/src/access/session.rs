//! Sessions: whoever has signed in on the web page.
//!
//! A session says who signed in and nothing of what they may do: that is looked up with every request, in the token that was
//! shown, or in the rules of the issuer. Its secret is in a cookie of the browser; only the SHA-256 of it is stored.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::{TokenHash, TokenId, secret_text};
use crate::{RandomSource, Secret, guid};

/// The prefix of every secret.
const PREFIX: &str = "pcs_";

/// Identifies a session: a GUID, which is no secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub String);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A session as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Identifies it.
    pub id: SessionId,
    /// The hash of its secret.
    pub hash: TokenHash,
    /// Who signed in.
    pub holder: SessionHolder,
    /// When.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Timestamp,
    /// When it ends, however much it is used.
    pub expires_at: Timestamp,
}

/// Who signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionHolder {
    /// The holder of a token of this server.
    Token {
        /// The token.
        id: TokenId,
        /// Tells the secret that was shown from others that the token had or will have.
        secret_fingerprint: String,
    },
    /// Somebody whom an issuer of OpenID Connect knows.
    OpenId {
        /// The issuer.
        issuer: String,
        /// What it calls them.
        subject: String,
        /// Their name, for people.
        name: String,
        /// Claims, with one value each, that a rule asked for when they signed in. No others are kept.
        claims: Vec<(String, String)>,
    },
}

impl SessionHolder {
    /// The id of the caller.
    pub fn caller_id(&self) -> &str {
        match self {
            Self::Token { id, .. } => &id.0,
            Self::OpenId { subject, .. } => subject,
        }
    }

    /// The issuer that chose the id; empty if this server did.
    pub fn issuer(&self) -> &str {
        match self {
            Self::Token { .. } => "",
            Self::OpenId { issuer, .. } => issuer,
        }
    }
}

impl Session {
    /// A new session, and its secret, which is not stored.
    pub fn open(
        holder: SessionHolder,
        now: Timestamp,
        lifetime: SignedDuration,
        random: &dyn RandomSource,
    ) -> (Self, SessionSecret) {
        let secret = SessionSecret(secret_text::generate(PREFIX, random));
        let (id, hash) = (SessionId(guid(random.random())), secret.hash());
        let expires_at = now.saturating_add(lifetime).unwrap_or(Timestamp::MAX);
        (Self { id, hash, holder, created_at: now, last_used_at: now, expires_at }, secret)
    }

    /// When it ends if it is not used again and may rest for so long.
    pub fn ends_at(&self, idle: SignedDuration) -> Timestamp {
        self.last_used_at.checked_add(idle).map_or(self.expires_at, |rested| rested.min(self.expires_at))
    }
}

/// The secret of a session, which its browser keeps. Prints as `***`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSecret(Secret);

impl SessionSecret {
    /// Parses a secret that somebody sent. None if it can't be one of ours.
    pub fn parse(text: &str) -> Option<Self> {
        secret_text::parse(PREFIX, text).map(Self)
    }

    /// The hash, which is stored.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }

    /// The text, to be sent once to the browser that signed in.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::access::TokenSecret;

    struct Counting(AtomicU64);

    impl RandomSource for Counting {
        fn random(&self) -> u128 {
            u128::from(self.0.fetch_add(1, Ordering::Relaxed))
        }
    }

    fn open(random: &Counting) -> (Session, SessionSecret) {
        let holder = SessionHolder::Token { id: TokenId("t".to_owned()), secret_fingerprint: "f".to_owned() };
        Session::open(holder, Timestamp::UNIX_EPOCH, SignedDuration::from_hours(12), random)
    }

    #[test]
    fn every_session_has_a_secret_of_its_own_that_reads_back() {
        let random = Counting(AtomicU64::new(0));
        let ((one, secret), (other, _)) = (open(&random), open(&random));
        assert_ne!((&one.id, one.hash), (&other.id, other.hash));
        let read = SessionSecret::parse(secret.expose()).unwrap();
        assert_eq!(read.hash(), one.hash);
        assert_eq!(format!("{secret:?}"), "SessionSecret(***)");
    }

    #[test]
    fn the_secret_of_a_session_is_no_token_and_no_token_is_one() {
        let random = Counting(AtomicU64::new(0));
        let (_, secret) = open(&random);
        assert_eq!(TokenSecret::parse(secret.expose()), None);
        assert_eq!(SessionSecret::parse(TokenSecret::generate(&random).expose()), None);
        let renamed = secret.expose().replace("pcs_", "pct_");
        assert_eq!(TokenSecret::parse(&renamed), None, "the check digits are over the prefix, too");
    }

    #[test]
    fn a_session_ends_when_it_rests_or_is_old() {
        let (mut session, _) = open(&Counting(AtomicU64::new(0)));
        let at = |hours: i64| Timestamp::from_second(hours * 3_600).unwrap();
        let idle = SignedDuration::from_hours(1);
        assert_eq!(session.ends_at(idle), at(1));
        session.last_used_at = at(5);
        assert_eq!(session.ends_at(idle), at(6));
        session.last_used_at = at(12);
        assert_eq!(session.ends_at(idle), at(12));
        assert_eq!(session.ends_at(SignedDuration::MAX), at(12));
    }
}
