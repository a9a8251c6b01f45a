//! Many jobs: memory, start, lists.

use anyhow::bail;

use super::{Report, Setup};
use crate::client::BlockingConnection;
use crate::clock;
use crate::distribution::{Distribution, milliseconds};
use crate::figure::{Figure, Unit};
use crate::population::{self, COLLECTIONS, JOBS_OF_COLLECTION};
use crate::server::Role;

/// Jobs of a page; the API allows no more.
const PAGE: usize = 100;
/// Collections whose pages are read, at most.
const LISTED_MAX: usize = 100;
/// How often the list of collections is read.
const ROUNDS: usize = 50;

pub(super) fn measure(setup: &Setup, jobs: usize) -> anyhow::Result<Report> {
    let dir = setup.fresh()?;
    let (server, _) = setup.start(dir.path(), Role::Api)?;
    population::make_collections(server.address(), jobs)?;
    population::put_jobs(server.address(), 0, jobs, population::idle_job)?;
    let created = server.memory()?;
    server.stop()?;
    let (server, start) = setup.start(dir.path(), Role::Api)?;
    let started = server.memory()?;

    let mut connection = BlockingConnection::open(server.address())?;
    let collections = jobs.div_ceil(JOBS_OF_COLLECTION);
    let mut pages = Vec::new();
    let mut wholes = Vec::new();
    for collection in 0..collections.min(LISTED_MAX) {
        let path = format!("{}/jobs", population::collection(collection));
        let held = JOBS_OF_COLLECTION.min(jobs - collection * JOBS_OF_COLLECTION);
        for skip in (0..held).step_by(PAGE) {
            pages.push(list(&mut connection, &path, &format!("&$top={PAGE}&$skip={skip}"))?);
        }
        wholes.push(list(&mut connection, &path, "")?);
    }
    let mut lists = Vec::new();
    for _ in 0..ROUNDS {
        lists.push(list(&mut connection, COLLECTIONS, "")?);
    }
    let (pages, wholes, lists) = (Distribution::of(pages), Distribution::of(wholes), Distribution::of(lists));
    let listed = server.memory()?;
    let figures = vec![
        Figure::new("memory after they were put", created.resident, Unit::Megabytes).at_most(80.0),
        Figure::new("memory, peak", created.peak, Unit::Megabytes),
        Figure::new("memory after a start", started.resident, Unit::Megabytes),
        Figure::new("memory after all lists", listed.resident, Unit::Megabytes).at_most(80.0),
        Figure::new("start until ready", milliseconds(start), Unit::Milliseconds).at_most(1_000.0),
        Figure::new("a page of 100 jobs, half of them", pages.quantile(0.5), Unit::Milliseconds),
        Figure::new("a page of 100 jobs, the slowest", pages.max(), Unit::Milliseconds).at_most(20.0),
        Figure::new("1,000 jobs at once, half of them", wholes.quantile(0.5), Unit::Milliseconds)
            .at_most(20.0),
        Figure::new("1,000 jobs at once, the slowest", wholes.max(), Unit::Milliseconds),
        Figure::new(
            format!("{collections} collections, half of them"),
            lists.quantile(0.5),
            Unit::Milliseconds,
        ),
        Figure::new(format!("{collections} collections, the slowest"), lists.max(), Unit::Milliseconds)
            .at_most(20.0),
    ];
    Ok(Report { figures, faults: Vec::new() })
}

fn list(connection: &mut BlockingConnection, path: &str, query: &str) -> anyhow::Result<std::time::Duration> {
    let since = clock::now();
    let (status, body) = connection.get(path, query)?;
    let elapsed = since.elapsed();
    if status != 200 {
        bail!("the list {path}?{query} was answered {status}: {body}");
    }
    Ok(elapsed)
}
