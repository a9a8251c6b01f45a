//! The reader threads, each with a connection of its own.

use std::path::Path;
use std::thread::JoinHandle;

use punctual_store::Trouble;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::alarm::Alarm;
use crate::error::SqliteError;
use crate::{OpenError, connection, query};

/// The most queries that may wait for each thread; further callers wait for room.
const QUEUE: usize = 256;
/// The most queries that are answered from one snapshot.
const BATCH: usize = 64;

/// One for quick queries, one for what is fired, one for long ones.
const READERS_MIN: usize = 3;

type Question = Box<dyn FnOnce(&Connection) + Send>;

/// The reader threads.
pub(crate) struct Readers {
    queues: Vec<mpsc::Sender<Question>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(crate) fn start(dir: &Path, count: usize, alarm: &Alarm) -> Result<Self, OpenError> {
        let mut readers = Self { queues: Vec::new(), threads: Vec::new() };
        for number in 0..count.max(READERS_MIN) {
            let conn = connection::reader(dir)?;
            let (queue, questions) = mpsc::channel(QUEUE);
            let thread = alarm
                .thread(format!("store-reader-{number}"), "reader of the store", move || {
                    run(&conn, questions);
                })
                .map_err(OpenError::Thread)?;
            readers.queues.push(queue);
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Runs a quick query on a snapshot that has all acknowledged writes.
    pub(crate) async fn call<A: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&Connection) -> Result<A, SqliteError> + Send + 'static,
    ) -> Result<A, Trouble> {
        self.ask(self.queues.first(), doing, read).await
    }

    /// Runs a query of firing. It has a thread of its own, since views for callers may take long.
    pub(crate) async fn call_firing<A: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&Connection) -> Result<A, SqliteError> + Send + 'static,
    ) -> Result<A, Trouble> {
        self.ask(self.queues.get(1), doing, read).await
    }

    /// Runs a query that may take milliseconds. Such queries have threads of their own, so that quick ones,
    /// which one thread answers in batches, don't wait for them.
    pub(crate) async fn call_long<A: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&Connection) -> Result<A, SqliteError> + Send + 'static,
    ) -> Result<A, Trouble> {
        // The queue with the most room has the least to do.
        self.ask(self.queues[2..].iter().max_by_key(|queue| queue.capacity()), doing, read).await
    }

    /// Waits until every query that was asked before, and with it every snapshot from before, is done.
    pub(crate) async fn finish_earlier(&self) -> Result<(), Trouble> {
        for queue in &self.queues {
            // What is answered together with this one has a snapshot from after it was asked.
            self.ask(Some(queue), "wait for readers", |_| Ok(())).await?;
        }
        Ok(())
    }

    async fn ask<A: Send + 'static>(
        &self,
        queue: Option<&mpsc::Sender<Question>>,
        doing: &'static str,
        read: impl FnOnce(&Connection) -> Result<A, SqliteError> + Send + 'static,
    ) -> Result<A, Trouble> {
        let (reply, answer) = oneshot::channel();
        let question: Question = Box::new(move |conn| {
            let _ = reply.send(read(conn).map_err(|failure| failure.trouble(doing)));
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
            // A panic was told when it happened.
            let _ = thread.join();
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
        // The snapshot is taken after the last query came in: a query that follows an acknowledged write must
        // see that write.
        let snapshot = set(conn, query::begin);
        for question in batch.drain(..) {
            // A panic is a bug in one query: its caller sees a closed store, the others go on.
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
