//! Settlements: an attempt is recorded once, as it was; what follows it is as the policy says, to the
//! millisecond; what was skipped had to be skipped.

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Cause, Entry, JobSpec, JobState, Record, RecordStatus, Skip, SkipReason, Sku};
use punctual_store::Settled;

use super::account::{Main, Occurrence};
use super::claim::{FiredAttempt, TrackedClaim};
use super::{Account, Oracle, Settling};

impl Oracle {
    pub(crate) fn settled(&mut self, settlement: &Settling<'_>, answer: &Settled) {
        let fence = settlement.fence.0;
        self.cover_settlement(settlement, answer);
        let valid = self.tracked_claims.get(&fence).filter(|tracked| !tracked.abandoned);
        let Some(tracked) = valid else {
            if !matches!(answer, Settled::Lost) {
                let name = &settlement.job.name;
                self.problems.push(format!("{name}: was settled by somebody who has no claim: {answer:?}"));
            }
            return;
        };
        let account = self.accounts.get_mut(&tracked.job);
        let name = tracked.key.name.clone();
        match (answer, account) {
            (Settled::Recorded, Some(account)) => {
                let Some(expected_collection) = self.collections.get(&account.key.collection) else { return };
                let problems = account.settled(tracked, settlement, expected_collection.sku, !self.unsteady);
                let blamed = problems.into_iter().map(|problem| format!("{name}: {problem}"));
                self.problems.extend(blamed);
                self.tracked_claims.remove(&fence);
            }
            (Settled::Changed(..), Some(account)) if account.edits != tracked.edits => {}
            (Settled::Gone, None) => {
                self.tracked_claims.remove(&fence);
            }
            (answer, _) => self.problems.push(format!("{name}: a settlement was answered {answer:?}")),
        }
    }

    fn cover_settlement(&mut self, settlement: &Settling<'_>, answer: &Settled) {
        match answer {
            Settled::Lost => self.cover("a settlement came too late"),
            Settled::Gone => self.cover("a settlement found its job deleted"),
            Settled::Changed(..) => self.cover("a settlement found its job edited"),
            Settled::Recorded => {
                let of_record = settlement.records.first().map(|record| record.generation);
                let postponed = |record: &Record| record.status == RecordStatus::Postponed;
                let reason = |wanted| settlement.skips.iter().any(|skip: &Skip| skip.reason == wanted);
                let seen = [
                    (settlement.records.iter().any(postponed), "an occurrence was postponed"),
                    (reason(SkipReason::Missed), "something was skipped as missed"),
                    (reason(SkipReason::Overlap), "something was skipped as overlapping"),
                    (
                        of_record != settlement.generation.or(of_record),
                        "a settlement was of an older generation",
                    ),
                    (settlement.state == Some(JobState::Completed), "a job became completed"),
                    (settlement.state == Some(JobState::Faulted), "a job became faulted"),
                ];
                seen.iter().filter(|(seen, _)| *seen).for_each(|(_, what)| self.cover(what));
            }
        }
    }
}

impl Account {
    fn settled(
        &mut self,
        tracked: &TrackedClaim,
        settlement: &Settling<'_>,
        sku: Sku,
        steady: bool,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        let attempts = settlement.records.iter().filter(|record| record.status != RecordStatus::Postponed);
        let [record] = attempts.collect::<Vec<_>>()[..] else {
            return vec![format!("a settlement has not one attempt: {:?}", settlement.records)];
        };
        let removed = self.spec.action.step(tracked.entry.step).is_none();
        match tracked.shot {
            Some(shot) => problems.extend(check_record(record, tracked, shot)),
            // An edit removed the step: there is nothing to fire, and that is recorded.
            None if removed && record.status == RecordStatus::Failed => {}
            None => problems.push("was settled before it was fired".into()),
        }
        for record in settlement.records {
            let postponed = record.status == RecordStatus::Postponed;
            let Record { generation, cause, nominal_at, step, attempt, .. } = *record;
            let new = self.attempts.insert((generation, cause, nominal_at, step, attempt, postponed));
            // One that had to wait may have waited at the wrong time already, before the clock was set back.
            if !new && (!postponed || steady) {
                problems.push(format!("{nominal_at} step {step} attempt {attempt} has two records"));
            }
            if new {
                self.records.push(record.clone());
            }
        }
        let dropped = self.drops != tracked.drops;
        let retries = retries(&self.spec, record.step, sku);
        let again = !dropped && record.attempt < retries.1;
        problems.extend(self.note_attempt(record, tracked, again));
        problems.extend(self.note_skips(settlement.skips, record, tracked, steady));
        if !dropped {
            problems.extend(self.check_next(record, settlement, retries));
        }
        problems
    }

