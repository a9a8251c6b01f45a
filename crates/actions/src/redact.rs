//! Redacts secrets from texts that are stored, since a target may echo what it was sent.

use std::borrow::Cow;

/// Shorter secrets are not redacted: they would match ordinary text.
const LENGTH_MIN: usize = 4;

/// The secrets of one attempt.
#[derive(Default)]
pub(crate) struct Redactor(Vec<Box<str>>);

impl Redactor {
    /// Adds a secret that is about to be sent.
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.len() >= LENGTH_MIN && !self.0.iter().any(|known| **known == *secret) {
            self.0.push(secret.into());
            // The longest first: if one secret contains another, all of it is redacted.
            self.0.sort_by_key(|known| std::cmp::Reverse(known.len()));
        }
    }

    /// Replaces each secret by `***`.
    pub(crate) fn redact<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        self.0.iter().fold(text, |text, secret| {
            if text.contains(&**secret) { text.replace(&**secret, "***").into() } else { text }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secret_is_replaced_and_nothing_else() {
        let mut redactor = Redactor::default();
        for secret in ["pass", "password", "abc"] {
            redactor.add(secret);
        }
        assert_eq!(redactor.redact("the password, pass, abc".into()), "the ***, ***, abc");
        assert!(matches!(Redactor::default().redact("text".into()), Cow::Borrowed("text")));
    }
}
