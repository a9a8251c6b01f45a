//! Jobs that are due some day: what they cost, and how soon after a start one of them fires.

use std::time::Duration;

use anyhow::bail;

use super::{Report, Setup};
use crate::client::BlockingConnection;
use crate::clock;
use crate::distribution::milliseconds;
use crate::figure::{Figure, Unit};
use crate::population;
use crate::receiver::Receiver;
use crate::server::Role;

/// How long the idle server is observed.
const WATCH: Duration = Duration::from_secs(10);
/// How long it may take to become idle after the last PUT.
const REST: Duration = Duration::from_secs(5);
/// The job that comes due while the server is down.
const DOWN_SECONDS: u64 = 3;
/// How long a firing is waited for.
const FIRING_MAX: Duration = Duration::from_secs(60);

pub(super) fn measure(setup: &Setup, jobs: usize) -> anyhow::Result<Report> {
    let dir = setup.fresh()?;
    let (server, _) = setup.start(dir.path(), Role::All)?;
    population::make_collections(server.address(), jobs + 1)?;
    population::put_jobs(server.address(), 0, jobs, population::idle_job)?;
    clock::pause(REST);
    let before = server.processor_time()?;
    clock::pause(WATCH);
    let used = server.processor_time()?.saturating_sub(before);
    let memory = server.memory()?;

    let receiver = Receiver::start(1, 1, Duration::ZERO)?;
    let due_at = (clock::wall_nanos() / 1_000_000_000 + DOWN_SECONDS) * 1_000_000_000;
    let body = population::once_job(&receiver.url(0), &clock::text(due_at));
    let (status, answer) = BlockingConnection::open(server.address())?.put(&population::job(jobs), &body)?;
    if status != 201 {
        bail!("a job was answered {status}: {answer}");
    }
    server.kill()?;
    clock::wait(Duration::from_secs(DOWN_SECONDS + 1), Duration::from_millis(1), || {
        clock::wall_nanos() > due_at
    });
    let spawned_at = clock::wall_nanos();
    let (server, start) = setup.start(dir.path(), Role::All)?;
    clock::wait(FIRING_MAX, Duration::from_millis(1), || receiver.log().arrived() > 0);
    let mut faults = Vec::new();
    let first = receiver.log().arrivals().flatten().next();
    let firing = match first {
        None => {
            faults.push("the job that came due while the server was down was lost".to_owned());
            f64::NAN
        }
        Some(at) if at < spawned_at => {
            faults.push("the server fired before it was killed".to_owned());
            f64::NAN
        }
        Some(at) => (at - spawned_at) as f64 / 1e6,
    };
    let started = server.memory()?;
    let share = used.as_secs_f64() / WATCH.as_secs_f64() * 100.0;
    let figures = vec![
        Figure::new("memory after they were put", memory.resident, Unit::Megabytes).at_most(80.0),
        Figure::new("memory, peak while they were put", memory.peak, Unit::Megabytes),
        Figure::new("memory after a start", started.resident, Unit::Megabytes).at_most(80.0),
        Figure::new("processor time at rest, of one core", share, Unit::Percent).at_most(1.0),
        Figure::new("start after kill -9 until ready", milliseconds(start), Unit::Milliseconds),
        Figure::new("start after kill -9 until the first firing", firing, Unit::Milliseconds)
            .at_most(1_000.0),
    ];
    Ok(Report { figures, faults })
}
