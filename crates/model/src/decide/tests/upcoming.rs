//! What a job has before it, and what a change of it adds and takes away.

use jiff::Timestamp;
use punctual_recurrence::{Frequency, Rule};

use super::world::{action, at};
use crate::decide::{Difference, EditContext, Instants, difference, patch, put, upcoming};
use crate::{CollectionKey, Job, JobSpec, JobState};

fn spec(rule: Option<Rule>) -> JobSpec {
    JobSpec { recurrence: rule, ..JobSpec::once(action()) }
}

fn context(now: Timestamp) -> EditContext {
    EditContext { now, collection_enabled: true }
}

fn hourly(count: i64) -> Job {
    let rule = Rule { count: Some(count), ..Rule::every(1, Frequency::Hour) };
    let key = CollectionKey::new("s", "g", "c").job("j");
    put(spec(Some(rule)), &key, None, context(at(0)))
}

#[test]
fn what_is_before_a_job_is_what_count_leaves_and_its_state_allows() {
    let mut job = hourly(3);
    let hours = |job: &Job, enabled: bool| -> Vec<Timestamp> { upcoming(job, enabled).take(9).collect() };
    assert_eq!(hours(&job, true), [at(0), at(3_600), at(7_200)]);
    assert_eq!(hours(&job, false), []);
    job.progress.entry = None;
    (job.progress.past_at, job.progress.started_count) = (Some(at(0)), 1);
    assert_eq!(hours(&job, true), [at(3_600), at(7_200)]);
    job.state = JobState::Disabled;
    assert_eq!(hours(&job, true), []);
}

#[test]
fn a_change_adds_and_takes_away_what_only_one_of_the_two_has() {
    let old = hourly(100);
    let changed = Rule { count: Some(100), ..Rule::every(2, Frequency::Hour) };
    let now = at(60);
    let patched = patch(spec(Some(changed.clone())), &old, context(now));
    let compare = |new: &Job, listed_max: usize| {
        difference(upcoming(&old, true), upcoming(new, true), (now, at(6 * 3_600)), listed_max)
    };
    let found = compare(&patched, 2);
    assert_eq!(found.added, Instants::default());
    assert_eq!(found.removed, Instants { count: 3, first: vec![at(3_600), at(3 * 3_600)] });
    let key = old.key.clone();
    let anew = put(spec(Some(changed)), &key, Some(&old), context(now));
    let found = compare(&anew, 9);
    assert_eq!(found.added.first, [at(60), at(2 * 3_600 + 60), at(4 * 3_600 + 60)]);
    assert_eq!((found.removed.count, found.added.count), (6, 3));
    assert_eq!(compare(&old, 9), Difference::default());
    let off = patch(JobSpec { enabled: false, ..spec(old.spec.recurrence.clone()) }, &old, context(now));
    assert_eq!(compare(&off, 9).removed.count, 6);
}
