//! The writer thread: applies all queued writes in one transaction, and answers after the COMMIT (group
//! commit).
//!
//! A disk can make something durable some thousand times a second; grouping lets many writes share each of
//! those times, and the groups grow with the load. On a slow disk a group waits a moment for callers that were
//! there lately. When a write fails by itself, its group is rolled back and each of them is tried alone, so
//! that only the failing one gets an error.

mod gathering;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::Duration;

use punctual_store::Trouble;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use crate::alarm::Alarm;
use crate::checkpoint::Checkpointer;
use crate::error::SqliteError;
use crate::meter::Meter;
use crate::writer_state::WriterState;
use gathering::Gathering;

/// The most writes that may wait; further callers wait for room. Twice the largest group.
const QUEUE: usize = 1_024;
/// The most writes of a group, so that the first of them waits at most some ten milliseconds.
const GROUP: usize = 512;

/// The writer thread.
pub(crate) struct Writer {
    queue: Option<mpsc::Sender<Box<dyn Task>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(
        state: WriterState,
        checkpointer: Checkpointer,
        meter: Meter,
        alarm: &Alarm,
    ) -> io::Result<Self> {
        let (queue, tasks) = mpsc::channel(QUEUE);
        let work = move || run(state, tasks, checkpointer, &meter);
        let thread = alarm.thread("store-writer".to_owned(), "writer of the store", work)?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Runs `work` in a transaction with others, and waits until it is durable. It may run more than once; all
    /// runs but the last are rolled back.
    pub(crate) async fn call<A: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnMut(&mut WriterState) -> Result<A, SqliteError> + Send + 'static,
    ) -> Result<A, Trouble> {
        let (reply, answer) = oneshot::channel();
        let task = Box::new(Call { doing, work, outcome: None, reply });
        let queue = self.queue.as_ref().ok_or(Trouble::Closed { doing })?;
        queue.send(task).await.map_err(|_| Trouble::Closed { doing })?;
        answer.await.map_err(|_| Trouble::Closed { doing })?
    }
}

impl Drop for Writer {
    /// Finishes queued writes, then closes.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic was told when it happened.
            let _ = thread.join();
        }
    }
}

/// A write with a caller that waits for it.
trait Task: Send {
    fn run(&mut self, state: &mut WriterState) -> Result<(), SqliteError>;
    fn answer(self: Box<Self>, failure: Option<&SqliteError>);
}

struct Call<A, W> {
    doing: &'static str,
    work: W,
    outcome: Option<A>,
    reply: oneshot::Sender<Result<A, Trouble>>,
}

impl<A: Send, W: FnMut(&mut WriterState) -> Result<A, SqliteError> + Send> Task for Call<A, W> {
    fn run(&mut self, state: &mut WriterState) -> Result<(), SqliteError> {
        self.outcome = Some((self.work)(state)?);
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<&SqliteError>) {
        let answer = match (failure, self.outcome) {
            (None, Some(outcome)) => Ok(outcome),
            (Some(failure), _) => Err(failure.trouble(self.doing)),
            (None, None) => Err(SqliteError::Panicked.trouble(self.doing)),
        };
        // The caller may be gone; the write is done all the same.
        let _ = self.reply.send(answer);
    }
}

fn run(
    mut state: WriterState,
    mut tasks: mpsc::Receiver<Box<dyn Task>>,
    mut checkpointer: Checkpointer,
    meter: &Meter,
) {
    let mut group = Vec::with_capacity(GROUP);
    let mut gathering = Gathering::default();
    loop {
        match tasks.try_recv() {
            Ok(task) => group.push(task),
            Err(TryRecvError::Empty) if state.has_orphaned_history && !checkpointer.in_outage() => {
                sweep(&mut state, &checkpointer);
                checkpointer.after_commit(&state.conn);
                continue;
            }
            Err(_) => match tasks.blocking_recv() {
                Some(task) => group.push(task),
                None => return,
            },
        }
        let size = gather(&mut tasks, &mut group);
        gathering.wait(size, || gather(&mut tasks, &mut group));
        let size = group.len();
        let cost = apply(&mut state, &mut group, &checkpointer, meter);
        gathering.note(cost, size, tasks.len());
        if std::mem::take(&mut state.empties_log) {
            checkpointer.empty_soon();
        }
        checkpointer.after_commit(&state.conn);
    }
}

/// Takes queued writes into the group, and returns its size.
fn gather(tasks: &mut mpsc::Receiver<Box<dyn Task>>, group: &mut Vec<Box<dyn Task>>) -> usize {
    while group.len() < GROUP
        && let Ok(task) = tasks.try_recv()
    {
        group.push(task);
    }
    group.len()
}

/// Applies a group, and if that fails, each write alone; returns how long the COMMIT took.
fn apply(
    state: &mut WriterState,
    group: &mut Vec<Box<dyn Task>>,
    checkpointer: &Checkpointer,
    meter: &Meter,
) -> Duration {
    match try_apply(state, group) {
        Ok(cost) => {
            meter.committed(group.len(), cost);
            group.drain(..).for_each(|task| task.answer(None));
            cost
        }
        Err(failure) if group.len() == 1 => {
            state.roll_back();
            let failure = checkpointer.diagnose(failure);
            group.drain(..).for_each(|task| task.answer(Some(&failure)));
            Duration::ZERO
        }
        Err(_) => {
            state.roll_back();
            let alone = group.drain(..).map(|task| apply(state, &mut vec![task], checkpointer, meter));
            alone.max().unwrap_or_default()
        }
    }
}

