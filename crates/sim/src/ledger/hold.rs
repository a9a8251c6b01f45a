//! A claim from the agenda to its end: it is claimed in time, begun only if nobody edited the job
//! meanwhile, and fired as the definition says.

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Cause, Entry, JobId, JobKey, Outcome};
use punctual_store::Fence;

use super::{Account, Claimed, Ledger, Shooting};

/// A claim that is less late than this is fired as it is.
const LATE: SignedDuration = SignedDuration::from_millis(50);

/// How long before it is due something may be claimed.
const LOOK_AHEAD: SignedDuration = SignedDuration::from_secs(1);

/// A claim.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) node: usize,
    pub(super) job: JobId,
    pub(super) key: JobKey,
    pub(super) generation: u32,
    pub(super) entry: Entry,
    /// The span that was open; none if the schedule was off.
    pub(super) span: Option<usize>,
    pub(super) drops: u32,
    pub(super) edits: u32,
    begun: bool,
    /// Its node died or lost it: whatever it still does must have no effect.
    pub(super) abandoned: bool,
    pub(super) shot: Option<Shot>,
}

/// An attempt that was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shot {
    pub(super) nominal_at: Timestamp,
    pub(super) started_at: Timestamp,
    pub(super) ended_at: Timestamp,
    pub(super) succeeded: Option<bool>,
}

