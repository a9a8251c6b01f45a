//! Many jobs: memory, start, lists.

use anyhow::bail;

use super::{Report, Stand};
use crate::client::Asker;
use crate::clock;
use crate::figure::{Figure, Unit};
use crate::population::{self, COLLECTIONS, JOBS_OF_COLLECTION};
use crate::server::Role;
use crate::spread::{Spread, milliseconds};

/// Jobs of a page; the API allows no more.
const PAGE: usize = 100;
/// Collections whose pages are read, at most.
const LISTED_MAX: usize = 100;
/// How often the list of collections is read.
const ROUNDS: usize = 50;

pub(super) fn measure(stand: &Stand, jobs: usize) -> anyhow::Result<Report> {
    let dir = stand.fresh()?;
    let (server, _) = stand.start(dir.path(), Role::Api)?;
    population::make_collections(server.address(), jobs)?;
    population::put_jobs(server.address(), 0, jobs, population::idle_job)?;
    let created = server.memory()?;
    server.stop()?;
    let (server, start) = stand.start(dir.path(), Role::Api)?;
    let started = server.memory()?;

    let mut asker = Asker::open(server.address())?;
    let collections = jobs.div_ceil(JOBS_OF_COLLECTION);
    let mut pages = Vec::new();
    let mut wholes = Vec::new();
    for collection in 0..collections.min(LISTED_MAX) {
        let path = format!("{}/jobs", population::collection(collection));
        let held = JOBS_OF_COLLECTION.min(jobs - collection * JOBS_OF_COLLECTION);
        for skip in (0..held).step_by(PAGE) {
            pages.push(list(&mut asker, &path, &format!("&$top={PAGE}&$skip={skip}"))?);
        }
        wholes.push(list(&mut asker, &path, "")?);
    }
    let mut lists = Vec::new();
    for _ in 0..ROUNDS {
        lists.push(list(&mut asker, COLLECTIONS, "")?);
    }
    let (pages, wholes, lists) = (Spread::of(pages), Spread::of(wholes), Spread::of(lists));
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

fn list(asker: &mut Asker, path: &str, query: &str) -> anyhow::Result<std::time::Duration> {
    let since = clock::now();
    let (status, body) = asker.get(path, query)?;
    let elapsed = since.elapsed();
    if status != 200 {
        bail!("the list {path}?{query} was answered {status}: {body}");
    }
    Ok(elapsed)
}
