//! A token that somebody sent, before and after its signature is verified.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::PublicKey;

/// The longest token that is read. Those of Entra ID with 200 groups have about 9 K.
pub const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Why a token is not taken.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NotGenuine {
    /// It is no JSON Web Token.
    #[error("it is no JSON Web Token")]
    Malformed,
    /// Its header asks for something that is not known here.
    #[error("its header has 'crit' or another 'typ' than JWT")]
    Header,
    /// It says that it is signed in another way than its key signs.
    #[error("its 'alg' is not that of its key")]
    Algorithm,
    /// The signature is not that of the key.
    #[error("its signature is wrong")]
    Signature,
}

/// What a genuine token claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims(Map<String, Value>);

impl Claims {
    /// One claim.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// One claim that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// One claim that is a time, in seconds since 1970; a fraction is cut off.
    pub fn seconds(&self, name: &str) -> Option<i64> {
        let value = self.0.get(name)?;
        // `as` saturates, and nothing that far away is a time.
        value
            .as_i64()
            .or_else(|| value.as_f64().filter(|number| number.is_finite()).map(|number| number as i64))
    }
}

/// A token that was read and not verified.
#[derive(Debug)]
pub struct Parsed<'a> {
    algorithm: String,
    key_id: Option<String>,
    claims: Map<String, Value>,
    signed: &'a str,
    signature: Vec<u8>,
}

impl<'a> Parsed<'a> {
    /// Reads a token: three parts in base64url, of which the first two are JSON objects.
    pub fn read(token: &'a str) -> Result<Self, NotGenuine> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(NotGenuine::Malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(NotGenuine::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(NotGenuine::Malformed)?;
        let header = object(header)?;
        let claims = object(claims)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| NotGenuine::Malformed)?;
        let typed = match header.get("typ") {
            None => true,
            Some(Value::String(typ)) => {
                ["JWT", "at+jwt", "application/at+jwt"].iter().any(|one| one.eq_ignore_ascii_case(typ))
            }
            Some(_) => false,
        };
        if !typed || header.contains_key("crit") {
            return Err(NotGenuine::Header);
        }
        let text = |name: &str| header.get(name).and_then(Value::as_str).map(str::to_owned);
        let algorithm = text("alg").ok_or(NotGenuine::Malformed)?;
        Ok(Self { algorithm, key_id: text("kid"), claims, signed, signature })
    }

    /// The `kid` that it names, to look for its key.
    pub fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// The issuer that it names, to look for its keys. It may be a lie until the token is verified.
    pub fn claimed_issuer(&self) -> Option<&str> {
        self.claims.get("iss").and_then(Value::as_str)
    }

    /// What it claims, if its signature is that of the key, by the key's algorithm.
    pub fn verify(self, key: &PublicKey) -> Result<Claims, NotGenuine> {
        if self.algorithm != key.algorithm().name() {
            return Err(NotGenuine::Algorithm);
        }
        if !key.verifies(self.signed.as_bytes(), &self.signature) {
            return Err(NotGenuine::Signature);
        }
        Ok(Claims(self.claims))
    }
}

fn object(part: &str) -> Result<Map<String, Value>, NotGenuine> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| NotGenuine::Malformed)?;
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) | Err(_) => Err(NotGenuine::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// RFC 7515, appendix A.2.
    const N: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    const RS256: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

    /// RFC 7515, appendix A.3.
    const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
    const ES256: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

    fn rsa() -> PublicKey {
        PublicKey::from_jwk(&json!({"kty": "RSA", "n": N, "e": "AQAB"})).unwrap()
    }

    fn ec() -> PublicKey {
        PublicKey::from_jwk(&json!({"kty": "EC", "crv": "P-256", "x": X, "y": Y})).unwrap()
    }

    fn verify(token: &str, key: &PublicKey) -> Result<Claims, NotGenuine> {
        Parsed::read(token)?.verify(key)
    }

    #[test]
    fn the_examples_of_the_standards_are_genuine() {
        for (token, key) in [(RS256, rsa()), (ES256, ec())] {
            let claims = verify(token, &key).unwrap();
            assert_eq!((claims.text("iss"), claims.seconds("exp")), (Some("joe"), Some(1_300_819_380)));
            assert_eq!((claims.get("sub"), claims.seconds("iss")), (None, None));
        }
        // RFC 8037, appendix A.4; its content is no JSON.
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let key = PublicKey::from_jwk(&json!({"kty": "OKP", "crv": "Ed25519", "x": x})).unwrap();
        let signature =
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let signed = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        assert!(key.verifies(signed, &signature));
        assert!(!key.verifies(&signed[1..], &signature));
    }

    #[test]
    fn no_changed_token_is_genuine() {
        for place in 0..ES256.len() {
            let mut bytes = ES256.as_bytes().to_vec();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(verify(&changed, &ec()).is_err(), "at {place}");
            assert!(verify(&ES256[..place], &ec()).is_err(), "cut at {place}");
        }
    }

    #[test]
    fn the_key_decides_the_algorithm() {
        let (_, rest) = ES256.split_once('.').unwrap();
        let with = |header: Value| format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header.to_string()));
        let check = |token: &str, key: PublicKey, expected: NotGenuine| {
            assert_eq!(verify(token, &key).unwrap_err(), expected, "{token}");
        };
        check(ES256, rsa(), NotGenuine::Algorithm);
        check(RS256, ec(), NotGenuine::Algorithm);
        for name in ["none", "None", "HS256", "es256", "ES384", "RS256", "PS256", ""] {
            check(&with(json!({"alg": name})), ec(), NotGenuine::Algorithm);
        }
        check(&with(json!({"alg": "ES256", "kid": "1"})), ec(), NotGenuine::Signature);
        let unsigned =
            format!("{}.{}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#), URL_SAFE_NO_PAD.encode("{}"));
        check(&unsigned, ec(), NotGenuine::Algorithm);
    }

    #[test]
    fn what_is_no_token_is_malformed() {
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let whole = |header: &str, claims: &str| format!("{}.{}.AAAA", encoded(header), encoded(claims));
        let check = |token: &str, expected: NotGenuine| {
            assert_eq!(Parsed::read(token).unwrap_err(), expected, "{token}");
        };
        for token in
            ["", ".", "..", "...", "a.b", "a.b.c", "pct_x", &format!("{ES256}.x"), &format!("{ES256}=")]
        {
            check(token, NotGenuine::Malformed);
        }
        check(&whole("[]", "{}"), NotGenuine::Malformed);
        check(&whole(r#"{"alg":"ES256"}"#, "1"), NotGenuine::Malformed);
        check(&whole("{}", "{}"), NotGenuine::Malformed);
        check(&whole(r#"{"alg":1}"#, "{}"), NotGenuine::Malformed);
        check(&whole(r#"{"alg":"ES256","crit":["b64"],"b64":false}"#, "{}"), NotGenuine::Header);
        check(&whole(r#"{"alg":"ES256","typ":"secevent+jwt"}"#, "{}"), NotGenuine::Header);
        let nested = format!("{}1{}", "[".repeat(8_000), "]".repeat(8_000));
        check(&whole(r#"{"alg":"ES256"}"#, &nested), NotGenuine::Malformed);
        check(&"a.".repeat(TOKEN_BYTES_MAX), NotGenuine::Malformed);
    }
}
