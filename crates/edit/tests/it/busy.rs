//! A collection whose jobs fire between every read and every write.

use std::convert::Infallible;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_edit::{EditError, Editor};
use punctual_model::access::Caller;
use punctual_model::audit::Author;
use punctual_model::{Clock, Collection, CollectionState, Limits, Sku};
use punctual_store::Resources;
use punctual_store::conformance::world::{a_collection, a_job, at};
use punctual_store::{CollectionWrite, JobWrite};

use crate::restless::Restless;

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        at(0)
    }
}

/// A store with so many jobs that are due.
async fn store(jobs: usize) -> (Restless, Collection) {
    let store = Restless::default();
    let write = CollectionWrite {
        collection: a_collection("c"),
        jobs: Vec::new(),
        skips: Vec::new(),
        job_count_seen: None,
        collection_count_max: 9,
        note: None,
    };
    let collection = store.inner.put_collection(write).await.unwrap();
    for number in 0..jobs {
        let write = JobWrite {
            job: a_job(collection.key.job(format!("j{number}")), Some(at(0))),
            collection_revision: collection.revision,
            skips: Vec::new(),
            job_count_max: u32::MAX,
            rerun: None,
            note: None,
        };
        store.inner.put_job(write).await.unwrap();
    }
    (store, collection)
}

#[tokio::test]
async fn it_is_disabled_and_enabled_at_the_second_try_whole() {
    const JOBS: usize = 1_500;
    let (store, collection) = store(JOBS).await;
    let clock: Arc<dyn Clock> = Arc::new(Noon);
    let author = Author::of(Caller::anonymous(), Timestamp::UNIX_EPOCH);
    let editor =
        Editor { store: &store, clock: &clock, limits: &Limits::default(), author: &author, audit_key: None };
    let switch = async |state| {
        let switched: Result<Collection, EditError<Infallible>> =
            editor.switch_collection(&collection.key, state).await;
        assert_eq!(switched.unwrap().state, state);
    };
    switch(CollectionState::Disabled).await;
    assert_eq!(store.tries(), [1, 1], "once outside, which was stale, and once inside");
    for number in 0..JOBS {
        let found = store.job_in_collection(&collection.key.job(format!("j{number}"))).await.unwrap();
        assert_eq!(found.unwrap().1.unwrap().progress.entry, None, "however many there are, all are held");
    }
    switch(CollectionState::Disabled).await;
    assert_eq!(store.tries(), [1, 1], "it is so already");
    // Nothing fires in a collection that is disabled, so nothing is stale.
    switch(CollectionState::Enabled).await;
    assert_eq!(store.tries(), [2, 1]);
}

#[tokio::test]
async fn a_plan_that_its_jobs_forbid_is_refused_and_another_is_written_at_the_first_try() {
    let (store, collection) = store(6).await;
    let clock: Arc<dyn Clock> = Arc::new(Noon);
    let author = Author::of(Caller::anonymous(), Timestamp::UNIX_EPOCH);
    let editor =
        Editor { store: &store, clock: &clock, limits: &Limits::default(), author: &author, audit_key: None };
    let mut limits = Limits::default();
    limits.free.job_count_max = 6;
    let free = |existing: &Collection, _: Timestamp| {
        Ok::<_, Infallible>(Collection { sku: Sku::Free, ..existing.clone() })
    };
    let refused = editor.patch_collection(&collection.key, free).await;
    assert!(matches!(refused, Err(EditError::Obstructed(..))), "{refused:?}");
    let allowed = Editor { limits: &limits, ..editor }.patch_collection(&collection.key, free).await;
    assert_eq!(
        (allowed.unwrap().sku, store.tries()),
        (Sku::Free, [1, 0]),
        "no job is written, so none is stale"
    );
}