/// A panic is a bug in one write; the store must go on.
fn try_apply(state: &mut WriterState, group: &mut [Box<dyn Task>]) -> Result<Duration, SqliteError> {
    let work = AssertUnwindSafe(|| {
        state.begin()?;
        group.iter_mut().try_for_each(|task| task.run(state))?;
        let since = gathering::now();
        state.commit()?;
        Ok(since.elapsed())
    });
    catch_unwind(work).unwrap_or(Err(SqliteError::Panicked))
}

/// What can't be deleted now is deleted after an outage, or after the next start.
fn sweep(state: &mut WriterState, checkpointer: &Checkpointer) {
    let swept = state.begin().and_then(|()| state.sweep()).and_then(|()| state.commit());
    let Err(failure) = swept else { return };
    state.roll_back();
    state.has_orphaned_history = match checkpointer.diagnose(failure) {
        SqliteError::Outage(_) => true,
        failure => {
            tracing::error!(error = %failure, "could not sweep away the history of deleted jobs");
            false
        }
    };
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use punctual_model::RandomSource;
    use punctual_store::{KeyRing, Vault};

    use super::*;
    use crate::outage::Outages;
    use crate::shared_claims::SharedClaims;
    use crate::{DataDirectory, Options, Synchronous, open, query, row};

    struct Fixed;

    impl RandomSource for Fixed {
        fn random(&self) -> u128 {
            7
        }
    }

    /// A writer whose file may have so many pages: what a full disk is to SQLite.
    fn writer(dir: &std::path::Path, pages: u32) -> (Writer, Arc<Outages>) {
        metered_writer(dir, pages, Meter::default())
    }

    fn metered_writer(dir: &std::path::Path, pages: u32, meter: Meter) -> (Writer, Arc<Outages>) {
        let vault = Arc::new(Vault::new(&KeyRing::generate(&Fixed)));
        let mut options = Options::new(dir, vault.clone(), Arc::new(Fixed));
        options.synchronous = Synchronous::Off;
        let mut opened = open::open(DataDirectory::own(dir).unwrap(), &options).unwrap();
        opened.conn.pragma_update(None, "max_page_count", pages).unwrap();
        let outages = Arc::new(Outages::new(dir));
        let checkpointer =
            Checkpointer::start(dir, Synchronous::Off, &mut opened.conn, outages.clone(), &Alarm::default())
                .unwrap();
        let state = WriterState::new(opened.conn, vault, Arc::new(SharedClaims::new(1)), opened.last);
        (Writer::start(state, checkpointer, meter, &Alarm::default()).unwrap(), outages)
    }

    fn unregister(text: String) -> impl FnMut(&mut WriterState) -> Result<(), SqliteError> {
        move |state| state.set_unregistered(&text.as_str().into(), true)
    }

    #[tokio::test]
    async fn a_full_disk_is_told_and_what_still_fits_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (writer, outages) = writer(dir.path(), 60);
        let error = writer.call("fill it", unregister("x".repeat(1_000_000))).await.unwrap_err();
        assert!(matches!(error, Trouble::Full { doing: "fill it" }), "{error}");
        writer.call("write little", unregister("x".to_owned())).await.unwrap();
        let over = async {
            while outages.now().is_some() {
                tokio::task::yield_now().await;
            }
        };
        let over = tokio::time::timeout(Duration::from_secs(30), over).await;
        assert!(over.is_ok(), "the disk has space, and somebody sees that: {:?}", outages.now());
    }

    #[tokio::test]
    async fn the_meter_is_told_of_every_write_that_was_committed_and_of_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&told);
        let meter = Meter::new(move |writes, _| {
            counted.fetch_add(writes, Ordering::SeqCst);
        });
        let (writer, _) = metered_writer(dir.path(), 60, meter);
        for name in ["a", "b", "c"] {
            writer.call("write", unregister(name.to_owned())).await.unwrap();
        }
        writer.call("fill it", unregister("x".repeat(1_000_000))).await.unwrap_err();
        assert_eq!(told.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn a_panic_is_told_to_its_caller_and_undone() {
        let dir = tempfile::tempdir().unwrap();
        let (writer, outages) = writer(dir.path(), 1_000);
        let panic = |state: &mut WriterState| -> Result<(), SqliteError> {
            state.set_unregistered(&"half".into(), true)?;
            panic!("on purpose");
        };
        let error = writer.call("stumble", panic).await.unwrap_err();
        assert!(matches!(error, Trouble::Failed { doing: "stumble", .. }), "{error}");
        let read = |state: &mut WriterState| row::number(&state.conn, query::unregistered, ["half"]);
        assert_eq!(writer.call("look", read).await.unwrap(), Some(0));
        assert_eq!(outages.now(), None);
    }
}
