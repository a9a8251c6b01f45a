//! Batches of jobs that fire once: created through the API, awaited at the receiver, and followed until the
//! server has recorded them.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::client::BlockingConnection;
use crate::clock;
use crate::distribution::Distribution;
use crate::population::{self, JOBS_OF_COLLECTION};
use crate::receiver::Log;

/// Jobs that are created first, to see how fast that goes.
const TRIAL: usize = 1_000;
/// The time between the last PUT and the first firing, at least.
const QUIET: Duration = Duration::from_secs(2);
/// When nothing arrives for this long, nothing more will. Actions may take 60 s.
const SILENCE: Duration = Duration::from_secs(75);
/// How often the log of the receiver is polled.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often the server is polled while it has more to do.
const LOOK_SELDOM: Duration = Duration::from_millis(50);

/// The URL that a job fires at, and how long after the start.
pub(crate) type JobPlan = dyn Fn(usize) -> (String, Duration) + Send + Sync;

/// A number of jobs, numbered from 0.
pub(crate) struct JobBatch {
    pub(crate) count: usize,
    pub(crate) plan: Arc<JobPlan>,
}

/// A batch whose jobs were created.
pub(crate) struct CreatedBatch {
    /// In nanoseconds since 1970.
    pub(crate) start_at: u64,
}

impl JobBatch {
    /// Creates the jobs, with a start far enough ahead for that.
    pub(crate) fn create(&self, server: SocketAddr) -> anyhow::Result<CreatedBatch> {
        let plan = Arc::clone(&self.plan);
        self.create_with(server, move |number, start| population::once_job(&plan(number).0, start))
    }

    /// The same, with bodies made from a number and a start time.
    pub(crate) fn create_with(
        &self,
        server: SocketAddr,
        job: impl Fn(usize, &str) -> String + Send + Sync + 'static,
    ) -> anyhow::Result<CreatedBatch> {
        let trial_at = self.count.next_multiple_of(JOBS_OF_COLLECTION);
        population::make_collections(server, trial_at + TRIAL)?;
        let trial = population::put_jobs(server, trial_at, TRIAL, population::idle_job)?;
        let lead = Duration::from_secs_f64(self.count as f64 / trial.per_second() * 2.0) + QUIET * 2;
        let start_at = whole_tick(clock::wall_nanos() + nanos(lead));
        let plan = Arc::clone(&self.plan);
        population::put_jobs(server, 0, self.count, move |number| {
            let (_, after) = plan(number);
            job(number, &clock::text(whole_tick(start_at + nanos(after))))
        })?;
        if clock::wall_nanos() + nanos(QUIET) > start_at {
            bail!("making {} jobs took longer than the {lead:?} that were foreseen", self.count);
        }
        Ok(CreatedBatch { start_at })
    }

    /// When a job is due, in nanoseconds since 1970.
    fn due_at(&self, created: &CreatedBatch, number: usize) -> u64 {
        whole_tick(created.start_at + nanos((self.plan)(number).1))
    }

    /// Waits until `count` jobs have arrived, or nothing arrives any more.
    pub(crate) fn await_arrivals(&self, created: &CreatedBatch, log: &Log, count: usize) {
        let last_due = (0..self.count).map(|number| self.due_at(created, number)).max().unwrap_or(0);
        let mut seen = (0, last_due);
        loop {
            let (arrived, now) = (log.arrived(), clock::wall_nanos());
            if arrived != seen.0 {
                seen = (arrived, now.max(last_due));
            }
            if arrived >= count || now > seen.1 + nanos(SILENCE) {
                return;
            }
            clock::pause(LOOK_EVERY);
        }
    }

