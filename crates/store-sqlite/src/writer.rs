//! The writer thread: takes all that has queued, applies it in one transaction, and answers after the
//! COMMIT.
//!
//! A disk can be asked some thousand times a second to make something durable; grouping lets many
//! writes share each of those times, and the busier it is, the larger the groups become by themselves; on
//! a slow disk a group waits a moment for those who were there lately.
//! When a write fails by itself, its group is rolled back and each of them is tried alone, so that the
//! innocent ones go through and the guilty one gets its own error.

mod gathering;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use punctual_store::Trouble;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use crate::checkpoint::Checkpointer;
use crate::desk::Desk;
use crate::mishap::Mishap;
use gathering::Gathering;

/// How many writes may wait; further callers wait for a place. Enough for all that a group may hold,
/// twice.
const QUEUE: usize = 1_024;
/// How many writes are grouped at most, so that the first of them waits some ten milliseconds at most.
const GROUP: usize = 512;

/// The way to the writer thread.
pub(crate) struct Writer {
    queue: Option<mpsc::Sender<Box<dyn Task>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(desk: Desk, checkpointer: Checkpointer) -> io::Result<Self> {
        let (queue, tasks) = mpsc::channel(QUEUE);
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || run(desk, tasks, checkpointer))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Has work done on the desk, in a transaction with others, and waits until it is durable. The work
    /// may be done more than once, of which all but the last are rolled back.
    pub(crate) async fn call<A: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnMut(&mut Desk) -> Result<A, Mishap> + Send + 'static,
    ) -> Result<A, Trouble> {
        let (reply, answer) = oneshot::channel();
        let task = Box::new(Call { doing, work, outcome: None, reply });
        let queue = self.queue.as_ref().ok_or(Trouble::Closed { doing })?;
        queue.send(task).await.map_err(|_| Trouble::Closed { doing })?;
        answer.await.map_err(|_| Trouble::Closed { doing })?
    }
}

impl Drop for Writer {
    /// Does what has queued, then closes.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread of the store ended by a panic");
        }
    }
}

/// A piece of work with somebody who waits for it.
trait Task: Send {
    fn run(&mut self, desk: &mut Desk) -> Result<(), Mishap>;
    fn answer(self: Box<Self>, failure: Option<&Mishap>);
}

struct Call<A, W> {
    doing: &'static str,
    work: W,
    outcome: Option<A>,
    reply: oneshot::Sender<Result<A, Trouble>>,
}

impl<A: Send, W: FnMut(&mut Desk) -> Result<A, Mishap> + Send> Task for Call<A, W> {
    fn run(&mut self, desk: &mut Desk) -> Result<(), Mishap> {
        self.outcome = Some((self.work)(desk)?);
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<&Mishap>) {
        let answer = match (failure, self.outcome) {
            (None, Some(outcome)) => Ok(outcome),
            (Some(mishap), _) => Err(mishap.trouble(self.doing)),
            (None, None) => Err(Mishap::Panicked.trouble(self.doing)),
        };
        // Whoever asked may have gone; the work is done all the same.
        let _ = self.reply.send(answer);
    }
}

