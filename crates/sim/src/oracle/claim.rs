//! A claim from the agenda to its end: it is claimed in time, begun only if the job was not edited meanwhile,
//! and fired as the definition says.

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Cause, Entry, JobId, JobKey, Outcome};
use punctual_store::Fence;

use super::{Account, Claimed, Oracle, SeenFiring};

/// A claim that is late by less than this is fired as it is.
const LATE: SignedDuration = SignedDuration::from_millis(50);

/// How long before it is due an entry may be claimed.
const LOOK_AHEAD: SignedDuration = SignedDuration::from_secs(1);

/// A claim.
#[derive(Clone, Debug)]
pub(super) struct TrackedClaim {
    pub(super) node: usize,
    pub(super) job: JobId,
    pub(super) key: JobKey,
    pub(super) generation: u32,
    pub(super) entry: Entry,
    /// The span that was open; none if the schedule was disabled.
    pub(super) span: Option<usize>,
    pub(super) drops: u32,
    pub(super) edits: u32,
    begun: bool,
    /// Its node died or lost it: whatever the node still does must have no effect.
    pub(super) abandoned: bool,
    pub(super) shot: Option<FiredAttempt>,
}

/// An attempt that was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct FiredAttempt {
    pub(super) nominal_at: Timestamp,
    pub(super) started_at: Timestamp,
    pub(super) ended_at: Timestamp,
    pub(super) succeeded: Option<bool>,
}

impl Oracle {
    pub(crate) fn claimed(&mut self, node: usize, claims: Vec<Claimed>, now: Timestamp) {
        for Claimed { fence, job, key, entry } in claims {
            let (Some(entry), Some(account)) = (entry, self.accounts.get(&job)) else {
                self.blame(&key, "was claimed, and is not there or has no entry");
                continue;
            };
            let span = account.on().then(|| account.spans.len().wrapping_sub(1));
            let tracked = TrackedClaim {
                node,
                job,
                key: key.clone(),
                generation: account.generation,
                entry,
                span,
                drops: account.drops,
                edits: account.edits,
                begun: false,
                abandoned: false,
                shot: None,
            };
            let pending = account.pending.filter(|pending| *pending != entry);
            if entry.due_at > now + LOOK_AHEAD {
                self.blame(&key, &format!("was claimed at {now}, long before its time: {entry:?}"));
            }
            if let Some(pending) = pending {
                self.blame(&key, &format!("{entry:?} was claimed, but {pending:?} comes first"));
            }
            if self.held(job) {
                self.blame(&key, "was claimed while it is claimed");
            }
            self.tracked_claims.insert(fence.0, tracked);
        }
    }

    /// Whether a job is claimed by a node that may act on it.
    pub(crate) fn held(&self, job: JobId) -> bool {
        // An edit takes back what was not begun.
        let kept = |tracked: &TrackedClaim| {
            tracked.begun || self.accounts.get(&job).is_some_and(|account| account.edits == tracked.edits)
        };
        self.tracked_claims.values().any(|tracked| tracked.job == job && !tracked.abandoned && kept(tracked))
    }

    pub(crate) fn begun(&mut self, fences: &[Fence], holds: &[bool]) {
        for (fence, holds) in fences.iter().zip(holds) {
            let Some(tracked) = self.tracked_claims.get_mut(&fence.0) else {
                if *holds {
                    self.problems.push(format!("a claim was confirmed that nobody made: {fence:?}"));
                }
                continue;
            };
            let untouched =
                self.accounts.get(&tracked.job).is_some_and(|account| account.edits == tracked.edits);
            let valid = untouched && !tracked.abandoned;
            tracked.begun = *holds;
            if valid != *holds {
                let name = tracked.key.name.clone();
                self.problems.push(format!("{name}: its claim was confirmed: {holds}, it must be {valid}"));
            }
            if !*holds {
                self.tracked_claims.remove(&fence.0);
                self.cover("a claim was taken back by an edit");
            }
        }
    }

    /// The generation and the entry of a claim.
    pub(crate) fn claim_of(&self, fence: Fence) -> Option<(u32, Entry)> {
        self.tracked_claims.get(&fence.0).map(|tracked| (tracked.generation, tracked.entry))
    }

    pub(crate) fn released(&mut self, fences: &[Fence]) {
        for fence in fences {
            self.tracked_claims.remove(&fence.0);
        }
    }

    /// A node has lost its claims. Returns their fences.
    pub(crate) fn abandon(&mut self, node: Option<usize>) -> Vec<Fence> {
        let mut fences = Vec::new();
        for (fence, tracked) in &mut self.tracked_claims {
            if node.is_none_or(|node| node == tracked.node) && !tracked.abandoned {
                tracked.abandoned = true;
                fences.push(Fence(*fence));
            }
        }
        fences.iter().for_each(|_| self.cover("a claim was lost"));
        fences
    }

    /// A node has done whatever it will do with claims that it lost.
    pub(crate) fn forget(&mut self, node: usize) {
        self.tracked_claims.retain(|_, tracked| tracked.node != node || !tracked.abandoned);
    }

    /// A node has learnt that it has lost its lease: what it has not fired by now it must not fire.
    pub(crate) fn cut_off(&mut self, node: usize) {
        self.tracked_claims
            .retain(|_, tracked| tracked.node != node || !tracked.abandoned || tracked.shot.is_some());
    }

