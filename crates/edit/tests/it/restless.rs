//! A store whose jobs fire all the time: whenever somebody has read them, one is settled before he writes.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::{Collection, CollectionKey, GroupKey, Job, JobKey, Name};
use punctual_store::{
    Agenda, ClaimAsk, CollectionDecision, CollectionWrite, CollectionsAsk, FoundJob, Group, JobWrite,
    JobsAsk, MemoryStore, Page, Resources, Settled, Settlement, Trouble, WriteError,
};

#[derive(Default)]
pub(crate) struct Restless {
    pub(crate) inner: MemoryStore,
    /// How often a write was tried that was decided outside, and inside the transaction.
    pub(crate) tries: [AtomicUsize; 2],
}

impl Restless {
    /// Fires something, and makes it due again at once.
    async fn settle(&self) {
        let ask = ClaimAsk { until: Timestamp::MAX, limit: 1, full_targets: Vec::new() };
        for claim in self.inner.claim(&ask).await.unwrap() {
            assert_eq!(self.inner.begin(&[claim.fence]).await.unwrap(), [true]);
            let (records, skips) = (Vec::new(), Vec::new());
            let settlement = Settlement { fence: claim.fence, job: claim.job, records, skips };
            let settled = self.inner.settle(vec![settlement]).await.unwrap();
            assert!(matches!(settled[..], [Settled::Recorded]));
        }
    }

    pub(crate) fn tries(&self) -> [usize; 2] {
        [0, 1].map(|kind| self.tries[kind].load(Ordering::Relaxed))
    }
}

/// Does something first, and passes the call on.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty $(, $first:expr)?;)*) => {
        #[async_trait]
        impl Resources for Restless {
            $(async fn $name(&self, $($argument: $type),*) -> $answer {
                $($first(self);)?
                self.inner.$name($($argument),*).await
            })*

            async fn jobs(&self, key: &CollectionKey, ask: &JobsAsk) -> Result<Page<Job, Name>, Trouble> {
                let jobs = self.inner.jobs(key, ask).await;
                self.settle().await;
                jobs
            }
        }
    };
}

fn count(kind: usize) -> impl Fn(&Restless) {
    move |store| {
        store.tries[kind].fetch_add(1, Ordering::Relaxed);
    }
}

pass_on! {
    put_collection(write: CollectionWrite) -> Result<Collection, WriteError>, count(0);
    edit_collection(key: &CollectionKey, decide: CollectionDecision) -> Result<Collection, WriteError>, count(1);
    collection(key: &CollectionKey) -> Result<Option<Collection>, Trouble>;
    collections(ask: &CollectionsAsk) -> Result<Page<Collection, CollectionKey>, Trouble>;
    delete_collection(key: &CollectionKey) -> Result<bool, Trouble>;
    find_job(key: &JobKey) -> Result<FoundJob, Trouble>;
    job_in_collection(key: &JobKey) -> Result<Option<(Collection, Option<Job>)>, Trouble>;
    put_job(write: JobWrite) -> Result<Job, WriteError>;
    delete_job(key: &JobKey) -> Result<bool, Trouble>;
    group(key: &GroupKey) -> Result<Option<Group>, Trouble>;
    groups(subscription: &Name) -> Result<Page<Group, Name>, Trouble>;
    put_group(group: &Group) -> Result<bool, Trouble>;
    delete_group(key: &GroupKey) -> Result<bool, Trouble>;
    unregistered(subscription: &Name) -> Result<bool, Trouble>;
    set_unregistered(subscription: &Name, unregistered: bool) -> Result<(), Trouble>;
}
