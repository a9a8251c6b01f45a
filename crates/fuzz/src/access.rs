//! The header `Authorization`: nobody gets in whose token is not good.
//!
//! What is a JSON object is signed by the issuer that the server knows, and must be taken exactly if its claims are good;
//! everything else is sent as it is.

use axum::body::Body;
use http::{HeaderValue, Request, header};
use punctual_api::AccessMode;
use punctual_jwt::{Parsed, TOKEN_BYTES_MAX};
use serde_json::Value;

use crate::server::{ALLOWANCE, AUDIENCE, GROUP, ISSUER, NOW, Server};

thread_local! {
    static SERVER: Server = Server::start(AccessMode::Required);
}

pub(crate) fn run(bytes: &[u8]) {
    SERVER.with(|server| match serde_json::from_slice(bytes) {
        Ok(claims @ Value::Object(_)) => check_claims(server, &claims),
        _ => check_header(server, bytes),
    });
}

fn status(server: &Server, value: &HeaderValue) -> u16 {
    let request = Request::get("/tenants?api-version=1").header(header::HOST, "localhost");
    server.status(request.header(header::AUTHORIZATION, value).body(Body::empty()).expect("it is a request"))
}

fn check_claims(server: &Server, claims: &Value) {
    let token = server.key.sign(claims);
    // As whoever reads the token sees them.
    let claims: Value = serde_json::from_str(&claims.to_string()).expect("it was written as JSON");
    let expected = match judge(&claims) {
        _ if token.len() > TOKEN_BYTES_MAX => 401,
        None => 401,
        Some(false) => 403,
        Some(true) => 200,
    };
    let value = HeaderValue::try_from(format!("Bearer {token}")).expect("a token is a header");
    let expected = if token.len() > 60_000 { 431 } else { expected };
    assert_eq!(status(server, &value), expected, "{claims}");
}

/// Whether the claims of a genuine token are good, and whether they grant something.
fn judge(claims: &Value) -> Option<bool> {
    let contains = |claim: &Value, wanted: &str| match claim {
        Value::String(text) => text == wanted,
        Value::Array(all) => all.iter().any(|one| one == wanted),
        _ => false,
    };
    let seconds = |name: &str| {
        let value = claims.get(name)?;
        value.as_i64().map(|whole| whole as f64).or_else(|| value.as_f64()).map(f64::trunc)
    };
    let subject = claims.get("sub")?.as_str()?;
    let good = claims.get("iss")? == ISSUER
        && contains(claims.get("aud")?, AUDIENCE)
        && (1..=255).contains(&subject.len())
        && seconds("exp")? + ALLOWANCE as f64 > NOW as f64
        && seconds("nbf").is_none_or(|at| at <= (NOW + ALLOWANCE) as f64);
    good.then(|| claims.get("groups").is_some_and(|groups| contains(groups, GROUP)))
}

fn check_header(server: &Server, bytes: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(bytes) else { return };
    let status = status(server, &value);
    assert!([200, 401, 403, 431].contains(&status), "{status} to {value:?}");
    if [401, 431].contains(&status) {
        return;
    }
    let text = value.to_str().expect("what is taken is a text");
    let (scheme, token) = text.split_once(' ').expect("what is taken has a scheme");
    assert!(scheme.eq_ignore_ascii_case("bearer"), "{text}");
    if token.trim() == server.secret {
        return;
    }
    // A token of the issuer, which the fuzzer was given.
    let parsed = Parsed::read(token.trim()).expect("what is taken is a token");
    let claims = parsed.verify(server.key.public()).expect("what is taken is signed by the key");
    assert!(claims.text("iss") == Some(ISSUER) && claims.text("sub").is_some(), "{text}");
}
