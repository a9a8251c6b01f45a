//! Nodes that claim, fire and settle the same few jobs, while others edit them and leases end at any time.
//!
//! Whoever is told that a claim has begun holds the job until it is settled or its lease is gone; what is settled is
//! counted, and must be in history and in the counters afterwards.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use punctual_model::{Entry, JobId, RecordStatus};
use punctual_store::conformance::world::{World, at, settlement};
use punctual_store::{Agenda, Refusal, Roster, Settled, Settlement, Store, WriteError};
use punctual_store_postgres::PostgresStore;
use tokio::task::JoinSet;

use crate::server::{Database, Server};
use crate::world::open;

const NODES: usize = 3;
const JOBS: usize = 12;
const SETTLED: usize = 600;

/// What all can see.
#[derive(Default)]
struct Seen {
    /// Which lease has which job in flight.
    flights: Mutex<HashMap<JobId, u64>>,
    settled: AtomicUsize,
    edited: AtomicUsize,
    over: AtomicBool,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_or_done_twice_among_nodes_edits_and_leases_that_end() {
    let Some(server) = Server::start("deadlock_timeout = 100ms", &[]) else { return };
    let database = Database::on(&server).await;
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        nodes.push(Arc::new(open(&database).await));
    }
    let world = World::new(Arc::clone(&nodes[0]) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    let mut keys = Vec::new();
    for number in 0..JOBS {
        keys.push(world.job(&collection, &format!("j{number}"), at(0)).await.key);
    }
    let seen = Arc::new(Seen::default());
    let mut tasks = JoinSet::new();
    for node in &nodes {
        tasks.spawn(fire(Arc::clone(node), Arc::clone(&seen)));
        tasks.spawn(fire(Arc::clone(node), Arc::clone(&seen)));
    }
    let editor = World::new(Arc::clone(&nodes[1]) as Arc<dyn Store>);
    tasks.spawn(edit(editor, keys.clone(), Arc::clone(&seen)));
    let client = database.client().await;
    let enough = async {
        let mut ended = 0;
        while seen.settled.load(Ordering::Relaxed) < SETTLED {
            // Now and then a lease ends, whatever its node is doing.
            if seen.settled.load(Ordering::Relaxed) > (ended + 1) * SETTLED / 8 {
                ended += 1;
                let end = "DELETE FROM nodes WHERE lease = (SELECT min(lease) FROM nodes)";
                client.batch_execute(end).await.unwrap();
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(240), enough).await.unwrap();
    seen.over.store(true, Ordering::Relaxed);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let (mut executed, mut edited, mut recorded) = (0, 0, 0);
    for key in &keys {
        let job = world.read(key).await;
        executed += usize::try_from(job.counters.execution).unwrap();
        edited += usize::try_from(job.counters.failure).unwrap();
        recorded += world.history(job.id).await.len();
    }
    let settled = seen.settled.load(Ordering::Relaxed);
    assert_eq!((executed, recorded), (settled, settled), "counters and history are what was settled");
    assert_eq!(edited, seen.edited.load(Ordering::Relaxed), "no edit is lost");
    assert!(!server.log().contains("deadlock detected"));
}

/// Fires what is due; each job is due again at once.
async fn fire(store: Arc<PostgresStore>, seen: Arc<Seen>) {
    let world = World::new(Arc::clone(&store) as Arc<dyn Store>);
    while !seen.over.load(Ordering::Relaxed) {
        for claim in world.claim(at(1_000_000), 4).await {
            let lease = store.standing().borrow().lease;
            if store.begin(&[claim.fence]).await.unwrap() != [true] {
                continue;
            }
            let other = seen.flights.lock().unwrap().insert(claim.job.id, lease);
            if let Some(other) = other {
                // Only one whose lease is gone may still believe that it has it.
                let live = store.nodes().await.unwrap().iter().any(|node| node.lease == other);
                assert!(!live || other == lease, "job {} is in flight twice", claim.job.id.0);
            }
            // The attempt; it has ended before anybody is told what became of it.
            tokio::task::yield_now().await;
            end_flight(&seen, claim.job.id, lease);
            let next_at = at(i64::from(claim.job.counters.execution) + 1);
            let mut decided = settlement(&claim, RecordStatus::Completed, Some(next_at));
            let nominal_at = at(i64::from(claim.job.counters.execution) * 1_000 + claim.job.revision);
            decided.records[0].nominal_at = nominal_at;
            let recorded = loop {
                match world.settle(decided.clone()).await {
                    Settled::Recorded => break true,
                    Settled::Changed(mut job, _) => {
                        job.counters.execution += 1;
                        job.progress.entry = Some(Entry::scheduled(next_at));
                        decided = Settlement { job: *job, ..decided };
                    }
                    Settled::Lost => break false,
                    Settled::Gone => panic!("nobody deletes"),
                }
            };
            seen.settled.fetch_add(usize::from(recorded), Ordering::Relaxed);
        }
    }
}

fn end_flight(seen: &Seen, job: JobId, lease: u64) {
    let mut flights = seen.flights.lock().unwrap();
    if flights.get(&job) == Some(&lease) {
        flights.remove(&job);
    }
}

/// Edits one job after the other.
async fn edit(world: World, keys: Vec<punctual_model::JobKey>, seen: Arc<Seen>) {
    for key in keys.iter().cycle() {
        if seen.over.load(Ordering::Relaxed) {
            return;
        }
        let (collection, job) = world.store.job_in_collection(key).await.unwrap().unwrap();
        let mut job = job.unwrap();
        job.counters.failure += 1;
        match world.put_job(job, &collection).await {
            Ok(_) => {
                seen.edited.fetch_add(1, Ordering::Relaxed);
            }
            Err(WriteError::Refused(Refusal::Stale)) => {}
            Err(other) => panic!("{other}"),
        }
    }
}
