//! Builders for the cases: only what matters is visible in a case.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_model::{
    Action, ActionKind, Cause, Collection, CollectionKey, CollectionState, Counters, Entry, HttpAction, Job,
    JobId, JobKey, JobSpec, JobState, Progress, Record, RecordStatus, Rerun, Skip, SkipReason, Sku,
};

use crate::{
    Claim, ClaimAsk, CollectionWrite, HistoryAsk, JobWrite, JobsAsk, Refusal, Settled, Settlement, Store,
    StoredRecord, WriteError,
};

/// Enough for every case that asks for no limit.
pub const MANY: usize = 10_000;

/// An instant, so many seconds after noon of an ordinary day.
pub fn at(seconds: i64) -> Timestamp {
    let noon: Timestamp = "2026-11-15T12:00:00Z".parse().expect("it is an instant");
    noon + SignedDuration::from_secs(seconds)
}

/// A collection of the standard plan, not stored yet.
pub fn a_collection(name: &str) -> Collection {
    Collection {
        key: CollectionKey::new("Sub", "Group", name),
        location: "West US".to_owned(),
        tags: Vec::new(),
        sku: Sku::Standard,
        state: CollectionState::Enabled,
        quota: None,
        created_at: at(0),
        revision: 0,
    }
}

/// A job that calls `http://example.com/`, with an entry if it is due, not stored yet.
pub fn a_job(key: JobKey, due_at: Option<Timestamp>) -> Job {
    Job {
        id: JobId(0),
        key,
        spec: JobSpec::once(http("http://example.com/")).into(),
        state: JobState::Enabled,
        generation: 1,
        put_at: at(0),
        counters: Counters::default(),
        last_started_at: None,
        progress: Progress { entry: due_at.map(Entry::scheduled), ..Progress::default() },
        revision: 0,
    }
}

/// A plain request.
pub fn http(uri: &str) -> Action {
    let request = HttpAction {
        declared_https: false,
        uri: uri.to_owned(),
        user_info: None,
        method: "GET".to_owned(),
        headers: Vec::new(),
        body: None,
        authentication: None,
    };
    Action { kind: ActionKind::Http(request), retry: None, error_action: None }
}

/// The record of a first attempt at an occurrence, a second long.
pub fn a_record(job: &Job, nominal_at: Timestamp, status: RecordStatus) -> Record {
    Record {
        job: job.id,
        generation: job.generation,
        nominal_at,
        cause: Cause::Schedule,
        step: 0,
        attempt: 0,
        ordinal: 1,
        started_at: nominal_at,
        ended_at: nominal_at + SignedDuration::from_secs(1),
        status,
        message: format!("at {nominal_at}"),
    }
}

/// A skip of two occurrences.
pub fn a_skip(job: &Job, first: i64, last: i64, decided: i64) -> Skip {
    Skip {
        job: job.id,
        generation: job.generation,
        first_at: at(first),
        last_at: at(last),
        count: 2,
        reason: SkipReason::Overlap,
        decided_at: at(decided),
    }
}

/// A store with the sentences that the cases speak.
#[derive(Clone)]
pub struct World {
    /// The store under test.
    pub store: Arc<dyn Store>,
}

impl World {
    /// A world on a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Creates a collection of the standard plan.
    pub async fn collection(&self, name: &str) -> Collection {
        self.put_collection(a_collection(name)).await.unwrap()
    }

    /// Writes a collection alone.
    pub async fn put_collection(&self, collection: Collection) -> Result<Collection, WriteError> {
        let write = CollectionWrite {
            collection,
            jobs: Vec::new(),
            skips: Vec::new(),
            job_count_seen: None,
            collection_count_max: 1_000,
            note: None,
        };
        self.store.put_collection(write).await
    }

    /// Creates a job with an entry.
    pub async fn job(&self, collection: &Collection, name: &str, due_at: Timestamp) -> Job {
        self.put_job(a_job(collection.key.job(name), Some(due_at)), collection).await.unwrap()
    }

    /// Creates a job that calls a host.
    pub async fn job_to(&self, collection: &Collection, name: &str, due_at: Timestamp, host: &str) -> Job {
        let mut job = a_job(collection.key.job(name), Some(due_at));
        std::sync::Arc::make_mut(&mut job.spec).action = http(&format!("http://{host}/"));
        self.put_job(job, collection).await.unwrap()
    }

    /// Writes a job in a collection as it is known.
    pub async fn put_job(&self, job: Job, collection: &Collection) -> Result<Job, WriteError> {
        let write = JobWrite {
            job,
            collection_revision: collection.revision,
            skips: Vec::new(),
            job_count_max: 1_000_000,
            rerun: None,
            note: None,
        };
        self.store.put_job(write).await
    }