    /// Adds an attempt to its occurrence.
    fn note_attempt(&mut self, record: &Record, tracked: &TrackedClaim, again: bool) -> Vec<String> {
        let mut problems = Vec::new();
        let Record { generation, cause, nominal_at, .. } = *record;
        let of_now = generation == self.generation;
        let failed = record.status == RecordStatus::Failed;
        let occurrence = (generation, cause, nominal_at);
        let expected = self.execution_count(generation) + 1;
        if !tracked.entry.started() {
            self.last_started_at = Some(record.started_at);
            let begun = Occurrence { ordinal: expected, started_at: record.started_at, main: Main::Pending };
            let twice = cause == Cause::Run
                && self.occurrences.keys().any(|(_, of, at)| (*of, *at) == (Cause::Run, nominal_at));
            if self.occurrences.insert(occurrence, begun).is_some() || twice {
                problems.push(format!("{cause:?} {nominal_at} was started twice"));
            }
            if cause == Cause::Run && self.runs_started() > self.runs_accepted {
                problems.push(format!("a run was made at {nominal_at} that nobody asked for"));
            }
            if cause == Cause::Schedule && of_now {
                self.note_past(nominal_at);
            }
        }
        let Some(known) = self.occurrences.get_mut(&occurrence) else {
            problems.push(format!("{nominal_at} was retried without a first attempt"));
            return problems;
        };
        if known.ordinal != record.ordinal {
            problems
                .push(format!("{nominal_at} has ordinal {}, it must be {}", record.ordinal, known.ordinal));
        }
        if record.step == 0 {
            known.main = match (failed, again) {
                (false, _) => Main::Succeeded,
                (true, true) => Main::Pending,
                (true, false) => Main::Failed,
            };
            if failed && of_now {
                self.note_failure();
            }
        }
        problems
    }

    fn note_skips(
        &mut self,
        skips: &[Skip],
        record: &Record,
        tracked: &TrackedClaim,
        steady: bool,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        let occurrence = (record.generation, record.cause, record.nominal_at);
        let begun_at = self.occurrences.get(&occurrence).map_or(record.started_at, |known| known.started_at);
        let of_now = record.generation == self.generation;
        let (missed, overlapped): (Vec<&Skip>, Vec<&Skip>) =
            skips.iter().partition(|skip| skip.reason == SkipReason::Missed);
        self.skips.extend(skips.iter().cloned());
        for (place, skip) in missed.iter().enumerate() {
            // A skip may continue after what was started ahead of the clock.
            let elsewhere = place == 0 && skip.first_at != tracked.entry.nominal_at;
            if elsewhere || skip.last_at >= record.nominal_at {
                problems.push(format!("what was skipped as missed was not: {skip:?}"));
            }
            if of_now {
                self.note_past(skip.last_at);
            }
        }
        let scheduled = record.cause == Cause::Schedule && !tracked.entry.started();
        if let Some(span) = tracked.span.and_then(|index| self.spans.get_mut(index)) {
            problems.extend(missed.iter().filter_map(|skip| span.skipped(skip).err()));
            if scheduled {
                problems.extend(span.started(record.nominal_at).err());
            }
        }
        if scheduled
            && of_now
            && tracked.span != Some(self.spans.len().wrapping_sub(1))
            && let Some(span) = self.open()
        {
            span.pass(record.nominal_at);
        }
        for skip in overlapped {
            // After a run that waited itself, they may have been due before it began.
            let before = skip.first_at < begun_at && record.cause == Cause::Schedule && steady;
            if before || skip.last_at > record.ended_at {
                problems
                    .push(format!("what was skipped as overlapping did not overlap {begun_at}: {skip:?}"));
            }
            self.note_past(skip.last_at);
            match self.open() {
                Some(span) => problems.extend(span.skipped(skip).err()),
                None => problems.push(format!("something was skipped while the job was off: {skip:?}")),
            }
        }
        problems
    }

