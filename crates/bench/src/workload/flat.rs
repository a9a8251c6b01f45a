//! Jobs that recur every minute, for minutes: whether tables and indexes grow although nothing is added but history.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};

use super::{Report, Setup, steady};
use crate::clock;
use crate::figure::{Figure, Unit};
use crate::place::Place;
use crate::population;
use crate::postgres::Postgres;
use crate::receiver::Receiver;
use crate::server::Role;
use crate::service::Service;

/// Each job fires once in this many seconds.
const EVERY_SECONDS: u32 = 60;
/// How often sizes are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A size when the first round of firings was over, the largest since, and at the end.
struct Size {
    relation: &'static str,
    at_first: f64,
    most: f64,
    at_last: f64,
}

pub(super) fn measure(setup: &Setup, rate: u32, seconds: u32, place: Place) -> anyhow::Result<Report> {
    if seconds <= 2 * EVERY_SECONDS {
        bail!("at least {} seconds are needed to see anything", 2 * EVERY_SECONDS + 1);
    }
    let jobs = rate as usize * EVERY_SECONDS as usize;
    let service = Service::start(setup, place, Role::All)?;
    let receiver = Arc::new(Receiver::start(1, jobs, Duration::ZERO)?);
    population::make_collections(service.address(), jobs)?;
    let target = Arc::clone(&receiver);
    // The next whole minute but one after they are made, whatever that takes.
    let lead = Duration::from_secs_f64(jobs as f64 / 200.0);
    let start = (clock::wall_nanos() / 60_000_000_000 + 2 + lead.as_secs() / 60) * 60_000_000_000;
    population::put_jobs(service.address(), 0, jobs, move |number| {
        let at = start + u64::try_from(steady::spaced(rate, number).as_nanos()).unwrap_or(0) / 100 * 100;
        population::minute_job(&target.url(number), &clock::text(at))
    })?;
    if clock::wall_nanos() > start {
        bail!("making {jobs} jobs took too long");
    }
    let postgres = service.postgres().context("there is no database")?;
    pause_until(start + u64::from(EVERY_SECONDS) * 1_000_000_000);
    let mut sizes = Vec::new();
    for relation in ["agenda", "agenda_pkey", "agenda_by_due"] {
        let size = postgres.megabytes(relation)?;
        sizes.push(Size { relation, at_first: size, most: size, at_last: size });
    }
    let end = start + u64::from(seconds) * 1_000_000_000;
    let before = service.used()?;
    while clock::wall_nanos() < end {
        clock::pause(LOOK_EVERY);
        sizes.iter_mut().try_for_each(|size| size.look(postgres))?;
    }
    let used = service.used()?.since(before);
    let fired = receiver.log().arrived() + receiver.log().repeated();
    let expected = f64::from(rate) * f64::from(seconds);
    let mut figures = vec![Figure::new("fired, of what was due", fired as f64 / expected, Unit::Times)];
    for Size { relation, at_first, most, at_last } in sizes {
        figures.extend([
            Figure::new(format!("{relation} after a minute"), at_first, Unit::Megabytes),
            Figure::new(format!("{relation} at its largest"), most, Unit::Megabytes),
            Figure::new(
                format!("{relation} at the end, beside after a minute"),
                at_last / at_first,
                Unit::Times,
            )
            .at_most(2.0),
        ]);
    }
    let share = |time: Duration| time.as_secs_f64() / f64::from(seconds - EVERY_SECONDS) * 100.0;
    figures.push(Figure::new("processor time of the nodes, of one core", share(used.nodes), Unit::Percent));
    figures.push(Figure::new(
        "processor time of PostgreSQL, of one core",
        share(used.postgres),
        Unit::Percent,
    ));
    let (more, faults) = service.verdict()?;
    figures.extend(more);
    Ok(Report { figures, faults })
}

impl Size {
    fn look(&mut self, postgres: &Postgres) -> anyhow::Result<()> {
        self.at_last = postgres.megabytes(self.relation)?;
        self.most = self.most.max(self.at_last);
        Ok(())
    }
}

fn pause_until(at: u64) {
    clock::pause(Duration::from_nanos(at.saturating_sub(clock::wall_nanos())));
}
