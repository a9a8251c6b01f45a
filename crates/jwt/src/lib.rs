//! JSON Web Tokens: signs them (ES256) and verifies them (RS256, ES256, EdDSA).
//!
//! The key decides the algorithm: a [`PublicKey`] verifies one, and a token whose header names another one is refused.
//! So neither `alg: none` nor a public key that is used as the secret of an HMAC gets through. What a token claims is
//! only given out by [`Parsed::verify`], apart from what is needed to find its key.
//!
//! Which issuer, audience and times are right is not decided here.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod key;
mod parsed;
mod signing;

pub use key::{Algorithm, PublicKey, UnusableKey};
pub use parsed::{Claims, NotGenuine, Parsed, TOKEN_BYTES_MAX};
pub use signing::SigningKey;