    /// What follows an attempt: the next one by the policy, or what is next for the job.
    fn check_next(
        &mut self,
        record: &Record,
        settlement: &Settling<'_>,
        (interval, count): (SignedDuration, u32),
    ) -> Vec<String> {
        let failed = record.status == RecordStatus::Failed;
        let attempt = Entry {
            nominal_at: record.nominal_at,
            due_at: record.ended_at,
            cause: record.cause,
            step: record.step,
            attempt: record.attempt,
            ordinal: record.ordinal,
        };
        // An edit may have removed the step.
        let there = self.spec.action.step(record.step).is_some();
        let expected = if failed && there && record.attempt < count {
            Some(Entry { attempt: record.attempt + 1, due_at: record.ended_at + interval, ..attempt })
        } else if failed && self.spec.action.step(record.step + 1).is_some() {
            Some(Entry { step: record.step + 1, attempt: 0, ..attempt })
        } else {
            None
        };
        self.pending = expected;
        if expected.is_some() {
            let wrong = settlement.next.filter(|next| *next != expected);
            return Vec::from_iter(wrong.map(|next| format!("{next:?} follows, it must be {expected:?}")));
        }
        self.check_release(record, settlement)
    }

    /// An occurrence is over: the newest one that came due meanwhile is released, unless a run goes first.
    fn check_release(&mut self, record: &Record, settlement: &Settling<'_>) -> Vec<String> {
        let mut problems = Vec::new();
        let now = record.ended_at;
        let newest = self.newest_due(now);
        let postponed = settlement.records.iter().find(|record| record.status == RecordStatus::Postponed);
        let told = postponed.map(|record| record.nominal_at);
        if let Some(postponed) = postponed
            && (postponed.started_at, postponed.ended_at) != (postponed.nominal_at, now)
        {
            problems.push(format!("a postponed occurrence has other times: {postponed:?}"));
        }
        let Some(entry) = settlement.next else {
            // What it put on the agenda nobody has seen: unless a run goes first, it is the newest.
            if told != newest && (told.is_some() || self.runs_waiting() == 0) {
                problems.push(format!("{told:?} is recorded as postponed, and {newest:?} waited"));
            }
            return problems;
        };
        if entry.is_some_and(|entry| entry.started()) {
            problems.push(format!("{entry:?} follows an occurrence that is over"));
        }
        let scheduled = entry.filter(|entry| entry.cause == Cause::Schedule);
        let waited = scheduled.filter(|entry| entry.nominal_at <= now).map(|entry| entry.nominal_at);
        if waited != told {
            problems.push(format!("{waited:?} waited, and {told:?} is recorded as postponed"));
        }
        let bounded = self.spec.recurrence.is_some() && !self.count_is_used_up();
        if bounded && scheduled.is_some() && newest != waited {
            problems.push(format!("{waited:?} is released, and the newest is {newest:?}"));
        }
        problems
    }

    /// The newest due occurrence of the schedule without an outcome.
    fn newest_due(&mut self, now: Timestamp) -> Option<Timestamp> {
        if self.spec.recurrence.is_none() || self.count_is_used_up() {
            return None;
        }
        self.open().and_then(|span| span.newest_due(now))
    }
}

fn check_record(record: &Record, tracked: &TrackedClaim, shot: FiredAttempt) -> Option<String> {
    let FiredAttempt { nominal_at, started_at, ended_at, succeeded } = shot;
    let status = if succeeded == Some(true) { RecordStatus::Completed } else { RecordStatus::Failed };
    let told = (record.generation, record.nominal_at, record.started_at, record.ended_at, record.status);
    let entry = tracked.entry;
    let same = told == (tracked.generation, nominal_at, started_at, ended_at, status)
        && (record.cause, record.step, record.attempt) == (entry.cause, entry.step, entry.attempt);
    (!same).then(|| format!("{record:?} is recorded of {shot:?}"))
}

/// The policy of a step: its own, else that of the main action, else that of the plan.
pub(super) fn retries(spec: &JobSpec, step: u8, sku: Sku) -> (SignedDuration, u32) {
    let usual = SignedDuration::from_secs(if sku == Sku::Free { 3_600 } else { 30 });
    let own = spec.action.step(step).and_then(|action| action.retry.as_ref());
    match own.or(spec.action.retry.as_ref()) {
        None => (usual, 4),
        Some(policy) if !policy.fixed => (usual, 0),
        Some(policy) => (policy.interval.unwrap_or(usual), policy.count.unwrap_or(4)),
    }
}
