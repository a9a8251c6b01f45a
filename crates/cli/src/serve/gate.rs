//! Bounds how many connections are open to callers.
//!
//! When there are as many as there may be, a new one takes the place of one on which nothing is asked: first of those that
//! never asked for anything, the one that waits for longest. So connections that say nothing keep nobody out. If all are
//! busy, the new one is closed. Both are counted, and logged once a minute at most.
//!
//! One source has a quarter of the places at most, so that it can't keep all of them busy. The machine itself and proxies that
//! are trusted may have all: others are behind them.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use punctual_api::Traffic;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How often it is logged that connections are refused.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// How long a connection that makes room may take to do so. It has nothing left to do.
const ROOM_TIME_MAX: Duration = Duration::from_secs(1);

/// The part of all places that one source may have.
const PART_OF_SOURCE: usize = 4;

/// Lets connections in.
pub(super) struct Gate {
    max: usize,
    trusted: Vec<IpNet>,
    state: Mutex<State>,
    /// Is told when a place is free again.
    freed: Notify,
    traffic: Arc<Traffic>,
}

#[derive(Default)]
struct State {
    open_count: usize,
    /// Counts how often a connection became idle.
    turn: u64,
    /// The idle connections, in the order in which they make room.
    idle: BTreeMap<Rank, Idle>,
    /// How many connections each source has, of those that count.
    by_source: HashMap<IpAddr, usize>,
    logged_at: Option<Instant>,
}

impl State {
    /// Whether it is to be logged that connections are refused: not if that was done lately.
    fn may_log(&mut self) -> bool {
        let now = Instant::now();
        let due = self.logged_at.is_none_or(|at| now - at >= LOG_INTERVAL);
        if due {
            self.logged_at = Some(now);
        }
        due
    }
}

/// An idle connection: how it is told to close, and whose it is.
struct Idle {
    close: Arc<Notify>,
    source: Option<IpAddr>,
}

/// Whether anything was ever asked, and since when nothing is. The smallest makes room first.
type Rank = (bool, u64);

impl Gate {
    pub(super) fn new(max: usize, trusted: Vec<IpNet>, traffic: Arc<Traffic>) -> Arc<Self> {
        traffic.set_max(max);
        Arc::new(Self { max, trusted, state: Mutex::default(), freed: Notify::new(), traffic })
    }

