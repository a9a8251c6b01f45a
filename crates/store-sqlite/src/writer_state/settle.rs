//! Settlements: the row of the agenda, the records and the skips of each claim.

use punctual_model::statistics::Count;
use punctual_model::{CollectionKey, JobId, Record, RecordStatus, Skip};
use punctual_store::codec::Number;
use punctual_store::instant::to_ticks;
use punctual_store::{Fence, Settled};
use rusqlite::{ToSql, params};

use super::WriterState;
use super::job::due;
use crate::error::SqliteError;
use crate::query;
use crate::row;
use crate::standing::Standing;

/// A settlement, encoded.
pub(crate) struct EncodedSettlement {
    pub(crate) fence: Fence,
    /// The revision that it was decided on.
    pub(crate) revision: i64,
    pub(crate) standing: Standing,
    pub(crate) records: Vec<Record>,
    pub(crate) skips: Vec<Skip>,
    pub(crate) collection: CollectionKey,
    /// What it adds to the statistics.
    pub(crate) counts: Vec<Count>,
}

impl WriterState {
    pub(crate) fn settle(&mut self, settlements: &[EncodedSettlement]) -> Result<Vec<Settled>, SqliteError> {
        let settled: Vec<Settled> =
            settlements.iter().map(|decided| self.settle_one(decided)).collect::<Result<_, _>>()?;
        let recorded = settlements.iter().zip(&settled).filter(|(_, one)| matches!(one, Settled::Recorded));
        let recorded: Vec<&EncodedSettlement> = recorded.map(|(decided, _)| decided).collect();
        self.count(&recorded)?;
        Ok(settled)
    }

    fn settle_one(&mut self, decided: &EncodedSettlement) -> Result<Settled, SqliteError> {
        let EncodedSettlement { fence, revision, standing, records, skips, .. } = decided;
        let Some(job) = self.shared_claims.lock().job(*fence) else { return Ok(Settled::Lost) };
        if self.staged.settled.contains_key(&job) {
            return Ok(Settled::Lost);
        }
        if !self.write_settlement(job, *revision, standing, row::bound(records.len() + skips.len()))? {
            return self.unsettled(*fence, job);
        }
        for record in records {
            self.append(job, record)?;
        }
        for skip in skips {
            self.append_skip(skip)?;
        }
        let next = due(job, standing);
        self.staged.moved |= next.is_some();
        self.staged.settled.insert(job, (*fence, next));
        Ok(Settled::Recorded)
    }

    fn write_settlement(
        &self,
        job: JobId,
        revision: i64,
        standing: &Standing,
        trace_count: i64,
    ) -> Result<bool, SqliteError> {
        let next = revision + 1;
        let columns = standing.columns();
        let mut row: [&dyn ToSql; 24] = [&job.0; 24];
        row[1..21].copy_from_slice(&columns);
        row[21] = &next;
        row[22] = &trace_count;
        row[23] = &revision;
        Ok(self.conn.prepare_cached(query::settle)?.execute(&row[..])? == 1)
    }

    /// The job was edited or deleted since it was claimed.
    fn unsettled(&mut self, fence: Fence, job: JobId) -> Result<Settled, SqliteError> {
        let vault = self.vault.clone();
        match row::one(&self.conn, query::job_by_id, [job.0], |row| {
            row::job(row, &vault, &mut row::Last::default())
        })? {
            Some(row) => Ok(Settled::Changed(Box::new(row.job), row.sku)),
            None => {
                self.staged.settled.insert(job, (fence, None));
                Ok(Settled::Gone)
            }
        }
    }

    /// Appends a record, unless its attempt is recorded already.
    fn append(&mut self, job: JobId, record: &Record) -> Result<(), SqliteError> {
        self.sequence += 1;
        self.staged.counted = true;
        let row = params![
            self.sequence,
            job.0,
            record.generation,
            to_ticks(record.nominal_at),
            record.cause.number(),
            record.step,
            record.attempt,
            record.ordinal,
            to_ticks(record.started_at),
            to_ticks(record.ended_at),
            record.status.number(),
            record.status == RecordStatus::Postponed,
            record.message,
        ];
        self.conn.prepare_cached(query::insert_record)?.execute(row)?;
        Ok(())
    }
}
