//! Compares what a read shows with what must be.

use jiff::Timestamp;
use punctual_model::{Cause, Collection, Job, JobId, JobKey, JobState, Limits, Record, RecordStatus, Skip};

use super::observation::Waiting;
use super::{Account, Oracle, Shown};

impl Oracle {
    /// Judges a collection with its jobs as the store shows them.
    pub(crate) fn judge(&mut self, collection: &Collection, jobs: &[Job]) {
        let expected_collection = self.collection(&collection.key);
        let shown = (collection.enabled(), collection.job_count_max(&Limits::default()));
        if expected_collection
            .map(|expected_collection| (expected_collection.on, expected_collection.job_count_max))
            != Some(shown)
        {
            self.problems
                .push(format!("{}: is {shown:?}, it must be {expected_collection:?}", collection.key.name));
        }
        let count = self.job_count(&collection.key);
        if jobs.len() != count {
            self.problems.push(format!(
                "{} has {} jobs, it must be {count}",
                collection.key.name,
                jobs.len()
            ));
        }
        for job in jobs {
            self.judge_job(&job.key, job.id, &Shown::of(job, collection.enabled()));
        }
    }

    /// Judges what a read shows of a job.
    pub(crate) fn judge_job(&mut self, key: &JobKey, id: JobId, shown: &Shown) {
        let (steady, held) = (self.steady(), self.held(id));
        let Some(account) = self.accounts.get(&id) else {
            self.blame(key, "is there and must not be");
            return;
        };
        let mut problems = account.judge_definition(shown);
        // A job with an attempt in flight is between two states.
        if !held {
            problems.extend(account.judge_standing(shown, steady));
            problems.extend(
                shown
                    .waiting
                    .as_ref()
                    .map_or_else(Vec::new, |waiting| account.judge_agenda(shown.state, waiting)),
            );
        }
        let blamed = problems.into_iter().map(|problem| format!("{}: {problem}", key.name));
        self.problems.extend(blamed);
    }

    /// Judges the history of a job as a read shows it.
    pub(crate) fn judge_history(
        &mut self,
        key: &JobKey,
        id: JobId,
        (mut records, mut skips): (Vec<Record>, Vec<Skip>),
    ) {
        let Some(account) = self.accounts.get(&id) else { return };
        let (mut known, mut known_skips) = (account.records.clone(), account.skips.clone());
        let place = |record: &Record| {
            let Record { generation, nominal_at, cause, step, attempt, .. } = *record;
            (generation, nominal_at, cause, step, attempt, record.status == RecordStatus::Postponed)
        };
        known.sort_by_key(place);
        records.sort_by_key(place);
        known_skips.sort_by_key(|skip| (skip.generation, skip.first_at));
        skips.sort_by_key(|skip| (skip.generation, skip.first_at));
        if records != known {
            let lost = known.iter().find(|record| !records.contains(record));
            let new = records.iter().find(|record| !known.contains(record));
            self.blame(key, &format!("its history lost {lost:?} and won {new:?}"));
        }
        if skips != known_skips {
            self.blame(key, &format!("its skips are {skips:?}, they must be {known_skips:?}"));
        }
    }
}

impl Account {
    fn judge_definition(&self, shown: &Shown) -> Vec<String> {
        let mut problems = Vec::new();
        let put = shown.waiting.as_ref().map(|waiting| (waiting.generation, waiting.put_at));
        if put.is_some_and(|put| put != (self.generation, self.put_at)) || shown.spec != self.spec {
            problems.push(format!("is {:?} of {put:?}, it must be {:?}", shown.spec, self.spec));
        }
        if shown.counters != self.counters() {
            problems.push(format!("counts {:?}, it must be {:?}", shown.counters, self.counters()));
        }
        problems
    }

    fn judge_standing(&self, shown: &Shown, steady: bool) -> Vec<String> {
        let mut problems = Vec::new();
        let mut blame = |what: String| problems.push(what);
        let state = shown.state;
        if steady && shown.last_started_at != self.last_started_at {
            let known = self.last_started_at;
            blame(format!("last started at {:?}, it must be {known:?}", shown.last_started_at));
        }
        match state {
            JobState::Enabled if !self.spec.enabled => blame("is enabled and must not be".into()),
            JobState::Disabled if self.spec.enabled => blame("is disabled and must not be".into()),
            JobState::Enabled | JobState::Disabled | JobState::Completed | JobState::Faulted => {}
        }
        let next = self.next();
        if state.is_final() && next.is_some() {
            blame(format!("is {state:?} with {next:?} to come"));
        }
        if state.is_final() && (state == JobState::Faulted) != self.last_failed() {
            blame(format!("is {state:?}, and its last occurrence failed: {}", self.last_failed()));
        }
        if state == JobState::Enabled && shown.next_at != next && self.pending.is_none() {
            blame(format!("shows {:?} as its next time, it must be {next:?}", shown.next_at));
        }
        problems
    }

    fn judge_agenda(&self, state: JobState, waiting: &Waiting) -> Vec<String> {
        let mut problems = Vec::new();
        let mut blame = |what: String| problems.push(what);
        let entry = waiting.entry;
        let run = entry.filter(|entry| entry.cause == Cause::Run && !entry.started());
        let run_count = waiting.run_count + usize::from(run.is_some());
        if run_count != self.runs_waiting() {
            blame(format!("{run_count} runs wait, it must be {}", self.runs_waiting()));
        }
        let next = self.next();
        match (state, entry) {
            (JobState::Enabled, None) if self.collection_on => blame("has no entry".into()),
            (_, Some(entry)) if !self.collection_on => {
                blame(format!("has {entry:?} while its collection is off"));
            }
            (JobState::Disabled | JobState::Completed | JobState::Faulted, Some(entry))
                if entry.cause == Cause::Schedule =>
            {
                blame(format!("is {state:?} and has {entry:?}"));
            }
            (JobState::Enabled, Some(entry))
                if entry.cause == Cause::Schedule && !entry.started() && Some(entry.nominal_at) != next =>
            {
                blame(format!("comes next at {}, it must be {next:?}", entry.nominal_at));
            }
            (JobState::Enabled | JobState::Disabled | JobState::Completed | JobState::Faulted, _) => {}
        }
        problems
    }

    /// Whether everything that is due at an instant was done.
    pub(crate) fn drained(&self, now: Timestamp, job: &Job) -> Option<String> {
        let entry = job.progress.entry?;
        (entry.due_at <= now).then(|| format!("{}: {entry:?} is due at {now} and stays", self.key.name))
    }
}
