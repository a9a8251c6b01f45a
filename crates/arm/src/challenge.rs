//! What a caller is asked for when it does not show who it is: the header `WWW-Authenticate`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::json;

/// Asks for a token, of a caller that sent none.
pub const ASK: &str = "Bearer";

/// Asks for a token that was issued at this time or later. Clients that know this challenge fetch a new one and try
/// again, once; with any other they would go on using the one that they keep.
pub fn ask_anew(now: Timestamp) -> String {
    let essential = json!({"essential": true, "value": now.as_second().to_string()});
    let claims = json!({"access_token": {"nbf": essential}});
    format!(r#"Bearer error="insufficient_claims", claims="{}""#, STANDARD.encode(claims.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_names_a_time_in_base64() {
        let challenge = ask_anew("2026-11-15T12:00:00Z".parse().unwrap());
        let claims = challenge.strip_prefix(r#"Bearer error="insufficient_claims", claims=""#).unwrap();
        let claims = STANDARD.decode(claims.strip_suffix('"').unwrap()).unwrap();
        let expected = r#"{"access_token":{"nbf":{"essential":true,"value":"1794744000"}}}"#;
        assert_eq!(std::str::from_utf8(&claims).unwrap(), expected);
    }
}
