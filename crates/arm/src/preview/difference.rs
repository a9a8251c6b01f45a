//! What a change of a job would change about its due times.

use jiff::{SignedDuration, Timestamp};
use punctual_model::decide::{self, Difference, EditContext, Instants};
use punctual_model::{Cause, Entry, Job, JobSpec};
use serde_json::{Value, json};

use super::PreviewedJob;
use super::answer::problems;
use crate::job::DraftMethod;
use crate::time;

/// How far ahead due times are compared.
const AHEAD: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The most due times of each kind that are listed.
const LISTED_MAX: usize = 1_000;

impl PreviewedJob<'_> {
    /// The due times that writing the definition would add to those of the existing job, and take away from them.
    pub fn difference(&self, existing: &Job) -> Value {
        let (from, to) = (self.now, self.now.checked_add(AHEAD).unwrap_or(Timestamp::MAX));
        let enabled = self.collection.enabled();
        let mut found = Difference::default();
        let mut fires = false;
        if self.draft.timed {
            let job = self.written(existing);
            let (old, new) = (decide::upcoming(existing, enabled), decide::upcoming(&job, enabled));
            found = decide::difference(old, new, (from, to), LISTED_MAX);
            let due =
                |entry: &Entry| entry.cause == Cause::Schedule && !entry.started() && entry.due_at <= from;
            fires =
                job.progress.entry.is_some_and(|entry| due(&entry) && existing.progress.entry != Some(entry));
        }
        json!({
            "from": time::instant(from),
            "to": time::instant(to),
            "added": instants(&found.added),
            "removed": instants(&found.removed),
            "firesOnSave": fires,
            "problems": problems(&self.draft.problems),
        })
    }

    /// The job as it would be. What its action is makes no difference here.
    fn written(&self, existing: &Job) -> Job {
        let (start_at, enabled) = (self.draft.start_at, self.draft.enabled);
        let recurrence = self.draft.rule.clone();
        let spec = JobSpec { start_at, recurrence, enabled, action: existing.spec.action.clone() };
        let context = EditContext { now: self.now, collection_enabled: self.collection.enabled() };
        match self.method {
            DraftMethod::Put => decide::put(spec, &existing.key, Some(existing), context),
            DraftMethod::Patch => decide::patch(spec, existing, context),
        }
    }
}

fn instants(instants: &Instants) -> Value {
    let listed: Vec<String> = instants.first.iter().copied().map(time::instant).collect();
    let capped = instants.count > listed.len() as u64;
    json!({"count": instants.count, "capped": capped, "value": listed})
}
