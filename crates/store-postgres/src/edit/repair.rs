//! Puts jobs back that have come further than the clock.

use std::sync::Arc;

use punctual_model::decide::Repair;
use punctual_store::Repaired;
use punctual_store::instant::to_ticks;

use super::{Taken, append_skips, update_standings};
use crate::columns::Standings;
use crate::connection::Connection;
use crate::error::PgError;
use crate::param::params;
use crate::pool::work;
use crate::query;
use crate::store::Inner;

impl Inner {
    pub(crate) async fn repair(self: &Arc<Self>, repairs: Vec<Repair>) -> Result<Vec<Repaired>, PgError> {
        let mut earliest = None;
        for repair in &repairs {
            earliest = earliest.into_iter().chain(Standings::one(&repair.job).earliest()).min();
        }
        let (repairs, taken) = (Arc::new(repairs), Taken::default());
        let (inner, mine) = (Arc::clone(self), taken.clone());
        let edit = work!(|connection| with inner, mine, repairs; {
            // Locked in the order of the jobs, answered in the order in which they were given.
            let mut order: Vec<usize> = (0..repairs.len()).collect();
            order.sort_by_key(|place| repairs[*place].job.id);
            let mut answers = vec![Repaired::Stale; repairs.len()];
            for place in order {
                answers[place] = repair_one(connection, &inner, &mine, &repairs[place]).await?;
            }
            Ok(answers)
        });
        let answers = self.edit(&taken, edit).await?;
        if answers.contains(&Repaired::Written) {
            self.wrote(earliest);
            self.wake();
        }
        Ok(answers)
    }
}

async fn repair_one(
    connection: &Connection,
    inner: &Inner,
    taken: &Taken,
    repair: &Repair,
) -> Result<Repaired, PgError> {
    let Repair { job, withdrawn, skips } = repair;
    let rows = connection.rows(query::standings_locked, params![vec![job.id.0]]).await?;
    let Some(row) = rows.first() else { return Ok(Repaired::Stale) };
    if row.try_get::<_, i64>(1)? != job.revision {
        return Ok(Repaired::Stale);
    }
    // From here on nobody begins it here, unless it is in flight.
    let ticket = taken.take(inner, job.id);
    let (holder, live): (Option<i64>, bool) = (row.try_get(2)?, row.try_get(5)?);
    let ours = ticket.is_some_and(|ticket| holder == Some(ticket.lease));
    if live && !ours {
        // This node has begun it, or another node has it and may have.
        return Ok(Repaired::InFlight);
    }
    update_standings(connection, &Standings::one(job), &[ticket]).await?;
    let (after, before) = (to_ticks(withdrawn.after), to_ticks(withdrawn.before));
    connection.execute(query::withdraw_skips, params![job.id.0, after, before]).await?;
    append_skips(connection, skips).await?;
    Ok(Repaired::Written)
}
