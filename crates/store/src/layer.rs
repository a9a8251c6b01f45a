//! A store on top of another: for tests and the simulator.
//!
//! A layer has every method of a store and passes each call on. Whoever writes one writes the methods that it
//! changes and nothing else, so that a new method of the store concerns no layer.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_model::audit::AuditEntry;
use punctual_model::decide::Repair;
use punctual_model::inspect::{Census, Evidence, RecordFacts, Subject};
use punctual_model::{
    Collection, CollectionKey, GroupKey, Job, JobId, JobKey, Name, RecentPast, Rerun, Skip,
};
use tokio::sync::watch;

use crate::{
    Agenda, AheadAsk, AheadPage, Archive, BootInstant, Claim, ClaimAsk, CollectionDecision,
    CollectionEvidence, CollectionWrite, CollectionsAsk, DueCountAsk, Extent, Fence, FoundJob, Group,
    HeldClaim, HistoryAsk, HistoryCursor, JobCount, JobSearch, JobSearchPage, JobWrite, JobsAsk, Node,
    NodeReport, NodeStanding, Page, Repaired, Resources, Roster, Settled, Settlement, StatsAsk, StatsPage,
    Store, StoredRecord, Survey, SurveyAsk, Trouble, Unclaimed, UnclaimedAsk, Views, WriteError,
};

/// Makes [`Layer`] of the methods of a store, and makes a store of every layer.
macro_rules! layer {
    ($($trait:ident {
        $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*
    } at once {
        $($quick:ident($($given:ident: $kind:ty),*) -> $result:ty;)*
    })*) => {
        /// A store that passes on what it does not change.
        #[async_trait]
        pub trait Layer: Send + Sync {
            /// The store below.
            fn below(&self) -> Arc<dyn Store>;

            /// Makes a call of the store below, which has this name. Whatever shall happen to all calls that are
            /// passed on is done here.
            fn around<T: Send, E: From<Trouble> + Send>(
                &self,
                _call: &'static str,
                made: impl Future<Output = Result<T, E>> + Send,
            ) -> impl Future<Output = Result<T, E>> + Send {
                made
            }

            $(
                $(
                    #[doc = concat!("As [`", stringify!($trait), "::", stringify!($name), "`].")]
                    async fn $name(&self, $($argument: $type),*) -> $answer {
                        let below = self.below();
                        self.around(stringify!($name), below.$name($($argument),*)).await
                    }
                )*
                $(
                    #[doc = concat!("As [`", stringify!($trait), "::", stringify!($quick), "`].")]
                    fn $quick(&self, $($given: $kind),*) -> $result {
                        self.below().$quick($($given),*)
                    }
                )*
            )*
        }

        $(
            #[async_trait]
            impl<L: Layer> $trait for L {
                $(async fn $name(&self, $($argument: $type),*) -> $answer {
                    Layer::$name(self, $($argument),*).await
                })*
                $(fn $quick(&self, $($given: $kind),*) -> $result {
                    Layer::$quick(self, $($given),*)
                })*
            }
        )*
    };
}

