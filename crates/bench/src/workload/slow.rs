//! A target where every request hangs, beside a stream to a healthy one.

use std::sync::Arc;
use std::time::Duration;

use super::steady::spaced;
use super::{Report, Stand};
use crate::figure::{Figure, Unit};
use crate::receiver::Receiver;
use crate::server::Role;
use crate::spread::Spread;
use crate::volley::Volley;

const RATE: u32 = 1_000;
const SECONDS: usize = 20;
const HEALTHY: usize = RATE as usize * SECONDS;
/// Jobs of the target that hangs, all due at the start.
const HANGING: usize = 2_000;
const HANG: Duration = Duration::from_secs(60);

pub(super) fn measure(stand: &Stand) -> anyhow::Result<Report> {
    let mut faults = Vec::new();
    let (alone, _) = stream(stand, 0, &mut faults)?;
    let (beside, hung) = stream(stand, HANGING, &mut faults)?;
    let ratio = beside.quantile(0.99) / alone.quantile(0.99);
    let mut figures = vec![Figure::new("99 of 100, beside that without it", ratio, Unit::Times).at_most(2.0)];
    for (what, spread) in [("alone", &alone), ("beside a target that hangs", &beside)] {
        for (name, value) in [
            ("half of them", spread.quantile(0.5)),
            ("99 of 100", spread.quantile(0.99)),
            ("the worst", spread.max()),
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

/// How late the healthy ones are, and how many others hung.
fn stream(stand: &Stand, hanging: usize, faults: &mut Vec<String>) -> anyhow::Result<(Spread, usize)> {
    let dir = stand.fresh()?;
    let (server, _) = stand.start(dir.path(), Role::All)?;
    let healthy = Arc::new(Receiver::start(1, HEALTHY, Duration::ZERO)?);
    let hung = Arc::new(Receiver::start(2, HEALTHY + hanging, HANG)?);
    let (good, bad) = (Arc::clone(&healthy), Arc::clone(&hung));
    let shot = move |job: usize| {
        if job < HEALTHY { (good.url(job), spaced(RATE, job)) } else { (bad.url(job), Duration::ZERO) }
    };
    let volley = Volley { count: HEALTHY + hanging, shot: Arc::new(shot) };
    let aimed = volley.aim(server.address())?;
    volley.await_arrivals(&aimed, healthy.log(), HEALTHY);
    let arrivals = volley.judge(&aimed, healthy.log(), 0..HEALTHY);
    faults.extend(arrivals.faults(healthy.log()));
    // What hangs is not waited for.
    server.kill()?;
    Ok((arrivals.lateness(), hung.log().arrived()))
}