    /// Writes a job with a run that repeats an occurrence.
    pub async fn put_rerun(
        &self,
        job: Job,
        collection: &Collection,
        rerun: Rerun,
    ) -> Result<Job, WriteError> {
        let write = JobWrite {
            job,
            collection_revision: collection.revision,
            skips: Vec::new(),
            job_count_max: 1_000_000,
            rerun: Some(rerun),
            note: None,
        };
        self.store.put_job(write).await
    }

    /// Reads a job that is there.
    pub async fn read(&self, key: &JobKey) -> Job {
        self.find(key).await.unwrap()
    }

    /// Reads a job, if it is there.
    pub async fn find(&self, key: &JobKey) -> Option<Job> {
        self.store.job_in_collection(key).await.unwrap().and_then(|(_, job)| job)
    }

    /// How many jobs a collection has.
    pub async fn job_count(&self, key: &CollectionKey) -> usize {
        self.store
            .jobs(key, &JobsAsk { state: None, after: None, skip: 0, limit: MANY })
            .await
            .unwrap()
            .items
            .len()
    }

    /// Claims what is due.
    pub async fn claim(&self, until: Timestamp, limit: usize) -> Vec<Claim> {
        self.claim_but(until, limit, &[]).await
    }

    /// Claims what is due, passing over targets.
    pub async fn claim_but(&self, until: Timestamp, limit: usize, full_targets: &[&str]) -> Vec<Claim> {
        let full_targets = full_targets.iter().map(|&target| target.to_owned()).collect();
        self.store.claim(&ClaimAsk { until, limit, full_targets }).await.unwrap()
    }

    /// Claims the one job that is due, and begins it.
    pub async fn begun(&self, until: Timestamp) -> Claim {
        let claim = self.claim(until, 1).await.pop().unwrap();
        assert_eq!(self.store.begin(&[claim.fence]).await.unwrap(), [true]);
        claim
    }

    /// Settles one claim.
    pub async fn settle(&self, settlement: Settlement) -> Settled {
        self.store.settle(vec![settlement]).await.unwrap().pop().unwrap()
    }

    /// Lets a job run once and records it; its next entry is given.
    pub async fn run(&self, claim: &Claim, status: RecordStatus, next_at: Option<Timestamp>) {
        let settled = self.settle(settlement(claim, status, next_at)).await;
        assert!(matches!(settled, Settled::Recorded), "{settled:?}");
    }

    /// The whole history of a job.
    pub async fn history(&self, job: JobId) -> Vec<StoredRecord> {
        self.store.history(&all_history(job)).await.unwrap().items
    }

    /// Appends records to the history of a job through a settlement; it has no entry afterwards.
    pub async fn record(&self, key: &JobKey, records: Vec<Record>, skips: Vec<Skip>) {
        let mut job = self.read(key).await;
        let collection = self.store.collection(&key.collection).await.unwrap().unwrap();
        job.progress.entry = Some(Entry::scheduled(at(0)));
        self.put_job(job, &collection).await.unwrap();
        let claim = self.begun(at(0)).await;
        assert_eq!(claim.job.key, *key, "nothing else is due in this case");
        let mut settlement = settlement(&claim, RecordStatus::Completed, None);
        settlement.records = records;
        settlement.skips = skips;
        assert!(matches!(self.settle(settlement).await, Settled::Recorded));
    }
}

/// All records of a job.
pub fn all_history(job: JobId) -> HistoryAsk {
    HistoryAsk { job, statuses: Vec::new(), after: None, skip: 0, limit: MANY }
}

/// What a claim that went one way comes to: one record, one execution more, the next entry.
pub fn settlement(claim: &Claim, status: RecordStatus, next_at: Option<Timestamp>) -> Settlement {
    let mut job = claim.job.clone();
    let nominal_at = job.progress.entry.unwrap().nominal_at;
    let records = vec![a_record(&job, nominal_at, status)];
    job.counters.execution += 1;
    job.last_started_at = Some(nominal_at);
    job.progress.past_at = Some(nominal_at);
    job.progress.entry = next_at.map(Entry::scheduled);
    Settlement { fence: claim.fence, job, records, skips: Vec::new() }
}

/// The refusal of a write that was refused.
pub fn refusal<T: std::fmt::Debug>(result: Result<T, WriteError>) -> Refusal {
    match result {
        Err(WriteError::Refused(refusal)) => refusal,
        other => panic!("the write was to be refused, not {other:?}"),
    }
}

/// The names of claimed jobs.
pub fn names(claims: &[Claim]) -> Vec<&str> {
    claims.iter().map(|claim| claim.job.key.name.as_str()).collect()
}
