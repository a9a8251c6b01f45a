//! The same of several nodes that share a store, any of which may fail at any moment.
//!
//! Nobody outside can say which node has sent a request, or when the others took over from it. But a job has one
//! attempt in flight at a time. So each job is judged by itself, as if one process had served it: that process is
//! over whenever something was delivered and never recorded. Whether somebody failed then is for the caller to
//! compare, by [`unrecorded`].

use std::collections::HashSet;

use jiff::Timestamp;
use punctual_model::{Cause, JobState, RecordStatus};
use punctual_recurrence::TICK;

use super::timeline::{cause, fits};
use super::{Evidence, JobEvidence, Judgement, Life, judge, shared_tags};

/// Judges what was seen of several nodes. The only life of the evidence is that of all of them together.
pub fn judge_nodes(evidence: &Evidence) -> Judgement {
    let mut judgement = Judgement { problems: shared_tags(evidence), ..Judgement::default() };
    for job in &evidence.jobs {
        // A call that was under way when a node failed came before that or behind it.
        let early = judge(&apart(job, evidence, |call| call.0));
        let found = if early.problems.is_empty() {
            early
        } else {
            let late = judge(&apart(job, evidence, |call| call.1));
            if late.problems.is_empty() { late } else { early }
        };
        judgement.problems.extend(found.problems);
        judgement.story = judgement.story.or(found.story);
        judgement.outcome_count += found.outcome_count;
        judgement.repeated_count += found.repeated_count;
        for (what, count) in found.coverage {
            *judgement.coverage.entry(what).or_default() += count;
        }
    }
    judgement
}

/// The deliveries that have no record, as indices: in flight when a node failed. Of a job that was deleted they are
/// those that were made again.
pub fn unrecorded(job: &JobEvidence) -> Vec<usize> {
    let Some(records) = &job.records else {
        let again = |index: usize| {
            let of = |delivery: &super::Delivery| (delivery.tag.clone(), delivery.attempt);
            job.deliveries[index + 1..].iter().any(|later| of(later) == of(&job.deliveries[index]))
        };
        return (0..job.deliveries.len()).filter(|index| again(*index)).collect();
    };
    let mut recorded = HashSet::new();
    for record in records {
        let mut deliveries = job.deliveries.iter().enumerate();
        let found = deliveries.find(|(index, delivery)| !recorded.contains(index) && fits(delivery, record));
        recorded.extend(found.map(|(index, _)| index));
    }
    (0..job.deliveries.len()).filter(|index| !recorded.contains(index)).collect()
}

/// Nodes can't know what another has begun: what it has claimed and is due counts as in flight, and the time behind it is
/// shown as the next. If it has failed that may be long before the attempt begins. For the oracle the occurrence is
/// still to come, whoever has claimed it.
fn show_what_was_claimed(job: &mut JobEvidence) {
    let records = job.records.as_ref().map_or(&[][..], |records| records);
    let first = |record: &&super::SeenRecord| {
        (record.attempt, record.error_action) == (0, false)
            && record.status != RecordStatus::Postponed
            && cause(job, record.nominal_at) == Cause::Schedule
    };
    let firsts: Vec<(Timestamp, Timestamp)> =
        records.iter().filter(first).map(|record| (record.nominal_at, record.started_at)).collect();
    for call in &mut job.calls {
        let (from, to) = (call.from, call.to);
        let due = firsts.iter().find(|(nominal_at, started_at)| *nominal_at <= to && *started_at > from);
        let (Some((nominal_at, started_at)), Some(shown)) = (due, &mut call.shown) else { continue };
        let Ok(timetable) = job.specs[shown.spec].timetable(*nominal_at) else { continue };
        let settled = shown.last_started_at.is_some_and(|last| last >= *started_at);
        if shown.state == JobState::Enabled && !settled && shown.next_at == timetable.next_after(*nominal_at)
        {
            shown.next_at = Some(*nominal_at);
        }
    }
}

/// One job with lives of its own, each call in the life of one of its two instants.
fn apart(
    job: &JobEvidence,
    evidence: &Evidence,
    instant: impl Fn((Timestamp, Timestamp)) -> Timestamp,
) -> Evidence {
    let mut job = job.clone();
    let ends: Vec<Timestamp> =
        unrecorded(&job).into_iter().map(|index| job.deliveries[index].to + TICK).collect();
    let life_at = |at: Timestamp| ends.iter().filter(|end| **end <= at).count();
    show_what_was_claimed(&mut job);
    for call in &mut job.calls {
        call.life = life_at(instant((call.from, call.to)));
    }
    for delivery in &mut job.deliveries {
        // An attempt is older than its arrival, and never older than the end of the one before.
        delivery.life = life_at(delivery.to);
        let begun = delivery.life.checked_sub(1).map(|before| ends[before]);
        delivery.from = begun.map_or(delivery.from, |begun| begun.max(delivery.from));
    }
    let whole = evidence.lives.first().copied();
    let from = whole.map_or(Timestamp::MIN, |life| life.from);
    let to = whole.map_or(Timestamp::MAX, |life| life.to);
    let starts = std::iter::once(from).chain(ends.iter().copied());
    let lives = starts
        .zip(ends.iter().copied().map(|end| (end, true)).chain([(to, false)]))
        .map(|(from, (to, killed))| Life { from, to, killed })
        .collect();
    Evidence { lives, jobs: vec![job], slack: evidence.slack }
}
