//! What happens on a connection, and how long it may take.
//!
//! ```text
//!   opened --first byte--> head --request--> busy --answered--> idle --first byte--> head
//!     10 s                 15 s              (*)                60 s
//! ```
//!
//! (*) The API bounds how long a body may take. At any time an answer that nobody reads is cut off: what the caller does
//! not take may wait for 30 seconds in all, less one for every 4 KiB that it did take. Over HTTP/2, where a caller says
//! how much it takes of each answer, some part of some answer must be taken within 30 seconds.
//!
//! Over HTTP/2 bytes that arrive between requests say little: they may be acknowledgements or pings. There a connection
//! stays idle until the next request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::Version;
use tokio::time::Instant;

use super::gate::Place;

/// A caller that connects has something to say.
pub(super) const FIRST_BYTE_TIME_MAX: Duration = Duration::from_secs(10);

/// A caller that takes longer to send the head of a request is gone, or tries to occupy a connection.
const HEAD_TIME_MAX: Duration = Duration::from_secs(15);

/// How long a connection is kept for the next request. Clients keep them, and those with a pool rarely for longer.
const IDLE_TIME_MAX: Duration = Duration::from_secs(60);

/// How long the caller may let us wait before it takes more of an answer.
const UNREAD_TIME_MAX: Duration = Duration::from_secs(30);

/// For so many bytes that a caller takes, it may let us wait for a second more.
const BYTES_PER_SECOND_MIN: u64 = 4 * 1024;

/// What happens on one connection.
pub(super) struct Activity {
    place: Place,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    since: Instant,
    in_flight: usize,
    http2: bool,
    unread: Unread,
    /// How many answers have a part that was not asked for yet, and when the last part was.
    untaken: usize,
    taken_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Opened,
    Head,
    Idle,
}

/// How long a caller has let us wait with an answer.
#[derive(Default)]
struct Unread {
    waiting_since: Option<Instant>,
    waited: Duration,
    /// What was written since the connection was last taken for active.
    written: u64,
}

impl Activity {
    pub(super) fn new(place: Place) -> Arc<Self> {
        let (phase, since, unread) = (Phase::Opened, Instant::now(), Unread::default());
        let state = State { phase, since, in_flight: 0, http2: false, unread, untaken: 0, taken_at: since };
        Arc::new(Self { place, state: Mutex::new(state) })
    }

    /// Waits until the connection has to make room for another.
    pub(super) async fn has_to_close(&self) {
        self.place.has_to_close().await;
    }

