//! Claims that are given back, until the store has taken them.

use std::time::Duration;

use punctual_model::{Chain, JobId};
use punctual_store::{Fence, Trouble};

use super::{Machine, TROUBLE_PAUSE};
use crate::Event;

/// How many are given back at once.
const BATCH_MAX: usize = 1_024;

/// What is to be given back.
#[derive(Default)]
pub(super) struct Releasing {
    waiting: Vec<(Fence, JobId)>,
    /// Those that the store is asked to take now.
    out: Vec<(Fence, JobId)>,
    /// Not before.
    at: Duration,
}

impl Machine {
    /// Takes in what was dropped since: slots are free at once, the claims as soon as the store knows.
    pub(super) fn take_returns(&mut self, uptime: Duration) {
        for returned in self.returns.take() {
            if returned.going {
                self.next_of(&returned.target, uptime);
            }
            self.free_slot(uptime);
            self.releasing.waiting.push((returned.fence, returned.job));
        }
    }

    /// What the store is to take back now.
    pub(super) fn next_release(&mut self, uptime: Duration) -> Option<Vec<Fence>> {
        let Releasing { waiting, out, at } = &mut self.releasing;
        if waiting.is_empty() || uptime < *at || !out.is_empty() {
            return None;
        }
        out.extend(waiting.drain(..waiting.len().min(BATCH_MAX)));
        Some(out.iter().map(|(fence, _)| *fence).collect())
    }

    /// When something is to be given back; none if nothing is.
    pub(super) fn release_at(&self) -> Option<Duration> {
        (!self.releasing.waiting.is_empty()).then_some(self.releasing.at)
    }

    /// The store has taken claims back, or could not: then it is asked again.
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
