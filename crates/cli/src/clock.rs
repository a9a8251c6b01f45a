//! The clocks: that of the machine, the same with a watch for steps, and a virtual one for schedules.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Clock, ClockPause, ClockReading, ClockWatch, TICK};
use punctual_store::NodeStanding;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;

/// The time of the machine, in ticks of 100 ns like all our times.
#[expect(clippy::disallowed_methods, reason = "the one place that owns the real clock")]
pub(crate) fn real_now() -> Timestamp {
    whole_ticks(Timestamp::now())
}

fn whole_ticks(at: Timestamp) -> Timestamp {
    let tick = TICK.as_nanos();
    Timestamp::from_nanosecond(at.as_nanosecond() / tick * tick).unwrap_or(at)
}

/// Two clocks that are read within this time count as read at once.
const TOGETHER: Duration = Duration::from_millis(10);

/// How often to try to read them at once on a busy machine.
const READS_MAX: usize = 10;

/// The machine's clock.
pub(crate) struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> Timestamp {
        real_now()
    }
}

/// The machine's clock with a [`ClockWatch`]: after a step forward it stands still for a while.
pub(crate) struct WatchedClock(ClockWatch);

impl WatchedClock {
    /// Watches from now on. A step forward is held for `hold`.
    pub(crate) fn new(hold: Duration) -> Self {
        Self(ClockWatch::new(hold, read_both()))
    }
}

impl Clock for WatchedClock {
    fn now(&self) -> Timestamp {
        self.0.believe(read_both())
    }

    fn watch(&self) -> Option<&ClockWatch> {
        Some(&self.0)
    }
}

/// The clock that nodes share: that of this machine, less what it is ahead of the database's. It never goes back by the little by
/// which one measurement differs from the next: what was fired at a time must not be recorded as before it.
pub(crate) struct SharedClock {
    own: Arc<dyn Clock>,
    standing: watch::Receiver<NodeStanding>,
    shown: Mutex<Timestamp>,
}

/// By how much measurements may differ. More than that is a clock that was set.
const MEASURED_WITHIN: SignedDuration = SignedDuration::from_secs(1);

impl SharedClock {
    pub(crate) fn new(own: Arc<dyn Clock>, standing: watch::Receiver<NodeStanding>) -> Self {
        Self { own, standing, shown: Mutex::new(Timestamp::MIN) }
    }
}

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        let lead = self.standing.borrow().clock_lead;
        let now = self.own.now();
        let now = whole_ticks(now.checked_sub(lead).unwrap_or(now));
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if now > *shown || shown.duration_since(now) > MEASURED_WITHIN {
            *shown = now;
        }
        *shown
    }

    fn speed(&self) -> f64 {
        self.own.speed()
    }

    fn pause_at(&self, at: Timestamp) -> Option<ClockPause> {
        self.own.pause_at(at)
    }

    fn watch(&self) -> Option<&ClockWatch> {
        self.own.watch()
    }
}

/// Reads both clocks. Reads again if the thread was interrupted between the two, which would look like a step.
fn read_both() -> ClockReading {
    let mut before = since_boot();
    let mut reading = ClockReading { wall: real_now(), boot: since_boot() };
    for _ in 1..READS_MAX {
        if reading.boot.saturating_sub(before) <= TOGETHER {
            break;
        }
        before = since_boot();
        reading = ClockReading { wall: real_now(), boot: since_boot() };
    }
    reading
}

/// The time since the machine was started, suspension included.
pub(crate) fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or(0), nanoseconds.unwrap_or(0))
}

/// A clock with a start time and a speed. It never goes back.
///
/// A clock faster than real time waits where it is asked to, for as long as its patience allows. Otherwise
/// hours could pass while a request is on its way, and occurrences would overlap that never do in real time.
pub(crate) struct VirtualClock(Arc<Mutex<Hand>>);

struct Hand {
    speed: f64,
    patience: Duration,
    /// What it showed at the last look.
    shown: Timestamp,
    /// When it continues from there: the time of the last look, or later where it waits.
    since: Instant,
    /// Where it waits, and until when at most.
    waits: BTreeMap<(Timestamp, u64), Instant>,
    last_wait: u64,
}

impl VirtualClock {
    /// `patience` limits how long the clock waits where it is asked to: long enough for a busy machine, short
    /// enough that a hanging target does not stop the clock.
    pub(crate) fn new(start_at: Timestamp, speed: f64, patience: Duration) -> Self {
        Self(Arc::new(Mutex::new(Hand::new(start_at, speed, patience, instant()))))
    }

