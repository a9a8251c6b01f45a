//! Redacts secrets from texts that are stored, since a target may echo what it was sent.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What most programs leave as it is when they percent-encode.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How many cookies of a header are looked for one by one. Each text is searched for each of them.
const COOKIES_MAX: usize = 64;

/// Shorter secrets are not redacted: they would match ordinary text.
const LENGTH_MIN: usize = 4;

/// The secrets of one attempt.
#[derive(Default)]
pub(crate) struct Redactor(Vec<Box<str>>);

impl Redactor {
    /// Adds a secret that is about to be sent, also in the forms in which an answer may repeat it: as a part of JSON,
    /// and percent-encoded.
    pub(crate) fn add(&mut self, secret: &str) {
        self.add_one(secret);
        let json = serde_json::Value::from(secret).to_string();
        self.add_one(json.trim_start_matches('"').strip_suffix('"').unwrap_or_default());
        self.add_one(&utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string());
        self.add_one(&utf8_percent_encode(secret, UNRESERVED).to_string());
    }

    fn add_one(&mut self, secret: &str) {
        if secret.len() >= LENGTH_MIN && !self.0.iter().any(|known| **known == *secret) {
            // The longest first: if one secret contains another, all of it is redacted.
            let place = self.0.partition_point(|known| known.len() > secret.len());
            self.0.insert(place, secret.into());
        }
    }

    /// Adds the value of a header, and those of its parts that are secret by themselves: the credentials behind a
    /// scheme such as `Bearer`, and the values of cookies.
    pub(crate) fn add_header(&mut self, value: &str) {
        let value = value.trim();
        self.add(value);
        if let Some((_, credentials)) = value.split_once(' ') {
            self.add(credentials.trim());
        }
        for pair in value.split(';').take(COOKIES_MAX) {
            if let Some((_, value)) = pair.split_once('=') {
                self.add(value.trim());
            }
        }
    }

    /// Adds user information of a URI, with and without percent-encoding.
    pub(crate) fn add_user_info(&mut self, user_info: &str) {
        let password = user_info.split_once(':').map_or(user_info, |(_, password)| password);
        for text in [user_info, password] {
            self.add(text);
            self.add(&percent_decode_str(text).decode_utf8_lossy());
        }
    }

    /// The same for a text that was cut off at its end: what may be the beginning of a secret there is replaced, too.
    pub(crate) fn redact_cut(&self, text: Cow<'_, str>) -> String {
        let mut text = self.redact(text).into_owned();
        let begun = self.0.iter().filter_map(|secret| {
            let lengths = (LENGTH_MIN..secret.len()).rev().filter(|length| secret.is_char_boundary(*length));
            lengths.into_iter().find(|length| text.ends_with(&secret[..*length]))
        });
        if let Some(length) = begun.max() {
            text.truncate(text.len() - length);
            text.push_str("***");
        }
        text
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

    #[test]
    fn a_secret_that_is_cut_off_does_not_show() {
        let mut redactor = Redactor::default();
        redactor.add("hunter22");
        let check = |text: &str, expected: &str| assert_eq!(redactor.redact_cut(text.into()), expected);
        check("it is hunter2", "it is ***");
        check("it is hunter22", "it is ***");
        check("it is hunt", "it is ***");
        check("it is hun", "it is hun");
        check("it is not", "it is not");
        check("", "");
    }

    #[test]
    fn the_parts_of_headers_and_of_user_information_are_secrets_too() {
        let mut redactor = Redactor::default();
        redactor.add_header("Bearer abcdef");
        redactor.add_header("session=s3ss10n; theme=darker");
        redactor.add_user_info("user:p%40ssword");
        redactor.add("a\"b/cd");
        let check = |text: &str, expected: &str| assert_eq!(redactor.redact(text.into()), expected, "{text}");
        check("got abcdef", "got ***");
        check("s3ss10n and darker", "*** and ***");
        check("p%40ssword or p@ssword", "*** or ***");
        check(r#"{"it": "a\"b/cd"}"#, r#"{"it": "***"}"#);
        check("?it=a%22b%2Fcd", "?it=***");
    }
}
