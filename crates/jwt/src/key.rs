//! Public keys, read from JSON Web Keys.

use std::fmt;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use thiserror::Error;

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256, of keys with 2048 to 8192 bits.
    Rs256,
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// What headers call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }
}

/// Why a JSON Web Key can't be used.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum UnusableKey {
    /// It has another type, another curve or another algorithm than those that are known.
    #[error("it is of another kind than RS256, ES256 and EdDSA keys are")]
    Kind,
    /// It is not for verifying signatures.
    #[error("it is not for signatures")]
    Use,
    /// Its numbers are missing or no key.
    #[error("its numbers are missing or wrong")]
    Numbers,
}

/// A key that verifies signatures of one algorithm.
#[derive(Clone)]
pub struct PublicKey {
    id: Option<String>,
    algorithm: Algorithm,
    key: ParsedPublicKey,
}

impl PublicKey {
    /// Reads a JSON Web Key.
    pub fn from_jwk(jwk: &Value) -> Result<Self, UnusableKey> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let number = |name: &str| -> Result<Vec<u8>, UnusableKey> {
            let encoded = text(name).ok_or(UnusableKey::Numbers)?;
            URL_SAFE_NO_PAD.decode(encoded.trim_end_matches('=')).map_err(|_| UnusableKey::Numbers)
        };
        let operations = jwk.get("key_ops").and_then(Value::as_array);
        let verifies = operations.is_none_or(|all| all.iter().any(|one| one == "verify"));
        if !verifies || text("use").is_some_and(|purpose| purpose != "sig") {
            return Err(UnusableKey::Use);
        }
        let (algorithm, key) = match (text("kty"), text("crv")) {
            (Some("RSA"), _) => {
                let (n, e) = (number("n")?, number("e")?);
                let parts = RsaPublicKeyComponents { n: without_zeros(&n), e: without_zeros(&e) };
                (Algorithm::Rs256, parts.to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256))
            }
            (Some("EC"), Some("P-256")) => {
                let (x, y) = (number("x")?, number("y")?);
                if x.len() != 32 || y.len() != 32 {
                    return Err(UnusableKey::Numbers);
                }
                let point = [&[4][..], &x, &y].concat();
                (Algorithm::Es256, ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point))
            }
            (Some("OKP"), Some("Ed25519")) => {
                let x = number("x")?;
                if x.len() != 32 {
                    return Err(UnusableKey::Numbers);
                }
                (Algorithm::EdDsa, ParsedPublicKey::new(&ED25519, x))
            }
            _ => return Err(UnusableKey::Kind),
        };
        if text("alg").is_some_and(|name| name != algorithm.name()) {
            return Err(UnusableKey::Kind);
        }
        let key = key.map_err(|_| UnusableKey::Numbers)?;
        Ok(Self { id: text("kid").map(str::to_owned), algorithm, key })
    }

    /// The `kid` of the key.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The algorithm that it verifies.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Whether a signature over these bytes is genuine.
    pub(crate) fn verifies(&self, signed: &[u8], signature: &[u8]) -> bool {
        self.key.verify_sig(signed, signature).is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({} {:?})", self.algorithm.name(), self.id)
    }
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";

    #[test]
    fn a_key_is_taken_only_for_what_it_is_for() {
        let check = |jwk: Value, expected: Result<Algorithm, UnusableKey>| {
            assert_eq!(PublicKey::from_jwk(&jwk).map(|key| key.algorithm()), expected, "{jwk}");
        };
        let ec = json!({"kty": "EC", "crv": "P-256", "x": X, "y": Y, "kid": "1"});
        let with = |name: &str, value: Value| {
            let mut jwk = ec.clone();
            jwk[name] = value;
            jwk
        };
        check(ec.clone(), Ok(Algorithm::Es256));
        check(with("alg", "ES256".into()), Ok(Algorithm::Es256));
        check(with("use", "sig".into()), Ok(Algorithm::Es256));
        check(with("key_ops", json!(["verify"])), Ok(Algorithm::Es256));
        check(with("alg", "HS256".into()), Err(UnusableKey::Kind));
        check(with("alg", "RS256".into()), Err(UnusableKey::Kind));
        check(with("use", "enc".into()), Err(UnusableKey::Use));
        check(with("key_ops", json!(["encrypt"])), Err(UnusableKey::Use));
        check(with("crv", "P-384".into()), Err(UnusableKey::Kind));
        check(with("kty", "oct".into()), Err(UnusableKey::Kind));
        check(with("y", X.into()), Err(UnusableKey::Numbers));
        check(with("y", "AA".into()), Err(UnusableKey::Numbers));
        check(with("y", "!".into()), Err(UnusableKey::Numbers));
        check(json!({"kty": "RSA", "e": "AQAB"}), Err(UnusableKey::Numbers));
        check(json!({"kty": "oct", "k": "AAAA"}), Err(UnusableKey::Kind));
        check(json!([]), Err(UnusableKey::Kind));
    }
}
