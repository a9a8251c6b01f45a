//! Texts that must never be shown.

use std::fmt;

/// A secret: prints as `***` and can't be turned into text by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself. Call this only to use the secret: to seal it, to send it, to check what a caller wrote.
    /// Never to show or log it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Drop for Secret {
    /// Overwrites the text, so that it does not stay in freed memory. Without `unsafe` this is best effort: the
    /// compiler may see that nobody reads the zeros; `black_box` makes that unlikely.
    fn drop(&mut self) {
        let length = self.0.len();
        let old = std::mem::take(&mut self.0);
        let mut bytes = old.into_boxed_bytes();
        bytes.fill(0);
        debug_assert_eq!(bytes.len(), length, "a secret is overwritten in place");
        std::hint::black_box(&bytes);
    }
}
