//! Jobs that fire: made beforehand through the API, awaited at the receiver, and followed until the
//! server has recorded them.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::client::Asker;
use crate::clock;
use crate::population::{self, JOBS_OF_COLLECTION};
use crate::receiver::Log;
use crate::spread::Spread;

/// Jobs that are made first, to see how fast that goes.
const TRIAL: usize = 1_000;
/// The time between the last PUT and the first firing, at least.
const QUIET: Duration = Duration::from_secs(2);
/// When nothing arrives for so long, nothing more will. Actions may take 60 s.
const SILENCE: Duration = Duration::from_secs(75);
/// How often the receiver's log is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often the server is asked where it has more to do.
const LOOK_SELDOM: Duration = Duration::from_millis(50);

/// Where a job fires, and how long after the start.
pub(crate) type Shot = dyn Fn(usize) -> (String, Duration) + Send + Sync;

/// So many jobs, numbered from 0.
pub(crate) struct Volley {
    pub(crate) count: usize,
    pub(crate) shot: Arc<Shot>,
}

/// Jobs that were made; they start at an instant.
pub(crate) struct Aimed {
    /// In nanoseconds since 1970.
    pub(crate) start_at: u64,
}

impl Volley {
    /// Makes the jobs; the first instants lie far enough ahead for that.
    pub(crate) fn aim(&self, server: SocketAddr) -> anyhow::Result<Aimed> {
        let shot = Arc::clone(&self.shot);
        self.aim_by(server, move |number, start| population::once_job(&shot(number).0, start))
    }

    /// The same, with jobs that a number and a start time make.
    pub(crate) fn aim_by(
        &self,
        server: SocketAddr,
        job: impl Fn(usize, &str) -> String + Send + Sync + 'static,
    ) -> anyhow::Result<Aimed> {
        let trial_at = self.count.next_multiple_of(JOBS_OF_COLLECTION);
        population::make_collections(server, trial_at + TRIAL)?;
        let trial = population::put_jobs(server, trial_at, TRIAL, population::idle_job)?;
        let lead = Duration::from_secs_f64(self.count as f64 / trial.per_second() * 2.0) + QUIET * 2;
        let start_at = whole_tick(clock::wall_nanos() + nanos(lead));
        let shot = Arc::clone(&self.shot);
        population::put_jobs(server, 0, self.count, move |number| {
            let (_, after) = shot(number);
            job(number, &clock::text(whole_tick(start_at + nanos(after))))
        })?;
        if clock::wall_nanos() + nanos(QUIET) > start_at {
            bail!("making {} jobs took longer than the {lead:?} that were foreseen", self.count);
        }
        Ok(Aimed { start_at })
    }

    /// When a job is due, in nanoseconds since 1970.
    fn due_at(&self, aimed: &Aimed, number: usize) -> u64 {
        whole_tick(aimed.start_at + nanos((self.shot)(number).1))
    }

    /// Waits until so many jobs have arrived, or nothing arrives any more.
    pub(crate) fn await_arrivals(&self, aimed: &Aimed, log: &Log, count: usize) {
        let last_due = (0..self.count).map(|number| self.due_at(aimed, number)).max().unwrap_or(0);
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

    /// How the arrivals are spread, of the jobs that a log is about.
    pub(crate) fn judge(&self, aimed: &Aimed, log: &Log, jobs: impl Iterator<Item = usize>) -> Arrivals {
        let arrivals: Vec<Option<u64>> = log.arrivals().collect();
        let mut result = Arrivals { lost: 0, early: 0, first_at: u64::MAX, last_at: 0, late: Vec::new() };
        for number in jobs {
            let Some(at) = arrivals.get(number).copied().flatten() else {
                result.lost += 1;
                continue;
            };
            let late = at as f64 - self.due_at(aimed, number) as f64;
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
    /// What must not be, in words.
    pub(crate) fn faults(&self, log: &Log) -> Vec<String> {
        let told = [(self.lost, "lost"), (log.repeated(), "repeated"), (self.early, "early")];
        let told = told.into_iter().filter(|(count, _)| *count > 0);
        told.map(|(count, what)| format!("{count} firings were {what}")).collect()
    }

    /// How late they were.
    pub(crate) fn lateness(self) -> Spread {
        Spread::of_milliseconds(self.late)
    }
}

/// What the server has recorded of a volley.
pub(crate) struct Recorded {
    /// When no job was left that had not ended, in nanoseconds since 1970.
    pub(crate) done_at: u64,
    /// How many ended with a failure.
    pub(crate) faulted: usize,
}

/// Waits until every one of some jobs has ended, as the API sees it. They fill their collections.
pub(crate) fn await_records(
    server: SocketAddr,
    jobs: Range<usize>,
    limit: Duration,
) -> anyhow::Result<Recorded> {
    await_ends(server, jobs, limit, LOOK_EVERY)
}

/// The same from an instant on, for jobs that take long: asking costs the server something, too.
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
    let mut asker = Asker::open(server)?;
    let since = clock::now();
    let collections = jobs.start / JOBS_OF_COLLECTION..jobs.end.div_ceil(JOBS_OF_COLLECTION);
    for number in collections.clone() {
        while !list(&mut asker, number, "&$filter=state%20eq%20Enabled&$top=1")?.contains(r#""value":[]"#) {
            if since.elapsed() > limit {
                bail!("collection {number} has jobs that did not end within {limit:?}");
            }
            clock::pause(step);
        }
    }
    let done_at = clock::wall_nanos();
    let mut faulted = 0;
    for number in collections {
        let jobs = list(&mut asker, number, "&$filter=state%20eq%20Faulted")?;
        faulted += jobs.matches(r#""state":"faulted""#).count();
    }
    Ok(Recorded { done_at, faulted })
}

fn list(asker: &mut Asker, collection: usize, query: &str) -> anyhow::Result<String> {
    let path = format!("{}/jobs", population::collection(collection));
    let (status, body) = asker.get(&path, query).with_context(|| format!("could not list {path}"))?;
    if status != 200 {
        bail!("the list {path} was answered {status}: {body}");
    }
    Ok(body)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The API knows times to 100 ns.
fn whole_tick(nanos: u64) -> u64 {
    nanos / 100 * 100
}
