//! Sessions of the web page, as they are shown, and what somebody sends to sign in.

use jiff::Timestamp;
use punctual_model::Secret;
use punctual_model::access::{Caller, Session};
use serde_json::{Value, json};

use crate::json::Json;
use crate::reader::{Object, Path, Problems, parse_object};
use crate::shape::{self, Unknown};
use crate::{ApiError, ApiVersion, Query, me, time};

/// Reads the body of a sign-in: the token.
pub fn read_sign_in(body: &[u8]) -> Result<Secret, ApiError> {
    let document: Json<'_> = parse_object(body)
        .map_err(|why| ApiError::bad_request(format!("Malformed Sign-In Object: {why}.")))?;
    let mut problems = Problems::default();
    Unknown::of(&document, shape::SIGN_IN, ApiVersion::V2026_11).add_to(&mut problems);
    let read = Object::of(&document, Path::Root, &mut problems)
        .and_then(|document| document.required_text("token", &mut problems).map(Secret::new));
    match read {
        Some(token) if problems.is_empty() => Ok(token),
        _ => Err(ApiError::invalid(&problems.into_vec())),
    }
}

/// How somebody can sign in: whether they must, and the providers with their names and links.
pub fn ways(required: bool, providers: &[(&str, String, String)]) -> Value {
    let provider =
        |(issuer, label, url): &(&str, String, String)| json!({"issuer": issuer, "label": label, "url": url});
    let providers: Vec<Value> = providers.iter().map(provider).collect();
    json!({"required": required, "token": true, "openId": providers})
}

/// A session.
pub fn answer(session: &Session, idle_at: Timestamp) -> Value {
    json!({
        "id": session.id.0,
        "createdAt": time::instant(session.created_at),
        "lastUsedAt": time::instant(session.last_used_at),
        "idleAt": time::instant(idle_at),
        "expiresAt": time::instant(session.expires_at),
    })
}

/// A session and who holds it.
pub fn answer_with_caller(session: &Session, idle_at: Timestamp, caller: &Caller) -> Value {
    let mut value = answer(session, idle_at);
    value["caller"] = me::caller(caller);
    value
}

/// How many sessions were ended.
pub fn ended(count: usize) -> Value {
    json!({ "ended": count })
}

/// The caller whose sessions shall end.
pub fn read_caller(query: &Query) -> Result<String, ApiError> {
    let missing = "The parameter caller says whose sessions shall end: the id that GET /sessions and the audit log show.";
    let caller = query.get("caller").filter(|caller| !caller.is_empty());
    caller.map(str::to_owned).ok_or_else(|| ApiError::bad_request(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_is_a_token_and_nothing_else() {
        assert_eq!(read_sign_in(br#"{"token": "pct_x"}"#).unwrap().expose(), "pct_x");
        for body in [
            "",
            "[]",
            "{}",
            r#"{"token": 1}"#,
            r#"{"token": null}"#,
            r#"{"token": "pct_x", "tokn": 1}"#,
            "pct_x",
        ] {
            let error = read_sign_in(body.as_bytes()).unwrap_err();
            assert_eq!(error.status, 400, "{body}");
            assert!(!error.message.contains("pct_x"), "{}", error.message);
        }
    }
}
