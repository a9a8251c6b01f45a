//! The operations of a world. A history is a list of them.
//!
//! `Debug` prints them as Rust code, so that a failed history can be pasted into a test.

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Action, ActionKind, HttpAction, JobSpec, RetryPolicy};
use punctual_recurrence::{Frequency, Rule, Schedule, Weekday};

/// One operation. Nodes, jobs and collections are numbers, modulo how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Time passes while nobody acts, in milliseconds.
    Advance(i64),
    /// Time passes while every node that is up ticks whenever it wants to.
    Elapse(i64),
    /// The wall clock is set forward or back by this many milliseconds. Nodes notice it when they look at the
    /// agenda without being woken, as they do every second.
    Jump(i64),
    /// The clock of a node has this skew from now on, in milliseconds.
    Skew(usize, i64),
    /// A node does everything that it can do at this instant: gives back, claims, fires, settles.
    Tick(usize),
    /// A node does so up to a point and stays there.
    TickTo(usize, Point),
    /// A node continues from where it stayed.
    Resume(usize),
    /// A node dies where it is. Its claims are free, as after its lease.
    Crash(usize),
    /// All nodes die, and the store with them; it is opened again.
    CrashAll,
    /// The claims of a node are taken from it although it lives.
    Expire(usize),
    /// A node comes back.
    Restart(usize),
    /// A node deletes what is older than 60 days.
    KeepHouse(usize),
    /// A node searches for jobs that are ahead of the clock, and repairs them.
    Repair(usize),
    /// A node gives back what it has not begun, finishes what it has, and stops.
    Stop(usize),
    /// PUT of a job.
    Put(usize, Sketch),
    /// PATCH of a job.
    Patch(usize, Change),
    /// DELETE of a job.
    Delete(usize),
    /// A job is enabled.
    Enable(usize),
    /// A job is disabled.
    Disable(usize),
    /// A run is asked for.
    Run(usize),
    /// A collection is enabled.
    CollectionOn(usize),
    /// A collection is disabled.
    CollectionOff(usize),
    /// The job limit of a collection is set.
    Quota(usize, u32),
    /// The receiver answers the next attempts of a job like this, this many times.
    Answer(usize, Answer, u32),
    /// The store fails once.
    Fault(Call, When, Kind),
}

/// Where a tick can stop: right after this was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// What is due was claimed.
    Claimed,
    /// The claims were confirmed.
    Begun,
    /// The receiver has answered.
    Fired,
    /// The outcome waits in the recorder's queue.
    Queued,
    /// The settlement is written, and the runner does not know it yet.
    Settled,
}

/// How a receiver answers an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It succeeds after this many milliseconds; too late if that is 60 seconds or more.
    Success(i64),
    /// It fails after this many milliseconds.
    Failure(i64),
    /// It never answers: the attempt fails after 60 seconds.
    Hang,
}

/// Which call to the store fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Call {
    /// If it was carried out, the store could not load what it had claimed, and gives that back by itself.
    Claim,
    NextDue,
    Begin,
    Settle,
    Release,
    Read,
    Write,
}

/// Whether a call that fails was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// It was not.
    Before,
    /// It was, but the caller gets an error.
    After,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Kind {
    Busy,
    Full,
    Closed,
    /// It panics, where a node makes it; for the API and for repairs it is closed.
    Panic,
}

/// A short form of a job's definition. Instants are seconds after [`dawn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// The start time.
    pub start: Option<i64>,
    /// The recurrence; once without it.
    pub every: Option<(i64, Unit)>,
    /// The count of the recurrence.
    pub count: Option<i64>,
    /// The end of the recurrence.
    pub end: Option<i64>,
    /// Whether the job is enabled.
    pub on: bool,
    /// The retry policy.
    pub retry: Retry,
    /// The length of the chain of error actions.
    pub errors: u8,
}

/// A unit of recurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    /// Weeks, on Monday and Friday, at 2:30 and 17:30 in Berlin.
    Berlin,
}

/// A retry policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// None: the default of the plan.
    Default,
    /// No retries.
    Never,
    /// An interval in seconds, and a count.
    Fixed(i64, u32),
}

