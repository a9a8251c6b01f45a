//! What must never be shown.

use std::fmt;

/// A secret: prints as `***` and can't be turned into text by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself. Two places may call this: the vault that seals it, and the action that sends it.
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
    /// Overwrites the text, so that it does not stay in freed memory. Without `unsafe` this is best
    /// effort: the compiler may see that nobody reads it; `black_box` makes that unlikely.
    fn drop(&mut self) {
        let length = self.0.len();
        let old = std::mem::take(&mut self.0);
        let mut bytes = old.into_boxed_bytes();
        bytes.fill(0);
        debug_assert_eq!(bytes.len(), length, "a secret is overwritten in place");
        std::hint::black_box(&bytes);
    }
}
