//! What the store shows, compared with what must be.

use jiff::Timestamp;
use punctual_model::{Cause, Collection, Job, JobState, Record, RecordStatus, Skip, decide};

use super::{Account, Ledger};

impl Ledger {
    /// Judges a collection with its jobs as the store shows them.
    pub(crate) fn judge(&mut self, collection: &Collection, jobs: &[Job]) {
        let shelf = self.shelf(&collection.key);
        let shown = (collection.enabled(), collection.job_count_max());
        if shelf.map(|shelf| (shelf.on, shelf.job_count_max)) != Some(shown) {
            self.problems.push(format!("{}: is {shown:?}, it must be {shelf:?}", collection.key.name));
        }
        let count = self.job_count(&collection.key);
        if jobs.len() != count {
            self.problems.push(format!(
                "{} has {} jobs, it must be {count}",
                collection.key.name,
                jobs.len()
            ));
        }
        let steady = self.steady();
        for job in jobs {
            let held = self.held(job.id);
            let Some(account) = self.accounts.get(&job.id) else {
                self.blame(job, "is there and must not be");
                continue;
            };
            let mut problems = account.judge_definition(job);
            if !held {
                problems.extend(account.judge_progress(job, steady));
            }
            let blamed = problems.into_iter().map(|problem| format!("{}: {problem}", job.key.name));
            self.problems.extend(blamed);
        }
    }

    /// Judges the history of a job as the store shows it.
    pub(crate) fn judge_history(&mut self, job: &Job, mut records: Vec<Record>, mut skips: Vec<Skip>) {
        let Some(account) = self.accounts.get(&job.id) else { return };
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
            self.blame(job, &format!("its history lost {lost:?} and won {new:?}"));
        }
        if skips != known_skips {
            self.blame(job, &format!("its skips are {skips:?}, they must be {known_skips:?}"));
        }
    }
}

impl Account {
    fn judge_definition(&self, job: &Job) -> Vec<String> {
        let mut problems = Vec::new();
        if (job.generation, job.put_at) != (self.generation, self.put_at) || job.spec != self.spec {
            problems.push(format!("is {:?} of {}, it must be {:?}", job.spec, job.generation, self.spec));
        }
        if job.counters != self.counters() {
            problems.push(format!("counts {:?}, it must be {:?}", job.counters, self.counters()));
        }
        problems
    }

    fn judge_progress(&self, job: &Job, steady: bool) -> Vec<String> {
        let mut problems = Vec::new();
        let mut blame = |what: String| problems.push(what);
        let entry = job.progress.entry;
        let waiting = entry.filter(|entry| entry.cause == Cause::Run && !entry.started());
        let waiting = job.progress.runs.len() + usize::from(waiting.is_some());
        if waiting != self.runs_waiting() {
            blame(format!("{waiting} runs wait, it must be {}", self.runs_waiting()));
        }
        if steady && job.last_started_at != self.last_started_at {
            blame(format!(
                "last started at {:?}, it must be {:?}",
                job.last_started_at, self.last_started_at
            ));
        }
        let next = self.next();
        match (job.state, entry) {
            (JobState::Enabled, _) if !self.spec.enabled => blame("is enabled and must not be".into()),
            (JobState::Disabled, _) if self.spec.enabled => blame("is disabled and must not be".into()),
            (JobState::Enabled, None) if self.shelf_on => blame("has no entry".into()),
            (_, Some(entry)) if !self.shelf_on => blame(format!("has {entry:?} while its collection is off")),
            (JobState::Disabled | JobState::Completed | JobState::Faulted, Some(entry))
                if entry.cause == Cause::Schedule =>
            {
                blame(format!("is {:?} and has {entry:?}", job.state));
            }
            (JobState::Enabled, Some(entry))
                if entry.cause == Cause::Schedule && !entry.started() && Some(entry.nominal_at) != next =>
            {
                blame(format!("comes next at {}, it must be {next:?}", entry.nominal_at));
            }
            (JobState::Enabled | JobState::Disabled | JobState::Completed | JobState::Faulted, _) => {}
        }
        if job.state.is_final() && next.is_some() {
            blame(format!("is {:?} with {next:?} to come", job.state));
        }
        if job.state.is_final() && (job.state == JobState::Faulted) != self.last_failed() {
            blame(format!("is {:?}, and its last occurrence failed: {}", job.state, self.last_failed()));
        }
        let shown = decide::next_execution_at(job, self.shelf_on);
        if job.state == JobState::Enabled && shown != next && !entry.is_some_and(|entry| entry.started()) {
            blame(format!("shows {shown:?} as its next time, it must be {next:?}"));
        }
        problems
    }

    /// Whether everything that is due at an instant was done.
    pub(crate) fn drained(&self, now: Timestamp, job: &Job) -> Option<String> {
        let entry = job.progress.entry?;
        (entry.due_at <= now).then(|| format!("{}: {entry:?} is due at {now} and stays", self.key.name))
    }
}
