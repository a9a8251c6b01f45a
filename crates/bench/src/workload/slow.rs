//! A target where every request hangs, beside a stream to a healthy one.

use std::sync::Arc;
use std::time::Duration;

use super::steady::spaced;
use super::{Report, Setup};
use crate::batch::JobBatch;
use crate::distribution::Distribution;
use crate::figure::{Figure, Unit};
use crate::receiver::Receiver;
use crate::server::Role;

const RATE: u32 = 1_000;
const SECONDS: usize = 20;
const HEALTHY: usize = RATE as usize * SECONDS;
/// Jobs of the target that hangs, all due at the start.
const HANGING: usize = 2_000;
const HANG: Duration = Duration::from_secs(60);

pub(super) fn measure(setup: &Setup) -> anyhow::Result<Report> {
    let mut faults = Vec::new();
    let (alone, _) = stream(setup, 0, &mut faults)?;
    let (beside, hung) = stream(setup, HANGING, &mut faults)?;
    let ratio = beside.quantile(0.99) / alone.quantile(0.99);
    let mut figures = vec![Figure::new("99 of 100, beside that without it", ratio, Unit::Times).at_most(2.0)];
    for (what, distribution) in [("alone", &alone), ("beside a target that hangs", &beside)] {
        for (name, value) in [
            ("half of them", distribution.quantile(0.5)),
            ("99 of 100", distribution.quantile(0.99)),
            ("the worst", distribution.max()),
        ] {
            figures.push(Figure::new(format!("{what}: late by, {name}"), value, Unit::Milliseconds));
        }
    }
    figures.push(Figure::new("requests that hung meanwhile", hung as f64, Unit::Count));
    if hung == 0 {
        faults.push("nothing hung, so that nothing was shown".to_owned());
    }
    Ok(Report { figures, faults })
}

/// How late the healthy jobs are, and how many others hung.
fn stream(setup: &Setup, hanging: usize, faults: &mut Vec<String>) -> anyhow::Result<(Distribution, usize)> {
    let dir = setup.fresh()?;
    let (server, _) = setup.start(dir.path(), Role::All)?;
    let healthy = Arc::new(Receiver::start(1, HEALTHY, Duration::ZERO)?);
    let hung = Arc::new(Receiver::start(2, HEALTHY + hanging, HANG)?);
    let (good, bad) = (Arc::clone(&healthy), Arc::clone(&hung));
    let plan = move |job: usize| {
        if job < HEALTHY { (good.url(job), spaced(RATE, job)) } else { (bad.url(job), Duration::ZERO) }
    };
    let batch = JobBatch { count: HEALTHY + hanging, plan: Arc::new(plan) };
    let created = batch.create(server.address())?;
    batch.await_arrivals(&created, healthy.log(), HEALTHY);
    let arrivals = batch.judge(&created, healthy.log(), 0..HEALTHY);
    faults.extend(arrivals.faults(healthy.log()));
    // Hanging requests are not awaited.
    server.kill()?;
    Ok((arrivals.lateness(), hung.log().arrived()))
}
