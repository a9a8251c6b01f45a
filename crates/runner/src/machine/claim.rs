//! Claims what is due soon, as long as there are slots.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::Chain;
use punctual_store::{Claim, ClaimAsk, Fence, Trouble};

use super::{Machine, TROUBLE_PAUSE};
use crate::Event;
use crate::hold::Held;

/// The most entries per claim.
const BATCH_MAX: usize = 1_024;

/// Claiming is worth while only if one slot in this many is free; otherwise it waits. With few slots in total
/// each counts: the others may be taken by a hanging target.
const FREE_WORTH_CLAIMING_ONE_IN: usize = 64;

/// One slot in this many is reserved for what is due already: a herd that is claimed ahead must not delay a run
/// that somebody asks for meanwhile.
const KEPT_FOR_DUE_ONE_IN: usize = 4;

/// Faster wake-ups are combined: under load the agenda changes thousands of times a second.
const GATHER: Duration = Duration::from_millis(2);

/// The same under load. It delays what is due at once and nothing that was claimed ahead.
const GATHER_UNDER_LOAD: Duration = Duration::from_millis(10);

/// What comes into the look-ahead is combined for this part of it.
const IN_SIGHT_ONE_IN: u32 = 20;

/// The next step of the claimer.
#[derive(Debug)]
pub(crate) enum ClaimerStep {
    /// Gives claims back; to be answered by [`released`](Machine::released).
    Release(Vec<Fence>),
    /// Claims; to be answered by [`claimed`](Machine::claimed).
    Claim(ClaimAsk),
    /// Rest until then, or until it is woken.
    Rest(Rest),
    /// The lane has ended.
    Done,
}

/// How long a lane rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// The uptime of the runner.
    pub(crate) until: Duration,
    /// Something is due then by the clock; otherwise it is a plain pause.
    pub(crate) for_due: bool,
}

impl Rest {
    pub(super) fn pause(until: Duration) -> Self {
        Self { until, for_due: false }
    }

    /// Rests until it is woken.
    pub(super) fn for_ever() -> Self {
        Self { until: Duration::MAX, for_due: true }
    }
}

/// When to claim again.
#[derive(Default)]
pub(super) struct Claiming {
    /// Not before this uptime, because of what is due and what has changed.
    at: Duration,
    /// Not before this uptime, because the store failed.
    paused_until: Duration,
    /// Whether the agenda has changed since it was asked.
    changed: bool,
    /// The uptime when the agenda was last asked.
    asked_at: Duration,
    /// What was asked for last: how far ahead, and which targets were full.
    ahead: SignedDuration,
    /// A free slot would help.
    limited: bool,
}

impl Machine {
    /// The next step of the claimer. Claims to give back come first.
    pub(crate) fn claimer(&mut self, uptime: Duration) -> ClaimerStep {
        self.take_dropped(uptime);
        if let Some(fences) = self.next_release(uptime) {
            return ClaimerStep::Release(fences);
        }
        if self.stopping {
            return self.release_at().map_or(ClaimerStep::Done, |at| ClaimerStep::Rest(Rest::pause(at)));
        }
        if !self.standing.may_fire {
            return ClaimerStep::Rest(self.release_at().map_or(Rest::for_ever(), Rest::pause));
        }
        let at = self.claiming.at.max(self.claiming.paused_until);
        if uptime < at {
            let pausing = self.claiming.changed || uptime < self.claiming.paused_until;
            return ClaimerStep::Rest(match self.release_at() {
                Some(release_at) => Rest::pause(at.min(release_at)),
                None => Rest { until: at, for_due: !pausing },
            });
        }
        drop(self.slots.take_excess(uptime));
        // Gives back what is due much later than the look-ahead: the clock was set back since it was claimed.
        // It would occupy its slot until the wrong time comes.
        let far = self.clock.now().saturating_add(self.look_ahead().saturating_mul(2));
        self.waiting.give_back_after(far.unwrap_or(Timestamp::MAX));
        self.take_dropped(uptime);
        match self.next_release(uptime) {
            Some(fences) => ClaimerStep::Release(fences),
            None => self.claim(uptime),
        }
    }

    fn claim(&mut self, uptime: Duration) -> ClaimerStep {
        let (free, worth_claiming) = (self.slots.free(), self.worth_claiming());
        self.claiming.asked_at = uptime;
        self.claiming.changed = false;
        if free < worth_claiming {
            self.claiming.limited = true;
            self.claiming.at = uptime.saturating_add(self.settings.poll);
            return ClaimerStep::Rest(Rest { until: self.claiming.at, for_due: true });
        }
        let free_ahead = free.saturating_sub(self.settings.slots / KEPT_FOR_DUE_ONE_IN);
        let (ahead, room) = if free_ahead >= worth_claiming {
            (self.look_ahead(), free_ahead)
        } else {
            (SignedDuration::ZERO, free)
        };
        let until = self.clock.now().saturating_add(ahead).unwrap_or(Timestamp::MAX);
        let full_targets = self.slots.full_targets(uptime);
        self.claiming.ahead = ahead;
        self.claiming.limited = ahead.is_zero() || !full_targets.is_empty();
        // Until there is an answer: later changes are handled after it.
        self.claiming.at = Duration::MAX;
        self.seen.append(&mut self.settled);
        ClaimerStep::Claim(ClaimAsk { until, limit: room.min(BATCH_MAX), full_targets })
    }

