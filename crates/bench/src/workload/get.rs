//! Reading one job.

use super::{LIMIT_TIME, Report, Setup};
use crate::distribution::milliseconds;
use crate::figure::{Figure, Unit};
use crate::limit::http;
use crate::load::Load;
use crate::population::{self, CONNECTIONS};
use crate::server::Role;

/// How many there are.
const JOBS: usize = 20_000;
/// How many are read.
const READS: usize = 100_000;

pub(super) fn measure(setup: &Setup) -> anyhow::Result<Report> {
    let bare = http::bare(CONNECTIONS, LIMIT_TIME)?;
    let dir = setup.fresh()?;
    let (server, _) = setup.start(dir.path(), Role::Api)?;
    let address = server.address();
    population::make_collections(address, JOBS)?;
    population::put_jobs(address, 0, JOBS, population::idle_job)?;
    let before = server.processor_time()?;
    let load = Load { address, connections: CONNECTIONS, count: READS, status: 200 };
    // Steps by a prime, to visit all of them in a scattered order.
    let sent = load.send(Box::new(|number, into| {
        population::write("GET", &population::job(number * 7_919 % JOBS), "", "", into);
    }))?;
    let used = server.processor_time()?.saturating_sub(before);
    let rate = sent.per_second();
    let figures = vec![
        Figure::new("reads", rate, Unit::PerSecond).at_least(20_000.0),
        Figure::new("beside bare hyper over as many connections", rate / bare, Unit::Times),
        Figure::new("bare hyper", bare, Unit::PerSecond),
        Figure::new("time for one, half of them", sent.distribution.quantile(0.5), Unit::Milliseconds),
        Figure::new("time for one, 99 of 100", sent.distribution.quantile(0.99), Unit::Milliseconds),
        Figure::new(
            "processor time of the server for one",
            milliseconds(used) / READS as f64,
            Unit::Milliseconds,
        ),
    ];
    Ok(Report { figures, faults: Vec::new() })
}
