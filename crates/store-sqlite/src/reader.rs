//! The reader threads, each with a connection of its own.

use std::path::Path;
use std::thread::{self, JoinHandle};

use punctual_store::Trouble;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::mishap::Mishap;
use crate::{OpenError, connection, query};

/// How many questions may wait for each thread; further callers wait for a place.
const QUEUE: usize = 256;
/// How many questions are answered from one snapshot.
const BATCH: usize = 64;

/// One for quick questions, one for long ones.
const READERS_MIN: usize = 2;

type Question = Box<dyn FnOnce(&Connection) + Send>;

/// The way to the reader threads.
pub(crate) struct Readers {
    queues: Vec<mpsc::Sender<Question>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(crate) fn start(dir: &Path, count: usize) -> Result<Self, OpenError> {
        let mut readers = Self { queues: Vec::new(), threads: Vec::new() };
        for number in 0..count.max(READERS_MIN) {
            let conn = connection::reader(dir)?;
            let (queue, questions) = mpsc::channel(QUEUE);
            let thread = thread::Builder::new()
                .name(format!("store-reader-{number}"))
                .spawn(move || run(&conn, questions))
                .map_err(OpenError::Thread)?;
            readers.queues.push(queue);
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Asks something quick of a snapshot that has all that was answered before.
    pub(crate) async fn call<A: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&Connection) -> Result<A, Mishap> + Send + 'static,
    ) -> Result<A, Trouble> {
        self.ask(self.queues.first(), doing, read).await
    }

    /// Asks something that may take milliseconds. Such questions have threads of their own, so that the
    /// quick ones, which one thread answers in batches, don't wait behind them.
    pub(crate) async fn call_long<A: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&Connection) -> Result<A, Mishap> + Send + 'static,
    ) -> Result<A, Trouble> {
        // The one with the most places left has the least to do.
        self.ask(self.queues[1..].iter().max_by_key(|queue| queue.capacity()), doing, read).await
    }

    async fn ask<A: Send + 'static>(
        &self,
        queue: Option<&mpsc::Sender<Question>>,
        doing: &'static str,
        read: impl FnOnce(&Connection) -> Result<A, Mishap> + Send + 'static,
    ) -> Result<A, Trouble> {
        let (reply, answer) = oneshot::channel();
        let question: Question = Box::new(move |conn| {
            let _ = reply.send(read(conn).map_err(|mishap| mishap.trouble(doing)));
        });
        let queue = queue.ok_or(Trouble::Closed { doing })?;
        queue.send(question).await.map_err(|_| Trouble::Closed { doing })?;
        answer.await.map_err(|_| Trouble::Closed { doing })?
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.queues.clear();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a reader thread of the store ended by a panic");
            }
        }
    }
}

fn run(conn: &Connection, mut questions: mpsc::Receiver<Question>) {
    let mut batch = Vec::with_capacity(BATCH);
    while let Some(question) = questions.blocking_recv() {
        batch.push(question);
        while batch.len() < BATCH
            && let Ok(question) = questions.try_recv()
        {
            batch.push(question);
        }
        // The snapshot is taken after the last question came in: a question that follows an answered
        // write must see that write.
        let snapshot = set(conn, query::begin);
        for question in batch.drain(..) {
            // A panic is a bug in one question: its asker sees a closed store, the others go on.
            let ask = std::panic::AssertUnwindSafe(|| question(conn));
            if std::panic::catch_unwind(ask).is_err() {
                tracing::error!("a question to the store ended by a panic");
            }
        }
        if snapshot.and_then(|()| set(conn, query::commit)).is_err() && !conn.is_autocommit() {
            let _ = set(conn, query::rollback);
        }
    }
}

fn set(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(|_| ())
}
