//! How busy a runner is, for whoever asks why something waits.

use std::collections::HashSet;
use std::sync::Arc;

use punctual_store::Fence;

use crate::Runner;
use crate::claimer::FREE_WORTH_CLAIMING_ONE_IN;
use crate::runner::Parts;

/// Can be asked how busy a runner is, also while it runs.
pub struct Load {
    parts: Arc<Parts>,
}

/// Who waits for room, right now.
pub(crate) struct Crowd {
    /// There are too few free slots to claim anything.
    pub(crate) full: bool,
    /// Targets whose entries are passed over.
    pub(crate) targets: HashSet<String>,
    /// Claims that are due and wait for their target.
    pub(crate) parked: HashSet<Fence>,
}

impl Runner {
    /// How busy it is, to be asked while it runs.
    pub fn load(&self) -> Load {
        Load { parts: Arc::clone(&self.parts) }
    }
}

impl Load {
    pub(crate) fn crowd(&self) -> Crowd {
        let slots = &self.parts.slots;
        Crowd {
            full: slots.free() < self.parts.settings.slots.div_ceil(FREE_WORTH_CLAIMING_ONE_IN),
            targets: slots.passed_over().into_iter().collect(),
            parked: slots.parked(),
        }
    }
}