layer! {
    Resources {
        collection(key: &CollectionKey) -> Result<Option<Collection>, Trouble>;
        collections(ask: &CollectionsAsk) -> Result<Page<Collection, CollectionKey>, Trouble>;
        put_collection(write: CollectionWrite) -> Result<Collection, WriteError>;
        edit_collection(key: &CollectionKey, decide: CollectionDecision) -> Result<Collection, WriteError>;
        delete_collection(key: &CollectionKey, note: Option<AuditEntry>) -> Result<bool, Trouble>;
        find_job(key: &JobKey) -> Result<FoundJob, Trouble>;
        job_in_collection(key: &JobKey) -> Result<Option<(Collection, Option<Job>)>, Trouble>;
        jobs(collection: &CollectionKey, ask: &JobsAsk) -> Result<Page<Job, Name>, Trouble>;
        put_job(write: JobWrite) -> Result<Job, WriteError>;
        delete_job(key: &JobKey, note: Option<AuditEntry>) -> Result<bool, Trouble>;
        group(key: &GroupKey) -> Result<Option<Group>, Trouble>;
        groups(subscription: &Name) -> Result<Page<Group, Name>, Trouble>;
        subscriptions() -> Result<Vec<Name>, Trouble>;
        put_group(group: &Group, note: Option<AuditEntry>) -> Result<bool, Trouble>;
        delete_group(key: &GroupKey, note: Option<AuditEntry>) -> Result<bool, Trouble>;
        unregistered(subscription: &Name) -> Result<bool, Trouble>;
        set_unregistered(subscription: &Name, unregistered: bool, note: Option<AuditEntry>) -> Result<(), Trouble>;
    } at once {}
    Agenda {
        claim(ask: &ClaimAsk) -> Result<Vec<Claim>, Trouble>;
        begin(fences: &[Fence]) -> Result<Vec<bool>, Trouble>;
        settle(settlements: Vec<Settlement>) -> Result<Vec<Settled>, Trouble>;
        release(fences: &[Fence]) -> Result<(), Trouble>;
        next_due(full_targets: &[String]) -> Result<Option<Timestamp>, Trouble>;
        in_flight(jobs: &[JobId]) -> Result<Vec<JobId>, Trouble>;
        ahead(ask: &AheadAsk) -> Result<AheadPage, Trouble>;
        repair(repairs: Vec<Repair>) -> Result<Vec<Repaired>, Trouble>;
        due_count(ask: &DueCountAsk) -> Result<usize, Trouble>;
    } at once {
        changes() -> watch::Receiver<u64>;
    }
    Archive {
        history(ask: &HistoryAsk) -> Result<Page<StoredRecord, HistoryCursor>, Trouble>;
        records_between(job: JobId, from: Timestamp, to: Timestamp, limit: usize) -> Result<Vec<StoredRecord>, Trouble>;
        skips(job: JobId, from: Timestamp, to: Timestamp, limit: usize) -> Result<Vec<Skip>, Trouble>;
        reruns(job: JobId, from: Timestamp, to: Timestamp, limit: usize) -> Result<Vec<Rerun>, Trouble>;
        pruned_before(job: JobId) -> Result<Option<Timestamp>, Trouble>;
        prune(before: Timestamp, limit: usize) -> Result<usize, Trouble>;
        prune_to(keep: u32, limit: usize) -> Result<usize, Trouble>;
        purge(before: Timestamp, limit: usize) -> Result<usize, Trouble>;
    } at once {}
    Survey {
        extent() -> Result<Extent, Trouble>;
        census(faulted_limit: usize) -> Result<Census, Trouble>;
        survey(ask: &SurveyAsk) -> Result<Vec<Evidence>, Trouble>;
        survey_collections(after: i64, limit: usize) -> Result<Vec<CollectionEvidence>, Trouble>;
        damage(subject: &Subject) -> Result<Option<String>, Trouble>;
        record_facts(job: JobId, after: Option<HistoryCursor>, limit: usize) -> Result<Vec<(HistoryCursor, RecordFacts)>, Trouble>;
        unclaimed(ask: &UnclaimedAsk) -> Result<Vec<Unclaimed>, Trouble>;
        held() -> Result<Vec<HeldClaim>, Trouble>;
        left_out() -> Result<Vec<JobId>, Trouble>;
        problems() -> Result<Vec<String>, Trouble>;
    } at once {
        outage() -> Option<Trouble>;
    }
    Roster {
        nodes() -> Result<Vec<Node>, Trouble>;
        drain(name: &str, drained: bool, note: Option<AuditEntry>) -> Result<bool, Trouble>;
        leave() -> Result<(), Trouble>;
    } at once {
        standing() -> watch::Receiver<NodeStanding>;
        boot() -> Option<BootInstant>;
        node_problem() -> Option<String>;
        report(report: NodeReport) -> ();
    }
    Views {
        search(search: &JobSearch) -> Result<JobSearchPage, Trouble>;
        search_count(search: &JobSearch) -> Result<JobCount, Trouble>;
        recent(jobs: &[JobId], limit: usize) -> Result<Vec<RecentPast>, Trouble>;
        stats(ask: &StatsAsk) -> Result<StatsPage, Trouble>;
        roll_up_stats(minutes_before: Timestamp, hours_before: Timestamp, limit: usize) -> Result<usize, Trouble>;
    } at once {}
}
