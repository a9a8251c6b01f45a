//! Checkpoints: the WAL goes into the data file while the writer goes on.
//!
//! Copying thousands of pages would hold up every firing behind it, so another thread does it, on a
//! connection of its own, while the writer appends. What was appended meanwhile is little; the writer
//! copies that itself and starts the WAL from its beginning, so that it does not grow for ever.
//!
//! During an outage the same thread tries again and again whether it is over.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::mishap::Mishap;
use crate::outage::Outages;
use crate::{OpenError, Synchronous, connection};

/// How many pages of 4 KiB the WAL may grow by before they are copied.
const PAGES: u32 = 4_096;
/// How long the writer waits for readers to leave the WAL; they take microseconds, seldom more.
const READERS: Duration = Duration::from_millis(5);
/// How often is tried whether an outage is over.
const TRY_EVERY: Duration = Duration::from_secs(1);

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
    outages: Arc<Outages>,
}

impl Checkpointer {
    pub(crate) fn start(
        dir: &Path,
        synchronous: Synchronous,
        writer: &mut Connection,
        outages: Arc<Outages>,
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
        let thread = thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(work)
            .map_err(OpenError::Thread)?;
        Ok(Self { wake: Some(wake), thread: Some(thread), pages, copied, threshold: PAGES, outages })
    }

    /// Says whether a failure of the writer is that of all writes; then it is tried when that is over.
    pub(crate) fn diagnose(&self, mishap: Mishap) -> Mishap {
        let Mishap::Sql(error) = mishap else { return mishap };
        let known = self.in_outage();
        let Some(outage) = self.outages.note(&error) else { return Mishap::Sql(error) };
        if !known && let Some(wake) = &self.wake {
            let _ = wake.try_send(());
        }
        outage.into()
    }

    pub(crate) fn in_outage(&self) -> bool {
        self.outages.now().is_some()
    }

    /// To be called between transactions.
    pub(crate) fn after_commit(&mut self, writer: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if self.copied.swap(false, Ordering::Acquire) {
            let restarted = restart(writer, &self.outages);
            // If a reader stood in the way the WAL grows a little more before this is tried again.
            self.threshold = if restarted { PAGES } else { pages.saturating_add(PAGES / 4) };
            if restarted {
                self.pages.store(0, Ordering::Relaxed);
            }
        } else if pages >= self.threshold
            && let Some(wake) = &self.wake
        {
            // Not again before the thread has said that it is done.
            self.threshold = u32::MAX;
            let _ = wake.try_send(());
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

/// Copies the rest and lets the WAL begin anew; false if readers are in the way, who are not waited for
/// longer than a firing may be.
fn restart(writer: &Connection, outages: &Outages) -> bool {
    let restarted = writer.busy_timeout(READERS).is_ok() && checkpoint(writer, "RESTART", outages);
    if let Err(error) = writer.busy_timeout(connection::BUSY) {
        tracing::warn!(%error, "could not set how long to wait for a lock");
    }
    restarted
}

/// A checkpoint that fails leaves everything in the WAL, where it is as safe; it is tried again. If the disk is
/// full the next writes will fail as well.
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
