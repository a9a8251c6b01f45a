//! What this node has claimed, and which of it is in flight.
//!
//! In the database a claim is a lease and a ticket, the number of the call that made it. Here each has a fence that is
//! never used twice in a process. A claim that was made again under another ticket replaces the older one of its job:
//! the answer to a claim may overtake the answer to the settlement before it.

use std::collections::{HashMap, HashSet};

use punctual_model::JobId;
use punctual_store::{Fence, HeldClaim};

/// The most jobs that are left out. With more, they are not the cause; all are tried again.
const LEFT_OUT_MAX: usize = 10_000;

/// What this node holds, by fence and by job.
#[derive(Debug)]
pub(crate) struct NodeClaims {
    next: u64,
    by_fence: HashMap<Fence, Held>,
    by_job: HashMap<JobId, Fence>,
    /// Jobs that can't be read: they are not claimed until they are edited here.
    left_out: HashSet<JobId>,
}

/// A claim as the database knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket {
    pub(crate) job: JobId,
    pub(crate) lease: i64,
    pub(crate) ticket: i64,
}

/// A claim that is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) ticket: Ticket,
    /// The revision of the job when it was claimed.
    pub(crate) revision: i64,
    /// The number of the job's collection.
    pub(crate) collection: i64,
    pub(crate) begun: bool,
    /// A settlement was sent and not answered.
    pub(crate) unsure: bool,
}

/// What happened to the claim of a job that is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakenBack {
    /// There was no claim.
    Free,
    /// It was claimed and not begun; now it is not held any more.
    Yes(Ticket),
    /// It is in flight and stays claimed.
    InFlight,
}

impl NodeClaims {
    /// No claims yet; the first fence will be the given one.
    pub(crate) fn new(first: u64) -> Self {
        Self { next: first, by_fence: HashMap::new(), by_job: HashMap::new(), left_out: HashSet::new() }
    }

    /// Enters a claim.
    pub(crate) fn enter(&mut self, ticket: Ticket, revision: i64, collection: i64) -> Fence {
        let fence = Fence(self.next);
        self.next = self.next.wrapping_add(1);
        if let Some(older) = self.by_job.insert(ticket.job, fence) {
            self.by_fence.remove(&older);
        }
        self.by_fence.insert(fence, Held { ticket, revision, collection, begun: false, unsure: false });
        fence
    }

    /// A claim, if it is held.
    pub(crate) fn held(&self, fence: Fence) -> Option<Held> {
        self.by_fence.get(&fence).copied()
    }

    /// Whether this very claim is held.
    pub(crate) fn knows(&self, ticket: Ticket) -> bool {
        let held = self.by_job.get(&ticket.job).and_then(|fence| self.by_fence.get(fence));
        held.is_some_and(|held| held.ticket == ticket)
    }

    /// Marks a claim as in flight; false if it is no longer held.
    pub(crate) fn begin(&mut self, fence: Fence) -> bool {
        self.by_fence.get_mut(&fence).is_some_and(|held| {
            held.begun = true;
            true
        })
    }

    /// A settlement of the claim was sent and not answered.
    pub(crate) fn set_unsure(&mut self, fence: Fence) {
        if let Some(held) = self.by_fence.get_mut(&fence) {
            held.unsure = true;
        }
    }

    /// Ends a claim; returns it, if it was held.
    pub(crate) fn end(&mut self, fence: Fence) -> Option<Held> {
        let held = self.by_fence.remove(&fence)?;
        if self.by_job.get(&held.ticket.job) == Some(&fence) {
            self.by_job.remove(&held.ticket.job);
        }
        Some(held)
    }

    /// Ends a claim whose job can't be read, and leaves the job out until it is edited. Otherwise it would be claimed
    /// again and again.
    pub(crate) fn leave_out(&mut self, fence: Fence) -> Option<Ticket> {
        let held = self.end(fence)?;
        if self.left_out.len() >= LEFT_OUT_MAX {
            self.left_out.clear();
        }
        self.left_out.insert(held.ticket.job);
        Some(held.ticket)
    }

