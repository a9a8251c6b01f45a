//! Who holds a session, as it is stored.

use std::borrow::Cow;

use punctual_model::access::{SessionHolder, TokenId};
use serde::{Deserialize, Serialize};

use super::{CodecError, body, damaged, versioned};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
enum Holder1<'a> {
    Token {
        id: Cow<'a, str>,
        fingerprint: Cow<'a, str>,
    },
    OpenId {
        issuer: Cow<'a, str>,
        subject: Cow<'a, str>,
        name: Cow<'a, str>,
        claims: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    },
}

/// Encodes the holder of a session.
pub fn encode_session_holder(holder: &SessionHolder) -> Vec<u8> {
    versioned(&match holder {
        SessionHolder::Token { id, secret_fingerprint } => {
            Holder1::Token { id: id.0.as_str().into(), fingerprint: secret_fingerprint.into() }
        }
        SessionHolder::OpenId { issuer, subject, name, claims } => Holder1::OpenId {
            issuer: issuer.into(),
            subject: subject.into(),
            name: name.into(),
            claims: claims.iter().map(|(claim, value)| (claim.into(), value.into())).collect(),
        },
    })
}

/// Decodes the holder of a session.
pub fn decode_session_holder(document: &[u8]) -> Result<SessionHolder, CodecError> {
    let stored: Holder1<'_> = serde_json::from_slice(body(document)?).map_err(damaged)?;
    Ok(match stored {
        Holder1::Token { id, fingerprint } => SessionHolder::Token {
            id: TokenId(id.into_owned()),
            secret_fingerprint: fingerprint.into_owned(),
        },
        Holder1::OpenId { issuer, subject, name, claims } => SessionHolder::OpenId {
            issuer: issuer.into_owned(),
            subject: subject.into_owned(),
            name: name.into_owned(),
            claims: claims
                .into_iter()
                .map(|(claim, value)| (claim.into_owned(), value.into_owned()))
                .collect(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_does_not_change() {
        let check = |holder: SessionHolder, expected: &str| {
            let document = encode_session_holder(&holder);
            assert_eq!(std::str::from_utf8(&document).unwrap(), expected);
            assert_eq!(decode_session_holder(&document).unwrap(), holder);
        };
        check(
            SessionHolder::Token { id: TokenId("a".to_owned()), secret_fingerprint: "f".to_owned() },
            r#"1{"token":{"id":"a","fingerprint":"f"}}"#,
        );
        check(
            SessionHolder::OpenId {
                issuer: "https://login.example.com".to_owned(),
                subject: "u-1".to_owned(),
                name: "Zoë".to_owned(),
                claims: vec![("groups".to_owned(), "ops".to_owned())],
            },
            r#"1{"openId":{"issuer":"https://login.example.com","subject":"u-1","name":"Zoë","claims":[["groups","ops"]]}}"#,
        );
    }

    #[test]
    fn what_is_damaged_is_nobody() {
        for document in [&b""[..], b"2{}", b"1{}", br#"1{"token":{"id":"a"}}"#, br#"1{"other":{}}"#] {
            decode_session_holder(document).unwrap_err();
        }
    }
}
