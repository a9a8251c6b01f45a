//! The latest outcomes of a job, for lists that show many jobs at once.
//!
//! The ledger answers for a window of time, with the help of the timetable. This answers for the last few occurrences, from their
//! records and skips alone, so that a page of two hundred jobs costs a bounded number of rows.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::ledger::OccurrenceOutcome;
use crate::{Cause, Job, Record, RecordStatus, Skip};

/// The latest records and skips of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentPast {
    /// By nominal time, the latest first.
    pub records: Vec<Record>,
    /// There are more records: those of the earliest occurrence may be incomplete.
    pub cut: bool,
    /// By their first occurrence, the latest first.
    pub skips: Vec<Skip>,
}

/// What became of an occurrence, or of some that were skipped together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentOutcome {
    /// The instant that the rule yields, or when the run was asked for; the last of those that were skipped.
    pub due_at: Timestamp,
    /// What became of it.
    pub outcome: OccurrenceOutcome,
    /// When its first attempt began.
    pub started_at: Option<Timestamp>,
    /// How many attempts its main action took so far.
    pub attempt_count: u32,
    /// What the target said last, if that was a failure.
    pub message: Option<String>,
    /// How many occurrences this is about: more than one only if they were skipped together.
    pub count: u64,
}

impl RecentPast {
    /// The latest outcomes of a job, the earliest of them first, at most `limit`.
    pub fn outcomes(&self, job: &Job, in_flight: bool, now: Timestamp, limit: usize) -> Vec<RecentOutcome> {
        let mut found: BTreeMap<(Timestamp, Cause), RecentOutcome> = BTreeMap::new();
        let incomplete = self.records.last().filter(|_| self.cut).map(|record| record.nominal_at);
        let whole = |record: &&Record| Some(record.nominal_at) != incomplete;
        for record in self.records.iter().filter(whole) {
            add(&mut found, record);
        }
        let entry = job.progress.entry.filter(|entry| entry.step == 0);
        if let Some(entry) = entry.filter(|entry| entry.started() || (in_flight && entry.due_at <= now)) {
            let running = in_flight && entry.due_at <= now;
            let outcome = if running { OccurrenceOutcome::Running } else { OccurrenceOutcome::Retrying };
            found.entry((entry.nominal_at, entry.cause)).or_insert_with(|| blank(entry.nominal_at)).outcome =
                outcome;
        }
        for skip in self.skips.iter().filter(|skip| incomplete.is_none_or(|at| skip.last_at > at)) {
            let place = (skip.last_at, Cause::Schedule);
            // If there is an attempt, that is what happened.
            found.entry(place).or_insert_with(|| RecentOutcome {
                outcome: OccurrenceOutcome::Skipped(skip.reason),
                count: skip.count,
                ..blank(skip.last_at)
            });
        }
        let surplus = found.len().saturating_sub(limit);
        found.into_values().skip(surplus).collect()
    }
}

fn add(found: &mut BTreeMap<(Timestamp, Cause), RecentOutcome>, record: &Record) {
    if record.step != 0 || record.status == RecordStatus::Postponed {
        return;
    }
    let one = found.entry((record.nominal_at, record.cause)).or_insert_with(|| blank(record.nominal_at));
    one.attempt_count += 1;
    let earlier = one.started_at.is_none_or(|started_at| record.started_at < started_at);
    if earlier {
        one.started_at = Some(record.started_at);
    }
    match record.status {
        RecordStatus::Completed => (one.outcome, one.message) = (OccurrenceOutcome::Succeeded, None),
        RecordStatus::Failed if one.outcome != OccurrenceOutcome::Succeeded => {
            // Attempts of an occurrence come in any order; the latest start has the last word.
            if !earlier || one.message.is_none() {
                one.message = Some(record.message.clone());
            }
        }
        RecordStatus::Failed | RecordStatus::Postponed => {}
    }
}

