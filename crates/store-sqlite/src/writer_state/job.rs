//! Edits of one job.

use punctual_model::{Job, JobId, JobKey, Name, Rerun, Skip};
use punctual_store::codec::Number;
use punctual_store::codec::StoredSpec;
use punctual_store::instant::to_ticks;
use punctual_store::{Refusal, Vault};
use rusqlite::{ToSql, params};

use super::{WriterState, expect_rows};
use crate::error::SqliteError;
use crate::query;
use crate::row;
use crate::standing::Standing;
use crate::window::WindowEntry;

/// A job to write, encoded.
pub(crate) struct EncodedJob {
    pub(crate) job: Job,
    pub(crate) spec: StoredSpec,
    pub(crate) standing: Standing,
}

/// What the store knows of a job before an edit.
pub(super) struct Before {
    pub(super) id: JobId,
    pub(super) name: Box<str>,
    pub(super) revision: i64,
    pub(super) due: Option<WindowEntry>,
    pub(super) trace_count: i64,
}

impl WriterState {
    /// Writes a job; a new job has its id already.
    pub(crate) fn put_job(
        &mut self,
        written: &EncodedJob,
        collection_revision: i64,
        skips: &[Skip],
        job_count_max: u32,
    ) -> Result<Result<Job, Refusal>, SqliteError> {
        let EncodedJob { job, spec, standing } = written;
        if spec.sealed.as_deref().is_some_and(|sealed| Vault::key_of(sealed) != Ok(self.sealing_key())) {
            // Another key seals since it was encoded. If it were written, nobody could tell when the old one may go.
            return Ok(Err(Refusal::Stale));
        }
        let Some(known) = self.cached_collection(&job.key.collection)? else {
            return Ok(Err(Refusal::NoCollection));
        };
        if known.revision != collection_revision {
            return Ok(Err(Refusal::Stale));
        }
        let mut answer = job.clone();
        answer.revision += 1;
        answer.key.collection = known.key;
        match self.before(known.id, &job.key)? {
            Some(before) if job.revision == 0 || (before.id, before.revision) != (job.id, job.revision) => {
                return Ok(Err(Refusal::Stale));
            }
            None if job.revision != 0 => return Ok(Err(Refusal::Stale)),
            None if known.job_count >= job_count_max => {
                return Ok(Err(Refusal::TooManyJobs { max: job_count_max }));
            }
            Some(before) => {
                self.rewrite(written, before.due)?;
                answer.key.name = Name::new(before.name);
            }
            None => {
                let (name, folded) = (job.key.name.as_str(), job.key.name.folded());
                let row = params![job.id.0, known.id, name, folded, spec.document, spec.sealed];
                expect_rows(1, self.conn.prepare_cached(query::insert_job)?.execute(row)?)?;
                self.write_standing(query::insert_standing, job, standing, 0)?;
                self.staged.jobs_made += 1;
                if let Some(known) = self.collection_cache.get_mut(&job.key.collection) {
                    known.job_count += 1;
                }
                self.moved(job.id, None, due(job.id, standing));
            }
        }
        self.append_skips(skips)?;
        Ok(Ok(answer))
    }

    /// Writes an existing job whose revision was checked.
    fn rewrite(&mut self, written: &EncodedJob, old: Option<WindowEntry>) -> Result<(), SqliteError> {
        let EncodedJob { job, spec, standing } = written;
        let row = params![job.id.0, spec.document, spec.sealed];
        expect_rows(1, self.conn.prepare_cached(query::update_job)?.execute(row)?)?;
        self.update_standing(job, standing, old)
    }

    /// Writes the standing of an existing job whose revision was checked.
    pub(super) fn update_standing(
        &mut self,
        job: &Job,
        standing: &Standing,
        old: Option<WindowEntry>,
    ) -> Result<(), SqliteError> {
        self.write_standing(query::update_standing, job, standing, 0)?;
        self.moved(job.id, old, due(job.id, standing));
        Ok(())
    }

