//! Killed at random moments under load, the server loses nothing and repeats only what was in flight.
//!
//! `PUNCTUAL_CRASH_KILLS` says how often it is killed, `PUNCTUAL_CRASH_SEED` which moments are chosen;
//! `scripts/crash` runs the long version.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::{Frequency, Rule, Start};
use serde_json::{Value, json};

use crate::receiver::Hit;
use crate::scheduler::{Scheduler, instant, start_at, started_at, wait_for};
use crate::server::{SOON, Server};

/// How many seconds the schedule's clock goes in one: a minute job is due twice a second.
const SPEED: u32 = 120;

/// Minute jobs, spread over the minute; every third of them calls a target that fails now and then.
const JOBS: i64 = 45;

/// The longest that a server is left alone.
const LIFE_MILLIS_MAX: u64 = 900;

fn number(name: &str, default: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a test is told its length from outside")]
    let text = std::env::var(name).unwrap_or_default();
    text.parse().unwrap_or(default)
}

#[expect(clippy::disallowed_methods, reason = "the moments of kills are real")]
fn now() -> Instant {
    Instant::now()
}

/// The schedule's clock, which goes on while the server is dead.
struct FastClock(Instant);

impl FastClock {
    fn now(&self) -> Timestamp {
        start_at() + SignedDuration::try_from(self.0.elapsed() * SPEED).unwrap()
    }
}

/// Numbers that look random and repeat with their seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn minute_job(index: i64) -> (String, Timestamp, &'static str) {
    let path = if index % 3 == 0 { "/flaky" } else { "/ok" };
    (format!("minute-{index}"), start_at() + SignedDuration::from_secs(60 + index * 60 / JOBS), path)
}

/// Puts a job that runs once, unless the server is killed meanwhile: true if that was acknowledged.
fn put_once(address: &str, name: &str, url: &str) -> bool {
    let body = json!({"properties": {"action": {"type": "Http", "request": {"method": "GET", "uri": url},
                                                "retryPolicy": {"retryType": "none"}}}});
    let body = body.to_string();
    let exchange = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(SOON))?;
        let path = Server::path(&format!("/once/jobs/{name}"));
        let length = body.len();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    exchange().is_ok_and(|answer| answer.starts_with("HTTP/1.1 201"))
}

#[test]
fn killed_at_any_moment_it_loses_nothing_and_repeats_only_what_was_in_flight() {
    let kills = number("PUNCTUAL_CRASH_KILLS", 15);
    let seed = number("PUNCTUAL_CRASH_SEED", 0x5eed_2027);
    println!("{kills} kills, PUNCTUAL_CRASH_SEED={seed}");
    let mut dice = Dice(seed.max(1));

    let scheduler = Scheduler::start_with(&["--clock-start", crate::scheduler::START, "--role", "api"]);
    scheduler.server.put_collection("once");
    for index in 0..JOBS {
        let (name, start, path) = minute_job(index);
        let mut action = scheduler.action(path);
        action["retryPolicy"] = json!({"retryType": "fixed", "retryInterval": "00:00:15", "retryCount": 2});
        let recurrence = json!({"frequency": "minute"});
        scheduler
            .put(&name, &json!({"startTime": start.to_string(), "action": action, "recurrence": recurrence}));
    }
    let Scheduler { server, receiver, folder } = scheduler;
    server.signal("-TERM");
    assert!(server.wait().success());

    let clock = FastClock(now());
    let mut starts = Vec::new();
    let mut acknowledged = Vec::new();
    let mut slowest = Duration::ZERO;
    for round in 0..kills {
        receiver.wait_until_quiet();
        let start = now();
        starts.push(start);
        let server = started_at(folder.path(), clock.now(), SPEED, &[]);
        // Some live until they fire, so that it can be seen how long that takes.
        let watched = round % 3 == 2;
        let life = Duration::from_millis(20 + dice.below(LIFE_MILLIS_MAX));
        let life = if watched { 3 * SOON } else { life };
        let address = server.address.clone();
        let (killed, kill) = std::sync::mpsc::channel::<()>();
        let killer = std::thread::spawn(move || {
            let _ = kill.recv_timeout(life);
            server.signal("-KILL");
            server.wait()
        });
        // As many as the collection may hold, over all rounds.
        for index in 0..(900 / kills).clamp(1, 20) {
            let name = format!("once-{round}-{index}");
            if acknowledged.len() < 900 && put_once(&address, &name, &receiver.url("/ok-once")) {
                acknowledged.push(name);
            }
        }
        if watched {
            slowest = slowest.max(receiver.wait_for_any_since(start));
            let _ = killed.send(());
        }
        assert!(!killer.join().unwrap().success());
    }
    receiver.wait_until_quiet();
    starts.push(now());
    let server = started_at(folder.path(), clock.now(), SPEED, &[]);
    let scheduler = Scheduler { server, receiver, folder };
    for index in 0..JOBS {
        scheduler.receiver.wait_for_more(&minute_job(index).0, 1);
    }
    for name in &acknowledged {
        scheduler.receiver.wait_for(name, 1);
    }
    // Nothing is under way any more when it has stopped by itself.
    let end = clock.now();
    let scheduler = stop_and_look(scheduler, end);

    let hits = scheduler.receiver.hits();
    let repeated = check_repetitions(&hits, &starts);
    let checked = (0..JOBS).map(|index| check_minute_job(&scheduler, index, end)).sum::<usize>();
    check_once(&scheduler, &acknowledged);
    println!(
        "{kills} kills: {} requests, {repeated} repeated, {checked} occurrences accounted for, {} jobs that run \
         once delivered; the first request came {slowest:?} after a start at the latest",
        hits.len(),
        acknowledged.len()
    );
}

