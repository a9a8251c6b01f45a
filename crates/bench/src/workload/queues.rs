//! Messages into real queues: jobs that are due at one instant, through the whole server, compared with a bare
//! client of the same peer in the same run. Where both are equal, the peer is the bottleneck.

mod azurite;
mod rabbitmq;

use std::time::Duration;

use anyhow::Context;

use super::{Report, Setup};
use crate::batch::{self, JobBatch};
use crate::distribution::milliseconds;
use crate::figure::{Figure, Unit};
use crate::server::Role;

/// How long the server may take to send and record all.
const RECORD_MAX: Duration = Duration::from_secs(300);
/// The target rate, in messages a second.
const TARGET: f64 = 2_000.0;
/// A message of usual length.
const TEXT: &str =
    "an event, a source, a note: about a hundred bytes of text, as jobs that report something have it";
/// The messages that a bare client has in flight; the server has 256 per target.
const AT_ONCE: usize = 128;

/// A queue service.
trait Peer {
    const NAME: &str;
    /// How many jobs there are.
    const JOBS: usize;

    /// The settings of a server that fires there.
    fn settings(&self) -> Vec<(&'static str, String)>;

    /// The action of a job, in JSON.
    fn action(&self) -> String;

    /// Messages a second of a bare client, into a queue of its own.
    fn bare(&self) -> anyhow::Result<f64>;

    /// How many messages have arrived, and how many of them are repetitions.
    fn arrived(&self) -> anyhow::Result<(usize, usize)>;
}

pub(super) fn measure(setup: &Setup) -> anyhow::Result<Report> {
    let mut report = Report { figures: Vec::new(), faults: Vec::new() };
    let address = setup.azurite.as_deref().context("no Azurite: run scripts/bench queues")?;
    let azurite = measure_peer(setup, &azurite::Azurite::new(address)?, &mut report)?;
    let address = setup.rabbitmq.as_deref().context("no RabbitMQ: run scripts/bench queues")?;
    let rabbitmq = measure_peer(setup, &rabbitmq::RabbitMq::new(address), &mut report)?;
    let bottleneck = if azurite < rabbitmq { "Azurite" } else { "RabbitMQ" };
    let name = format!("the bottleneck: {bottleneck}");
    report.figures.push(Figure::new(name, azurite.min(rabbitmq), Unit::PerSecond));
    Ok(report)
}

/// Messages a second through the server.
fn measure_peer<P: Peer>(setup: &Setup, peer: &P, report: &mut Report) -> anyhow::Result<f64> {
    let (name, jobs) = (P::NAME, P::JOBS);
    let bare_before = peer.bare().with_context(|| format!("{name} does not take messages"))?;
    let dir = setup.fresh()?;
    let (server, _) = setup.start_with(dir.path(), Role::All, &peer.settings())?;
    let batch = JobBatch { count: jobs, plan: std::sync::Arc::new(|_| (String::new(), Duration::ZERO)) };
    let action = peer.action();
    let created = batch.create_with(server.address(), move |_, start| {
        format!(r#"{{"properties":{{"startTime":"{start}","action":{action},"state":"Enabled"}}}}"#)
    })?;
    let before = server.processor_time()?;
    let recorded = batch::await_records_from(server.address(), jobs, created.start_at, RECORD_MAX)?;
    let used = server.processor_time()?.saturating_sub(before);
    let peak = server.memory()?.peak;
    server.stop()?;
    let bare = (bare_before + peer.bare()?) / 2.0;
    let (arrived, repeated) = peer.arrived()?;
    let rate = jobs as f64 / (recorded.done_at.saturating_sub(created.start_at) as f64 / 1e9);
    let lost = jobs.saturating_sub(arrived - repeated);
    for (count, what) in [(recorded.faulted, "failed"), (lost, "lost"), (repeated, "repeated")] {
        if count > 0 {
            report.faults.push(format!("{name}: {count} messages were {what}"));
        }
    }
    let named = |text: &str| format!("{name}: {text}");
    report.figures.extend([
        Figure::new(named("sent and recorded"), rate, Unit::PerSecond).at_least(TARGET),
        Figure::new(named("a bare client"), bare, Unit::PerSecond),
        Figure::new(named("sent and recorded, beside the bare client"), rate / bare, Unit::Times),
        Figure::new(
            named("processor time of the server for one"),
            milliseconds(used) / jobs as f64,
            Unit::Milliseconds,
        ),
        Figure::new(named("memory, peak"), peak, Unit::Megabytes),
        Figure::new(named("messages that arrived"), arrived as f64, Unit::Count),
        Figure::new(named("lost or repeated"), (lost + repeated) as f64, Unit::Count).at_most(0.0),
    ]);
    Ok(rate)
}
