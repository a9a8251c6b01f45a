//! A job, the store it is in and the runner that fires it, as plain values: what the decisions are told and
//! what they answer, with nothing around them.

use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::{Frequency, Rule};

use crate::decide::{self, Ahead, Attempt, EditContext, Repair, STARTED_MAX};
use crate::{
    Action, ActionKind, Cause, CollectionKey, Entry, HttpAction, Job, JobId, JobSpec, JobState, Limits,
    Outcome, OutcomeKind, Record, RecordStatus, RetryPolicy, Skip, SkipReason, Sku,
};

/// An instant, so many seconds after noon of an ordinary day.
pub(super) fn at(seconds: i64) -> Timestamp {
    let noon: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    noon + SignedDuration::from_secs(seconds)
}

/// The seconds of an instant after that noon.
pub(super) fn seconds(at_: Timestamp) -> i64 {
    at_.duration_since(at(0)).as_secs()
}

/// A request that is tried once.
pub(super) fn action() -> Action {
    let request = HttpAction {
        declared_https: false,
        uri: "http://example.com/".into(),
        user_info: None,
        method: "GET".into(),
        headers: Vec::new(),
        body: None,
        authentication: None,
    };
    Action { kind: ActionKind::Http(request), retry: no_retries(), error_action: None }
}

/// So many retries, so many seconds apart.
pub(super) fn fixed(count: u32, interval: i64) -> Option<RetryPolicy> {
    Some(RetryPolicy { fixed: true, interval: Some(SignedDuration::from_secs(interval)), count: Some(count) })
}

/// None, as asked for.
pub(super) fn no_retries() -> Option<RetryPolicy> {
    Some(RetryPolicy { fixed: false, interval: None, count: None })
}

/// A job that runs once, at once.
pub(super) fn once() -> JobSpec {
    JobSpec { start_at: None, action: action(), recurrence: None, enabled: true }
}

/// A job that runs every minute, from noon.
pub(super) fn minutely() -> JobSpec {
    JobSpec { start_at: Some(at(0)), recurrence: Some(Rule::every(1, Frequency::Minute)), ..once() }
}

/// With a limit.
pub(super) fn counted(count: i64) -> JobSpec {
    let mut spec = minutely();
    spec.recurrence.as_mut().unwrap().count = Some(count);
    spec
}

/// With retries and error actions.
pub(super) fn with(spec: JobSpec, retry: Option<RetryPolicy>, error_action: Option<Action>) -> JobSpec {
    let action = Action { retry, error_action: error_action.map(Box::new), ..action() };
    JobSpec { action, ..spec }
}

