//! The attempts of a job in the order in which they were made: deliveries matched with records.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use punctual_model::{Cause, RecordStatus};

use super::{CallKind, Delivery, Evidence, JobEvidence, SeenRecord};

/// The attempts of a job, and how each process ended.
pub(super) struct Timeline {
    pub(super) tries: Vec<SeenAttempt>,
    pub(super) steps: Vec<Step>,
    pub(super) repeated_count: usize,
}

/// One step, as far as the order is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// An attempt began: its index.
    Begin(usize),
    /// It was recorded.
    Settle(usize),
    /// A process ended.
    End(usize),
}

/// An attempt.
#[derive(Clone, Debug)]
pub(super) struct SeenAttempt {
    pub(super) life: usize,
    pub(super) cause: Cause,
    pub(super) nominal_at: Timestamp,
    pub(super) attempt: u32,
    /// None if there was nothing to deliver: an edit had removed the action.
    pub(super) delivery: Option<Delivery>,
    /// None if it was in flight when the process was killed.
    pub(super) record: Option<SeenRecord>,
    /// The record of the occurrence that was released when it ended.
    pub(super) postponed: Option<SeenRecord>,
    /// Not later than its start.
    pub(super) from: Timestamp,
    /// Not earlier than its start.
    pub(super) to: Timestamp,
}

/// Matches deliveries with records, or says what does not match.
pub(super) fn timeline(job: &JobEvidence, evidence: &Evidence) -> Result<Timeline, Vec<String>> {
    let mut problems = Vec::new();
    let empty = Vec::new();
    let records = job.records.as_ref().unwrap_or(&empty);
    for earlier in job.earlier_records.iter().filter(|_| job.records.is_some()) {
        if !records.contains(earlier) {
            problems.push(format!("its history has lost {earlier:?}"));
        }
    }
    let mut tries = Vec::new();
    let mut claimed = HashSet::new();
    for (index, record) in records.iter().enumerate() {
        if records[..index].last().is_some_and(|before| before.sequence >= record.sequence) {
            problems.push(format!("{record:?} is out of order"));
        }
        if record.status == RecordStatus::Postponed {
            match tries.last_mut() {
                Some(SeenAttempt { postponed: postponed @ None, .. }) => *postponed = Some(record.clone()),
                Some(_) | None => problems.push(format!("{record:?} was released by nothing")),
            }
            continue;
        }
        let Some(life) = evidence.lives.iter().rposition(|life| life.from <= record.started_at) else {
            problems.push(format!("{record:?} is older than the first process"));
            continue;
        };
        let found = job.deliveries.iter().enumerate().position(|(index, delivery)| {
            delivery.life == life && !claimed.contains(&index) && fits(delivery, record)
        });
        if let Some(found) = found {
            claimed.insert(found);
        }
        let delivery = found.map(|found| job.deliveries[found].clone());
        let (from, to) = (record.started_at, record.started_at);
        tries.push(SeenAttempt {
            life,
            cause: cause(job, record.nominal_at),
            nominal_at: record.nominal_at,
            attempt: record.attempt,
            delivery,
            record: Some(record.clone()),
            postponed: None,
            from,
            to,
        });
    }
    let exact: HashMap<String, Timestamp> = tries
        .iter()
        .filter_map(|made| Some((made.delivery.as_ref()?.tag.clone(), made.nominal_at)))
        .collect();
    for (index, delivery) in job.deliveries.iter().enumerate() {
        if claimed.contains(&index) {
            continue;
        }
        let nominal_at = exact.get(&delivery.tag).copied().unwrap_or(delivery.expected_at);
        tries.push(SeenAttempt {
            life: delivery.life,
            cause: cause(job, nominal_at),
            nominal_at,
            attempt: delivery.attempt,
            delivery: Some(delivery.clone()),
            record: None,
            postponed: None,
            from: delivery.from,
            to: delivery.to,
        });
    }
    // Those without a record come last in their process; otherwise the oracle finds them in the way.
    tries.sort_by_key(|made| (made.life, made.to));
    if !problems.is_empty() {
        return Err(problems);
    }
    let repeated_count = repeated(&tries);
    Ok(Timeline { steps: steps(&tries, evidence), tries, repeated_count })
}

/// Whether a record can be that of a delivery.
pub(super) fn fits(delivery: &Delivery, record: &SeenRecord) -> bool {
    let second = |at: Timestamp| at.as_second();
    second(delivery.expected_at) == second(record.nominal_at)
        && delivery.attempt == record.attempt
        && (delivery.step > 0) == record.error_action
        && record.started_at <= delivery.to
        && record.ended_at >= delivery.from
}

/// Runs are asked for at any instant; schedules have whole seconds, unless nobody calls for runs.
pub(super) fn cause(job: &JobEvidence, nominal_at: Timestamp) -> Cause {
    let runs = job.calls.iter().any(|ask| ask.what == CallKind::Run);
    if runs && nominal_at.subsec_nanosecond() != 0 { Cause::Run } else { Cause::Schedule }
}

fn repeated(tries: &[SeenAttempt]) -> usize {
    let mut seen = BTreeSet::new();
    let delivered = tries.iter().filter_map(|made| made.delivery.as_ref());
    delivered.filter(|delivery| !seen.insert((&delivery.tag, delivery.attempt))).count()
}

fn steps(tries: &[SeenAttempt], evidence: &Evidence) -> Vec<Step> {
    let mut by_life: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, made) in tries.iter().enumerate() {
        by_life.entry(made.life).or_default().push(index);
    }
    let mut steps = Vec::new();
    for life in 0..evidence.lives.len() {
        for &index in by_life.get(&life).into_iter().flatten() {
            steps.push(Step::Begin(index));
            if tries[index].record.is_some() {
                steps.push(Step::Settle(index));
            }
        }
        steps.push(Step::End(life));
    }
    steps
}
