//! Checkpoints: the WAL goes into the data file while the writer goes on.
//!
//! Copying thousands of pages would hold up every firing behind it, so another thread does it, on a
//! connection of its own, while the writer appends. What was appended meanwhile is little; the writer
//! copies that itself and starts the WAL from its beginning, so that it does not grow for ever.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::{OpenError, Synchronous, connection};

/// How many pages of 4 KiB the WAL may grow by before they are copied.
const PAGES: u32 = 4_096;

/// The writer's side.
pub(crate) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// How many pages the WAL has, as the last COMMIT said.
    pages: Arc<AtomicU32>,
    /// The thread has copied what there was.
    copied: Arc<AtomicBool>,
    /// From how many pages on the thread is woken.
    threshold: u32,
}

impl Checkpointer {
    pub(crate) fn start(
        dir: &Path,
        synchronous: Synchronous,
        writer: &mut Connection,
    ) -> Result<Self, OpenError> {
        let pages = Arc::new(AtomicU32::new(0));
        let seen = pages.clone();
        writer.wal_hook(Some(move |_: &mut Wal, count: i32| {
            seen.store(u32::try_from(count).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;

        let conn = connection::checkpointer(dir, synchronous)?;
        let copied = Arc::new(AtomicBool::new(false));
        let done = copied.clone();
        let (wake, wakes) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(move || {
                while wakes.recv().is_ok() {
                    checkpoint(&conn, "PASSIVE");
                    done.store(true, Ordering::Release);
                }
            })
            .map_err(OpenError::Thread)?;
        Ok(Self { wake: Some(wake), thread: Some(thread), pages, copied, threshold: PAGES })
    }

    /// To be called between transactions.
    pub(crate) fn after_commit(&mut self, writer: &Connection) {
        if self.copied.swap(false, Ordering::Acquire) {
            checkpoint(writer, "RESTART");
            // If a reader stood in the way the WAL goes on growing, and this is tried again later.
            self.threshold = PAGES;
            let pages = self.pages.swap(0, Ordering::Relaxed);
            if pages > 2 * PAGES {
                tracing::debug!(pages, "the write-ahead log was long");
            }
        } else if self.pages.load(Ordering::Relaxed) >= self.threshold
            && let Some(wake) = &self.wake
        {
            // If it is full, the thread is at it.
            let _ = wake.try_send(());
            self.threshold = u32::MAX;
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the checkpoint thread of the store ended by a panic");
        }
    }
}

/// A checkpoint that fails leaves everything in the WAL, where it is as safe; it is tried again.
fn checkpoint(conn: &Connection, mode: &str) {
    let outcome = conn.pragma(None, "wal_checkpoint", mode, |_| Ok(()));
    if let Err(error) = outcome {
        tracing::warn!(%error, mode, "could not checkpoint the write-ahead log");
    }
}