/// What a PATCH changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in a sketch")]
pub enum Change {
    Start(Option<i64>),
    Every(Option<(i64, Unit)>),
    Count(Option<i64>),
    End(Option<i64>),
    Retry(Retry),
    Errors(u8),
}

/// All names of a printed history; a test imports them with `use punctual_sim::words::*`.
pub mod words {
    pub use super::Answer::*;
    pub use super::Call::*;
    pub use super::Change::*;
    pub use super::Kind::*;
    pub use super::Op::*;
    pub use super::Point::*;
    pub use super::Retry::*;
    pub use super::Sketch;
    pub use super::Unit::*;
    pub use super::When::*;
}

/// The start of every world: a day before clocks are set forward in Berlin.
pub fn dawn() -> Timestamp {
    "2026-03-28T00:00:00Z".parse().expect("it is an instant")
}

/// The instant this many seconds after [`dawn`].
pub fn instant(seconds: i64) -> Timestamp {
    dawn() + SignedDuration::from_secs(seconds)
}

impl Sketch {
    /// The definition that it stands for.
    pub fn spec(&self) -> JobSpec {
        let recurrence = self.every.map(|every| rule(every, self.count, self.end));
        let mut action = http("main");
        action.retry = self.retry.policy();
        action.error_action = errors(self.errors);
        JobSpec { start_at: self.start.map(instant), action, recurrence, enabled: self.on }
    }
}

impl Retry {
    fn policy(self) -> Option<RetryPolicy> {
        match self {
            Self::Default => None,
            Self::Never => Some(RetryPolicy { fixed: false, interval: None, count: None }),
            Self::Fixed(seconds, count) => Some(RetryPolicy {
                fixed: true,
                interval: Some(SignedDuration::from_secs(seconds)),
                count: Some(count),
            }),
        }
    }
}

impl Change {
    /// A definition with the change made.
    pub fn apply(self, spec: &JobSpec) -> JobSpec {
        let mut spec = spec.clone();
        match self {
            Self::Start(start) => spec.start_at = start.map(instant),
            Self::Every(None) => spec.recurrence = None,
            Self::Every(Some(every)) => {
                let old = spec.recurrence.take();
                let mut new = rule(every, None, None);
                new.count = old.as_ref().and_then(|old| old.count);
                new.end_at = old.and_then(|old| old.end_at);
                spec.recurrence = Some(new);
            }
            Self::Count(count) => {
                if let Some(rule) = &mut spec.recurrence {
                    rule.count = count;
                }
            }
            Self::End(end) => {
                if let Some(rule) = &mut spec.recurrence {
                    rule.end_at = end.map(instant);
                }
            }
            Self::Retry(retry) => spec.action.retry = retry.policy(),
            Self::Errors(depth) => spec.action.error_action = errors(depth),
        }
        spec
    }
}

fn rule((interval, unit): (i64, Unit), count: Option<i64>, end: Option<i64>) -> Rule {
    let frequency = match unit {
        Unit::Minute => Frequency::Minute,
        Unit::Hour => Frequency::Hour,
        Unit::Day => Frequency::Day,
        Unit::Week | Unit::Berlin => Frequency::Week,
        Unit::Month => Frequency::Month,
    };
    let mut rule = Rule { count, end_at: end.map(instant), ..Rule::every(interval, frequency) };
    if unit == Unit::Berlin {
        rule.time_zone = Some("Europe/Berlin".into());
        rule.schedule = Some(Schedule {
            week_days: vec![Weekday::Monday, Weekday::Friday, Weekday::Sunday],
            hours: vec![2, 17],
            minutes: vec![30],
            ..Schedule::default()
        });
    }
    rule
}

fn errors(depth: u8) -> Option<Box<Action>> {
    if depth == 0 {
        return None;
    }
    let mut action = http("error");
    // Every other error action has a policy of its own.
    action.retry = depth.is_multiple_of(2).then(|| Retry::Fixed(15, 1).policy()).flatten();
    action.error_action = errors(depth - 1);
    Some(Box::new(action))
}

fn http(host: &str) -> Action {
    let request = HttpAction {
        declared_https: false,
        uri: format!("http://{host}.example/"),
        user_info: None,
        method: "POST".to_owned(),
        headers: Vec::new(),
        body: None,
        authentication: None,
    };
    Action { kind: ActionKind::Http(request), retry: None, error_action: None }
}
