//! Three real nodes on a real database, under load, while nodes, connections and the database fail one after the other.
//!
//! The load is that of the crash test, as often as there are firings to make: each has a collection and a receiver of
//! its own and calls whatever node it likes. What was seen is judged by the oracle of the simulator, job by job; see
//! `docs/reference/simulation.md`. It takes minutes: `scripts/chaos` runs it.
//!
//! `PUNCTUAL_CHAOS_FAULTS` says how many faults there are, `PUNCTUAL_CHAOS_SEED` which ones and what callers do,
//! `PUNCTUAL_CHAOS_RATE` how many firings a second there are.

mod fault;
mod ledger;
mod trio;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::SignedDuration;
use punctual_sim::rng::Rng;

use self::fault::{Fault, KINDS, Kind};
use self::ledger::Ledger;
use self::trio::Trio;
use crate::crash::definition::Definition;
use crate::crash::load::{Load, Role, whole};
use crate::crash::{Clock, number, pause};
use crate::receiver::Receiver;
use crate::scheduler::wait_for;

/// The most steady jobs of a load: its collection has room for a thousand, and callers make some more.
const STEADY_MAX: i64 = 450;

/// The longest pause of a caller between two calls.
const PAUSE_MILLIS_MAX: i64 = 150;

/// How long a call that was not answered may go on at a server that nobody hears any more.
const UNCLEAR: Duration = Duration::from_millis(500);

/// Where the nodes listen, those that are there.
type Addresses = Arc<Mutex<Vec<String>>>;

/// A load with its receiver.
struct Caller {
    load: Load,
    receiver: Receiver,
}

#[test]
#[ignore = "takes minutes; scripts/chaos runs it"]
fn whatever_fails_nothing_is_lost_and_only_what_was_in_flight_is_repeated() {
    let faults = number("PUNCTUAL_CHAOS_FAULTS", 12);
    let seed = number("PUNCTUAL_CHAOS_SEED", 0x5eed_2027);
    let rate = i64::try_from(number("PUNCTUAL_CHAOS_RATE", 50)).unwrap();
    println!("{faults} faults, {rate} firings a second, PUNCTUAL_CHAOS_SEED={seed}");
    let clock = Clock::real();
    let mut trio = Trio::start().expect("PUNCTUAL_TEST_POSTGRES names the programs of PostgreSQL");
    let callers = populate(&trio, seed, clock, rate);

    let ending = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = callers
        .into_iter()
        .map(|caller| {
            let (addresses, ending) = (Arc::clone(&trio.addresses), Arc::clone(&ending));
            std::thread::spawn(move || disturb(caller, &addresses, &ending))
        })
        .collect();
    let mut rng = Rng::new(seed ^ 0xfa17);
    let mut happened: Vec<Fault> = Vec::new();
    for round in 0..faults {
        let next = usize::try_from(round).unwrap();
        // Each kind once, then as it comes.
        let kind = if next < KINDS.len() { KINDS[next] } else { rng.pick(&KINDS) };
        let fault = trio.suffer(kind, rng.below(3));
        println!("{:4} {kind:?} took {:.1?}", round + 1, fault.to - fault.from);
        happened.push(fault);
        pause(Duration::from_millis(rng.between(200, 2_500).unsigned_abs()));
    }
    ending.store(true, Ordering::SeqCst);
    let callers: Vec<Caller> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let addresses = trio.addresses.lock().unwrap().clone();
    let callers = each(callers, &addresses, |caller, address| caller.load.calm_down(address));
    pause(Duration::from_secs(2));
    let in_flight = "SELECT coalesce(sum(in_flight), 0)::bigint FROM nodes";
    wait_for("nothing is in flight", || (trio.cluster.number(in_flight) == 0).then_some(()));

    let mut ledger = Ledger::new(clock, happened);
    for caller in each(callers, &addresses, ledger::collect) {
        ledger.add(caller);
    }
    let mut problems = ledger.judge();
    let deadlocks = trio.cluster.database_log().matches("deadlock detected").count();
    if deadlocks > 0 {
        problems.push(format!("{deadlocks} deadlocks in the log of the database"));
    }
    trio.stop();
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Does something with each caller, all at once, at nodes in turn.
fn each(
    mut callers: Vec<Caller>,
    addresses: &[String],
    act: impl Fn(&mut Caller, &str) + Sync,
) -> Vec<Caller> {
    std::thread::scope(|scope| {
        for (caller, address) in callers.iter_mut().zip(addresses.iter().cycle()) {
            let act = &act;
            scope.spawn(move || act(caller, address));
        }
    });
    callers
}

/// Makes as many jobs as give so many firings a second.
fn populate(trio: &Trio, seed: u64, clock: Clock, rate: i64) -> Vec<Caller> {
    let of = |kind, retry_count, errors| Definition {
        kind,
        start_at: None,
        minutes: Some(1),
        count: None,
        retry_count,
        errors,
        on: true,
    };
    let jobs = rate * 60;
    let loads = (jobs + STEADY_MAX - 1) / STEADY_MAX;
    let steady = jobs / loads;
    let callers = (0..loads)
        .map(|index| {
            let collection: &'static str = Box::leak(format!("c{index}").into_boxed_str());
            let receiver = Receiver::start();
            let seed = seed.wrapping_add(index.unsigned_abs());
            let mut load = Load::new(seed, clock, collection, receiver.url(""));
            load.expects_trouble = true;
            load.begin_life();
            trio.node(0).put_collection(collection);
            Caller { load, receiver }
        })
        .collect();
    let from = whole(clock.now()) + SignedDuration::from_secs(5);
    let addresses = trio.addresses.lock().unwrap().clone();
    each(callers, &addresses, |caller, address| {
        let roles = [
            (steady - steady / 3, "steady", Role::Left, of("ok", 2, 0)),
            // These are in flight when something fails.
            (steady / 3, "slow", Role::Left, of("slow", 2, 0)),
            (8, "flaky", Role::Left, of("flaky", 2, 0)),
            (4, "failing", Role::Left, of("fail", 1, 2)),
            // Longer than the pause between two: they overlap.
            (2, "overlapping", Role::Left, of("fail", 5, 1)),
            (4, "counting", Role::Ending, Definition { count: Some(2), ..of("flaky", 1, 0) }),
            (24, "edited", Role::Edited, of("flaky", 1, 1)),
        ];
        caller.load.populate_with(address, from, &roles);
    })
}

/// Calls whatever node there is, until the end.
fn disturb(mut caller: Caller, addresses: &Addresses, ending: &AtomicBool) -> Caller {
    let Caller { load, .. } = &mut caller;
    while !ending.load(Ordering::SeqCst) {
        pause(Duration::from_millis(load.rng.between(0, PAUSE_MILLIS_MAX).unsigned_abs()));
        let there = addresses.lock().unwrap().clone();
        if there.is_empty() {
            continue;
        }
        let turn = load.rng.below(there.len());
        load.disturb(&there[turn]);
        if load.known.iter().any(|known| known.unclear) {
            pause(UNCLEAR);
        }
    }
    caller
}
