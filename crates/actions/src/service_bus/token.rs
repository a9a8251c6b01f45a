//! Shared access signatures.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use percent_encoding::utf8_percent_encode;
use sha2::Sha256;

use super::Credentials;
use super::endpoint::UNRESERVED;

/// A token for one resource.
pub(super) struct Token {
    /// `SharedAccessSignature …`
    pub(super) text: String,
    pub(super) expires_at: Timestamp,
}

impl Token {
    /// Signs a token for a resource, given as a URI. The key looks like base64 but is used as text, not decoded.
    pub(super) fn sign(
        resource: &str,
        credentials: Credentials<'_>,
        now: Timestamp,
        lifetime: Duration,
    ) -> Self {
        let lifetime = SignedDuration::try_from(lifetime).unwrap_or(SignedDuration::MAX);
        let expires_at = now.saturating_add(lifetime).unwrap_or(Timestamp::MAX);
        // Whole seconds, rounded up.
        let seconds = expires_at.as_second() + i64::from(expires_at.subsec_nanosecond() > 0);
        let resource = utf8_percent_encode(resource, UNRESERVED);
        let mut hmac = Hmac::<Sha256>::new_from_slice(credentials.key.expose().as_bytes())
            .expect("a key of any length will do");
        hmac.update(format!("{resource}\n{seconds}").as_bytes());
        let signature = STANDARD.encode(hmac.finalize().into_bytes());
        let signature = utf8_percent_encode(&signature, UNRESERVED);
        let key_name = utf8_percent_encode(credentials.key_name, UNRESERVED);
        let text = format!("SharedAccessSignature sr={resource}&sig={signature}&se={seconds}&skn={key_name}");
        Self { text, expires_at }
    }
}

#[cfg(test)]
mod tests {
    use punctual_model::Secret;

    use super::*;

    /// Compared with a token that the official Python client (azure-servicebus 7.15.0) made.
    #[test]
    fn a_token_is_the_one_that_the_official_client_makes() {
        let key = Secret::new("a+b/c=");
        let credentials = Credentials { key_name: "RootManage", key: &key };
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let resource = "sb://shop.servicebus.windows.net/orders";
        let token = Token::sign(resource, credentials, now, Duration::from_secs(3600));
        assert_eq!(token.expires_at.as_second(), 1_700_003_600);
        assert_eq!(
            token.text,
            "SharedAccessSignature sr=sb%3A%2F%2Fshop.servicebus.windows.net%2Forders\
             &sig=6uVk%2Fhyx6Db1%2ByscAGG7qXmdAfFCNIJ43g%2BKrSCNreU%3D&se=1700003600&skn=RootManage"
        );
    }
}
