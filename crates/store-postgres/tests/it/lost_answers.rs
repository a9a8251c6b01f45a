//! Answers that are lost after the server has done what it was asked to.

use std::sync::Arc;

use punctual_model::RecordStatus;
use punctual_store::conformance::world::{World, a_job, all_history, at, settlement};
use punctual_store::{Agenda, Archive, Callers, Settled, Store};
use punctual_store_postgres::{PostgresStore, ServerUrl};

use crate::proxy::Proxy;
use crate::server::{Database, shared};
use crate::world::options;

/// A store behind a proxy that loses answers to messages with this text.
async fn behind(text: &'static [u8], prepare: bool) -> Option<(Arc<PostgresStore>, Proxy, Database)> {
    let database = Database::new().await?;
    let proxy = Proxy::before(shared()?.port, text).await;
    let (_, search_path) = database.url.split_once('?').unwrap();
    let url = format!("postgres://punctual@{}/postgres?sslmode=disable&{search_path}", proxy.address);
    let mut options = options(&database.url);
    options.url = ServerUrl::parse(&url).unwrap();
    options.prepare = prepare;
    Some((Arc::new(PostgresStore::open(options).await.unwrap()), proxy, database))
}

#[tokio::test]
async fn an_edit_whose_answer_is_lost_is_found_by_its_receipt() {
    let Some((store, proxy, _database)) = behind(b"COMMIT", true).await else { return };
    let world = World::new(Arc::clone(&store) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    proxy.lose(1);
    let job = world.job(&collection, "j", at(0)).await;
    assert_eq!(proxy.left(), 0, "the answer was lost");
    assert_eq!(world.read(&job.key).await, job);
    assert_eq!(world.job_count(&collection.key).await, 1);
    proxy.lose(1);
    let edited = world.put_job(job.clone(), &collection).await.unwrap();
    assert_eq!((proxy.left(), edited.revision), (0, job.revision + 1), "it was written once");
    proxy.lose(1);
    assert!(store.delete_token(&punctual_model::access::TokenId("x".to_owned()), None).await.is_ok());
}

#[tokio::test]
async fn an_edit_that_did_not_happen_is_made_again() {
    // The server never gets as far as the COMMIT: the answer to the statement before is lost.
    let Some((store, proxy, _database)) = behind(b"INSERT INTO jobs", false).await else { return };
    let world = World::new(store);
    let collection = world.collection("c").await;
    proxy.lose(2);
    let job = world.job(&collection, "j", at(0)).await;
    assert_eq!(proxy.left(), 0);
    assert_eq!(world.read(&job.key).await, job);
    assert_eq!(world.job_count(&collection.key).await, 1, "it was counted once");
    let full = punctual_store::JobWrite {
        job: a_job(collection.key.job("k"), None),
        collection_revision: collection.revision,
        skips: Vec::new(),
        job_count_max: 1,
        rerun: None,
        note: None,
    };
    assert!(world.store.put_job(full).await.is_err());
}

#[tokio::test]
async fn a_settlement_whose_answer_is_lost_is_recorded_once() {
    let Some((store, proxy, _database)) = behind(b"UPDATE agenda AS a\n    SET due_at", false).await else {
        return;
    };
    let world = World::new(Arc::clone(&store) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    proxy.lose(1);
    let settled = world.settle(settlement(&claim, RecordStatus::Completed, Some(at(60)))).await;
    assert!(matches!(settled, Settled::Recorded), "{settled:?}");
    assert_eq!(proxy.left(), 0);
    assert_eq!(store.history(&all_history(job.id)).await.unwrap().items.len(), 1);
    assert_eq!(world.read(&job.key).await.counters.execution, 1);
}

#[tokio::test]
async fn a_claim_whose_answer_is_lost_is_given_back() {
    let Some((store, proxy, _database)) = behind(b"WITH claimed AS", false).await else { return };
    let world = World::new(Arc::clone(&store) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    world.job(&collection, "j", at(0)).await;
    proxy.lose(1);
    let ask = punctual_store::ClaimAsk { until: at(9), limit: 9, full_targets: Vec::new() };
    assert!(store.claim(&ask).await.is_err(), "nobody knows what was claimed");
    // The next claim notices that a connection was lost, and asks what this node holds.
    let found = async {
        while store.claim(&ask).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), found).await.unwrap();
}

#[tokio::test]
async fn what_is_claimed_is_handed_out_although_the_node_could_not_ask_what_it_holds() {
    let Some((store, proxy, _database)) = behind(b"AND holder = $2", false).await else { return };
    let world = World::new(Arc::clone(&store) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    world.job(&collection, "j", at(0)).await;
    proxy.lose(1);
    let ask = punctual_store::ClaimAsk { until: at(9), limit: 9, full_targets: Vec::new() };
    let claims = store.claim(&ask).await.unwrap();
    assert_eq!((proxy.left(), claims.len()), (0, 1));
}