    /// A node has stopped in good order: it must have no claim left.
    pub(crate) fn stopped(&mut self, node: usize) {
        // The store has forgotten a claim that an edit took back before its node does.
        let kept = |tracked: &TrackedClaim| {
            tracked.begun
                || self.accounts.get(&tracked.job).is_some_and(|account| account.edits == tracked.edits)
        };
        let own = self
            .tracked_claims
            .values()
            .filter(|tracked| tracked.node == node && !tracked.abandoned && kept(tracked));
        let left: Vec<String> = own
            .map(|tracked| format!("{}: is claimed by a node that has stopped", tracked.key.name))
            .collect();
        self.extend(left);
    }

    pub(crate) fn fired(&mut self, node: usize, firing: &SeenFiring<'_>, now: Timestamp) {
        self.attempt_count += 1;
        let name = firing.job.name.clone();
        let Some(tracked) = self.begun_claim(node, firing.job) else {
            self.problems.push(format!("{name}: was fired without a claim that was confirmed"));
            return;
        };
        tracked.shot = Some(FiredAttempt {
            nominal_at: firing.nominal_at,
            started_at: now,
            ended_at: now,
            succeeded: None,
        });
        let (id, entry, edits, abandoned) = (tracked.job, tracked.entry, tracked.edits, tracked.abandoned);
        // The instant that identifies a run may be ahead of the clock, and so may that of an occurrence started
        // ahead.
        let first = entry.cause == Cause::Schedule && !entry.started();
        let early = first && entry.nominal_at.max(firing.nominal_at) > now;
        if entry.due_at > now || early {
            self.problems.push(format!("{name}: was fired at {now}, before its time: {entry:?}"));
        }
        let tagged = (id, entry.cause, firing.nominal_at, firing.step);
        if self.tags.contains_key(&tagged) && firing.attempt == 0 {
            self.cover("an attempt was fired again");
        }
        let kind = [
            (entry.cause == Cause::Run, "a run was made"),
            (firing.attempt > 0, "a retry was made"),
            (firing.step > 0, "an error action was made"),
            (firing.nominal_at > entry.nominal_at, "a newer occurrence was taken"),
        ];
        kind.iter().filter(|(seen, _)| *seen).for_each(|(_, what)| self.cover(what));
        let first = self.tags.entry(tagged).or_insert_with(|| firing.tag.clone()).clone();
        let owner = *self.tagged.entry(firing.tag.clone()).or_insert(tagged);
        if first != firing.tag || owner != tagged {
            self.problems
                .push(format!("{name}: the execution tag {} is not that of its occurrence", firing.tag));
        }
        if abandoned {
            return;
        }
        if let Some(account) = self.accounts.get(&id).filter(|account| account.edits == edits) {
            let problems = account.check_attempt(entry, firing, now);
            self.extend(problems);
        }
    }

    pub(crate) fn answered(&mut self, node: usize, job: &JobKey, outcome: &Outcome, now: Timestamp) {
        if let Some(shot) = self.begun_claim(node, job).and_then(|tracked| tracked.shot.as_mut()) {
            shot.ended_at = now.max(shot.started_at);
            shot.succeeded = Some(outcome.succeeded);
        }
    }

    /// The claim that a node is firing: one of the job that it has not answered yet.
    fn begun_claim(&mut self, node: usize, key: &JobKey) -> Option<&mut TrackedClaim> {
        let open = |tracked: &&mut TrackedClaim| {
            let unanswered = tracked.shot.is_none_or(|shot| shot.succeeded.is_none());
            tracked.node == node && tracked.key == *key && tracked.begun && unanswered
        };
        self.tracked_claims.values_mut().find(|tracked| open(tracked))
    }
}

impl Account {
    /// Whether an attempt may be made, and made now.
    fn check_attempt(&self, entry: Entry, firing: &SeenFiring<'_>, now: Timestamp) -> Vec<String> {
        let mut problems = Vec::new();
        let mut blame = |what: String| problems.push(format!("{}: {what}", self.key.name));
        let at = firing.nominal_at;
        let scheduled = entry.cause == Cause::Schedule;
        if (scheduled && !self.on()) || !self.collection_on {
            blame(format!("{at} was fired while the job was off"));
        }
        if (firing.step, firing.attempt) != (entry.step, entry.attempt) {
            blame(format!("{at} was fired as another attempt than was claimed: {entry:?}"));
        }
        let caught_up = scheduled && !entry.started() && at > entry.nominal_at;
        if at != entry.nominal_at && !caught_up {
            blame(format!("{at} was fired instead of {}", entry.nominal_at));
        }
        let attempt = (self.generation, entry.cause, at, firing.step, firing.attempt, false);
        if self.attempts.contains(&attempt) {
            blame(format!("{at} step {} attempt {} was fired again", firing.step, firing.attempt));
        }
        if firing.action != &self.spec.action {
            blame(format!("{at} was fired by another definition than the job's"));
        }
        if !scheduled || entry.started() {
            return problems;
        }
        if self.count_is_used_up() {
            blame(format!("{at} was fired beyond the count"));
        }
        if let Some(rule) = &self.spec.recurrence {
            if !self.timetable.contains(at) {
                blame(format!("{at} was fired and is no occurrence"));
            }
            if rule.end_at.is_some_and(|end_at| at > end_at) {
                blame(format!("{at} was fired after the end"));
            }
            let newer = match self.spans.last() {
                Some(span) => span.next_after(at),
                None => self.timetable.next_after(at),
            };
            let newer = newer.filter(|newer| *newer <= now);
            if let Some(newer) = newer.filter(|_| now.duration_since(at) > LATE) {
                blame(format!("{at} was fired although {newer} is due as well"));
            }
        }
        problems
    }
}