    /// Leaves out the time up to an instant, if that is ahead.
    pub(crate) fn leap_to(&self, at: Timestamp) {
        let mut hand = lock(&self.0);
        hand.look(instant());
        hand.shown = hand.shown.max(at);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        lock(&self.0).look(instant())
    }

    fn speed(&self) -> f64 {
        lock(&self.0).speed
    }

    fn pause_at(&self, at: Timestamp) -> Option<ClockPause> {
        let mut hand = lock(&self.0);
        if hand.speed <= 1.0 || hand.patience.is_zero() {
            return None;
        }
        let wait = hand.pause_at(at, instant());
        Some(Box::new(Waiting { hand: Arc::clone(&self.0), wait }))
    }
}

impl Hand {
    fn new(start_at: Timestamp, speed: f64, patience: Duration, real: Instant) -> Self {
        Self { speed, patience, shown: start_at, since: real, waits: BTreeMap::new(), last_wait: 0 }
    }

    /// What it shows at a real instant, which is not before the last one.
    fn look(&mut self, real: Instant) -> Timestamp {
        while let Some((&(at, _), &until)) = self.waits.first_key_value() {
            let arrival = self.since + self.real_way(at);
            if real <= arrival {
                break;
            }
            if arrival < until {
                self.shown = self.shown.max(at);
                self.since = until.min(real);
            }
            if real <= until {
                return self.shown;
            }
            self.waits.pop_first();
        }
        let went = real.saturating_duration_since(self.since).as_secs_f64() * self.speed;
        let went = SignedDuration::try_from_secs_f64(went).unwrap_or(SignedDuration::MAX);
        self.shown = whole_ticks(self.shown.saturating_add(went).unwrap_or(Timestamp::MAX));
        self.since = self.since.max(real);
        self.shown
    }

    /// The real time that it takes to reach an instant.
    fn real_way(&self, at: Timestamp) -> Duration {
        let way = at.duration_since(self.shown).as_secs_f64().max(0.0) / self.speed;
        Duration::try_from_secs_f64(way).unwrap_or(Duration::from_secs(u32::MAX.into()))
    }

    fn pause_at(&mut self, at: Timestamp, real: Instant) -> (Timestamp, u64) {
        self.look(real);
        self.last_wait += 1;
        let wait = (at, self.last_wait);
        self.waits.insert(wait, real + self.patience);
        wait
    }

    /// Ends a wait. If the clock is waiting there, it continues.
    fn go_on(&mut self, wait: (Timestamp, u64), real: Instant) {
        self.look(real);
        self.waits.remove(&wait);
    }
}

/// A guard: the clock waits until it is dropped.
struct Waiting {
    hand: Arc<Mutex<Hand>>,
    wait: (Timestamp, u64),
}

impl Drop for Waiting {
    fn drop(&mut self) {
        lock(&self.hand).go_on(self.wait, instant());
    }
}

/// The hand is consistent whenever nobody holds its lock, so a poisoned lock can be used.
fn lock(hand: &Mutex<Hand>) -> MutexGuard<'_, Hand> {
    hand.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "a virtual clock is driven by the real one")]
