//! A steady stream of jobs.

use std::sync::Arc;
use std::time::Duration;

use super::{Report, Setup};
use crate::batch::JobBatch;
use crate::figure::{Figure, Unit};
use crate::place::Place;
use crate::receiver::Receiver;
use crate::server::Role;
use crate::service::Service;
use crate::sleeper::Sleeper;

pub(super) fn measure(setup: &Setup, rate: u32, seconds: u32, place: Place) -> anyhow::Result<Report> {
    let jobs = rate as usize * seconds as usize;
    let service = Service::start(setup, place, Role::All)?;
    let receiver = Arc::new(Receiver::start(1, jobs, Duration::ZERO)?);
    let target = Arc::clone(&receiver);
    let batch = JobBatch { count: jobs, plan: Arc::new(move |job| (target.url(job), spaced(rate, job))) };
    let created = batch.create(service.address())?;
    let before = service.used()?;
    let sleeper = Sleeper::start()?;
    batch.await_arrivals(&created, receiver.log(), jobs);
    let sleeper = sleeper.stop();
    let used = service.used()?.since(before);
    let arrivals = batch.judge(&created, receiver.log(), 0..jobs);
    let mut faults = arrivals.faults(receiver.log());
    let (lost, early) = (arrivals.lost as f64, arrivals.early as f64);
    let lateness = arrivals.lateness();
    let mut figures: Vec<Figure> = [("half of them", 0.5), ("99 of 100", 0.99), ("999 of 1,000", 0.999)]
        .map(|(name, part)| {
            Figure::new(format!("late by, {name}"), lateness.quantile(part), Unit::Milliseconds)
        })
        .into();
    figures.push(Figure::new("late by, the worst", lateness.max(), Unit::Milliseconds));
    // 1,000 a second is everyday, 10,000 is what such a machine should survive.
    let bounds = match place {
        Place::Shared { .. } if rate <= 1_000 => [Some(1.0), Some(20.0), None, None],
        Place::Alone if rate <= 1_000 => [Some(1.0), Some(5.0), None, Some(50.0)],
        _ => [None, Some(50.0), None, None],
    };
    for (figure, bound) in figures.iter_mut().zip(bounds) {
        *figure = bound.map_or(figure.clone(), |bound| figure.clone().at_most(bound));
    }
    let share = |time: Duration| time.as_secs_f64() / f64::from(seconds) * 100.0;
    figures.extend([
        Figure::new(
            "a thread that only sleeps: late by, 99 of 100",
            sleeper.quantile(0.99),
            Unit::Milliseconds,
        ),
        Figure::new("a thread that only sleeps: late by, the worst", sleeper.max(), Unit::Milliseconds),
        Figure::new("processor time of the server, of one core", share(used.nodes), Unit::Percent),
        Figure::new("memory, peak", service.memory_peak()?, Unit::Megabytes),
        Figure::new("lost", lost, Unit::Count).at_most(0.0),
        Figure::new("repeated", receiver.log().repeated() as f64, Unit::Count).at_most(0.0),
        Figure::new("early", early, Unit::Count).at_most(0.0),
    ]);
    if place.is_shared() {
        let of_postgres = share(used.postgres);
        figures.push(Figure::new("processor time of PostgreSQL, of one core", of_postgres, Unit::Percent));
    }
    let (more, wrong) = service.verdict()?;
    figures.extend(more);
    faults.extend(wrong);
    Ok(Report { figures, faults })
}

/// When a job of an even stream is due.
pub(super) fn spaced(rate: u32, job: usize) -> Duration {
    Duration::from_nanos(job as u64 * 1_000_000_000 / u64::from(rate))
}