    /// Deletes a job; false if it does not exist.
    pub(crate) fn delete_job(&mut self, key: &JobKey) -> Result<bool, SqliteError> {
        let Some(known) = self.cached_collection(&key.collection)? else { return Ok(false) };
        let Some(before) = self.before(known.id, key)? else { return Ok(false) };
        self.remove_job(before.id, before.trace_count)?;
        self.moved(before.id, before.due, None);
        if let Some(known) = self.collection_cache.get_mut(&key.collection) {
            known.job_count -= 1;
        }
        Ok(true)
    }

    /// Deletes the rows of a job now, and leaves its history, which nobody can read any more, to a later sweep:
    /// it may be too long for a firing to wait for.
    pub(super) fn remove_job(&mut self, job: JobId, trace_count: i64) -> Result<(), SqliteError> {
        expect_rows(1, self.conn.prepare_cached(query::delete_job)?.execute([job.0])?)?;
        expect_rows(1, self.conn.prepare_cached(query::delete_standing)?.execute([job.0])?)?;
        self.staged.jobs_made -= 1;
        if trace_count > 0 {
            expect_rows(1, self.conn.prepare_cached(query::insert_grave)?.execute([job.0])?)?;
            self.has_orphaned_history = true;
        }
        Ok(())
    }

    pub(super) fn before(&self, collection: i64, key: &JobKey) -> Result<Option<Before>, SqliteError> {
        row::one(&self.conn, query::job_standing, params![collection, key.name.folded()], |row| {
            let job: i64 = row.get(0)?;
            let (due_at, target): (Option<i64>, i64) = (row.get(3)?, row.get(4)?);
            Ok(Before {
                id: JobId(job),
                name: row.get(1)?,
                revision: row.get(2)?,
                due: due_at.map(|due_at| WindowEntry { due_at, job, target }),
                trace_count: row.get(5)?,
            })
        })
    }

    pub(super) fn write_standing(
        &mut self,
        sql: &str,
        job: &Job,
        standing: &Standing,
        trace_count: i64,
    ) -> Result<(), SqliteError> {
        let revision = job.revision + 1;
        let mut row: Vec<&dyn ToSql> = vec![&job.id.0];
        row.extend(standing.columns());
        row.push(&revision);
        row.extend(standing.edited());
        row.push(&trace_count);
        expect_rows(1, self.conn.prepare_cached(sql)?.execute(&*row)?)
    }

    /// Appends the skips of an edit and adds them to the trace counts of their jobs.
    pub(super) fn append_skips(&mut self, skips: &[Skip]) -> Result<(), SqliteError> {
        for skip in skips {
            self.append_skip(skip)?;
            self.conn.prepare_cached(query::count_trace)?.execute([skip.job.0])?;
        }
        Ok(())
    }

    /// Notes which occurrence a run repeats.
    pub(crate) fn append_rerun(&mut self, job: JobId, rerun: Rerun) -> Result<(), SqliteError> {
        let row = params![job.0, to_ticks(rerun.run_at), to_ticks(rerun.of_at)];
        expect_rows(1, self.conn.prepare_cached(query::insert_rerun)?.execute(row)?)
    }

    pub(super) fn append_skip(&mut self, skip: &Skip) -> Result<(), SqliteError> {
        let row = params![
            skip.job.0,
            skip.generation,
            to_ticks(skip.first_at),
            to_ticks(skip.last_at),
            i64::try_from(skip.count).unwrap_or(i64::MAX),
            skip.reason.number(),
            to_ticks(skip.decided_at),
        ];
        expect_rows(1, self.conn.prepare_cached(query::insert_skip)?.execute(row)?)
    }
}

/// The entry of a job's row.
pub(super) fn due(job: JobId, standing: &Standing) -> Option<WindowEntry> {
    standing.due_at.map(|due_at| WindowEntry { due_at, job: job.0, target: standing.target })
}