    /// The store has answered. Returns whether to ask now when the next entry is due.
    pub(crate) fn claimed(
        &mut self,
        ask: &ClaimAsk,
        answer: Result<Vec<Claim>, Trouble>,
        uptime: Duration,
    ) -> bool {
        let claims = match answer {
            Ok(claims) => claims,
            Err(trouble) => {
                // The store logs outages itself.
                if trouble.outage().is_none() {
                    tracing::error!(error = %Chain(&trouble), "could not claim what is due; trying again");
                }
                self.seen.clear();
                self.claiming.at = uptime;
                self.pause_claiming(uptime);
                return false;
            }
        };
        let count = claims.len();
        self.tally.claimed += count as u64;
        self.slots.take(count);
        for claim in claims {
            self.observer.hear(&Event::Claimed(&claim));
            let mut held = Held::new(claim, self.standing.lease, &self.dropped_claims);
            if self.stopping || !self.standing.may_fire {
                // Dropping it gives it back.
                continue;
            }
            Self::pause_clock(self.clock.as_ref(), &mut held);
            self.hold(held);
        }
        if count == ask.limit {
            self.claiming.at = uptime;
        }
        count < ask.limit
    }

    /// The store has answered when the next entry is due that could be claimed.
    pub(crate) fn next_due(&mut self, answer: Result<Option<Timestamp>, Trouble>, uptime: Duration) {
        // The results of all claims that were settled before are claimed now, or will be in time.
        self.seen.clear();
        match answer {
            Ok(due_at) => {
                let ahead = self.claiming.ahead;
                let from = due_at.and_then(|due_at| due_at.saturating_sub(ahead).ok());
                let least = if ahead.is_zero() {
                    Duration::ZERO
                } else {
                    self.settings.look_ahead.unsigned_abs() / IN_SIGHT_ONE_IN
                };
                let wait = self.real_wait_until(from).max(least).min(self.settings.poll);
                self.claiming.at = self.claiming.at.min(uptime.saturating_add(wait));
            }
            Err(trouble) => {
                tracing::error!(error = %Chain(&trouble), "could not ask when the next entry is due; trying again");
                self.claiming.at = uptime;
                self.pause_claiming(uptime);
            }
        }
    }

    /// The agenda has changed.
    pub(crate) fn agenda_changed(&mut self, uptime: Duration) {
        let under_load = uptime.saturating_sub(self.claiming.asked_at) < GATHER_UNDER_LOAD;
        let gather = if under_load { GATHER_UNDER_LOAD } else { GATHER };
        self.claim_by(uptime + gather);
    }

    pub(super) fn slot_was_freed(&mut self, uptime: Duration) {
        if self.claiming.limited {
            self.claim_by(uptime + GATHER);
        }
    }

    /// Does not combine wake-ups: a clock that stands still until somebody looks would not move on.
    pub(super) fn claim_at_once(&mut self, uptime: Duration) {
        self.claim_by(uptime);
    }

    fn claim_by(&mut self, at: Duration) {
        self.claiming.changed = true;
        if at < self.claiming.at {
            self.claiming.at = at;
            self.wakes.claimer = true;
        }
    }

    /// The store failed: does not ask it again at once.
    pub(super) fn pause_claiming(&mut self, uptime: Duration) {
        self.claiming.paused_until = uptime + TROUBLE_PAUSE;
    }

    pub(super) fn worth_claiming(&self) -> usize {
        self.settings.slots.div_ceil(FREE_WORTH_CLAIMING_ONE_IN)
    }

    /// How far ahead to claim, in time of the schedule's clock: on a fast clock as long in real time.
    fn look_ahead(&self) -> SignedDuration {
        let seconds = self.settings.look_ahead.as_secs_f64() * self.clock.speed().max(1.0);
        SignedDuration::try_from_secs_f64(seconds).unwrap_or(SignedDuration::MAX)
    }

    /// The real time until an instant.
    fn real_wait_until(&self, at: Option<Timestamp>) -> Duration {
        let Some(at) = at else { return Duration::MAX };
        let distance = at.duration_since(self.clock.now()).as_secs_f64();
        Duration::try_from_secs_f64((distance / self.clock.speed()).max(0.0)).unwrap_or(Duration::MAX)
    }
}
