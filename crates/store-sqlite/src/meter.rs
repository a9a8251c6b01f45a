//! Who is told what each COMMIT has cost.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Is told of each COMMIT. It is called by the writer thread, so it must not block.
#[derive(Clone, Default)]
pub struct Meter(Option<Arc<Tell>>);

type Tell = dyn Fn(usize, Duration) + Send + Sync;

impl Meter {
    /// Is told how many writes a COMMIT has made durable, and how long it took.
    pub fn new(tell: impl Fn(usize, Duration) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    pub(crate) fn committed(&self, writes: usize, took: Duration) {
        if let Some(tell) = &self.0 {
            tell(writes, took);
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Meter").field(&self.0.is_some()).finish()
    }
}
