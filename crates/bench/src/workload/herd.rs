//! Thundering herds: jobs that are due at one instant. A few herds follow one another, the first of which meets
//! a server that has fired nothing yet.

use std::sync::Arc;
use std::time::Duration;

use super::{LIMIT_TIME, Report, Setup, limits};
use crate::batch::{self, JobBatch};
use crate::distribution::{Distribution, milliseconds};
use crate::figure::{Figure, Unit};
use crate::limit::sqlite::Sqlite;
use crate::place::Place;
use crate::receiver::Receiver;
use crate::server::Role;
use crate::service::Service;

/// How long the server may take to record what has arrived.
const RECORD_MAX: Duration = Duration::from_secs(120);

/// Herds are repeated up to about this many jobs in total, and at most this often.
const JOBS_IN_ALL: usize = 60_000;
const HERDS_MAX: usize = 6;

/// The result of one herd.
struct Herd {
    fired: f64,
    recorded: f64,
    first: f64,
    last: f64,
}

pub(super) fn measure(setup: &Setup, jobs: usize, place: Place) -> anyhow::Result<Report> {
    let requests = limits::to_receiver()?;
    let writes = Sqlite::new(&setup.dir)?.firings(1_000, LIMIT_TIME)?;
    let service = Service::start(setup, place, Role::All)?;
    let count = (JOBS_IN_ALL / jobs).clamp(1, HERDS_MAX);
    let all = jobs * count;
    let receiver = Arc::new(Receiver::start(1, all, Duration::ZERO)?);
    let target = Arc::clone(&receiver);
    let due_after = move |herd: usize| apart(jobs) * u32::try_from(herd).unwrap_or(u32::MAX);
    let batch = JobBatch { count: all, plan: Arc::new(move |job| (target.url(job), due_after(job / jobs))) };
    let created = batch.create(service.address())?;
    let before = service.used()?;
    let (mut herds, mut faults) = (Vec::new(), Vec::new());
    let (mut lost, mut early) = (0, 0);
    for number in 0..count {
        let range = number * jobs..(number + 1) * jobs;
        batch.await_arrivals(&created, receiver.log(), range.end);
        let recorded = batch::await_records(service.address(), range.clone(), RECORD_MAX)?;
        let arrivals = batch.judge(&created, receiver.log(), range);
        if recorded.faulted > 0 {
            faults.push(format!("{} firings failed by the server's own records", recorded.faulted));
        }
        let due_at = created.start_at as f64 + due_after(number).as_nanos() as f64;
        let after = |at: u64| (at as f64 - due_at) / 1e6;
        let (first, last) = (after(arrivals.first_at), after(arrivals.last_at));
        let rate = |last: f64| (jobs - arrivals.lost) as f64 / last * 1e3;
        herds.push(Herd { fired: rate(last), recorded: rate(after(recorded.done_at)), first, last });
        lost += arrivals.lost;
        early += arrivals.early;
    }
    let used = service.used()?.since(before);
    faults.extend(batch.judge(&created, receiver.log(), 0..all).faults(receiver.log()));

    // The first of several is reported separately.
    let warm = if count > 1 { &herds[1..] } else { &herds[..] };
    let median =
        |of: fn(&Herd) -> f64| Distribution::of_milliseconds(warm.iter().map(of).collect()).quantile(0.5);
    let fired = median(|herd| herd.fired);
    let least = if place.is_shared() { 13_000.0 } else { 20_000.0 };
    let mut figures = vec![Figure::new("fired", fired, Unit::PerSecond).at_least(least)];
    if count > 1 {
        figures.push(Figure::new(
            "fired by a server that never fired before",
            herds[0].fired,
            Unit::PerSecond,
        ));
    }
    let memory = Figure::new("memory, peak", service.memory_peak()?, Unit::Megabytes);
    figures.extend([
        Figure::new("fired and recorded", median(|herd| herd.recorded), Unit::PerSecond),
        Figure::new("fired, beside bare hyper to the same receiver", fired / requests, Unit::Times),
        Figure::new("fired, beside SQLite in batches of 1,000", fired / writes, Unit::Times),
        Figure::new("bare hyper to the same receiver", requests, Unit::PerSecond),
        Figure::new("SQLite in batches of 1,000", writes, Unit::PerSecond),
        Figure::new(
            "processor time of the server for one",
            milliseconds(used.nodes) / all as f64,
            Unit::Milliseconds,
        ),
        Figure::new("first arrival after the instant", median(|herd| herd.first), Unit::Milliseconds),
        Figure::new("last arrival after the instant", median(|herd| herd.last), Unit::Milliseconds),
        if jobs >= 100_000 { memory.at_most(200.0) } else { memory },
        Figure::new("lost", lost as f64, Unit::Count).at_most(0.0),
        Figure::new("repeated", receiver.log().repeated() as f64, Unit::Count).at_most(0.0),
        Figure::new("early", early as f64, Unit::Count).at_most(0.0),
    ]);
    if place.is_shared() {
        let of_postgres = milliseconds(used.postgres) / all as f64;
        figures.push(Figure::new("processor time of PostgreSQL for one", of_postgres, Unit::Milliseconds));
    }
    let (more, wrong) = service.verdict()?;
    figures.extend(more);
    faults.extend(wrong);
    Ok(Report { figures, faults })
}

/// The time between two herds: a slow machine can finish one before the next.
fn apart(jobs: usize) -> Duration {
    Duration::from_secs(3) + Duration::from_secs_f64(jobs as f64 / 5_000.0)
}
