//! The claims of a store that is owned by one process.
//!
//! They are kept in memory, so that claiming costs no write and a crash releases everything. Both stores that
//! keep claims in memory use this type, so that taking back and fencing mean the same in each.

use std::collections::{HashMap, HashSet};

use punctual_model::JobId;

use crate::{Fence, HeldClaim};

/// The most jobs that are left out. With more, they are not the cause; all are tried again.
const LEFT_OUT_MAX: usize = 10_000;

/// The claims that are held, by fence and by job. A job has at most one.
#[derive(Debug)]
pub struct Claims {
    next: u64,
    by_fence: HashMap<Fence, Held>,
    by_job: HashMap<JobId, Fence>,
    /// Jobs that can't be read: they are not claimed until they are edited.
    left_out: HashSet<JobId>,
}

#[derive(Debug)]
struct Held {
    job: JobId,
    begun: bool,
}

/// What happened to the claim of a job that is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenBack {
    /// There was no claim.
    Free,
    /// It was claimed and not begun; now the claim is gone.
    Yes,
    /// It is in flight and stays claimed.
    InFlight,
}

impl Claims {
    /// No claims yet; the first fence will be the given one.
    pub fn new(first: u64) -> Self {
        Self { next: first, by_fence: HashMap::new(), by_job: HashMap::new(), left_out: HashSet::new() }
    }

    /// Claims a job; none if it is claimed already, or left out.
    pub fn claim(&mut self, job: JobId) -> Option<Fence> {
        if !self.free(job) {
            return None;
        }
        let fence = Fence(self.next);
        self.next = self.next.wrapping_add(1);
        self.by_fence.insert(fence, Held { job, begun: false });
        self.by_job.insert(job, fence);
        Some(fence)
    }

    /// Marks a claim as in flight; false if it is no longer held.
    pub fn begin(&mut self, fence: Fence) -> bool {
        self.by_fence.get_mut(&fence).is_some_and(|held| {
            held.begun = true;
            true
        })
    }

    /// The job of a claim, if it is held.
    pub fn job(&self, fence: Fence) -> Option<JobId> {
        self.by_fence.get(&fence).map(|held| held.job)
    }

    /// Whether a job can be claimed.
    pub fn free(&self, job: JobId) -> bool {
        !self.by_job.contains_key(&job) && !self.left_out.contains(&job)
    }

    /// Gives a claim back whose job can't be read, and leaves the job out until it is edited. Otherwise it
    /// would be claimed again and again.
    pub fn leave_out(&mut self, fence: Fence) {
        let Some(job) = self.end(fence) else { return };
        if self.left_out.len() >= LEFT_OUT_MAX {
            self.left_out.clear();
        }
        self.left_out.insert(job);
    }

    /// The jobs that are left out, in no order.
    pub fn left_out(&self) -> impl Iterator<Item = JobId> + '_ {
        self.left_out.iter().copied()
    }

    /// Whether a job is claimed.
    pub fn claimed(&self, job: JobId) -> bool {
        self.by_job.contains_key(&job)
    }

    /// Whether a job is claimed and begun.
    pub fn in_flight(&self, job: JobId) -> bool {
        self.by_job.get(&job).is_some_and(|fence| self.by_fence[fence].begun)
    }

    /// Takes the claim of a job back, because the job is edited, unless it is in flight.
    pub fn take_back(&mut self, job: JobId) -> TakenBack {
        self.left_out.remove(&job);
        match self.by_job.get(&job) {
            None => TakenBack::Free,
            Some(fence) if self.by_fence[fence].begun => TakenBack::InFlight,
            Some(&fence) => {
                self.end(fence);
                TakenBack::Yes
            }
        }
    }

    /// Ends a claim; returns its job, if it was held.
    pub fn end(&mut self, fence: Fence) -> Option<JobId> {
        let held = self.by_fence.remove(&fence)?;
        self.by_job.remove(&held.job);
        Some(held.job)
    }

    /// All that are held, in no order.
    pub fn held(&self) -> impl Iterator<Item = HeldClaim> + '_ {
        self.by_fence.iter().map(|(&fence, held)| HeldClaim { fence, job: held.job, begun: held.begun })
    }

    /// How many are held.
    pub fn len(&self) -> usize {
        self.by_fence.len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.by_fence.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_claimed_once_and_fences_do_not_repeat() {
        let mut claims = Claims::new(5);
        let first = claims.claim(JobId(1)).unwrap();
        assert_eq!(claims.claim(JobId(1)), None);
        assert_eq!(claims.end(first), Some(JobId(1)));
        assert_eq!(claims.end(first), None);
        assert_ne!(claims.claim(JobId(1)), Some(first));
    }

    #[test]
    fn what_is_left_out_is_not_claimed_until_it_is_edited() {
        let mut claims = Claims::new(0);
        let fence = claims.claim(JobId(1)).unwrap();
        claims.leave_out(fence);
        assert!(!claims.claimed(JobId(1)) && !claims.free(JobId(1)));
        assert_eq!((claims.claim(JobId(1)), claims.left_out().collect::<Vec<_>>()), (None, vec![JobId(1)]));
        assert_eq!(claims.take_back(JobId(1)), TakenBack::Free);
        assert!(claims.claim(JobId(1)).is_some());
        claims.leave_out(fence);
        assert!(claims.claimed(JobId(1)), "by a fence that does not hold nothing is left out");
    }

    #[test]
    fn however_many_are_left_out_the_claims_stay_small() {
        let mut claims = Claims::new(0);
        for job in 0..3 * i64::try_from(LEFT_OUT_MAX).unwrap() / 2 {
            let fence = claims.claim(JobId(job)).unwrap();
            claims.leave_out(fence);
        }
        assert!(claims.left_out().count() <= LEFT_OUT_MAX);
    }

    #[test]
    fn what_is_in_flight_is_not_taken_back() {
        let mut claims = Claims::new(0);
        assert_eq!(claims.take_back(JobId(1)), TakenBack::Free);
        let fence = claims.claim(JobId(1)).unwrap();
        assert_eq!(claims.take_back(JobId(1)), TakenBack::Yes);
        assert!(!claims.begin(fence));
        let fence = claims.claim(JobId(1)).unwrap();
        assert!(claims.begin(fence) && claims.in_flight(JobId(1)));
        assert_eq!(claims.take_back(JobId(1)), TakenBack::InFlight);
        assert_eq!(claims.job(fence), Some(JobId(1)));
    }
}
