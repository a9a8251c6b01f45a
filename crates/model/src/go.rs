//! Whether an attempt may still be sent.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// Asked by whoever carries out an attempt, right before the first byte of its request: names, connections and
/// tokens may have taken seconds since the attempt was begun, and what was good then may be somebody else's now. If the
/// answer is no, nothing may be sent.
#[derive(Clone, Default)]
pub struct Go(Option<Arc<dyn Permission>>);

/// Who says whether an attempt may be sent.
pub trait Permission: Send + Sync {
    /// Whether it may be sent now.
    fn ask(&self) -> Asked<'_>;
}

/// The answer to come.
pub type Asked<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

impl Go {
    /// What may always be sent, because nobody else can have it.
    pub fn always() -> Self {
        Self(None)
    }

    /// What may be sent if somebody says so.
    pub fn asking(permission: Arc<dyn Permission>) -> Self {
        Self(Some(permission))
    }

    /// Whether there is nobody to ask.
    pub fn is_always(&self) -> bool {
        self.0.is_none()
    }

    /// Whether it may be sent now.
    pub async fn may(&self) -> bool {
        match &self.0 {
            None => true,
            Some(permission) => permission.ask().await,
        }
    }
}

impl fmt::Debug for Go {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_always() { "Go::always" } else { "Go::asking" })
    }
}
