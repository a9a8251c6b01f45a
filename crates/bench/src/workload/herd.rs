//! Jobs that are due at one instant.

use std::sync::Arc;
use std::time::Duration;

use super::{LIMIT_TIME, Report, Stand, limits};
use crate::figure::{Figure, Unit};
use crate::limit::sqlite::Sqlite;
use crate::receiver::Receiver;
use crate::server::Role;
use crate::spread::milliseconds;
use crate::volley::{self, Volley};

/// How long the server may take to record what has arrived.
const RECORD_MAX: Duration = Duration::from_secs(120);

pub(super) fn measure(stand: &Stand, jobs: usize) -> anyhow::Result<Report> {
    let requests = limits::to_receiver()?;
    let writes = Sqlite::new(&stand.dir)?.firings(1_000, LIMIT_TIME)?;
    let dir = stand.fresh()?;
    let (server, _) = stand.start(dir.path(), Role::All)?;
    let receiver = Arc::new(Receiver::start(1, jobs, Duration::ZERO)?);
    let target = Arc::clone(&receiver);
    let volley = Volley { count: jobs, shot: Arc::new(move |job| (target.url(job), Duration::ZERO)) };
    let aimed = volley.aim(server.address())?;
    let before = server.processor_time()?;
    volley.await_arrivals(&aimed, receiver.log(), jobs);
    let recorded = volley::await_records(server.address(), jobs, RECORD_MAX)?;
    let used = server.processor_time()?.saturating_sub(before);
    let arrivals = volley.judge(&aimed, receiver.log(), 0..jobs);
    let mut faults = arrivals.faults(receiver.log());
    if recorded.faulted > 0 {
        faults.push(format!("{} firings failed by the server's own records", recorded.faulted));
    }
    let after = |at: u64| (at as f64 - aimed.start_at as f64) / 1e6;
    let (first, last) = (after(arrivals.first_at), after(arrivals.last_at));
    let rate = |last: f64| (jobs - arrivals.lost) as f64 / last * 1e3;
    let fired = rate(last);
    let memory = Figure::new("memory, peak", server.memory()?.peak, Unit::Megabytes);
    let figures = vec![
        Figure::new("fired", fired, Unit::PerSecond).at_least(20_000.0),
        Figure::new("fired and recorded", rate(after(recorded.done_at)), Unit::PerSecond),
        Figure::new("fired, beside bare hyper to the same receiver", fired / requests, Unit::Times),
        Figure::new("fired, beside SQLite in batches of 1,000", fired / writes, Unit::Times),
        Figure::new("bare hyper to the same receiver", requests, Unit::PerSecond),
        Figure::new("SQLite in batches of 1,000", writes, Unit::PerSecond),
        Figure::new(
            "processor time of the server for one",
            milliseconds(used) / jobs as f64,
            Unit::Milliseconds,
        ),
        Figure::new("first arrival after the instant", first, Unit::Milliseconds),
        Figure::new("last arrival after the instant", last, Unit::Milliseconds),
        if jobs >= 100_000 { memory.at_most(200.0) } else { memory },
        Figure::new("lost", arrivals.lost as f64, Unit::Count).at_most(0.0),
        Figure::new("repeated", receiver.log().repeated() as f64, Unit::Count).at_most(0.0),
        Figure::new("early", arrivals.early as f64, Unit::Count).at_most(0.0),
    ];
    Ok(Report { figures, faults })
}
