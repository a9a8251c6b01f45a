//! A key that signs.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::{Algorithm, PublicKey};

/// A private key of P-256 without its public part (RFC 5915): what comes before its number, and what behind.
const DER_BEFORE: &[u8] = &[0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20];
const DER_BEHIND: &[u8] = &[0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

/// A key that signs with ES256.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    id: String,
    jwk: Value,
    public: PublicKey,
}

impl SigningKey {
    /// The key of a secret number. None if the number is none of the curve, which one of four thousand million random
    /// ones is: then another one is to be drawn.
    pub fn new(secret: &[u8; 32]) -> Option<Self> {
        let der = [DER_BEFORE, secret, DER_BEHIND].concat();
        let pair = EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, &der).ok()?;
        let point = pair.public_key().as_ref();
        let (x, y) = point.strip_prefix(&[4])?.split_at_checked(32)?;
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        // The thumbprint of RFC 7638: equal keys have equal ids on every node.
        let thumbprint = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        let id = URL_SAFE_NO_PAD.encode(digest(&SHA256, thumbprint.as_bytes()));
        let jwk = json!({
            "kty": "EC", "use": "sig", "alg": Algorithm::Es256.name(), "kid": id, "crv": "P-256", "x": x, "y": y,
        });
        let public = PublicKey::from_jwk(&jwk).ok()?;
        Some(Self { pair, id, jwk, public })
    }

    /// Its `kid`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key that verifies what it signs.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The same as a JSON Web Key.
    pub fn jwk(&self) -> &Value {
        &self.jwk
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": Algorithm::Es256.name(), "typ": "JWT", "kid": self.id});
        let encoded = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let mut token = format!("{}.{}", encoded(&header), encoded(claims));
        let signature = self.pair.sign(&SystemRandom::new(), token.as_bytes());
        let signature = signature.expect("a key that was accepted signs texts of any length");
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        token
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NotGenuine, Parsed};

    #[test]
    fn what_a_key_signs_its_public_key_verifies_and_no_other() {
        let (one, other) = (SigningKey::new(&[7; 32]).unwrap(), SigningKey::new(&[8; 32]).unwrap());
        let token = one.sign(&json!({"sub": "ci", "exp": 5}));
        let parsed = Parsed::read(&token).unwrap();
        assert_eq!(parsed.key_id(), Some(one.id()));
        let claims = parsed.verify(one.public()).unwrap();
        assert_eq!((claims.text("sub"), claims.seconds("exp")), (Some("ci"), Some(5)));
        assert_eq!(Parsed::read(&token).unwrap().verify(other.public()).unwrap_err(), NotGenuine::Signature);
    }

    #[test]
    fn equal_secrets_are_equal_keys() {
        let (one, again) = (SigningKey::new(&[7; 32]).unwrap(), SigningKey::new(&[7; 32]).unwrap());
        assert_eq!((one.id(), one.jwk()), (again.id(), again.jwk()));
        assert_ne!(one.id(), SigningKey::new(&[8; 32]).unwrap().id());
        assert_eq!(PublicKey::from_jwk(one.jwk()).unwrap().id(), Some(one.id()));
        assert!(!format!("{one:?}").contains("7, 7"));
    }

    #[test]
    fn a_number_outside_of_the_curve_is_no_key() {
        assert!(SigningKey::new(&[0; 32]).is_none());
        assert!(SigningKey::new(&[255; 32]).is_none());
    }
}
