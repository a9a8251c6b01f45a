//! Leases: who may claim and begin, and who may not any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Clock, RecordStatus};
use punctual_store::conformance::world::{MANY, World, at, settlement};
use punctual_store::{Agenda, ClaimAsk, NodeReport, Roster, Settled, Store, Survey};
use punctual_store_postgres::{OpenError, PostgresStore};

use crate::server::Database;
use crate::world::{boot, identity, open, options};

fn ask() -> ClaimAsk {
    ClaimAsk { until: at(9), limit: MANY, full_targets: Vec::new() }
}

/// Claims until something is found.
async fn claim_some(store: &PostgresStore) -> Vec<punctual_store::Claim> {
    let found = async {
        loop {
            let claims = store.claim(&ask()).await.unwrap();
            if !claims.is_empty() {
                return claims;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), found).await.unwrap()
}

async fn a_due_job(store: &Arc<PostgresStore>) -> World {
    let world = World::new(Arc::clone(store) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    world.job(&collection, "j", at(0)).await;
    world
}

#[tokio::test]
async fn the_claims_of_a_node_whose_beat_stands_still_are_free() {
    let Some(database) = Database::new().await else { return };
    let dead = Arc::new(open(&database).await);
    let world = a_due_job(&dead).await;
    let claim = world.begun(at(0)).await;
    let alive = open(&database).await;
    assert_eq!(alive.nodes().await.unwrap().len(), 2);
    drop((world, dead));
    let began = boot();
    let again = claim_some(&alive).await;
    assert_eq!(again[0].job.id, claim.job.id);
    assert!(boot() - began > Duration::from_secs(2), "not before the takeover time");
    assert_eq!(alive.nodes().await.unwrap().len(), 1);
}

#[tokio::test]
async fn nothing_is_begun_or_claimed_when_the_time_is_up_by_the_nodes_own_clock() {
    let Some(database) = Database::new().await else { return };
    static SKIPPED: AtomicU64 = AtomicU64::new(0);
    let mut options = options(&database.url);
    options.boot = Arc::new(|| boot() + Duration::from_secs(SKIPPED.load(Ordering::SeqCst)));
    let store = Arc::new(PostgresStore::open(options).await.unwrap());
    let world = a_due_job(&store).await;
    let claim = world.claim(at(0), 1).await.remove(0);
    // The machine was suspended for longer than the lease is valid.
    SKIPPED.store(60, Ordering::SeqCst);
    assert_eq!(store.begin(&[claim.fence]).await.unwrap(), [false]);
    let mut standing = store.standing();
    let renewed = |standing: &punctual_store::NodeStanding| {
        standing.valid_until.is_some_and(|until| until.0 > boot() + Duration::from_secs(60))
    };
    standing.wait_for(renewed).await.unwrap();
    assert_eq!(store.begin(&[claim.fence]).await.unwrap(), [false], "it is not held any more");
    assert_eq!(claim_some(&store).await.len(), 1, "nobody has taken it meanwhile");
}

#[tokio::test]
async fn a_node_that_has_lost_its_lease_gets_a_new_one_and_settles_what_it_had_begun() {
    let Some(database) = Database::new().await else { return };
    let store = Arc::new(open(&database).await);
    let world = a_due_job(&store).await;
    let collection = store_collection(&world).await;
    world.job(&collection, "held", at(1)).await;
    let claims = world.claim(at(9), MANY).await;
    assert_eq!(store.begin(&[claims[0].fence]).await.unwrap(), [true]);
    let mut standing = store.standing();
    let before = standing.borrow_and_update().lease;
    database.client().await.batch_execute("DELETE FROM nodes").await.unwrap();
    standing.wait_for(|standing| standing.lease > before).await.unwrap();
    let held: Vec<_> = store.held().await.unwrap().iter().map(|claim| claim.job).collect();
    assert_eq!(held, [claims[0].job.id], "what was not begun is dropped");
    assert_eq!(store.begin(&[claims[0].fence]).await.unwrap(), [false], "it may not be sent any more");
    let settled = world.settle(settlement(&claims[0], RecordStatus::Completed, None)).await;
    assert!(matches!(settled, Settled::Recorded), "nobody has claimed it since: {settled:?}");
    assert_eq!(claim_some(&store).await[0].job.id, claims[1].job.id);
}

async fn store_collection(world: &World) -> punctual_model::Collection {
    let key = punctual_model::CollectionKey::new("Sub", "Group", "c");
    world.store.collection(&key).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_release_that_is_repeated_frees_no_later_claim() {
    let Some(database) = Database::new().await else { return };
    let store = Arc::new(open(&database).await);
    let world = a_due_job(&store).await;
    let client = database.client().await;
    let holder = async || -> (Option<i64>, i64) {
        let row = client.query_one("SELECT holder, ticket FROM agenda", &[]).await.unwrap();
        (row.get(0), row.get(1))
    };
    let first = world.claim(at(0), 1).await.remove(0);
    let (lease, ticket) = holder().await;
    store.release(&[first.fence]).await.unwrap();
    let second = world.begun(at(0)).await;
    let numbers = [tokio_postgres::types::Type::INT8_ARRAY; 3];
    let repeat = client.prepare_typed(include_str!("../../queries/release.sql"), &numbers).await.unwrap();
    let arguments = (vec![second.job.id.0], vec![lease.unwrap()], vec![ticket]);
    assert_eq!(client.execute(&repeat, &[&arguments.0, &arguments.1, &arguments.2]).await.unwrap(), 0);
    assert_eq!(holder().await.0, lease, "the later claim holds");
    world.run(&second, RecordStatus::Completed, None).await;
}

#[tokio::test]
async fn a_claim_that_began_before_a_node_joined_does_not_take_what_it_has() {
    let Some(database) = Database::new().await else { return };
    let one = Arc::new(open(&database).await);
    let world = a_due_job(&one).await;
    // A snapshot from before the other node joins, as a claim would have that began then.
    let old = database.client().await;
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM nodes").await.unwrap();
    let other = Arc::new(open(&database).await);
    let claims = World::new(Arc::clone(&other) as Arc<dyn Store>).claim(at(0), 1).await;
    assert_eq!(claims.len(), 1);
    let holder: i64 =
        database.client().await.query_one("SELECT holder FROM agenda", &[]).await.unwrap().get(0);
    let dead = "SELECT $1 <> ALL (ARRAY(SELECT lease FROM nodes)), \
                $1 <= (SELECT last FROM numbers WHERE name = 'lease')";
    let row = old.query_one(dead, &[&holder]).await.unwrap();
    assert_eq!(
        (row.get::<_, bool>(0), row.get::<_, bool>(1)),
        (true, false),
        "only the second condition saves it"
    );
    drop(world);
}

#[tokio::test]
async fn what_a_node_reports_others_see() {
    let Some(database) = Database::new().await else { return };
    let (one, other) = (open(&database).await, open(&database).await);
    one.report(NodeReport { fires: false, held: 3, in_flight: 2 });
    let seen = async {
        loop {
            let nodes = other.nodes().await.unwrap();
            if nodes[0].report == (NodeReport { fires: false, held: 3, in_flight: 2 }) {
                return nodes;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), seen).await.unwrap();
    let mut standing = other.standing();
    let alone = standing.wait_for(|standing| standing.firing_count == 1).await.unwrap();
    assert_eq!(alone.rank, 0, "those that don't fire don't count");
}

/// The real clock, off by some time.
struct Off(SignedDuration);

impl Clock for Off {
    #[expect(clippy::disallowed_methods, reason = "it is compared with the server's")]
    fn now(&self) -> Timestamp {
        Timestamp::now() + self.0
    }
}

#[tokio::test]
async fn a_node_whose_clock_is_off_does_not_fire_and_says_so() {
    let Some(database) = Database::new().await else { return };
    let check = async |off: i64, may_fire: bool| {
        let mut options = options(&database.url);
        options.clock = Arc::new(Off(SignedDuration::from_millis(off)));
        // A machine that is slow has long round trips, which excuse a clock.
        options.clock_allowance = Some(Duration::from_secs(1));
        let store = PostgresStore::open(options).await.unwrap();
        let found = *store.standing().borrow();
        assert_eq!(found.may_fire, may_fire, "the clocks are compared before it may fire for the first time");
        assert_eq!(found.clock_lead.as_secs().signum(), (off / 10_000).signum(), "{off}");
        assert_eq!(store.problems().await.unwrap().len(), usize::from(!may_fire));
        assert_eq!(store.claim(&ask()).await.unwrap().len(), 0);
        store.leave().await.unwrap();
    };
    check(60_000, false).await;
    check(-60_000, false).await;
    check(0, true).await;
}

#[tokio::test]
async fn nodes_that_would_take_over_at_different_times_do_not_start_together() {
    let Some(database) = Database::new().await else { return };
    let _store = open(&database).await;
    let mut other = options(&database.url);
    other.takeover = Duration::from_secs(9);
    let refused = PostgresStore::open(other).await.unwrap_err();
    assert!(matches!(refused, OpenError::Takeover { .. }), "{refused}");
    let mut short = options(&database.url);
    short.takeover = Duration::from_secs(1);
    assert!(matches!(PostgresStore::open(short).await.unwrap_err(), OpenError::TakeoverShort));
}

#[tokio::test]
async fn whoever_has_the_home_of_a_node_need_not_wait_for_its_lease() {
    let Some(database) = Database::new().await else { return };
    let at_home = || {
        let mut options = options(&database.url);
        options.identity =
            punctual_store_postgres::NodeIdentity { home: Some("h".to_owned()), ..identity("n") };
        options
    };
    let first = Arc::new(PostgresStore::open(at_home()).await.unwrap());
    let world = a_due_job(&first).await;
    assert_eq!(world.claim(at(0), 1).await.len(), 1);
    drop((world, first));
    let second = PostgresStore::open(at_home()).await.unwrap();
    assert_eq!(second.nodes().await.unwrap().len(), 1);
    assert_eq!(second.claim(&ask()).await.unwrap().len(), 1, "at once");
}

#[tokio::test]
async fn an_entry_without_its_job_prevents_no_other_from_being_claimed() {
    let Some(database) = Database::new().await else { return };
    let store = Arc::new(open(&database).await);
    let world = a_due_job(&store).await;
    let collection = store_collection(&world).await;
    let other = world.job(&collection, "other", at(1)).await;
    database.client().await.batch_execute("DELETE FROM jobs WHERE name = 'j'").await.unwrap();
    let claims: Vec<_> = world.claim(at(9), MANY).await.iter().map(|claim| claim.job.id).collect();
    assert_eq!(claims, [other.id]);
    assert_eq!(store.held().await.unwrap().len(), 1, "the entry is not held");
}
