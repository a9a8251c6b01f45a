//! Killed at random moments under load, the server loses nothing and repeats only what was in flight.
//!
//! The load is of all kinds: steady schedules, targets that fail now and then or always, error actions,
//! schedules that overlap themselves, counts that run out, jobs that run once, edits, switches, runs,
//! deletions. Whatever was seen (what arrived, what the API answered and shows) is judged by the oracle of
//! the simulator; see `docs/reference/simulation.md`.
//!
//! `PUNCTUAL_CRASH_KILLS` says how often it is killed, `PUNCTUAL_CRASH_SEED` which moments are chosen and
//! what callers do; `scripts/crash` runs the long version.

mod audit;
pub(crate) mod caller;
pub(crate) mod definition;
pub(crate) mod history;
pub(crate) mod load;

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use punctual_sim::evidence;

use self::load::Load;
use crate::receiver::Receiver;
use crate::scheduler::{START, Scheduler, start_at, started_at};
use crate::server::{SOON, Server};

/// How many seconds the schedule's clock goes in one: a minute job is due twice a second.
const SPEED: u32 = 120;

/// The clock waits for nobody, so that it can be told from outside what it shows.
const IMPATIENT: &[&str] = &["--clock-patience", "0"];

/// The longest that a server is left alone.
const LIFE_MILLIS_MAX: i64 = 900;

/// The longest that a server is left alone that is killed while it starts.
const BIRTH_MILLIS_MAX: i64 = 60;

/// The longest pause between two calls.
const PAUSE_MILLIS_MAX: i64 = 20;

/// The longest that there is no server, now and then: some minutes of the schedule.
const GAP_MILLIS_MAX: i64 = 1_500;

/// How long a commit may take before others see it.
const SLACK: Duration = Duration::from_millis(250);

/// A number that a test is told from outside.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a test is told its length from outside")]
    let text = std::env::var(name).unwrap_or_default();
    text.parse().unwrap_or(default)
}

#[expect(clippy::disallowed_methods, reason = "the moments of kills are real")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The schedule's clock, which goes on while the server is dead.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    begun: Instant,
    origin: Timestamp,
    speed: u32,
}

impl Clock {
    /// One that is now at the start of the tests and goes fast.
    fn fast() -> Self {
        Self { begun: now(), origin: start_at(), speed: SPEED }
    }

    /// The time of day.
    pub(crate) fn real() -> Self {
        #[expect(clippy::disallowed_methods, reason = "several nodes have the real time")]
        let origin = Timestamp::now();
        Self { begun: now(), origin, speed: 1 }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.at(now())
    }

    pub(crate) fn at(&self, moment: Instant) -> Timestamp {
        self.origin + SignedDuration::try_from((moment - self.begun) * self.speed).unwrap()
    }
}

#[test]
fn killed_at_any_moment_it_loses_nothing_and_repeats_only_what_was_in_flight() {
    let kills = number("PUNCTUAL_CRASH_KILLS", 15);
    let seed = number("PUNCTUAL_CRASH_SEED", 0x5eed_2027);
    println!("{kills} kills, PUNCTUAL_CRASH_SEED={seed}");
    let scheduler = Scheduler::start_with(&["--clock-start", START, "--role", "api"]);
    let Scheduler { server, receiver, folder } = scheduler;
    let mut load = Load::new(seed, Clock::fast(), "c", receiver.url(""));
    let mut started = vec![now()];
    load.begin_quiet_life();
    load.populate(&server.address);
    server.signal("-TERM");
    assert!(server.wait().success());
    load.end_life(false, true);

    let mut slowest = Duration::ZERO;
    for round in 0..kills {
        receiver.wait_until_quiet();
        if load.rng.once_in(8) {
            pause(Duration::from_millis(load.rng.between(0, GAP_MILLIS_MAX).unsigned_abs()));
        }
        started.push(now());
        if load.rng.once_in(5) {
            be_killed_while_starting(&mut load, folder.path());
        } else if let Some(first) = be_killed(&mut load, folder.path(), &receiver, round % 3 == 2) {
            slowest = slowest.max(first);
        }
    }
    receiver.wait_until_quiet();
    started.push(now());
    let start = load.begin_life();
    let server = started_at(folder.path(), start, SPEED, IMPATIENT);
    load.note_ready();
    load.calm_down(&server.address);
    server.signal("-TERM");
    assert!(server.wait().success());
    load.end_life(false, true);

    // Nothing fires any more.
    let end = load.begin_life();
    started.push(now());
    let server = started_at(folder.path(), end, 1, &["--role", "api"]);
    load.note_ready();
    let scheduler = Scheduler { server, receiver, folder };
    collect(&mut load, &scheduler, &started, end);
    load.end_life(false, true);
    judge(&load, kills, slowest);
}