    /// When its time is up, unless something happens. None while it is the API's turn.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        if let Some(since) = state.unread.waiting_since {
            return Some(since + UNREAD_TIME_MAX.saturating_sub(state.unread.waited));
        }
        if state.untaken > 0 {
            return Some(state.taken_at + UNREAD_TIME_MAX);
        }
        let time_max = match state.phase {
            _ if state.in_flight > 0 => return None,
            Phase::Opened => FIRST_BYTE_TIME_MAX,
            Phase::Head => HEAD_TIME_MAX,
            Phase::Idle => IDLE_TIME_MAX,
        };
        Some(state.since + time_max)
    }

    /// A request begins; it ends when the answer's last part was taken over, and with it what is returned is dropped.
    pub(super) fn begin(self: &Arc<Self>, version: Version) -> Asking {
        let mut state = self.state();
        state.http2 = version == Version::HTTP_2;
        state.in_flight += 1;
        if state.in_flight == 1 {
            self.place.busy();
        }
        drop(state);
        Asking { activity: Arc::clone(self), untaken: false }
    }

    /// Bytes arrived.
    pub(super) fn received(&self) {
        let mut state = self.state();
        let first = match state.phase {
            Phase::Opened => true,
            Phase::Idle => !state.http2,
            Phase::Head => false,
        };
        if first && state.in_flight == 0 {
            (state.phase, state.since) = (Phase::Head, Instant::now());
        }
    }

    /// Bytes can't be sent now, because the caller has not taken those before.
    pub(super) fn waits(&self) {
        self.state().unread.waiting_since.get_or_insert_with(Instant::now);
    }

    /// So many bytes were sent; none if it is only known that none wait any more.
    pub(super) fn sent(&self, count: usize) {
        let mut state = self.state();
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let unread = &mut state.unread;
        if let Some(since) = unread.waiting_since.take() {
            unread.waited += Instant::now() - since;
        }
        let seconds = Duration::from_millis(count.saturating_mul(1000) / BYTES_PER_SECOND_MIN);
        unread.waited = unread.waited.saturating_sub(seconds);
        unread.written += count;
        if unread.written >= BYTES_PER_SECOND_MIN {
            unread.written = 0;
            if state.phase == Phase::Idle {
                state.since = Instant::now();
            }
        }
    }

    fn end(&self) {
        let mut state = self.state();
        state.in_flight -= 1;
        if state.in_flight == 0 {
            (state.phase, state.since) = (Phase::Idle, Instant::now());
            self.place.idle();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered.
pub(super) struct Asking {
    activity: Arc<Activity>,
    /// Whether a part of the answer is there that nobody has asked for yet.
    untaken: bool,
}

impl Asking {
    /// There is an answer, or more of it, for the caller to take.
    pub(super) fn offered(&mut self) {
        self.set_untaken(true);
    }

    /// The caller takes what is there.
    pub(super) fn taken(&mut self) {
        self.set_untaken(false);
    }

    fn set_untaken(&mut self, untaken: bool) {
        if untaken == self.untaken {
            return;
        }
        self.untaken = untaken;
        let mut state = self.activity.state();
        state.taken_at = Instant::now();
        if untaken {
            state.untaken += 1;
        } else {
            state.untaken -= 1;
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.taken();
        self.activity.end();
    }
}

#[cfg(test)]
mod tests {
    use punctual_api::Traffic;
    use tokio::time::advance;

    use super::super::gate::Gate;
    use super::*;

    async fn activity() -> Arc<Activity> {
        Activity::new(
            Gate::new(1, Vec::new(), Arc::new(Traffic::default()))
                .admit(std::net::Ipv4Addr::LOCALHOST.into())
                .await
                .unwrap(),
        )
    }

    /// How much time it has left, in seconds.
    fn left(activity: &Activity) -> Option<u64> {
        activity.deadline().map(|deadline| (deadline - Instant::now()).as_secs())
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn each_part_of_a_request_has_its_time() {
        let activity = activity().await;
        assert_eq!(left(&activity), Some(10));
        advance(4 * SECOND).await;
        assert_eq!(left(&activity), Some(6));
        activity.received();
        assert_eq!(left(&activity), Some(15));
        advance(5 * SECOND).await;
        // A head that comes in drops has no more time than another.
        activity.received();
        assert_eq!(left(&activity), Some(10));
        let asking = activity.begin(Version::HTTP_11);
        assert_eq!(left(&activity), None);
        activity.received();
        advance(100 * SECOND).await;
        drop(asking);
        assert_eq!(left(&activity), Some(60));
        activity.received();
        assert_eq!(left(&activity), Some(15));
    }

    #[tokio::test(start_paused = true)]
    async fn over_http_2_pings_keep_no_connection_open() {
        let activity = activity().await;
        activity.received();
        let (one, other) = (activity.begin(Version::HTTP_2), activity.begin(Version::HTTP_2));
        drop(one);
        assert_eq!(left(&activity), None);
        drop(other);
        advance(20 * SECOND).await;
        activity.received();
        activity.sent(17);
        assert_eq!(left(&activity), Some(40));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_reads_is_waited_for_30_seconds_in_all() {
        let activity = activity().await;
        let asking = activity.begin(Version::HTTP_11);
        activity.waits();
        assert_eq!(left(&activity), Some(30));
        advance(20 * SECOND).await;
        activity.waits();
        assert_eq!(left(&activity), Some(10));
        // A byte now and then buys no time, 40 KiB buy ten seconds.
        activity.sent(1);
        assert_eq!(left(&activity), None);
        activity.waits();
        assert_eq!(left(&activity), Some(10));
        activity.sent(40 * 1024);
        activity.waits();
        assert_eq!(left(&activity), Some(20));
        drop(asking);
        assert_eq!(left(&activity), Some(20));
        activity.sent(4096);
        assert_eq!(left(&activity), Some(60));
    }
}
