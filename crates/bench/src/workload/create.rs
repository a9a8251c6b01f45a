//! New jobs.

use super::{LIMIT_TIME, Report, Setup};
use crate::distribution::milliseconds;
use crate::figure::{Figure, Unit};
use crate::limit::sqlite::Sqlite;
use crate::place::Place;
use crate::population;
use crate::server::Role;
use crate::service::Service;

pub(super) fn measure(setup: &Setup, jobs: usize, place: Place) -> anyhow::Result<Report> {
    let singles = Sqlite::new(&setup.dir)?.single_commits(LIMIT_TIME)?;
    let service = Service::start(setup, place, Role::Api)?;
    population::make_collections(service.address(), jobs)?;
    let before = service.used()?;
    let sent = population::put_jobs(service.address(), 0, jobs, population::idle_job)?;
    let used = service.used()?.since(before);
    let rate = sent.per_second();
    let least = if place.is_shared() { 5_000.0 } else { 6_000.0 };
    let mut figures = vec![
        Figure::new("jobs", rate, Unit::PerSecond).at_least(least),
        // The comparison that counts on a slow disk.
        Figure::new("beside single durable commits of SQLite", rate / singles, Unit::Times).at_least(10.0),
        Figure::new("single durable commits of SQLite", singles, Unit::PerSecond),
        Figure::new("time for one, half of them", sent.distribution.quantile(0.5), Unit::Milliseconds),
        Figure::new("time for one, 99 of 100", sent.distribution.quantile(0.99), Unit::Milliseconds),
        Figure::new(
            "processor time of the server for one",
            milliseconds(used.nodes) / jobs as f64,
            Unit::Milliseconds,
        ),
        Figure::new("memory, peak", service.memory_peak()?, Unit::Megabytes),
    ];
    if place.is_shared() {
        let of_postgres = milliseconds(used.postgres) / jobs as f64;
        figures.push(Figure::new("processor time of PostgreSQL for one", of_postgres, Unit::Milliseconds));
    }
    let (more, faults) = service.verdict()?;
    figures.extend(more);
    Ok(Report { figures, faults })
}
