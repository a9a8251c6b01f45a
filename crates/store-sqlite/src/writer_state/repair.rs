//! Puts jobs back that have come further than the clock.

use punctual_model::decide::Repair;
use punctual_store::Repaired;
use punctual_store::claims::TakenBack;
use punctual_store::instant::to_ticks;
use rusqlite::params;

use super::WriterState;
use super::job::due;
use crate::error::SqliteError;
use crate::query;
use crate::row;
use crate::standing::Standing;
use crate::window::WindowEntry;

/// A repair, encoded.
pub(crate) struct EncodedRepair {
    pub(crate) repair: Repair,
    pub(crate) standing: Standing,
}

impl WriterState {
    pub(crate) fn repair(&mut self, repairs: &[EncodedRepair]) -> Result<Vec<Repaired>, SqliteError> {
        repairs.iter().map(|written| self.repair_one(written)).collect()
    }

    fn repair_one(&mut self, written: &EncodedRepair) -> Result<Repaired, SqliteError> {
        let EncodedRepair { repair: Repair { job, withdrawn, skips }, standing } = written;
        let before = row::one(&self.conn, query::entry, [job.id.0], |row| {
            let (due_at, target): (Option<i64>, i64) = (row.get(0)?, row.get(1)?);
            let old = due_at.map(|due_at| WindowEntry { due_at, job: job.id.0, target });
            Ok((old, row.get::<_, i64>(2)?))
        })?;
        let Some((old, _)) = before.filter(|(_, revision)| *revision == job.revision) else {
            return Ok(Repaired::Stale);
        };
        // From here on nobody begins it.
        if self.shared_claims.lock().take_back(job.id) == TakenBack::InFlight {
            return Ok(Repaired::InFlight);
        }
        self.write_standing(query::update_standing, job, standing, 0)?;
        let range = params![job.id.0, to_ticks(withdrawn.after), to_ticks(withdrawn.before)];
        self.conn.prepare_cached(query::withdraw_skips)?.execute(range)?;
        self.append_skips(skips)?;
        self.moved(job.id, old, due(job.id, standing));
        Ok(Repaired::Written)
    }
}
