//! Ids for new jobs. A node takes some at once, so that a job has its id before it is written: its secrets are sealed for
//! it. Ids that are not used are lost.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use punctual_model::JobId;

use crate::error::PgError;
use crate::pool::{Pool, work};
use crate::query;

/// How many the sequence gives at once.
const BLOCK: i64 = 64;

/// Ids that were taken and not used.
#[derive(Default)]
pub(crate) struct JobIds(Mutex<Range<i64>>);

impl JobIds {
    /// An id that nobody else has.
    pub(crate) async fn next(&self, pool: &Arc<Pool>) -> Result<JobId, PgError> {
        if let Some(id) = self.free().next() {
            return Ok(JobId(id));
        }
        let first = pool.run(work!(|connection| connection.number(query::job_ids, &[]).await)).await?;
        let first = first.ok_or(PgError::Rows(0))?;
        // Others may have taken some as well meanwhile; those are lost.
        *self.free() = first + 1..first + BLOCK;
        Ok(JobId(first))
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Range<i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
