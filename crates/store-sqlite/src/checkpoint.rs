//! Checkpoints: copies the WAL into the data file while the writer goes on.
//!
//! Copying thousands of pages would delay every firing behind it, so another thread does it, on a connection of
//! its own, while the writer appends. What was appended meanwhile is little; the writer copies that itself and
//! restarts the WAL, so that it does not grow forever.
//!
//! During an outage the same thread tries repeatedly whether it is over.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::alarm::Alarm;
use crate::error::SqliteError;
use crate::outage::Outages;
use crate::{OpenError, Synchronous, connection};

/// The number of 4 KiB pages that the WAL may grow by before they are copied.
const PAGES: u32 = 4_096;
/// How long the writer waits for readers to leave the WAL; they take microseconds, rarely more.
const READERS: Duration = Duration::from_millis(5);
/// How often to try whether an outage is over.
const TRY_EVERY: Duration = Duration::from_secs(1);

/// The writer's side.
pub(crate) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The number of pages of the WAL, as of the last COMMIT.
    pages: Arc<AtomicU32>,
    /// The thread has copied all pages.
    copied: Arc<AtomicBool>,
    /// The number of pages from which on the thread is woken.
    threshold: u32,
    /// The WAL is to be cut when it is restarted, and not only overwritten from its beginning.
    cuts: bool,
    outages: Arc<Outages>,
}

impl Checkpointer {
    pub(crate) fn start(
        dir: &Path,
        synchronous: Synchronous,
        writer: &mut Connection,
        outages: Arc<Outages>,
        alarm: &Alarm,
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
        let known = outages.clone();
        let work = move || loop {
            let woken = match known.now() {
                None => wakes.recv().map_err(RecvTimeoutError::from),
                Some(_) => wakes.recv_timeout(TRY_EVERY),
            };
            match woken {
                Ok(()) => {
                    checkpoint(&conn, "PASSIVE", &known);
                    done.store(true, Ordering::Release);
                }
                Err(RecvTimeoutError::Timeout) => known.try_end(&conn),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        };
        let thread = alarm
            .thread("store-checkpoint".to_owned(), "checkpointer of the store", work)
            .map_err(OpenError::Thread)?;
        Ok(Self {
            wake: Some(wake),
            thread: Some(thread),
            pages,
            copied,
            threshold: PAGES,
            cuts: false,
            outages,
        })
    }

    /// Finds out whether a failure of the writer concerns all writes; if so, the thread tries when that is
    /// over.
    pub(crate) fn diagnose(&self, failure: SqliteError) -> SqliteError {
        let SqliteError::Sql(error) = failure else { return failure };
        let known = self.in_outage();
        let Some(outage) = self.outages.note(&error) else { return SqliteError::Sql(error) };
        if !known && let Some(wake) = &self.wake {
            let _ = wake.try_send(());
        }
        outage.into()
    }

    pub(crate) fn in_outage(&self) -> bool {
        self.outages.now().is_some()
    }

    /// Has the WAL emptied by one of the next commits, so that what was replaced is in no file any more.
    pub(crate) fn empty_soon(&mut self) {
        self.cuts = true;
        // Unless the thread is copying already.
        if self.threshold != u32::MAX {
            self.threshold = 0;
        }
    }

    /// To be called between transactions.
    pub(crate) fn after_commit(&mut self, writer: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if self.copied.swap(false, Ordering::Acquire) {
            let mode = if self.cuts { "TRUNCATE" } else { "RESTART" };
            let restarted = restart(writer, mode, &self.outages);
            // If a reader was in the way, the WAL grows a little more before the next try.
            self.threshold = if restarted { PAGES } else { pages.saturating_add(PAGES / 4) };
            if restarted {
                self.cuts = false;
                self.pages.store(0, Ordering::Relaxed);
            }
        } else if pages >= self.threshold
            && let Some(wake) = &self.wake
        {
            // Not again before the thread reports that it is done.
            self.threshold = u32::MAX;
            let _ = wake.try_send(());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // A panic was told when it happened.
            let _ = thread.join();
        }
    }
}

/// Copies the rest and restarts the WAL; false if readers are in the way, for whom it waits no longer than a
/// firing may wait.
fn restart(writer: &Connection, mode: &str, outages: &Outages) -> bool {
    let restarted = writer.busy_timeout(READERS).is_ok() && checkpoint(writer, mode, outages);
    if let Err(error) = writer.busy_timeout(connection::BUSY) {
        tracing::warn!(%error, "could not set how long to wait for a lock");
    }
    restarted
}

/// A checkpoint that fails leaves everything in the WAL, where it is just as safe; it is tried again. If the
/// disk is full the next writes fail as well.
fn checkpoint(conn: &Connection, mode: &str, outages: &Outages) -> bool {
    let mut busy = true;
    let outcome = conn.pragma(None, "wal_checkpoint", mode, |row| {
        busy = row.get(0)?;
        Ok(())
    });
    if let Err(error) = &outcome
        && outages.note(error).is_none()
    {
        tracing::warn!(%error, mode, "could not checkpoint the write-ahead log");
    }
    outcome.is_ok() && !busy
}
