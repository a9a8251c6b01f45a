//! Claims to give back, until the store has released them.

use std::time::Duration;

use punctual_model::{Chain, JobId};
use punctual_store::{Fence, Trouble};

use super::{Machine, TROUBLE_PAUSE};
use crate::Event;

/// The most claims per release.
const BATCH_MAX: usize = 1_024;

/// Claims to give back.
#[derive(Default)]
pub(super) struct Releasing {
    waiting: Vec<(Fence, JobId)>,
    /// Claims that the store is being asked to release.
    out: Vec<(Fence, JobId)>,
    /// Not before this uptime.
    at: Duration,
}

impl Machine {
    /// Takes dropped claims: their slots are free at once, the claims as soon as the store has released them.
    pub(super) fn take_dropped(&mut self, uptime: Duration) {
        for returned in self.dropped_claims.take() {
            if returned.going {
                let next = self.slots.leave_by(&returned.target, &returned.collection, uptime);
                self.go_all(next);
            }
            self.free_slot(uptime);
            self.releasing.waiting.push((returned.fence, returned.job));
        }
    }

    /// The claims that the store is to release now.
    pub(super) fn next_release(&mut self, uptime: Duration) -> Option<Vec<Fence>> {
        let Releasing { waiting, out, at } = &mut self.releasing;
        if waiting.is_empty() || uptime < *at || !out.is_empty() {
            return None;
        }
        out.extend(waiting.drain(..waiting.len().min(BATCH_MAX)));
        Some(out.iter().map(|(fence, _)| *fence).collect())
    }

    /// When to give claims back; none if there are none.
    pub(super) fn release_at(&self) -> Option<Duration> {
        (!self.releasing.waiting.is_empty()).then_some(self.releasing.at)
    }

    /// The store has released claims, or failed: then it is asked again.
    pub(crate) fn released(&mut self, result: Result<(), Trouble>, uptime: Duration) {
        let out = std::mem::take(&mut self.releasing.out);
        match result {
            Ok(()) => {
                for (fence, job) in out {
                    self.observer.hear(&Event::GivenBack { fence, job });
                }
            }
            Err(trouble) => {
                let count = out.len();
                tracing::error!(error = %Chain(&trouble), count, "could not give claims back; trying again");
                self.releasing.waiting.extend(out);
                self.releasing.at = uptime + TROUBLE_PAUSE;
            }
        }
    }
}