fn instant() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(2);

    /// A clock that goes a minute in a second, on real time that is told in milliseconds.
    struct Bench {
        began: Instant,
        hand: Hand,
    }

    impl Bench {
        fn new() -> Self {
            let began = instant();
            Self { began, hand: Hand::new(Timestamp::UNIX_EPOCH, 60.0, PATIENCE, began) }
        }

        fn after(&self, millis: u64) -> Instant {
            self.began + Duration::from_millis(millis)
        }

        #[track_caller]
        fn shows(&mut self, millis: u64, second: i64) {
            let real = self.after(millis);
            assert_eq!(self.hand.look(real).as_second(), second, "after {millis} ms");
        }

        fn wait(&mut self, second: i64, millis: u64) -> (Timestamp, u64) {
            let real = self.after(millis);
            self.hand.pause_at(Timestamp::from_second(second).unwrap(), real)
        }

        fn go_on(&mut self, wait: (Timestamp, u64), millis: u64) {
            let real = self.after(millis);
            self.hand.go_on(wait, real);
        }
    }

    #[test]
    fn it_waits_where_it_is_asked_to_and_goes_on_from_there() {
        let mut clock = Bench::new();
        clock.shows(500, 30);
        let (first, second) = (clock.wait(60, 500), clock.wait(60, 600));
        clock.shows(900, 54);
        clock.shows(1_300, 60);
        clock.go_on(first, 1_500);
        clock.shows(1_700, 60);
        clock.go_on(second, 2_000);
        clock.shows(2_500, 90);
    }

    #[test]
    fn what_ends_before_the_clock_is_there_costs_no_time() {
        let mut clock = Bench::new();
        let wait = clock.wait(60, 0);
        clock.go_on(wait, 900);
        clock.shows(2_000, 120);
    }

    #[test]
    fn its_patience_has_an_end_whoever_looks() {
        let mut clock = Bench::new();
        let _hung = [clock.wait(60, 0), clock.wait(60, 0), clock.wait(90, 0)];
        clock.shows(1_500, 60);
        clock.shows(3_000, 120);
        let _hung = clock.wait(150, 3_000);
        // Nobody looks before it is all over: it stood from 3.5 s to 5 s.
        clock.shows(6_000, 210);
        let late = clock.wait(0, 6_000);
        clock.shows(7_000, 210);
        clock.go_on(late, 7_000);
        clock.shows(8_000, 270);
        let _hung_long_before = clock.wait(600, 8_000);
        clock.shows(20_000, 990);
    }

    #[test]
    fn the_machine_s_clock_is_watched_and_a_virtual_one_is_not() {
        let clock = WatchedClock::new(Duration::from_secs(10));
        let (before, now, after) = (real_now(), clock.now(), real_now());
        assert!(before <= now && now <= after);
        let watch = clock.watch().unwrap();
        assert_eq!((watch.held(), watch.news(0)), (None, Vec::new()));
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        assert!((uptime - watch.boot().as_secs_f64()).abs() < 60.0, "{uptime} {:?}", watch.boot());
        assert!(VirtualClock::new(Timestamp::UNIX_EPOCH, 1.0, PATIENCE).watch().is_none());
    }

    #[test]
    fn it_leaps_ahead_and_never_back() {
        let clock = VirtualClock::new(Timestamp::UNIX_EPOCH, 1.0, Duration::ZERO);
        let later = Timestamp::from_second(86_400).unwrap();
        clock.leap_to(later);
        assert!(clock.now() >= later);
        clock.leap_to(Timestamp::UNIX_EPOCH);
        assert!(clock.now() >= later);
    }

    #[test]
    fn what_the_machine_is_ahead_is_taken_away_and_a_measurement_sets_nothing_back() {
        struct Fixed(Mutex<Timestamp>);
        impl Clock for Fixed {
            fn now(&self) -> Timestamp {
                *self.0.lock().unwrap()
            }
        }
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let own = Arc::new(Fixed(Mutex::new(at(10_000))));
        let lead = |millis| NodeStanding {
            clock_lead: SignedDuration::from_millis(millis),
            ..NodeStanding::alone()
        };
        let (sender, standing) = watch::channel(lead(200));
        let clock = SharedClock::new(Arc::<Fixed>::clone(&own), standing);
        assert_eq!(clock.now(), at(9_800));
        sender.send_replace(lead(203));
        assert_eq!(clock.now(), at(9_800), "not back by three milliseconds");
        *own.0.lock().unwrap() = at(10_010);
        assert_eq!(clock.now(), at(9_807));
        sender.send_replace(lead(-50));
        assert_eq!(clock.now(), at(10_060), "one that is behind is set right as well");
        *own.0.lock().unwrap() = at(5_000);
        assert_eq!(clock.now(), at(5_050), "a clock that was set back is believed");
    }

    #[test]
    fn only_a_fast_clock_with_patience_waits() {
        let epoch = Timestamp::UNIX_EPOCH;
        assert!(VirtualClock::new(epoch, 1.0, PATIENCE).pause_at(epoch).is_none());
        assert!(VirtualClock::new(epoch, 0.5, PATIENCE).pause_at(epoch).is_none());
        assert!(VirtualClock::new(epoch, 60.0, Duration::ZERO).pause_at(epoch).is_none());
        assert!(RealClock.pause_at(epoch).is_none());
        let clock = VirtualClock::new(epoch, 1e9, PATIENCE);
        let wait = clock.pause_at(clock.now());
        let shown = clock.now();
        assert_eq!(clock.now(), shown);
        drop(wait);
        assert!(clock.now() >= shown);
    }
}
