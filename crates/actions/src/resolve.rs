//! From names to addresses.
//!
//! The system's resolver blocks a thread and can't be interrupted. So the number of such threads is
//! bounded, one question is asked for all who want the same name at the same time, and an answer is good
//! for a moment, so that a herd of jobs for one host costs one look-up.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Threads that may be inside the system's resolver at once. Tokio has 512 for all purposes; a name server
/// that never answers must leave some to others.
const LOOKUPS_MAX: usize = 128;

/// How long an answer is used again. Short: the system has a cache of its own if one is wanted.
const FRESH: Duration = Duration::from_secs(1);

/// How long an answer is used again where no new one can be had.
const STALE: Duration = Duration::from_secs(600);

/// Names remembered at once; beyond it, those that are stale are forgotten.
const NAMES_MAX: usize = 4096;

/// Resolves names.
pub(crate) struct Resolver {
    names: Mutex<HashMap<Box<str>, Arc<Slot>>>,
    lookups: Arc<Semaphore>,
}

/// The latest answer for one name; whoever holds the lock is asking.
type Slot = tokio::sync::Mutex<Option<Answer>>;

struct Answer {
    at: Instant,
    addresses: Result<Arc<[IpAddr]>, Unresolved>,
}

/// Why a name has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// There is no such name, or it has no address.
    NoSuchName,
    /// The name servers gave no answer, so that nobody knows.
    NoAnswer,
}

impl Unresolved {
    /// What an error of the system's resolver means. It is an error of its own kind, and all that Rust tells of
    /// it is the text: `EAI_AGAIN` in the words of glibc and of musl, else the name has no address.
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

    /// The addresses of a name, in the system's order.
    pub(crate) async fn resolve(&self, name: &str) -> Result<Arc<[IpAddr]>, Unresolved> {
        let asked_at = Instant::now();
        let slot = self.slot(name);
        let mut known = slot.lock().await;
        if let Some(answer) = &*known {
            // A failure is shared with those who waited for it, and asked again by those who come later.
            let good_until = if answer.addresses.is_ok() { answer.at + FRESH } else { answer.at };
            if good_until >= asked_at {
                return answer.addresses.clone();
            }
            // Names that nobody answers for must not take the others down: while all threads are busy with
            // them, a name that was known a while ago is still taken for known.
            let known = answer.addresses.is_ok() && answer.at + STALE >= asked_at;
            if known && self.lookups.available_permits() == 0 {
                return answer.addresses.clone();
            }
        }
        let addresses = self.look_up(name).await;
        *known = Some(Answer { at: Instant::now(), addresses: addresses.clone() });
        addresses
    }

    fn slot(&self, name: &str) -> Arc<Slot> {
        let mut names = self.names.lock().expect("nothing panics while it holds this lock");
        if let Some(slot) = names.get(name) {
            return Arc::clone(slot);
        }
        if names.len() >= NAMES_MAX {
            let now = Instant::now();
            // A slot that is locked is in use; one that is free and stale is of no use to anybody.
            names.retain(|_, slot| match slot.try_lock() {
                Ok(known) => known.as_ref().is_some_and(|answer| answer.at + FRESH >= now),
                Err(_) => true,
            });
        }
        let slot = Arc::<Slot>::default();
        names.insert(name.into(), Arc::clone(&slot));
        slot
    }

    async fn look_up(&self, name: &str) -> Result<Arc<[IpAddr]>, Unresolved> {
        let permit = Arc::clone(&self.lookups).acquire_owned().await.map_err(|_| Unresolved::NoAnswer)?;
        let name = name.to_owned();
        let asking = tokio::task::spawn_blocking(move || {
            let found = (name.as_str(), 0).to_socket_addrs();
            // Held by the thread, not by the one who waits: if that one gives up, the thread still counts.
            drop(permit);
            found.map(|addresses| addresses.map(|address| address.ip()).collect::<Vec<_>>())
        });
        match asking.await {
            Ok(Ok(addresses)) if addresses.is_empty() => Err(Unresolved::NoSuchName),
            Ok(Ok(addresses)) => Ok(addresses.into()),
            Ok(Err(error)) => Err(Unresolved::of(&error)),
            // The thread of the look-up panicked.
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
        // A machine without name servers can't know.
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
    async fn an_answer_is_used_again() {
        let resolver = Resolver::new();
        let first = resolver.resolve("localhost").await.unwrap();
        let second = resolver.resolve("localhost").await.unwrap();
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[tokio::test(start_paused = true)]
    async fn a_known_name_is_not_kept_waiting_by_names_that_nobody_answers_for() {
        let resolver = Resolver::new();
        let first = resolver.resolve("localhost").await.unwrap();
        tokio::time::advance(FRESH * 2).await;
        let _busy = resolver.lookups.acquire_many(LOOKUPS_MAX as u32).await.unwrap();
        assert!(Arc::ptr_eq(&first, &resolver.resolve("localhost").await.unwrap()));
    }

    #[tokio::test]
    async fn remembered_names_are_bounded() {
        let resolver = Resolver::new();
        for index in 0..NAMES_MAX + 10 {
            drop(resolver.slot(&format!("name-{index}")));
        }
        assert!(resolver.names.lock().unwrap().len() <= NAMES_MAX);
    }
}
