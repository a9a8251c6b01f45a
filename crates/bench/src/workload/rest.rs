//! Nodes without anything to do: what they ask of their database.

use std::time::Duration;

use anyhow::Context;

use super::{Report, Setup};
use crate::clock;
use crate::figure::{Figure, Unit};
use crate::place::Place;
use crate::population;
use crate::server::Role;
use crate::service::Service;

/// Jobs that are due some day.
const JOBS: usize = 10_000;
/// How long they are observed. PostgreSQL counts with a delay of up to a second.
const WATCH: Duration = Duration::from_secs(20);
/// How long it may take to become idle.
const REST: Duration = Duration::from_secs(10);

pub(super) fn measure(setup: &Setup, place: Place) -> anyhow::Result<Report> {
    let Place::Shared { nodes } = place else { anyhow::bail!("one node alone asks no database") };
    let service = Service::start(setup, place, Role::All)?;
    population::make_collections(service.address(), JOBS)?;
    population::put_jobs(service.address(), 0, JOBS, population::idle_job)?;
    clock::pause(REST);
    let postgres = service.postgres().context("there is no database")?;
    let (asked, used) = (postgres.transactions()?, service.used()?);
    clock::pause(WATCH);
    // One of them is the question itself.
    let asked = postgres.transactions()? - asked - 1.0;
    let used = service.used()?.since(used);
    let each = asked / WATCH.as_secs_f64() / f64::from(nodes);
    let share = |time: Duration| time.as_secs_f64() / WATCH.as_secs_f64() * 100.0;
    let mut figures = vec![
        Figure::new("transactions of a node", each, Unit::PerSecond).at_most(4.0),
        Figure::new(
            "processor time of a node, of one core",
            share(used.nodes) / f64::from(nodes),
            Unit::Percent,
        ),
        Figure::new("processor time of PostgreSQL, of one core", share(used.postgres), Unit::Percent),
    ];
    let (more, faults) = service.verdict()?;
    figures.extend(more);
    Ok(Report { figures, faults })
}
