//! What SQLite does by itself: durable commits, and firings written in batches.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use rusqlite::{Connection, params};

use crate::clock;

/// Jobs in the table.
const JOBS: i64 = 100_000;
/// The message of a usual history record.
const MESSAGE: &str = "Http Action - Response from host '127.0.0.1': 'OK' Response Headers: Date: Mon, 09 Nov 2026 20:33:59 GMT\r\n Body: ";

/// A database with jobs, deleted at the end.
pub(crate) struct Sqlite {
    conn: Connection,
    _dir: tempfile::TempDir,
    /// Visits all jobs in a scattered order.
    step_count: i64,
}

impl Sqlite {
    pub(crate) fn new(dir: &Path) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir_in(dir).context("could not make a directory")?;
        let conn = Connection::open(dir.path().join("limit.db")).context("could not make a database")?;
        conn.pragma_update(None, "journal_mode", "WAL")?;
        conn.pragma_update(None, "synchronous", "FULL")?;
        conn.pragma_update(None, "cache_size", -16 * 1_024)?;
        conn.execute_batch(include_str!("../../queries/tables.sql"))?;
        conn.execute_batch("BEGIN")?;
        for job in 0..JOBS {
            conn.prepare_cached(include_str!("../../queries/fill.sql"))?.execute(params![job, job])?;
        }
        conn.execute_batch("COMMIT")?;
        Ok(Self { conn, _dir: dir, step_count: 0 })
    }

    /// Commits of one changed row a second.
    pub(crate) fn single_commits(&mut self, time: Duration) -> anyhow::Result<f64> {
        self.repeat(time, |this| {
            this.step()?;
            Ok(1)
        })
    }

    /// Firings a second, each an update and an insert, in batches of this size.
    pub(crate) fn firings(&mut self, batch: u32, time: Duration) -> anyhow::Result<f64> {
        self.repeat(time, |this| {
            this.conn.execute_batch("BEGIN IMMEDIATE")?;
            for _ in 0..batch {
                let job = this.step()?;
                let record = include_str!("../../queries/record.sql");
                this.conn.prepare_cached(record)?.execute(params![job, this.step_count, MESSAGE])?;
            }
            this.conn.execute_batch("COMMIT")?;
            Ok(batch)
        })
    }

    /// Moves one job.
    fn step(&mut self) -> rusqlite::Result<i64> {
        self.step_count += 1;
        let job = self.step_count.wrapping_mul(0x9e37_79b9) % JOBS;
        let moved = include_str!("../../queries/move.sql");
        self.conn.prepare_cached(moved)?.execute(params![job, JOBS + self.step_count])?;
        Ok(job)
    }

    fn repeat(
        &mut self,
        time: Duration,
        mut work: impl FnMut(&mut Self) -> rusqlite::Result<u32>,
    ) -> anyhow::Result<f64> {
        let since = clock::now();
        let mut count = 0;
        while since.elapsed() < time {
            count += u64::from(work(self).context("SQLite failed")?);
        }
        Ok(count as f64 / since.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firings_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut sqlite = Sqlite::new(dir.path()).unwrap();
        assert!(sqlite.single_commits(Duration::from_millis(1)).unwrap() > 0.0);
        assert!(sqlite.firings(100, Duration::from_millis(1)).unwrap() > 0.0);
    }
}