    /// Takes the claim of a job back, because the job is edited, unless it is in flight.
    pub(crate) fn take_back(&mut self, job: JobId) -> TakenBack {
        self.left_out.remove(&job);
        let Some(&fence) = self.by_job.get(&job) else { return TakenBack::Free };
        if self.by_fence.get(&fence).is_some_and(|held| held.begun) {
            return TakenBack::InFlight;
        }
        self.end(fence).map_or(TakenBack::Free, |held| TakenBack::Yes(held.ticket))
    }

    /// Drops what is held under another lease and not begun: it belongs to others.
    pub(crate) fn drop_others(&mut self, lease: i64) {
        let others = self.by_fence.iter().filter(|(_, held)| held.ticket.lease != lease && !held.begun);
        let fences: Vec<Fence> = others.map(|(fence, _)| *fence).collect();
        for fence in fences {
            self.end(fence);
        }
    }

    /// Whether a job is claimed and begun.
    pub(crate) fn in_flight(&self, job: JobId) -> bool {
        self.by_job.get(&job).is_some_and(|fence| self.by_fence.get(fence).is_some_and(|held| held.begun))
    }

    /// The jobs that are left out, in no order.
    pub(crate) fn left_out(&self) -> Vec<i64> {
        self.left_out.iter().map(|job| job.0).collect()
    }

    /// All that are held, in no order.
    pub(crate) fn claims(&self) -> Vec<HeldClaim> {
        let claim = |(fence, held): (&Fence, &Held)| HeldClaim {
            fence: *fence,
            job: held.ticket.job,
            begun: held.begun,
        };
        self.by_fence.iter().map(claim).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(job: i64, lease: i64, ticket: i64) -> Ticket {
        Ticket { job: JobId(job), lease, ticket }
    }

    #[test]
    fn a_newer_claim_of_a_job_replaces_the_older_one() {
        let mut node_claims = NodeClaims::new(7);
        let old = node_claims.enter(ticket(1, 1, 1), 5, 1);
        let new = node_claims.enter(ticket(1, 1, 2), 6, 1);
        assert!(node_claims.held(old).is_none() && !node_claims.knows(ticket(1, 1, 1)));
        assert!(node_claims.end(old).is_none(), "the end of the older one leaves the newer");
        assert!(node_claims.knows(ticket(1, 1, 2)) && node_claims.begin(new));
        assert_eq!(node_claims.take_back(JobId(1)), TakenBack::InFlight);
    }

    #[test]
    fn what_is_not_begun_is_taken_back_and_what_is_begun_stays() {
        let mut node_claims = NodeClaims::new(0);
        assert_eq!(node_claims.take_back(JobId(1)), TakenBack::Free);
        let fence = node_claims.enter(ticket(1, 3, 4), 5, 1);
        assert_eq!(node_claims.take_back(JobId(1)), TakenBack::Yes(ticket(1, 3, 4)));
        assert!(!node_claims.begin(fence));
    }

    #[test]
    fn with_the_lease_what_is_not_begun_is_dropped() {
        let mut node_claims = NodeClaims::new(0);
        let (held, begun) =
            (node_claims.enter(ticket(1, 3, 1), 1, 1), node_claims.enter(ticket(2, 3, 1), 1, 1));
        let new = node_claims.enter(ticket(3, 4, 2), 1, 1);
        node_claims.begin(begun);
        node_claims.drop_others(4);
        assert_eq!((node_claims.held(held).is_some(), node_claims.held(begun).is_some()), (false, true));
        assert!(node_claims.held(new).is_some() && node_claims.in_flight(JobId(2)));
    }

    #[test]
    fn what_is_left_out_is_told_until_it_is_edited() {
        let mut node_claims = NodeClaims::new(0);
        let fence = node_claims.enter(ticket(1, 1, 1), 1, 1);
        assert_eq!(node_claims.leave_out(fence), Some(ticket(1, 1, 1)));
        assert_eq!((node_claims.left_out(), node_claims.claims().len()), (vec![1], 0));
        node_claims.take_back(JobId(1));
        assert_eq!(node_claims.left_out(), Vec::<i64>::new());
    }
}
