//! Stores for the tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use punctual_model::{Clock, RandomSource};
use punctual_store::conformance::world::at;
use punctual_store::{KeyRing, Vault};
use punctual_store_postgres::{NodeIdentity, Options, PostgresStore, ServerUrl};

use crate::server::Database;

/// Randomness that counts, from another number for each store of the process.
pub(crate) struct Counting;

impl RandomSource for Counting {
    fn random(&self) -> u128 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        u128::from(next).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

/// A clock that stands still, long after what the cases do is due.
pub(crate) struct Later;

impl Clock for Later {
    fn now(&self) -> Timestamp {
        at(10_000_000)
    }
}

pub(crate) fn ring() -> KeyRing {
    /// The same key each time.
    struct Fixed;
    impl RandomSource for Fixed {
        fn random(&self) -> u128 {
            7
        }
    }
    KeyRing::generate(&Fixed)
}

/// The time since the machine was started.
pub(crate) fn boot() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(u64::try_from(now.tv_sec).unwrap(), u32::try_from(now.tv_nsec).unwrap())
}

pub(crate) fn identity(name: &str) -> NodeIdentity {
    NodeIdentity {
        name: name.to_owned(),
        home: None,
        url: "http://127.0.0.1:8380".to_owned(),
        version: "test".to_owned(),
        tzdata: "test".to_owned(),
        started_at: at(0),
    }
}

pub(crate) fn options(url: &str) -> Options {
    let mut options = Options::new(
        ServerUrl::parse(url).unwrap(),
        Arc::new(Vault::new(&ring())),
        Arc::new(Counting),
        Arc::new(Later),
        Arc::new(boot),
        identity("node"),
    );
    options.clock_allowance = None;
    options
}

pub(crate) async fn open(database: &Database) -> PostgresStore {
    PostgresStore::open(options(&database.url)).await.unwrap()
}
