//! Whether an attempt may still be sent.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// Asked right before the first byte of a request: resolving names, connecting and fetching tokens may have
/// taken seconds since the attempt was begun, and the claim may belong to another node by now. If the answer is
/// no, nothing may be sent.
#[derive(Clone, Default)]
pub struct Go(Option<Arc<dyn Permission>>);

/// Decides whether an attempt may be sent.
pub trait Permission: Send + Sync {
    /// Whether it may be sent now.
    fn ask(&self) -> Asked<'_>;
}

/// The answer, as a future.
pub type Asked<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

impl Go {
    /// The attempt may always be sent, because no other node can have its claim.
    pub fn always() -> Self {
        Self(None)
    }

    /// The attempt may be sent if `permission` says so.
    pub fn asking(permission: Arc<dyn Permission>) -> Self {
        Self(Some(permission))
    }

    /// Whether it may always be sent.
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