    /// A place for a new connection, which is idle; none if all others are busy. To be called by one task.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        let source = self.source(peer);
        let share = (self.max / PART_OF_SOURCE).max(1);
        let mut making_room = false;
        loop {
            {
                let mut state = self.state();
                let greedy = source.filter(|ip| state.by_source.get(ip).is_some_and(|count| *count >= share));
                if state.open_count < self.max && greedy.is_none() {
                    state.open_count += 1;
                    if let Some(ip) = source {
                        *state.by_source.entry(ip).or_default() += 1;
                    }
                    self.traffic.set_open(state.open_count);
                    let close = Arc::new(Notify::new());
                    let place = Place { gate: Arc::clone(self), close, source, rank: Mutex::new(None) };
                    place.enter(&mut state, false);
                    return Some(place);
                }
                if !making_room {
                    // Whoever has its share makes room itself.
                    let mut idle = state.idle.iter();
                    let first = idle.find(|(_, idle)| greedy.is_none() || idle.source == greedy);
                    let first = first.map(|(rank, _)| *rank).and_then(|rank| state.idle.remove(&rank));
                    self.refused(&mut state, first.is_some());
                    first?.close.notify_one();
                    making_room = true;
                }
            }
            // The descriptor of the other one has to be closed before there is one more.
            if tokio::time::timeout(ROOM_TIME_MAX, self.freed.notified()).await.is_err() {
                return None;
            }
        }
    }

    /// The source that a connection counts for; none if it counts for nobody.
    fn source(&self, peer: IpAddr) -> Option<IpAddr> {
        let ip = peer.to_canonical();
        if ip.is_loopback() || self.trusted.iter().any(|network| network.contains(&ip)) {
            return None;
        }
        Some(match ip {
            IpAddr::V4(_) => ip,
            // Everybody with IPv6 has 2^64 addresses.
            IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() & !u128::from(u64::MAX)).into(),
        })
    }

    /// Takes note that the system could not give us a connection.
    pub(super) fn not_accepted(&self, error: &std::io::Error) {
        self.traffic.count_refused();
        if self.state().may_log() {
            let refused = self.traffic.refused_count();
            tracing::warn!(%error, refused, "could not accept a connection; this is not logged again for a minute");
        }
    }

    /// Takes note that a connection was closed because there are too many.
    fn refused(&self, state: &mut State, idle: bool) {
        self.traffic.count_refused();
        if !state.may_log() {
            return;
        }
        tracing::warn!(
            max = self.max,
            refused = self.traffic.refused_count(),
            closed = if idle { "one on which nothing was asked" } else { "a new one" },
            "callers have as many connections open as they may: others are closed, and this is not logged again for a \
             minute; server.connections_max and the number of files that the process may open bound them"
        );
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of an open connection; dropping it makes it free.
pub(super) struct Place {
    gate: Arc<Gate>,
    close: Arc<Notify>,
    /// Whose it is, if that counts.
    source: Option<IpAddr>,
    /// Its rank among the idle ones; none while it is busy.
    rank: Mutex<Option<Rank>>,
}

impl Place {
    /// Something is asked on the connection: it is not closed to make room.
    pub(super) fn busy(&self) {
        self.leave(&mut self.gate.state());
    }

    /// What was asked is answered.
    pub(super) fn idle(&self) {
        self.enter(&mut self.gate.state(), true);
    }

    /// Waits until the connection has to make room for another.
    pub(super) async fn has_to_close(&self) {
        self.close.notified().await;
    }

    fn enter(&self, state: &mut State, asked_before: bool) {
        let rank = (asked_before, state.turn);
        state.turn += 1;
        state.idle.insert(rank, Idle { close: Arc::clone(&self.close), source: self.source });
        *self.rank.lock().unwrap_or_else(PoisonError::into_inner) = Some(rank);
    }

    fn leave(&self, state: &mut State) {
        let rank = self.rank.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(rank) = rank {
            state.idle.remove(&rank);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        self.leave(&mut state);
        state.open_count -= 1;
        if let Some(ip) = self.source
            && let Some(count) = state.by_source.get_mut(&ip)
        {
            *count -= 1;
            if *count == 0 {
                state.by_source.remove(&ip);
            }
        }
        self.gate.traffic.set_open(state.open_count);
        drop(state);
        self.gate.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// Whether it was told to close; asks once.
    fn told(place: &Place) -> bool {
        use std::future::Future;
        use std::task::{Context, Waker};
        let asked = std::pin::pin!(place.has_to_close());
        asked.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[tokio::test]
    async fn one_that_never_asked_makes_room_first_then_the_one_that_waits_for_longest() {
        let traffic = Arc::new(Traffic::default());
        let gate = Gate::new(3, Vec::new(), Arc::clone(&traffic));
        let (served, silent, working) = (
            gate.admit(HERE).await.unwrap(),
            gate.admit(HERE).await.unwrap(),
            gate.admit(HERE).await.unwrap(),
        );
        served.busy();
        served.idle();
        working.busy();
        assert_eq!((traffic.open_count(), traffic.refused_count()), (3, 0));

        let (new, ()) = tokio::join!(gate.admit(HERE), async { drop(close_when_told(silent).await) });
        let new = new.unwrap();
        new.busy();
        assert!(!told(&served) && !told(&working));
        let (newer, ()) = tokio::join!(gate.admit(HERE), async { drop(close_when_told(served).await) });
        newer.as_ref().unwrap().busy();
        // All are busy now.
        assert!(gate.admit(HERE).await.is_none());
        assert_eq!((traffic.open_count(), traffic.refused_count()), (3, 3));
        drop(working);
        assert!(gate.admit(HERE).await.is_some());
    }

    async fn close_when_told(place: Place) -> Place {
        place.has_to_close().await;
        place
    }

    #[tokio::test]
    async fn one_source_has_a_quarter_of_the_places_and_proxies_may_have_all() {
        let gate = Gate::new(8, vec!["10.0.0.0/8".parse().unwrap()], Arc::default());
        let admit = async |ip: &str| gate.admit(ip.parse().unwrap()).await;
        let (one, two) = (admit("192.0.2.1").await.unwrap(), admit("::ffff:192.0.2.1").await.unwrap());
        one.busy();
        two.busy();
        assert!(admit("192.0.2.1").await.is_none());
        let other = admit("192.0.2.2").await.unwrap();
        // It makes room for itself, not at the expense of others.
        one.idle();
        let (new, ()) = tokio::join!(admit("192.0.2.1"), async { drop(close_when_told(one).await) });
        assert!(new.is_some() && !told(&other));
        let mut proxied = Vec::new();
        for _ in 0..5 {
            proxied.push(admit("10.1.2.3").await.unwrap());
        }
        drop((two, new));
        assert!(admit("192.0.2.1").await.is_some());
        let six = [admit("2001:db8::1").await, admit("2001:db8::2").await];
        assert!(six.iter().all(Option::is_some));
        drop(proxied);
    }
}
