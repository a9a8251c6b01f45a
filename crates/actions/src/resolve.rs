//! Resolves host names.
//!
//! Look-ups are asynchronous and their number is bounded. Attempts that need the same name at the same time share one
//! look-up, and results are cached for a second: many jobs that are due at one instant for one host cost one look-up.
//! Names that no name server answers delay no others, as long as they are fewer than the bound.

mod dns;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::dns::Dns;

/// Look-ups that may run at once. Each needs up to two file descriptors until it is answered, or nobody has answered for
/// long enough.
const LOOKUPS_MAX: usize = 2048;

/// How long a result is cached. Operators who want a longer cache have one in the system's resolver.
const FRESH: Duration = Duration::from_secs(1);

/// How long an expired result is used while all look-ups are busy.
const STALE: Duration = Duration::from_secs(600);

/// Names in the cache. When it is full, expired results are evicted.
const NAMES_MAX: usize = 4096;

/// Resolves names.
pub(crate) struct Resolver {
    names: Mutex<HashMap<Box<str>, Arc<Entry>>>,
    lookups: Semaphore,
    dns: Dns,
}

/// The latest result for one name. Whoever holds the lock looks it up.
type Entry = tokio::sync::Mutex<Option<Lookup>>;

struct Lookup {
    at: Instant,
    addresses: Result<Arc<[IpAddr]>, Unresolved>,
}

/// Why a name has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// The name does not exist, or has no address.
    NoSuchName,
    /// The name servers did not answer.
    NoAnswer,
}

impl Resolver {
    pub(crate) fn new() -> Self {
        Self::of(Dns::of_system())
    }

    fn of(dns: Dns) -> Self {
        Self { names: Mutex::default(), lookups: Semaphore::new(LOOKUPS_MAX), dns }
    }

    /// Returns the addresses of a name, those of IPv6 first.
    pub(crate) async fn resolve(&self, name: &str) -> Result<Arc<[IpAddr]>, Unresolved> {
        let asked_at = Instant::now();
        let entry = self.entry(name);
        let mut cached = entry.lock().await;
        if let Some(lookup) = &*cached {
            // A failure is shared with the attempts that waited for it, and not cached for later ones.
            let good_until = if lookup.addresses.is_ok() { lookup.at + FRESH } else { lookup.at };
            if good_until >= asked_at {
                return lookup.addresses.clone();
            }
            // Look-ups that hang must not stop jobs for other hosts: while there are as many as there may be, an
            // expired result is used.
            let usable = lookup.addresses.is_ok() && lookup.at + STALE >= asked_at;
            if usable && self.lookups.available_permits() == 0 {
                return lookup.addresses.clone();
            }
        }
        let addresses = self.look_up(name).await;
        *cached = Some(Lookup { at: Instant::now(), addresses: addresses.clone() });
        addresses
    }

    fn entry(&self, name: &str) -> Arc<Entry> {
        let mut names = self.names.lock().expect("nothing panics while it holds this lock");
        if let Some(entry) = names.get(name) {
            return Arc::clone(entry);
        }
        if names.len() >= NAMES_MAX {
            let now = Instant::now();
            // A locked entry is in use. An unlocked one with an expired result is evicted.
            names.retain(|_, entry| match entry.try_lock() {
                Ok(cached) => cached.as_ref().is_some_and(|lookup| lookup.at + FRESH >= now),
                Err(_) => true,
            });
        }
        let entry = Arc::<Entry>::default();
        names.insert(name.into(), Arc::clone(&entry));
        entry
    }

    async fn look_up(&self, name: &str) -> Result<Arc<[IpAddr]>, Unresolved> {
        let _permit = self.lookups.acquire().await.map_err(|_| Unresolved::NoAnswer)?;
        self.dns.look_up(name).await.map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::dns::tests::NameServer;
    use super::*;

    #[tokio::test]
    async fn localhost_has_a_loopback_address() {
        let addresses = Resolver::new().resolve("localhost").await.unwrap();
        assert!(addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
    }

    #[tokio::test]
    async fn a_name_without_an_address_is_unresolved() {
        // The reason depends on whether this machine has name servers.
        assert!(Resolver::new().resolve("no-such-host.invalid").await.is_err());
    }

    /// Raises the limit of open files, as the server does.
    fn open_files_max() -> usize {
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
        limit.maximum.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }

    #[tokio::test]
    async fn names_that_nobody_answers_delay_no_other() {
        let silent = open_files_max().min(4 * 900) / 4;
        let server = NameServer::start("known.example", [127, 0, 0, 7]).await;
        let resolver = Arc::new(Resolver::of(server.dns()));
        let mut hanging = tokio::task::JoinSet::new();
        for index in 0..silent {
            let resolver = Arc::clone(&resolver);
            hanging.spawn(async move { resolver.resolve(&format!("silent-{index}.example")).await });
        }
        while server.asked() < silent {
            tokio::task::yield_now().await;
        }
        let found = resolver.resolve("known.example").await.unwrap();
        assert_eq!(*found, [IpAddr::from([127, 0, 0, 7])]);
    }

    #[tokio::test]
    async fn a_result_is_cached() {
        let resolver = Resolver::new();
        let first = resolver.resolve("localhost").await.unwrap();
        let second = resolver.resolve("localhost").await.unwrap();
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[tokio::test(start_paused = true)]
    async fn an_expired_result_is_used_while_all_lookups_hang() {
        let resolver = Resolver::new();
        let first = resolver.resolve("localhost").await.unwrap();
        tokio::time::advance(FRESH * 2).await;
        let _busy = resolver.lookups.acquire_many(LOOKUPS_MAX as u32).await.unwrap();
        assert!(Arc::ptr_eq(&first, &resolver.resolve("localhost").await.unwrap()));
    }

    #[tokio::test]
    async fn the_cache_is_bounded() {
        let resolver = Resolver::new();
        for index in 0..NAMES_MAX + 10 {
            drop(resolver.entry(&format!("name-{index}")));
        }
        assert!(resolver.names.lock().unwrap().len() <= NAMES_MAX);
    }
}
