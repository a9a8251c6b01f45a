//! A store whose jobs fire all the time: whenever somebody has read them, one is settled before he writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::{Collection, CollectionKey, Job, Name};
use punctual_store::{
    Agenda, ClaimAsk, CollectionDecision, CollectionWrite, JobsAsk, Layer, MemoryStore, Page, Resources,
    Settled, Settlement, Store, Trouble, WriteError,
};

#[derive(Default)]
pub(crate) struct Restless {
    pub(crate) inner: Arc<MemoryStore>,
    /// How often a write was tried that was decided outside, and inside the transaction.
    pub(crate) tries: [AtomicUsize; 2],
}

impl Restless {
    /// Fires something, and makes it due again at once.
    async fn fire(&self) {
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

#[async_trait]
impl Layer for Restless {
    fn below(&self) -> Arc<dyn Store> {
        self.inner.clone()
    }

    async fn put_collection(&self, write: CollectionWrite) -> Result<Collection, WriteError> {
        self.tries[0].fetch_add(1, Ordering::Relaxed);
        self.inner.put_collection(write).await
    }

    async fn edit_collection(
        &self,
        key: &CollectionKey,
        decide: CollectionDecision,
    ) -> Result<Collection, WriteError> {
        self.tries[1].fetch_add(1, Ordering::Relaxed);
        self.inner.edit_collection(key, decide).await
    }

    async fn jobs(&self, key: &CollectionKey, ask: &JobsAsk) -> Result<Page<Job, Name>, Trouble> {
        let jobs = self.inner.jobs(key, ask).await;
        self.fire().await;
        jobs
    }
}
