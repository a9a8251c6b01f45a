//! Whether an attempt may still be sent, if leases can end.

use std::sync::Arc;

use punctual_model::{Asked, Go, Permission};
use punctual_store::{BEGUN_IS_GOOD_FOR, BootInstant, Fence};

use crate::context::RunnerContext;
use crate::hold::Hold;

/// The permission of an attempt. If leases never end, it may always be sent.
pub(crate) fn of(context: &Arc<RunnerContext>, hold: &Hold) -> Go {
    match (context.standing().valid_until, hold.begun_at) {
        (Some(_), Some(begun_at)) => Go::asking(Arc::new(Asking {
            context: Arc::clone(context),
            fence: hold.fence,
            lease: hold.lease,
            begun_at,
        })),
        (_, _) => Go::always(),
    }
}

struct Asking {
    context: Arc<RunnerContext>,
    fence: Fence,
    lease: u64,
    /// When the claim was last confirmed.
    begun_at: BootInstant,
}

impl Permission for Asking {
    fn ask(&self) -> Asked<'_> {
        Box::pin(async {
            if self.holds_since(self.begun_at) {
                return true;
            }
            let Some(begun_at) = self.context.store.boot() else { return false };
            let again = self.context.store.begin(&[self.fence]).await;
            matches!(again.as_deref(), Ok([true])) && self.holds_since(begun_at)
        })
    }
}

impl Asking {
    /// Whether a confirmation at that time is still sufficient.
    fn holds_since(&self, begun_at: BootInstant) -> bool {
        let (standing, now) = (self.context.standing(), self.context.store.boot());
        let in_time = now.is_some_and(|now| now.0.saturating_sub(begun_at.0) <= BEGUN_IS_GOOD_FOR);
        standing.lease == self.lease && standing.may_fire && in_time
    }
}
