//! Whether the request of an attempt may still be sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use punctual_model::Go;

/// Asked right before the first byte of a request, when name, connection, TLS and token are ready. After
/// something was sent, the rest of the attempt continues.
#[derive(Clone)]
pub(crate) struct Permit(Option<Arc<State>>);

struct State {
    go: Go,
    sent: AtomicBool,
    refused: AtomicBool,
}

impl Permit {
    /// For requests that are not an attempt themselves.
    pub(crate) fn always() -> Self {
        Self(None)
    }

    pub(crate) fn of(go: &Go) -> Self {
        let state =
            || State { go: go.clone(), sent: AtomicBool::new(false), refused: AtomicBool::new(false) };
        Self((!go.is_always()).then(|| Arc::new(state())))
    }

    /// Whether it may be sent now.
    pub(crate) async fn may(&self) -> bool {
        let Some(state) = &self.0 else { return true };
        if state.sent.load(Ordering::Acquire) {
            return true;
        }
        let may = state.go.may().await;
        state.refused.fetch_or(!may, Ordering::AcqRel);
        may
    }

    /// Something of it may have been sent.
    pub(crate) fn note_sent(&self) {
        if let Some(state) = &self.0 {
            state.sent.store(true, Ordering::Release);
        }
    }

    /// Whether it was not sent because it was not permitted.
    pub(crate) fn refused(&self) -> bool {
        self.0.as_ref().is_some_and(|state| state.refused.load(Ordering::Acquire))
    }
}
