//! Takes secrets out of texts that are kept: a target may echo what it was sent.

use std::borrow::Cow;

/// Shorter ones would blot out innocent text and protect nothing.
const LENGTH_MIN: usize = 4;

/// The secrets of one attempt.
#[derive(Default)]
pub(crate) struct Scrub(Vec<Box<str>>);

impl Scrub {
    /// Takes note of a secret that is about to be sent.
    pub(crate) fn note(&mut self, secret: &str) {
        if secret.len() >= LENGTH_MIN && !self.0.iter().any(|known| **known == *secret) {
            self.0.push(secret.into());
            // The longest first, so that a secret within another leaves no remains of it.
            self.0.sort_by_key(|known| std::cmp::Reverse(known.len()));
        }
    }

    /// The text with `***` in place of each secret.
    pub(crate) fn clean<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
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
        let mut scrub = Scrub::default();
        for secret in ["pass", "password", "abc"] {
            scrub.note(secret);
        }
        assert_eq!(scrub.clean("the password, pass, abc".into()), "the ***, ***, abc");
        assert!(matches!(Scrub::default().clean("text".into()), Cow::Borrowed("text")));
    }
}
