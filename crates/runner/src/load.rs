//! How busy a runner is, for whoever asks why something waits.

use std::sync::Arc;

use crate::Runner;
use crate::machine::Crowd;
use crate::parts::Parts;

/// Can be asked how busy a runner is, also while it runs.
pub struct Load {
    parts: Arc<Parts>,
}

impl Runner {
    /// How busy it is, to be asked while it runs.
    pub fn load(&self) -> Load {
        Load { parts: Arc::clone(&self.parts) }
    }
}

impl Load {
    pub(crate) fn crowd(&self) -> Crowd {
        self.parts.machine().crowd(self.parts.uptime())
    }
}