/// Lets a server live for a moment under load and kills it. How long it took until something was fired, if that
/// was waited for.
fn be_killed(load: &mut Load, data: &Path, receiver: &Receiver, watched: bool) -> Option<Duration> {
    let spawned = now();
    let start = load.begin_life();
    let server = started_at(data, start, SPEED, IMPATIENT);
    load.note_ready();
    let life = Duration::from_millis(load.rng.between(20, LIFE_MILLIS_MAX).unsigned_abs());
    // Some live until they fire, so that it can be seen how long that takes.
    let life = if watched { 3 * SOON } else { life };
    let address = server.address.clone();
    let (go, gone) = mpsc::channel::<()>();
    let (killed, kill) = mpsc::channel::<()>();
    let killer = std::thread::spawn(move || {
        let _ = kill.recv_timeout(life);
        server.signal("-KILL");
        let ended = server.wait();
        drop(go);
        ended
    });
    let first = watched.then(|| receiver.wait_for_any_since(spawned));
    let mut killed = Some(killed);
    for call in 0.. {
        if watched && call == 10 {
            killed = None;
        }
        let pause = Duration::from_millis(load.rng.between(0, PAUSE_MILLIS_MAX).unsigned_abs());
        if gone.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Disconnected) {
            break;
        }
        load.disturb(&address);
    }
    drop(killed);
    assert!(!killer.join().unwrap().success());
    load.end_life(true, true);
    first
}

/// Lets time pass: what comes due meanwhile is missed.
pub(crate) fn pause(time: Duration) {
    let (_keep, moment) = mpsc::channel::<()>();
    let _ = moment.recv_timeout(time);
}

fn be_killed_while_starting(load: &mut Load, data: &Path) {
    let start = load.begin_life();
    let life = Duration::from_millis(load.rng.between(0, BIRTH_MILLIS_MAX).unsigned_abs());
    let (start, speed) = (start.to_string(), SPEED.to_string());
    let clock = ["--clock-start", &start, "--clock-speed", &speed];
    Server::start_and_kill(data, &[&clock[..], IMPATIENT].concat(), life);
    load.end_life(true, false);
}

/// Reads whatever can be seen.
fn collect(load: &mut Load, scheduler: &Scheduler, started: &[Instant], end: Timestamp) {
    for hit in scheduler.receiver.hits() {
        let (life, from, to) = load.arrival(hit.arrived, started);
        load.note_delivery(&hit, life, from, to);
    }
    load.collect_history(&scheduler.server.address, start_at(), end);
    // What was never made was never fired.
    let never_made = |job: &evidence::JobEvidence| job.calls.is_empty();
    assert!(load.evidence.jobs.iter().filter(|job| never_made(job)).all(|job| job.deliveries.is_empty()));
    load.evidence.jobs.retain(|job| !never_made(job));
}

fn judge(load: &Load, kills: u64, slowest: Duration) {
    let judgement = evidence::judge(&load.evidence);
    let jobs = &load.evidence.jobs;
    let deliveries: usize = jobs.iter().map(|job| job.deliveries.len()).sum();
    let calls: usize = jobs.iter().map(|job| job.calls.len()).sum();
    let unanswered = jobs.iter().flat_map(|job| &job.calls).filter(|ask| !ask.answered).count();
    println!(
        "{kills} kills: {} jobs, {calls} calls of which {unanswered} were not answered, {deliveries} requests of \
         which {} were repeated, {} occurrences accounted for; the first request came {slowest:?} after a start \
         at the latest",
        jobs.len(),
        judgement.repeated_count,
        judgement.outcome_count
    );
    for (what, count) in &judgement.coverage {
        println!("{count:8} times {what}");
    }
    if let Some(story) = &judgement.story {
        println!("\n{story}");
    }
    assert!(
        judgement.problems.is_empty(),
        "{} problems:\n{}",
        judgement.problems.len(),
        judgement.problems.join("\n")
    );
    // It is a few milliseconds; a machine may be busy.
    assert!(slowest < SOON, "{slowest:?} until something was fired");
}