fn run(mut desk: Desk, mut tasks: mpsc::Receiver<Box<dyn Task>>, mut checkpointer: Checkpointer) {
    let mut group = Vec::with_capacity(GROUP);
    let mut gathering = Gathering::default();
    loop {
        match tasks.try_recv() {
            Ok(task) => group.push(task),
            Err(TryRecvError::Empty) if desk.graves && !checkpointer.in_outage() => {
                sweep(&mut desk, &checkpointer);
                checkpointer.after_commit(&desk.conn);
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
        let cost = apply(&mut desk, &mut group, &checkpointer);
        gathering.note(cost, size, tasks.len());
        checkpointer.after_commit(&desk.conn);
    }
}

/// Takes in what has queued, and says how much there is now.
fn gather(tasks: &mut mpsc::Receiver<Box<dyn Task>>, group: &mut Vec<Box<dyn Task>>) -> usize {
    while group.len() < GROUP
        && let Ok(task) = tasks.try_recv()
    {
        group.push(task);
    }
    group.len()
}

/// Applies a group, and if that fails, each of it alone; says how long the COMMIT took.
fn apply(desk: &mut Desk, group: &mut Vec<Box<dyn Task>>, checkpointer: &Checkpointer) -> Duration {
    match try_apply(desk, group) {
        Ok(cost) => {
            group.drain(..).for_each(|task| task.answer(None));
            cost
        }
        Err(mishap) if group.len() == 1 => {
            desk.roll_back();
            let mishap = checkpointer.diagnose(mishap);
            group.drain(..).for_each(|task| task.answer(Some(&mishap)));
            Duration::ZERO
        }
        Err(_) => {
            desk.roll_back();
            let alone = group.drain(..).map(|task| apply(desk, &mut vec![task], checkpointer));
            alone.max().unwrap_or_default()
        }
    }
}

/// A panic is a bug in the work on one request; it must not take the store down with it.
fn try_apply(desk: &mut Desk, group: &mut [Box<dyn Task>]) -> Result<Duration, Mishap> {
    let work = AssertUnwindSafe(|| {
        desk.begin()?;
        group.iter_mut().try_for_each(|task| task.run(desk))?;
        let since = gathering::now();
        desk.commit()?;
        Ok(since.elapsed())
    });
    catch_unwind(work).unwrap_or(Err(Mishap::Panicked))
}

/// What can't be swept now is swept after an outage, or after the next start.
fn sweep(desk: &mut Desk, checkpointer: &Checkpointer) {
    let swept = desk.begin().and_then(|()| desk.sweep()).and_then(|()| desk.commit());
    let Err(mishap) = swept else { return };
    desk.roll_back();
    desk.graves = match checkpointer.diagnose(mishap) {
        Mishap::Outage(_) => true,
        mishap => {
            tracing::error!(error = %mishap, "could not sweep away the history of deleted jobs");
            false
        }
    };
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use punctual_model::Mint;
    use punctual_store::{KeyRing, Vault};

    use super::*;
    use crate::book::Book;
    use crate::outage::Outages;
    use crate::{DataDirectory, Options, Synchronous, open, query, row};

    struct Fixed;

    impl Mint for Fixed {
        fn random(&self) -> u128 {
            7
        }
    }

    /// A writer whose file may have so many pages: what a full disk is to SQLite.
    fn writer(dir: &std::path::Path, pages: u32) -> (Writer, Arc<Outages>) {
        let vault = Arc::new(Vault::new(&KeyRing::generate(&Fixed)));
        let mut options = Options::new(dir, vault.clone(), Arc::new(Fixed));
        options.synchronous = Synchronous::Off;
        let mut opened = open::open(DataDirectory::own(dir).unwrap(), &options).unwrap();
        opened.conn.pragma_update(None, "max_page_count", pages).unwrap();
        let outages = Arc::new(Outages::new(dir));
        let checkpointer =
            Checkpointer::start(dir, Synchronous::Off, &mut opened.conn, outages.clone()).unwrap();
        let desk = Desk::new(opened.conn, vault, Arc::new(Book::new(1)), opened.last);
        (Writer::start(desk, checkpointer).unwrap(), outages)
    }

    fn unregister(text: String) -> impl FnMut(&mut Desk) -> Result<(), Mishap> {
        move |desk| desk.set_unregistered(&text.as_str().into(), true)
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
    async fn a_panic_is_told_to_its_caller_and_undone() {
        let dir = tempfile::tempdir().unwrap();
        let (writer, outages) = writer(dir.path(), 1_000);
        let panic = |desk: &mut Desk| -> Result<(), Mishap> {
            desk.set_unregistered(&"half".into(), true)?;
            panic!("on purpose");
        };
        let error = writer.call("stumble", panic).await.unwrap_err();
        assert!(matches!(error, Trouble::Failed { doing: "stumble", .. }), "{error}");
        let read = |desk: &mut Desk| row::number(&desk.conn, query::unregistered, ["half"]);
        assert_eq!(writer.call("look", read).await.unwrap(), Some(0));
        assert_eq!(outages.now(), None);
    }
}
