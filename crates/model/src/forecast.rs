//! When a job is going to run, as far as its rule says today.

use jiff::Timestamp;
use punctual_recurrence::{TICK, Timetable};

use crate::decide::{next_execution_at, pass_ahead};
use crate::{Job, OccurrenceRange};

/// The scheduled occurrences of a job that are still to come.
pub struct Forecast<'a> {
    timetable: Timetable,
    ahead: &'a [OccurrenceRange],
    next: Option<Timestamp>,
    /// How many are left; none if there is no end.
    left: Option<u64>,
    repeats: bool,
}

impl<'a> Forecast<'a> {
    /// Those from an instant on. None if the job or its collection is disabled, if it has ended, or if its rule can't be read.
    pub fn new(job: &'a Job, collection_enabled: bool, from: Timestamp) -> Option<Self> {
        let first = next_execution_at(job, collection_enabled, false)?;
        let timetable = job.spec.timetable(job.put_at).ok()?;
        let mut left =
            timetable.count().map(|count| u64::from(count.saturating_sub(job.progress.started_count)));
        let (ahead, repeats) = (&job.progress.ahead[..], job.spec.recurrence.is_some());
        let mut next = Some(first).filter(|first| repeats || *first >= from);
        if repeats && first < from {
            let passed = timetable.count_between(first - TICK, from - TICK);
            left = left.map(|left| left.saturating_sub(passed));
            next = timetable.at_or_after(from).and_then(|at| pass_ahead(ahead, &timetable, at));
        }
        Some(Self { timetable, ahead, next, left, repeats })
    }
}

impl Iterator for Forecast<'_> {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        if self.left == Some(0) {
            return None;
        }
        let at = self.next?;
        self.left = self.left.map(|left| left - 1);
        let behind = self.repeats.then(|| self.timetable.next_after(at)).flatten();
        self.next = behind.and_then(|at| pass_ahead(self.ahead, &self.timetable, at));
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use punctual_recurrence::{Frequency, Rule};

    use super::*;
    use crate::{
        Action, ActionKind, CollectionKey, Counters, Entry, HttpAction, JobId, JobSpec, JobState, Progress,
    };

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    /// A job that is due at a minute and has started so often before.
    fn job(rule: Option<Rule>, due: i64, started_count: u32) -> Job {
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
        let spec = JobSpec { start_at: Some(at(0)), recurrence: rule, ..JobSpec::once(action) };
        Job {
            id: JobId(1),
            key: CollectionKey::new("s", "g", "c").job("j"),
            spec: Arc::new(spec),
            state: JobState::Enabled,
            generation: 1,
            put_at: at(0),
            counters: Counters::default(),
            last_started_at: None,
            progress: Progress {
                entry: Some(Entry::scheduled(at(due))),
                started_count,
                ..Progress::default()
            },
            revision: 1,
        }
    }

    fn minutes(job: &Job, from: i64) -> Vec<i64> {
        let forecast = Forecast::new(job, true, at(from)).unwrap();
        forecast.take(4).map(|at| at.as_second() / 60).collect()
    }

    #[test]
    fn a_job_runs_from_its_entry_on_as_often_as_its_count_leaves() {
        let mut rule = Rule::every(10, Frequency::Minute);
        assert_eq!(minutes(&job(Some(rule.clone()), 20, 2), 0), [20, 30, 40, 50]);
        assert_eq!(minutes(&job(Some(rule.clone()), 20, 2), 35), [40, 50, 60, 70]);
        rule.count = Some(5);
        assert_eq!(minutes(&job(Some(rule.clone()), 20, 2), 0), [20, 30, 40]);
        assert_eq!(minutes(&job(Some(rule), 20, 2), 35), [40]);
        assert_eq!(minutes(&job(None, 20, 0), 0), [20]);
        assert!(minutes(&job(None, 20, 0), 21).is_empty());
    }

    #[test]
    fn what_is_disabled_has_no_forecast() {
        let mut disabled = job(None, 20, 0);
        assert!(Forecast::new(&disabled, false, at(0)).is_none());
        disabled.state = JobState::Disabled;
        assert!(Forecast::new(&disabled, true, at(0)).is_none());
    }
}
