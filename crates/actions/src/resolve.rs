//! Resolves host names.
//!
//! The system's resolver blocks a thread and can't be cancelled. So the number of these threads is bounded, attempts
//! that need the same name at the same time share one look-up, and results are cached for a second: many jobs that
//! are due at one instant for one host cost one look-up.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Look-ups that may run at once, each on a thread. Tokio has 512 threads for all blocking work, and a name server
/// that never answers must not occupy all of them.
const LOOKUPS_MAX: usize = 128;

/// How long a result is cached. Operators who want a longer cache have one in the system's resolver.
const FRESH: Duration = Duration::from_secs(1);

/// How long an expired result is used while all look-ups are busy.
const STALE: Duration = Duration::from_secs(600);

/// Names in the cache. When it is full, expired results are evicted.
const NAMES_MAX: usize = 4096;

/// Resolves names.
pub(crate) struct Resolver {
    names: Mutex<HashMap<Box<str>, Arc<Entry>>>,
    lookups: Arc<Semaphore>,
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

impl Unresolved {
    /// Translates an error of the system's resolver. Rust gives only its text, so `EAI_AGAIN` is recognized by the
    /// texts of glibc and musl. Every other error means that the name has no address.
    fn of(error: &io::Error) -> Self {
        let text = error.to_string();
        let temporary = ["Temporary failure in name resolution", "Try again"];
        if temporary.iter().any(|part| text.contains(part)) { Self::NoAnswer } else { Self::NoSuchName }
    }
}

impl Resolver {
    pub(crate) fn new() -> Self {
        Self { names: Mutex::default(), lookups: Arc::new(Semaphore::new(LOOKUPS_MAX)) }
    }

    /// Returns the addresses of a name in the system's order.
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
            // Look-ups that hang must not stop jobs for other hosts: while all threads are busy, an expired
            // result is used.
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
        let permit = Arc::clone(&self.lookups).acquire_owned().await.map_err(|_| Unresolved::NoAnswer)?;
        let name = name.to_owned();
        let asking = tokio::task::spawn_blocking(move || {
            let found = (name.as_str(), 0).to_socket_addrs();
            // The thread holds the permit: it is busy even if the attempt has given up.
            drop(permit);
            found.map(|addresses| addresses.map(|address| address.ip()).collect::<Vec<_>>())
        });
        match asking.await {
            Ok(Ok(addresses)) if addresses.is_empty() => Err(Unresolved::NoSuchName),
            Ok(Ok(addresses)) => Ok(addresses.into()),
            Ok(Err(error)) => Err(Unresolved::of(&error)),
            // The look-up panicked.
            Err(_) => Err(Unresolved::NoAnswer),
        }
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_name_that_is_not_there_is_told_from_name_servers_that_do_not_answer() {
        let check = |text: &str, expected| assert_eq!(Unresolved::of(&io::Error::other(text)), expected);
        let lookup = "failed to lookup address information: ";
        check(&format!("{lookup}Name or service not known"), Unresolved::NoSuchName);
        check(&format!("{lookup}No address associated with hostname"), Unresolved::NoSuchName);
        check(&format!("{lookup}Temporary failure in name resolution"), Unresolved::NoAnswer);
        check(&format!("{lookup}Try again"), Unresolved::NoAnswer);
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
