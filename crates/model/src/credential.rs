//! Credentials that users write into a request: values of some headers, and the user information of its URI.
//!
//! They are sealed where they are stored, and shown as a mask. Which headers hold credentials is a setting.

use std::sync::Arc;

use crate::Secret;

/// What is shown instead of a credential. Whoever sends it back means the stored one.
pub const MASK: &str = "********";

/// Headers that hold credentials whatever the settings say: their meaning is standardized.
const ALWAYS: [&str; 3] = ["Authorization", "Proxy-Authorization", "Cookie"];

/// The others by default (CONTRACT 19.4).
const USUAL: [&str; 4] = ["X-Api-Key", "Api-Key", "X-Functions-Key", "Ocp-Apim-Subscription-Key"];

/// The names of the headers that hold credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialHeaders(Arc<[Box<str>]>);

impl CredentialHeaders {
    /// These headers, and those that always hold credentials.
    pub fn new(names: &[String]) -> Self {
        Self(ALWAYS.into_iter().chain(names.iter().map(String::as_str)).map(Box::from).collect())
    }

    /// Whether a header holds a credential. The letter case of its name makes no difference.
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|known| known.eq_ignore_ascii_case(name.trim()))
    }
}

impl Default for CredentialHeaders {
    fn default() -> Self {
        Self::new(&USUAL.map(str::to_owned))
    }
}

/// The value of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderText {
    /// Shown as it is.
    Plain(String),
    /// A credential.
    Credential(Secret),
}

impl HeaderText {
    /// The value itself. Call this only to use it.
    pub fn expose(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Credential(secret) => secret.expose(),
        }
    }

    /// What may be shown.
    pub fn shown(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Credential(_) => MASK,
        }
    }
}

impl From<String> for HeaderText {
    fn from(text: String) -> Self {
        Self::Plain(text)
    }
}

impl From<&str> for HeaderText {
    fn from(text: &str) -> Self {
        Self::Plain(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_every_letter_case_and_some_always() {
        let usual = CredentialHeaders::default();
        for name in [
            "authorization",
            "Proxy-Authorization",
            "COOKIE",
            "x-api-key",
            "Api-Key",
            "x-functions-key",
            "Ocp-Apim-Subscription-Key",
        ] {
            assert!(usual.contains(name), "{name}");
        }
        assert!(!usual.contains("content-type"));
        let own = CredentialHeaders::new(&["X-Mine".to_owned()]);
        assert!(own.contains("x-mine") && own.contains("cookie") && !own.contains("x-api-key"));
    }

    #[test]
    fn a_credential_is_shown_as_a_mask() {
        let text = HeaderText::Credential(Secret::new("hunter22"));
        assert_eq!((text.shown(), text.expose()), (MASK, "hunter22"));
        assert!(!format!("{text:?}").contains("hunter22"));
        assert_eq!(HeaderText::from("plain").shown(), "plain");
    }
}
