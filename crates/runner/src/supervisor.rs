//! Supervision: what is to go on for good is started, watched and stopped in one way.
//!
//! ```text
//!   Supervisor   one for a process; knows the first task that ended though nobody had told it to
//!     Tasks      what is started and stopped together, each a task of the runtime or a thread
//! ```
//!
//! A task that returns before it is told to stop, or panics, is a bug, and what it was there for is not done any
//! more. That is logged with its cause and noted at once; whoever owns the process stops it, so that it is started
//! anew. Nothing is started anew within the process: what the bug left behind in memory is not known.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// How long is waited for a task that was cut off.
const CUT_OFF_TIME_MAX: Duration = Duration::from_secs(1);

/// Knows whether all that is to go on does. Clones know the same.
#[derive(Clone, Debug, Default)]
pub struct Supervisor {
    first: watch::Sender<Option<Failure>>,
}

/// A task ended though it was to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it is called.
    pub task: &'static str,
    /// Why it ended.
    pub cause: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} ended: {}", self.task, self.cause)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// A task panicked.
    pub fn of_panic(task: &'static str, panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it said nothing");
        Self { task, cause: format!("it panicked: {text}") }
    }
}

impl Supervisor {
    /// Takes note that a task has ended. It is logged; the first is kept.
    pub fn note(&self, failure: Failure) {
        let Failure { task, cause } = &failure;
        tracing::error!(task, cause, "a task ended that must go on: the server has to be started anew");
        self.first.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert(failure);
            is_first
        });
    }

    /// The first task that ended, if one did.
    pub fn failure(&self) -> Option<Failure> {
        self.first.borrow().clone()
    }

    /// Waits until a task has ended.
    pub async fn failed(&self) -> Failure {
        let mut first = self.first.subscribe();
        loop {
            if let Some(failure) = first.borrow_and_update().clone() {
                return failure;
            }
            if first.changed().await.is_err() {
                // Nobody is left who could note anything; this supervisor is, so it can't be.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Tasks that are stopped together; none yet.
    pub fn tasks(&self) -> Tasks {
        Tasks { supervisor: self.clone(), stop: watch::Sender::new(false), running: Vec::new() }
    }

    /// Does something of a task, which may panic. If it does, that is noted, and there is no answer.
    pub(crate) async fn guard<T>(&self, task: &'static str, work: impl Future<Output = T>) -> Option<T> {
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(answer) => Some(answer),
            Err(panic) => {
                self.note_panic(task, panic.as_ref());
                None
            }
        }
    }

    /// A task has ended: by a panic, or because it returned, which it may only if it was told to stop.
    fn note_end(
        &self,
        task: &'static str,
        outcome: std::thread::Result<()>,
        stopping: &watch::Receiver<bool>,
    ) {
        match outcome {
            Err(panic) => self.note_panic(task, panic.as_ref()),
            // Tasks that were dropped are told nothing more.
            Ok(()) if !*stopping.borrow() => {
                let cause = "it returned, and nobody had told it to stop".to_owned();
                self.note(Failure { task, cause });
            }
            Ok(()) => {}
        }
    }

    fn note_panic(&self, task: &'static str, panic: &(dyn Any + Send)) {
        self.note(Failure::of_panic(task, panic));
    }
}

/// What is started and stopped together. Dropping it stops nothing; [`stop`](Tasks::stop) does.
#[derive(Debug)]
pub struct Tasks {
    supervisor: Supervisor,
    stop: watch::Sender<bool>,
    running: Vec<Running>,
}

#[derive(Debug)]
struct Running {
    name: &'static str,
    /// Is set when it ends, or closed.
    ended: watch::Receiver<bool>,
    /// None for a thread.
    abort: Option<AbortHandle>,
}

impl Tasks {
    /// Is set when they are told to stop.
    pub fn told_to_stop(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Starts a task of the current runtime that goes on until it is told to stop.
    pub fn spawn(&mut self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let (supervisor, stopping) = (self.supervisor.clone(), self.stop.subscribe());
        let (ends, ended) = watch::channel(false);
        let task = tokio::spawn(async move {
            let outcome = AssertUnwindSafe(work).catch_unwind().await;
            // Before it is noted, so that whoever hears of a failure sees which task has ended.
            ends.send_replace(true);
            supervisor.note_end(name, outcome, &stopping);
        });
        self.running.push(Running { name, ended, abort: Some(task.abort_handle()) });
    }

    /// Starts a thread that goes on until it is told to stop.
    pub fn spawn_thread(
        &mut self,
        name: &'static str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let (supervisor, stopping) = (self.supervisor.clone(), self.stop.subscribe());
        let (ends, ended) = watch::channel(false);
        std::thread::Builder::new().name(format!("punctual-{name}")).spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(work));
            ends.send_replace(true);
            supervisor.note_end(name, outcome, &stopping);
        })?;
        self.running.push(Running { name, ended, abort: None });
        Ok(())
    }

    /// Whether a task of this name was started and none is running.
    pub(crate) fn ended(&self, name: &str) -> bool {
        let mut tasks = self.running.iter().filter(|task| task.name == name).peekable();
        tasks.peek().is_some() && tasks.all(|task| *task.ended.borrow() || task.ended.has_changed().is_err())
    }

    /// Tells them to stop: from now on they may return.
    pub fn tell_to_stop(&self) {
        self.stop.send_replace(true);
    }

    /// Tells them to stop and waits until they have, and have let go of all that was theirs, but not longer than so
    /// much. Those that have not are cut off, and named.
    pub async fn stop(self, time_max: Duration) -> Vec<&'static str> {
        self.tell_to_stop();
        let deadline = Instant::now() + time_max;
        let mut cut_off = Vec::new();
        // Threads come last: they can't be cut off.
        let (tasks, threads): (Vec<_>, Vec<_>) =
            self.running.into_iter().partition(|running| running.abort.is_some());
        for Running { name, mut ended, abort } in tasks.into_iter().chain(threads) {
            if tokio::time::timeout_at(deadline, ended.wait_for(|ended| *ended)).await.is_ok() {
                continue;
            }
            if let Some(abort) = abort {
                abort.abort();
                // It goes as soon as it is cut off, unless it keeps a thread of the runtime busy.
                let _ = tokio::time::timeout(CUT_OFF_TIME_MAX, ended.wait_for(|ended| *ended)).await;
            }
            cut_off.push(name);
        }
        cut_off
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than anything takes on a busy machine.
    const LONG: Duration = Duration::from_secs(30);

    async fn cause(supervisor: &Supervisor) -> String {
        tokio::time::timeout(LONG, supervisor.failed()).await.unwrap().to_string()
    }

    #[tokio::test]
    async fn a_task_that_panics_is_noticed_with_its_cause() {
        let supervisor = Supervisor::default();
        let mut tasks = supervisor.tasks();
        tasks.spawn("fiddler", std::future::pending());
        assert_eq!(supervisor.failure(), None);
        tasks.spawn("piper", async { panic!("out of {}", "breath") });
        assert_eq!(cause(&supervisor).await, "the piper ended: it panicked: out of breath");
        assert!(tasks.ended("piper") && !tasks.ended("fiddler"));
    }

    #[tokio::test]
    async fn a_task_that_returns_before_it_is_told_to_is_noticed() {
        let supervisor = Supervisor::default();
        supervisor.tasks().spawn("piper", async {});
        assert_eq!(cause(&supervisor).await, "the piper ended: it returned, and nobody had told it to stop");
    }

    #[tokio::test]
    async fn a_thread_is_watched_like_a_task() {
        let supervisor = Supervisor::default();
        let mut tasks = supervisor.tasks();
        tasks.spawn_thread("drummer", || panic!("no sticks")).unwrap();
        assert_eq!(cause(&supervisor).await, "the drummer ended: it panicked: no sticks");
        assert_eq!(tasks.stop(LONG).await, [""; 0]);
    }

    #[tokio::test]
    async fn whoever_is_told_to_stop_may_return() {
        let supervisor = Supervisor::default();
        let mut tasks = supervisor.tasks();
        let mut stop = tasks.told_to_stop();
        tasks.spawn("piper", async move {
            let _ = stop.wait_for(|told| *told).await;
        });
        assert_eq!(tasks.stop(LONG).await, [""; 0]);
        assert_eq!(supervisor.failure(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_waits_no_longer_than_it_may_and_names_who_was_cut_off() {
        let supervisor = Supervisor::default();
        let mut tasks = supervisor.tasks();
        let (held, dropped) = tokio::sync::oneshot::channel::<()>();
        tasks.spawn("piper", async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        let began = Instant::now();
        assert_eq!(tasks.stop(Duration::from_secs(3)).await, ["piper"]);
        assert_eq!(began.elapsed(), Duration::from_secs(3));
        assert!(dropped.await.is_err(), "it is gone");
        assert_eq!(supervisor.failure(), None, "it was cut off, it did not fail");
    }

    #[tokio::test]
    async fn the_first_failure_is_kept() {
        let supervisor = Supervisor::default();
        let failure = |task| Failure { task, cause: "so it is".to_owned() };
        supervisor.note(failure("one"));
        supervisor.clone().note(failure("other"));
        assert_eq!(supervisor.failure(), Some(failure("one")));
    }
}
