//! What a request is told that does not show who sends it.

use http::header;
use jiff::Timestamp;
use punctual_arm::{ApiError, challenge};
use punctual_store::Trouble;

use crate::answer::{Answer, trouble};
use crate::cookie;

/// Why it is not known who sent a request. What is told of it is of use to the holder of the secret, and tells
/// others nothing: a token that was revoked is told like one that never was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unidentified {
    /// It does not say.
    Missing,
    /// What it says can't be used.
    Invalid { why: &'static str, now: Timestamp },
    /// By a token that was good until then.
    Expired { expired_at: Timestamp, now: Timestamp },
    /// By a session that there is not, or not any more.
    NoSession,
    /// By a session that ended then.
    SessionExpired { ended_at: Timestamp, now: Timestamp },
    /// It can't be found out now, or not from such a request.
    Undecided(ApiError),
}

impl Unidentified {
    /// By a token that there is not.
    pub(crate) fn unknown(now: Timestamp) -> Self {
        let why = "It is unknown: it was revoked or rotated, or another server or issuer made it. An owner can make a new one.";
        Self::Invalid { why, now }
    }

    /// By a JWT that the key which it names has not signed.
    pub(crate) fn forged(now: Timestamp) -> Self {
        Self::Invalid { why: "Its signature is wrong.", now }
    }

    /// By a JWT that is not good yet.
    pub(crate) fn too_early(now: Timestamp) -> Self {
        Self::Invalid { why: "It is not valid yet: the clock of its issuer is ahead.", now }
    }

    /// The issuer of a JWT can't be asked for its keys.
    pub(crate) fn issuer_unavailable() -> Self {
        Self::Undecided(ApiError::issuer_unavailable())
    }

    /// The store did not say.
    pub(crate) fn trouble(error: &Trouble) -> Self {
        Self::Undecided(trouble(error))
    }

    pub(crate) fn answer(self) -> Answer {
        let over = matches!(self, Self::NoSession | Self::SessionExpired { .. });
        let (error, challenge) = match self {
            Self::Undecided(error) => return Answer::error(&error),
            Self::NoSession => (ApiError::no_session(), challenge::ASK.to_owned()),
            Self::SessionExpired { ended_at, now } => {
                (ApiError::expired_session(ended_at, now), challenge::ASK.to_owned())
            }
            Self::Missing => (ApiError::authentication_missing(), challenge::ASK.to_owned()),
            Self::Invalid { why, now } => (ApiError::invalid_token(why), challenge::ask_anew(now)),
            Self::Expired { expired_at, now } => {
                (ApiError::expired_token(expired_at, now), challenge::ask_anew(now))
            }
        };
        let answer = Answer::error(&error).with_header(header::WWW_AUTHENTICATE, &challenge);
        if over { answer.with_header(header::SET_COOKIE, cookie::SESSION_ENDED) } else { answer }
    }
}