    /// The arrivals of some jobs, compared with when they were due.
    pub(crate) fn judge(
        &self,
        created: &CreatedBatch,
        log: &Log,
        jobs: impl Iterator<Item = usize>,
    ) -> Arrivals {
        let arrivals: Vec<Option<u64>> = log.arrivals().collect();
        let mut result = Arrivals { lost: 0, early: 0, first_at: u64::MAX, last_at: 0, late: Vec::new() };
        for number in jobs {
            let Some(at) = arrivals.get(number).copied().flatten() else {
                result.lost += 1;
                continue;
            };
            let late = at as f64 - self.due_at(created, number) as f64;
            result.early += usize::from(late < 0.0);
            result.first_at = result.first_at.min(at);
            result.last_at = result.last_at.max(at);
            result.late.push(late / 1e6);
        }
        result
    }
}

/// When jobs arrived.
pub(crate) struct Arrivals {
    pub(crate) lost: usize,
    pub(crate) early: usize,
    pub(crate) first_at: u64,
    pub(crate) last_at: u64,
    late: Vec<f64>,
}

impl Arrivals {
    /// Errors, in words.
    pub(crate) fn faults(&self, log: &Log) -> Vec<String> {
        let told = [(self.lost, "lost"), (log.repeated(), "repeated"), (self.early, "early")];
        let told = told.into_iter().filter(|(count, _)| *count > 0);
        told.map(|(count, what)| format!("{count} firings were {what}")).collect()
    }

    /// How late they were.
    pub(crate) fn lateness(self) -> Distribution {
        Distribution::of_milliseconds(self.late)
    }
}

/// What the server has recorded of a batch.
pub(crate) struct Recorded {
    /// When the last job had ended, in nanoseconds since 1970.
    pub(crate) done_at: u64,
    /// How many ended with a failure.
    pub(crate) faulted: usize,
}

/// Waits until all of some jobs have ended, as the API shows them. They fill their collections.
pub(crate) fn await_records(
    server: SocketAddr,
    jobs: Range<usize>,
    limit: Duration,
) -> anyhow::Result<Recorded> {
    await_ends(server, jobs, limit, LOOK_EVERY)
}

/// The same, but polls only from an instant on: polling costs the server something, too.
pub(crate) fn await_records_from(
    server: SocketAddr,
    job_count: usize,
    start_at: u64,
    limit: Duration,
) -> anyhow::Result<Recorded> {
    clock::pause(Duration::from_nanos(start_at.saturating_sub(clock::wall_nanos())));
    await_ends(server, 0..job_count, limit, LOOK_SELDOM)
}

fn await_ends(
    server: SocketAddr,
    jobs: Range<usize>,
    limit: Duration,
    step: Duration,
) -> anyhow::Result<Recorded> {
    let mut connection = BlockingConnection::open(server)?;
    let since = clock::now();
    let collections = jobs.start / JOBS_OF_COLLECTION..jobs.end.div_ceil(JOBS_OF_COLLECTION);
    for number in collections.clone() {
        while !list(&mut connection, number, "&$filter=state%20eq%20Enabled&$top=1")?
            .contains(r#""value":[]"#)
        {
            if since.elapsed() > limit {
                bail!("collection {number} has jobs that did not end within {limit:?}");
            }
            clock::pause(step);
        }
    }
    let done_at = clock::wall_nanos();
    let mut faulted = 0;
    for number in collections {
        let jobs = list(&mut connection, number, "&$filter=state%20eq%20Faulted")?;
        faulted += jobs.matches(r#""state":"faulted""#).count();
    }
    Ok(Recorded { done_at, faulted })
}

fn list(connection: &mut BlockingConnection, collection: usize, query: &str) -> anyhow::Result<String> {
    let path = format!("{}/jobs", population::collection(collection));
    let (status, body) = connection.get(&path, query).with_context(|| format!("could not list {path}"))?;
    if status != 200 {
        bail!("the list {path} was answered {status}: {body}");
    }
    Ok(body)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The API has a resolution of 100 ns.
fn whole_tick(nanos: u64) -> u64 {
    nanos / 100 * 100
}