impl Ledger {
    pub(crate) fn claimed(&mut self, node: usize, claims: Vec<Claimed>, now: Timestamp) {
        for Claimed { fence, job, key, entry } in claims {
            let (Some(entry), Some(account)) = (entry, self.accounts.get(&job)) else {
                self.blame(&key, "was claimed, and is not there or has no entry");
                continue;
            };
            let span = account.on().then(|| account.spans.len().wrapping_sub(1));
            let hold = Hold {
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
            self.holds.insert(fence.0, hold);
        }
    }

    /// Whether a job is claimed by somebody who may act on it.
    pub(crate) fn held(&self, job: JobId) -> bool {
        // An edit takes back what was not begun.
        let kept = |hold: &Hold| {
            hold.begun || self.accounts.get(&job).is_some_and(|account| account.edits == hold.edits)
        };
        self.holds.values().any(|hold| hold.job == job && !hold.abandoned && kept(hold))
    }

    pub(crate) fn begun(&mut self, fences: &[Fence], holds: &[bool]) {
        for (fence, holds) in fences.iter().zip(holds) {
            let Some(hold) = self.holds.get_mut(&fence.0) else {
                if *holds {
                    self.problems.push(format!("a claim was confirmed that nobody made: {fence:?}"));
                }
                continue;
            };
            let untouched = self.accounts.get(&hold.job).is_some_and(|account| account.edits == hold.edits);
            let valid = untouched && !hold.abandoned;
            hold.begun = *holds;
            if valid != *holds {
                let name = hold.key.name.clone();
                self.problems.push(format!("{name}: its claim was confirmed: {holds}, it must be {valid}"));
            }
            if !*holds {
                self.holds.remove(&fence.0);
                self.see("a claim was taken back by an edit");
            }
        }
    }

    /// The generation and the entry of a claim.
    pub(crate) fn claim_of(&self, fence: Fence) -> Option<(u32, Entry)> {
        self.holds.get(&fence.0).map(|hold| (hold.generation, hold.entry))
    }

    pub(crate) fn released(&mut self, fences: &[Fence]) {
        for fence in fences {
            self.holds.remove(&fence.0);
        }
    }

    /// A node has lost its claims. Their fences.
    pub(crate) fn abandon(&mut self, node: Option<usize>) -> Vec<Fence> {
        let mut fences = Vec::new();
        for (fence, hold) in &mut self.holds {
            if node.is_none_or(|node| node == hold.node) && !hold.abandoned {
                hold.abandoned = true;
                fences.push(Fence(*fence));
            }
        }
        fences.iter().for_each(|_| self.see("a claim was lost"));
        fences
    }

    /// A node has done whatever it will do with claims that it lost.
    pub(crate) fn forget(&mut self, node: usize) {
        self.holds.retain(|_, hold| hold.node != node || !hold.abandoned);
    }

    /// A node has learnt that it has lost its lease: what it has not fired by now it must not fire.
    pub(crate) fn cut_off(&mut self, node: usize) {
        self.holds.retain(|_, hold| hold.node != node || !hold.abandoned || hold.shot.is_some());
    }

    /// A node has stopped in good order: it must have nothing left.
    pub(crate) fn stopped(&mut self, node: usize) {
        // What an edit took back, the store has forgotten before its holder.
        let kept = |hold: &Hold| {
            hold.begun || self.accounts.get(&hold.job).is_some_and(|account| account.edits == hold.edits)
        };
        let own = self.holds.values().filter(|hold| hold.node == node && !hold.abandoned && kept(hold));
        let left: Vec<String> =
            own.map(|hold| format!("{}: is claimed by a node that has stopped", hold.key.name)).collect();
        self.extend(left);
    }

    pub(crate) fn fired(&mut self, node: usize, firing: &Shooting<'_>, now: Timestamp) {
        self.shot_count += 1;
        let name = firing.job.name.clone();
        let Some(hold) = self.begun_hold(node, firing.job) else {
            self.problems.push(format!("{name}: was fired without a claim that was confirmed"));
            return;
        };
        hold.shot =
            Some(Shot { nominal_at: firing.nominal_at, started_at: now, ended_at: now, succeeded: None });
        let (id, entry, edits, abandoned) = (hold.job, hold.entry, hold.edits, hold.abandoned);
        // What tells a run from others may be ahead of the clock, and so may what was started when the clock was.
        let first = entry.cause == Cause::Schedule && !entry.started();
        let early = first && entry.nominal_at.max(firing.nominal_at) > now;
        if entry.due_at > now || early {
            self.problems.push(format!("{name}: was fired at {now}, before its time: {entry:?}"));
        }
        let tagged = (id, entry.cause, firing.nominal_at, firing.step);
        if self.tags.contains_key(&tagged) && firing.attempt == 0 {
            self.see("an attempt was fired again");
        }
        let kind = [
            (entry.cause == Cause::Run, "a run was made"),
            (firing.attempt > 0, "a retry was made"),
            (firing.step > 0, "an error action was made"),
            (firing.nominal_at > entry.nominal_at, "a newer occurrence was taken"),
        ];
        kind.iter().filter(|(seen, _)| *seen).for_each(|(_, what)| self.see(what));
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
            let problems = account.check_shot(entry, firing, now);
            self.extend(problems);
        }
    }

    pub(crate) fn answered(&mut self, node: usize, job: &JobKey, outcome: &Outcome, now: Timestamp) {
        if let Some(shot) = self.begun_hold(node, job).and_then(|hold| hold.shot.as_mut()) {
            shot.ended_at = now.max(shot.started_at);
            shot.succeeded = Some(outcome.succeeded);
        }
    }

    /// The claim that a node is firing: one of the job that it has not answered yet.
    fn begun_hold(&mut self, node: usize, key: &JobKey) -> Option<&mut Hold> {
        let open = |hold: &&mut Hold| {
            let unanswered = hold.shot.is_none_or(|shot| shot.succeeded.is_none());
            hold.node == node && hold.key == *key && hold.begun && unanswered
        };
        self.holds.values_mut().find(|hold| open(hold))
    }
}

impl Account {
    /// Whether an attempt may be made, and made now.
    fn check_shot(&self, entry: Entry, firing: &Shooting<'_>, now: Timestamp) -> Vec<String> {
        let mut problems = Vec::new();
        let mut blame = |what: String| problems.push(format!("{}: {what}", self.key.name));
        let at = firing.nominal_at;
        let scheduled = entry.cause == Cause::Schedule;
        if (scheduled && !self.on()) || !self.shelf_on {
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