/// Stops the server gracefully and starts it so that nothing fires.
fn stop_and_look(scheduler: Scheduler, end: Timestamp) -> Scheduler {
    let Scheduler { server, receiver, folder } = scheduler;
    server.signal("-TERM");
    assert!(server.wait().success());
    let server = started_at(folder.path(), end, 1, &["--role", "api"]);
    Scheduler { server, receiver, folder }
}

/// An attempt comes twice only if the server was started anew in between.
fn check_repetitions(hits: &[Hit], starts: &[Instant]) -> usize {
    let mut last: BTreeMap<(&str, u32), &Hit> = BTreeMap::new();
    let mut repeated = 0;
    for hit in hits {
        let Some(before) = last.insert((hit.tag(), hit.attempt()), hit) else { continue };
        repeated += 1;
        let restarted = starts.iter().any(|&start| before.arrived < start && start < hit.arrived);
        assert!(restarted, "repeated without a crash: {before:?} {hit:?}");
        let of = |hit: &Hit| (hit.job().to_owned(), hit.expected_at());
        assert_eq!(of(before), of(hit), "a tag belongs to one occurrence");
    }
    repeated
}

fn check_minute_job(scheduler: &Scheduler, index: i64, end: Timestamp) -> usize {
    let (name, start, _) = minute_job(index);
    let hits = scheduler.receiver.hits_of(&name);
    let arrived: BTreeSet<_> = hits.iter().map(Hit::expected_at).collect();
    let rule = Rule::every(1, Frequency::Minute).check().unwrap();
    let timetable = rule.timetable(Start { start_at: Some(start), put_at: start_at() });
    let predicted: Vec<_> = timetable.occurrences().take_while(|&at| at <= end).collect();

    let rows = scheduler.occurrences(&name, start_at(), end);
    let due: Vec<_> = rows.iter().map(|row| instant(&row["dueTime"])).collect();
    let differs = due.iter().zip(&predicted).find(|(row, expected)| row != expected);
    assert_eq!((differs, due.len()), (None, predicted.len()), "{name}: each occurrence has a row");
    let mut pending = 0;
    for row in &rows {
        let at = instant(&row["dueTime"]);
        match row["outcome"].as_str().unwrap() {
            // The last one may have come due while the server stopped, or wait for its retry.
            "pending" | "retrying" => pending += 1,
            "succeeded" | "failed" => assert!(arrived.contains(&at), "{name} at {at} never arrived"),
            "skipped" => assert!(row["reason"].is_string(), "{row}"),
            other => panic!("{name} at {at} is {other}"),
        }
    }
    assert!(pending <= 2, "{name}: {pending} without an outcome");
    check_history(scheduler, &name, &hits);
    rows.len()
}

/// One record for each attempt, none that was not made, and counters that say the same.
fn check_history(scheduler: &Scheduler, name: &str, hits: &[Hit]) {
    let made: BTreeSet<_> = hits.iter().map(|hit| (hit.expected_at(), hit.attempt())).collect();
    let history = scheduler.history(name, "");
    let attempts: Vec<_> = history.iter().filter(|record| record["status"] != "postponed").collect();
    let mut recorded = BTreeSet::new();
    let mut outcomes: BTreeMap<Timestamp, (bool, u64)> = BTreeMap::new();
    for record in attempts {
        let at = instant(&record["expectedExecutionTime"]);
        let attempt = u32::try_from(record["retryCount"].as_u64().unwrap()).unwrap();
        assert!(recorded.insert((at, attempt)), "{name} at {at}: attempt {attempt} is recorded twice");
        assert!(made.contains(&(at, attempt)), "{name} at {at}: attempt {attempt} was never made");
        let outcome = outcomes.entry(at).or_default();
        match record["status"].as_str().unwrap() {
            "completed" => outcome.0 = true,
            _ => outcome.1 += 1,
        }
    }
    let failures: u64 = outcomes.values().map(|(_, failures)| failures).sum();
    // All have a retry that succeeds, so none is faulted but one whose retries are still to come.
    let counters = scheduler.counters(name);
    assert_eq!(counters, [outcomes.len() as u64, failures, 0], "{name}: counters are what history says");
}

fn check_once(scheduler: &Scheduler, acknowledged: &[String]) {
    for name in acknowledged {
        let path = Server::path(&format!("/once/jobs/{name}"));
        let job = wait_for(&format!("{name} is there"), || {
            let answer = scheduler.server.call("GET", &path, None);
            (answer.status == 200).then_some(answer.body)
        });
        let state: &Value = &job["properties"]["state"];
        assert_eq!(state, "completed", "{name}");
        assert!(!scheduler.receiver.hits_of(name).is_empty(), "{name} was acknowledged and never fired");
    }
}