fn blank(due_at: Timestamp) -> RecentOutcome {
    RecentOutcome {
        due_at,
        outcome: OccurrenceOutcome::Failed,
        started_at: None,
        attempt_count: 0,
        message: None,
        count: 1,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        Action, ActionKind, CollectionKey, Counters, Entry, HttpAction, JobId, JobSpec, JobState, Progress,
        SkipReason,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn job(entry: Option<Entry>) -> Job {
        let http = HttpAction {
            declared_https: false,
            uri: "http://a/".to_owned(),
            user_info: None,
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: None,
            authentication: None,
        };
        let action = Action { kind: ActionKind::Http(http), retry: None, error_action: None };
        Job {
            id: JobId(1),
            key: CollectionKey::new("s", "g", "c").job("j"),
            spec: Arc::new(JobSpec::once(action)),
            state: JobState::Enabled,
            generation: 1,
            put_at: at(0),
            counters: Counters::default(),
            last_started_at: None,
            progress: Progress { entry, ..Progress::default() },
            revision: 1,
        }
    }

    fn record(nominal: i64, step: u8, attempt: u32, status: RecordStatus) -> Record {
        Record {
            job: JobId(1),
            generation: 1,
            nominal_at: at(nominal),
            cause: Cause::Schedule,
            step,
            attempt,
            ordinal: 1,
            started_at: at(nominal + i64::from(attempt)),
            ended_at: at(nominal + i64::from(attempt)),
            status,
            message: format!("attempt {attempt}"),
        }
    }

    #[test]
    fn the_latest_outcomes_come_in_the_order_of_their_times() {
        use RecordStatus::{Completed, Failed, Postponed};
        let skip = Skip {
            job: JobId(1),
            generation: 1,
            first_at: at(22),
            last_at: at(28),
            count: 4,
            reason: SkipReason::Overlap,
            decided_at: at(30),
        };
        let past = RecentPast {
            records: vec![
                record(40, 0, 0, Failed),
                record(30, 0, 0, Failed),
                record(30, 0, 1, Failed),
                record(30, 1, 0, Completed),
                record(20, 0, 0, Failed),
                record(20, 0, 1, Completed),
                record(20, 0, 0, Postponed),
                record(10, 0, 0, Completed),
            ],
            cut: false,
            skips: vec![skip],
        };
        let retry = Entry { attempt: 1, ordinal: 4, due_at: at(45), ..Entry::scheduled(at(40)) };
        let outcomes = past.outcomes(&job(Some(retry)), false, at(44), 30);
        let told: Vec<(i64, OccurrenceOutcome, u32, Option<&str>)> = outcomes
            .iter()
            .map(|one| (one.due_at.as_second(), one.outcome, one.attempt_count, one.message.as_deref()))
            .collect();
        use OccurrenceOutcome::{Retrying, Skipped, Succeeded};
        assert_eq!(
            told,
            [
                (10, Succeeded, 1, None),
                (20, Succeeded, 2, None),
                (28, Skipped(SkipReason::Overlap), 0, None),
                (30, OccurrenceOutcome::Failed, 2, Some("attempt 1")),
                (40, Retrying, 1, Some("attempt 0")),
            ]
        );
        assert_eq!(outcomes[2].count, 4);
        let running = past.outcomes(&job(Some(retry)), true, at(46), 2);
        assert_eq!(running.len(), 2);
        assert_eq!(running[1].outcome, OccurrenceOutcome::Running);
    }

    #[test]
    fn an_occurrence_whose_records_were_cut_is_left_out() {
        use RecordStatus::{Completed, Failed};
        let records = vec![record(20, 0, 0, Completed), record(10, 0, 1, Failed)];
        let past = RecentPast { records, cut: true, skips: Vec::new() };
        let outcomes = past.outcomes(&job(None), false, at(30), 30);
        assert_eq!(outcomes.iter().map(|one| one.due_at).collect::<Vec<_>>(), [at(20)]);
    }
}
