//! JSON Web Tokens and keys: nothing is taken for genuine that the key has not signed.
//!
//! What begins with `{` and is a key is read as one; any other object is signed, and must verify.

use std::sync::OnceLock;

use punctual_jwt::{Parsed, PublicKey, SigningKey};
use serde_json::{Value, json};

struct Keys {
    own: SigningKey,
    all: Vec<PublicKey>,
}

/// What the keys have signed: the examples of RFC 7515 and RFC 8037.
const SIGNED: [&str; 3] = [
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
];

fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let jwks = [
            json!({"kty": "RSA", "e": "AQAB", "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}),
            json!({"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}),
            json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}),
        ];
        let own = SigningKey::new(&[7; 32]).expect("it is a number of the curve");
        let mut all: Vec<PublicKey> = jwks.iter().map(|jwk| PublicKey::from_jwk(jwk).expect("it is a key")).collect();
        all.push(own.public().clone());
        Keys { own, all }
    })
}

pub(crate) fn run(bytes: &[u8]) {
    let keys = keys();
    if let Ok(value @ Value::Object(_)) = serde_json::from_slice(bytes) {
        if value.get("kty").is_some() {
            let _ = PublicKey::from_jwk(&value);
        } else {
            check_own(&keys.own, &value);
        }
        return;
    }
    let Ok(token) = std::str::from_utf8(bytes) else { return };
    for key in &keys.all {
        let Ok(parsed) = Parsed::read(token) else { return };
        if parsed.verify(key).is_ok() {
            let signed = token.rsplit_once('.').map_or("", |(signed, _)| signed);
            assert!(SIGNED.contains(&signed), "{token} is taken for one of {key:?}");
        }
    }
}

/// What this server signs verifies by its own key, says what was signed, and by no other key.
fn check_own(own: &SigningKey, claims: &Value) {
    let token = own.sign(claims);
    // Too many claims make a token that is too long.
    let Ok(parsed) = Parsed::read(&token) else {
        assert!(token.len() > punctual_jwt::TOKEN_BYTES_MAX, "{token}");
        return;
    };
    assert_eq!(parsed.key_id(), Some(own.id()));
    let verified = parsed.verify(own.public()).expect("the key has signed it");
    for (name, value) in claims.as_object().into_iter().flatten() {
        // The library reads the last digit of a fraction as it pleases.
        if !value.to_string().contains(['.', 'e']) {
            assert_eq!(verified.get(name), Some(value));
        }
        let _ = verified.seconds(name);
    }
    for other in keys().all.iter().filter(|key| key.id() != Some(own.id())) {
        assert!(Parsed::read(&token).is_ok_and(|parsed| parsed.verify(other).is_err()), "{token}");
    }
}
