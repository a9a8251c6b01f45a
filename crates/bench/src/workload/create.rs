//! New jobs.

use super::{LIMIT_TIME, Report, Setup};
use crate::distribution::milliseconds;
use crate::figure::{Figure, Unit};
use crate::limit::sqlite::Sqlite;
use crate::population;
use crate::server::Role;

pub(super) fn measure(setup: &Setup, jobs: usize) -> anyhow::Result<Report> {
    let singles = Sqlite::new(&setup.dir)?.single_commits(LIMIT_TIME)?;
    let dir = setup.fresh()?;
    let (server, _) = setup.start(dir.path(), Role::Api)?;
    population::make_collections(server.address(), jobs)?;
    let before = server.processor_time()?;
    let sent = population::put_jobs(server.address(), 0, jobs, population::idle_job)?;
    let used = server.processor_time()?.saturating_sub(before);
    let rate = sent.per_second();
    let figures = vec![
        Figure::new("jobs", rate, Unit::PerSecond).at_least(6_000.0),
        // The comparison that counts on a slow disk.
        Figure::new("beside single durable commits of SQLite", rate / singles, Unit::Times).at_least(10.0),
        Figure::new("single durable commits of SQLite", singles, Unit::PerSecond),
        Figure::new("time for one, half of them", sent.distribution.quantile(0.5), Unit::Milliseconds),
        Figure::new("time for one, 99 of 100", sent.distribution.quantile(0.99), Unit::Milliseconds),
        Figure::new(
            "processor time of the server for one",
            milliseconds(used) / jobs as f64,
            Unit::Milliseconds,
        ),
        Figure::new("memory, peak", server.memory()?.peak, Unit::Megabytes),
    ];
    Ok(Report { figures, faults: Vec::new() })
}