/// Something that is done to a job, with its name.
pub(super) type Edit = (&'static str, fn(&mut World));

/// What is in flight: a claim that was begun.
pub(super) struct InFlight {
    pub(super) claimed: Job,
    pub(super) started_at: Timestamp,
    pub(super) skips: Vec<Skip>,
}

/// One job and all that happened to it.
pub(super) struct World {
    pub(super) now: Timestamp,
    pub(super) job: Job,
    pub(super) collection_enabled: bool,
    pub(super) sku: Sku,
    pub(super) in_flight: Option<InFlight>,
    pub(super) records: Vec<Record>,
    pub(super) skips: Vec<Skip>,
}

impl World {
    /// A job that is put at noon.
    pub(super) fn put(spec: JobSpec) -> Self {
        Self::put_at(0, spec)
    }

    pub(super) fn put_at(now: i64, spec: JobSpec) -> Self {
        let now = at(now);
        let key = CollectionKey::new("s", "g", "c").job("j");
        let mut job = decide::put(spec, &key, None, EditContext { now, collection_enabled: true });
        job.id = JobId(1);
        let (records, skips) = (Vec::new(), Vec::new());
        Self { now, job, collection_enabled: true, sku: Sku::Standard, in_flight: None, records, skips }
    }

    fn context(&self) -> EditContext {
        EditContext { now: self.now, collection_enabled: self.collection_enabled }
    }

    /// Writes what an edit decided, as the API does.
    fn write(&mut self, job: Job) {
        self.skips.extend(decide::skips_of_edit(&self.job, &job, self.now));
        self.job = Job { revision: self.job.revision + 1, ..job };
    }

    pub(super) fn put_again(&mut self, spec: JobSpec) {
        let job = decide::put(spec, &self.job.key, Some(&self.job), self.context());
        self.write(job);
    }

    pub(super) fn patch(&mut self, change: impl FnOnce(&mut JobSpec)) {
        let mut spec = JobSpec::clone(&self.job.spec);
        change(&mut spec);
        let job = decide::patch(spec, &self.job, self.context());
        self.write(job);
    }

    pub(super) fn disable(&mut self) {
        self.patch(|spec| spec.enabled = false);
    }

    pub(super) fn enable(&mut self) {
        self.patch(|spec| spec.enabled = true);
    }

    /// The collection is switched off.
    pub(super) fn pause(&mut self) {
        self.collection_enabled = false;
        self.write(decide::pause(&self.job, self.now));
    }

    /// The collection is switched on.
    pub(super) fn resume(&mut self) {
        self.collection_enabled = true;
        self.write(decide::resume(&self.job, self.context()));
    }

    /// A run is asked for; false if too many wait.
    pub(super) fn run(&mut self) -> bool {
        let job = decide::run(&self.job, self.now);
        job.map(|job| self.write(job)).is_some()
    }

    /// The clock goes to an instant.
    pub(super) fn until(&mut self, now: i64) {
        self.now = at(now);
    }

    /// The runner begins what is due; false if nothing is, or something is in flight.
    pub(super) fn begin(&mut self) -> bool {
        let due = self.job.progress.entry.is_some_and(|entry| entry.due_at <= self.now);
        if !due || self.in_flight.is_some() {
            return false;
        }
        let (claimed, skips) = match decide::catch_up(&self.job, self.now) {
            Some((newest, skips)) => (newest, skips),
            None => (self.job.clone(), Vec::new()),
        };
        self.in_flight = Some(InFlight { claimed, started_at: self.now, skips });
        true
    }

    /// What is in flight ends now, and is settled on the job as it is now.
    pub(super) fn finish(&mut self, succeeded: bool) {
        let InFlight { claimed, started_at, skips } = self.in_flight.take().unwrap();
        let current = if self.job.revision == claimed.revision { claimed.clone() } else { self.job.clone() };
        let outcome = Outcome { succeeded, kind: OutcomeKind::Word("Test"), message: String::new() };
        let attempt = Attempt { claimed, started_at, ended_at: self.now, outcome, skips };
        let verdict = decide::settle(&attempt, &current, Limits::default().of(self.sku));
        self.records.extend(verdict.records);
        self.skips.extend(verdict.skips);
        self.job = Job { revision: self.job.revision + 1, ..verdict.job };
    }

    /// Begins and ends an attempt at an instant.
    pub(super) fn fire(&mut self, now: i64, succeeded: bool) {
        self.until(now);
        assert!(self.begin(), "nothing is due at {now}: {:?}", self.job.progress);
        self.finish(succeeded);
    }

    /// What is looked at to repair the job.
    pub(super) fn ahead(&self) -> Ahead {
        let (now, job) = (self.now, &self.job);
        let own = self
            .records
            .iter()
            .filter(|record| record.generation == job.generation && record.status != RecordStatus::Postponed);
        let scheduled =
            own.clone().filter(|record| record.cause == Cause::Schedule && record.nominal_at > now);
        let mut started: Vec<_> = scheduled.map(|record| record.nominal_at).collect();
        started.sort_unstable();
        started.dedup();
        let retry = job.progress.entry.filter(|entry| entry.attempt > 0);
        let before = |record: &&Record| {
            let place = (record.cause, record.nominal_at, record.step, record.attempt + 1);
            retry.is_some_and(|entry| place == (entry.cause, entry.nominal_at, entry.step, entry.attempt))
        };
        Ahead {
            job: job.clone(),
            collection_enabled: self.collection_enabled,
            sku: self.sku,
            started: started.into_iter().take(STARTED_MAX).collect(),
            skips: self
                .skips
                .iter()
                .filter(|skip| skip.first_at <= now && skip.last_at > now)
                .cloned()
                .collect(),
            tried_at: own.clone().find(before).map(|record| record.ended_at),
        }
    }

    /// Repairs the job as the runner does after the clock was set back; false if there was no need.
    pub(super) fn repair(&mut self) -> bool {
        assert!(self.in_flight.is_none(), "what is in flight is repaired when it is settled");
        let limits = Limits::default();
        let repair = decide::repair(&self.ahead(), self.now, limits.of(self.sku));
        let Some(Repair { job, withdrawn, skips }) = repair else { return false };
        self.skips.retain(|skip| skip.last_at <= withdrawn.after || skip.first_at >= withdrawn.before);
        self.skips.extend(skips);
        self.job = Job { revision: self.job.revision + 1, ..job };
        true
    }

    pub(super) fn entry(&self) -> Option<Entry> {
        self.job.progress.entry
    }

    /// When the entry is due, in seconds after noon.
    pub(super) fn due(&self) -> Option<i64> {
        self.entry().map(|entry| seconds(entry.due_at))
    }

    /// The nominal time of the entry, in seconds after noon.
    pub(super) fn nominal(&self) -> Option<i64> {
        self.entry().map(|entry| seconds(entry.nominal_at))
    }

    pub(super) fn next_execution(&self) -> Option<i64> {
        decide::next_execution_at(&self.job, self.collection_enabled, false).map(seconds)
    }

    pub(super) fn counters(&self) -> (u32, u32, u32) {
        let counters = self.job.counters;
        (counters.execution, counters.failure, counters.faulted)
    }

    pub(super) fn state(&self) -> JobState {
        self.job.state
    }

    /// Skips as first, last, count and reason.
    pub(super) fn skipped(&self) -> Vec<(i64, i64, u64, SkipReason)> {
        let row = |skip: &Skip| (seconds(skip.first_at), seconds(skip.last_at), skip.count, skip.reason);
        self.skips.iter().map(row).collect()
    }

    /// Records as nominal time, step, attempt and status; runs apart.
    pub(super) fn history(&self, cause: Cause) -> Vec<(i64, u8, u32, RecordStatus)> {
        let row = |record: &Record| (seconds(record.nominal_at), record.step, record.attempt, record.status);
        self.records.iter().filter(|record| record.cause == cause).map(row).collect()
    }
}
