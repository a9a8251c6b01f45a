//! Settlements: one fenced statement for all, and what became of those that it did not take.
//!
//! The statement may be repeated: a settlement that was taken leaves no holder and a higher revision, so that it is not
//! taken again. After a try whose answer was lost, one that is not taken is looked for in history.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use punctual_model::JobId;
use punctual_model::statistics::{self, Count};
use punctual_store::{Fence, Settled, Settlement, Vault};
use tokio_postgres::Row;

use crate::columns::{Records, Skips, Standings};
use crate::connection::Connection;
use crate::error::PgError;
use crate::node_claims::Held;
use crate::param::{param, params};
use crate::pool::work;
use crate::query;
use crate::row::{self, Last, bound};
use crate::stats::{StatsRows, StatsWriter};
use crate::store::Inner;

/// How often a batch is sent whose answer is lost.
const TRIES: usize = 5;

/// A batch of settlements of claims that are held, each of another job, in the order of the jobs.
struct Batch {
    settlements: Vec<(Held, Settlement)>,
    /// What each counts, by the number of its collection.
    counts: Vec<(i64, Vec<Count>)>,
    stats: StatsRows,
}

impl Inner {
    pub(crate) async fn settle(
        self: &Arc<Self>,
        settlements: Vec<Settlement>,
    ) -> Result<Vec<Settled>, PgError> {
        let fences: Vec<Fence> = settlements.iter().map(|settlement| settlement.fence).collect();
        let settlements = self.held_of(settlements);
        let mut answers: HashMap<Fence, Settled> = HashMap::new();
        if !settlements.is_empty() {
            let counts: Vec<(i64, Vec<Count>)> = settlements
                .iter()
                .map(|(held, one)| {
                    let next = one.job.progress.entry;
                    (held.collection, statistics::counts(&one.records, &one.skips, next))
                })
                .collect();
            let mut writer = self.take_stats_writer();
            let stats = writer.rows(&counts);
            let batch = Arc::new(Batch { settlements, counts, stats });
            let settled = self.settle_batch(Arc::clone(&batch)).await;
            if let Ok(answers) = &settled {
                batch.count(&mut writer, answers);
            }
            self.give_stats_writer(writer);
            answers = settled?;
        }
        let answer = |fence: &Fence| match answers.get(fence) {
            // The claim goes on.
            Some(Settled::Changed(job, sku)) => Settled::Changed(job.clone(), *sku),
            // The same claim twice: it ended with the first.
            Some(_) => answers.remove(fence).unwrap_or(Settled::Lost),
            None => Settled::Lost,
        };
        Ok(fences.iter().map(answer).collect())
    }

    /// Those whose claim is held, once each, in the order of the jobs.
    fn held_of(&self, settlements: Vec<Settlement>) -> Vec<(Held, Settlement)> {
        let node_claims = self.node_claims();
        let mut seen = HashSet::new();
        let held = settlements.into_iter().filter_map(|settlement| {
            let held = node_claims.held(settlement.fence)?;
            seen.insert(held.ticket.job).then_some((held, settlement))
        });
        let mut held: Vec<(Held, Settlement)> = held.collect();
        held.sort_by_key(|(held, _)| held.ticket.job);
        held
    }

    async fn settle_batch(self: &Arc<Self>, batch: Arc<Batch>) -> Result<HashMap<Fence, Settled>, PgError> {
        let mut unsure: HashSet<Fence> =
            batch.settlements.iter().filter(|(held, _)| held.unsure).map(|(_, one)| one.fence).collect();
        for _ in 0..TRIES {
            let (vault, given, asked) = (Arc::clone(&self.vault), Arc::clone(&batch), unsure.clone());
            let settle =
                work!(|connection| with vault, given, asked; given.settle(connection, &vault, &asked).await);
            match self.settles.run(settle).await {
                Ok(answers) => {
                    self.settled(&batch, &answers);
                    return Ok(answers);
                }
                Err(PgError::Unsure) => {
                    // Whoever settles these again must know.
                    let mut node_claims = self.node_claims();
                    batch.settlements.iter().for_each(|(_, one)| node_claims.set_unsure(one.fence));
                    unsure = batch.settlements.iter().map(|(_, one)| one.fence).collect();
                }
                Err(error) => return Err(error),
            }
        }
        Err(PgError::Unsure)
    }

    /// Ends the claims that were settled, and wakes whoever waits for their next entries.
    fn settled(&self, batch: &Batch, answers: &HashMap<Fence, Settled>) {
        let mut next = Standings::default();
        {
            let mut node_claims = self.node_claims();
            for (_, settlement) in &batch.settlements {
                match answers.get(&settlement.fence) {
                    Some(Settled::Recorded) => {
                        node_claims.end(settlement.fence);
                        if settlement.job.progress.entry.is_some() {
                            next.push(&settlement.job);
                        }
                    }
                    Some(Settled::Gone | Settled::Lost) => {
                        node_claims.end(settlement.fence);
                    }
                    Some(Settled::Changed(..)) | None => {}
                }
            }
        }
        if next.len() > 0 {
            self.wrote(next.earliest());
            self.wake();
        }
    }
}

impl Batch {
    /// Has the statistics know what was settled. They are written if all was, at the first try or at a later one.
    fn count(&self, writer: &mut StatsWriter, answers: &HashMap<Fence, Settled>) {
        let is_recorded = |one: &Settlement| matches!(answers.get(&one.fence), Some(Settled::Recorded));
        // One that an earlier call may have recorded was perhaps not counted with this batch; writing it again does no harm.
        let whole = self.settlements.iter().all(|(held, one)| is_recorded(one) && !held.unsure);
        let recorded = self.settlements.iter().zip(&self.counts).filter(|((_, one), _)| is_recorded(one));
        writer.settled(recorded.map(|(_, counts)| counts), whole);
    }

    /// Settles, and finds out what became of those that were not taken.
    async fn settle(
        &self,
        connection: &Connection,
        vault: &Vault,
        unsure: &HashSet<Fence>,
    ) -> Result<HashMap<Fence, Settled>, PgError> {
        let recorded = self.write(connection).await?;
        let mut answers = HashMap::with_capacity(self.settlements.len());
        let mut others = Vec::new();
        for (held, settlement) in &self.settlements {
            if recorded.contains(&held.ticket.job) {
                answers.insert(settlement.fence, Settled::Recorded);
            } else {
                others.push((held, settlement));
            }
        }
        if others.is_empty() {
            return Ok(answers);
        }
        let jobs: Vec<i64> = others.iter().map(|(held, _)| held.ticket.job.0).collect();
        let rows = connection.rows(query::jobs_by_ids, params![jobs]).await?;
        let found: HashMap<i64, &Row> = rows.iter().map(|row| (row::number_of(row), row)).collect();
        let earlier = recorded_before(connection, &others, unsure).await?;
        for (held, settlement) in others {
            let settled = if earlier.contains(&settlement.fence) {
                Settled::Recorded
            } else {
                match found.get(&held.ticket.job.0) {
                    None => Settled::Gone,
                    Some(row) => unsettled(row, held, vault)?,
                }
            };
            answers.insert(settlement.fence, settled);
        }
        Ok(answers)
    }

    /// The jobs whose settlement was taken.
    async fn write(&self, connection: &Connection) -> Result<HashSet<JobId>, PgError> {
        let (mut standings, mut records, mut skips) =
            (Standings::default(), Records::default(), Skips::default());
        let (mut traces, mut leases, mut tickets) = (Vec::new(), Vec::new(), Vec::new());
        for (held, settlement) in &self.settlements {
            standings.push(&settlement.job);
            traces.push(bound(settlement.records.len() + settlement.skips.len()));
            leases.push(held.ticket.lease);
            tickets.push(held.ticket.ticket);
            settlement.records.iter().for_each(|record| records.push(record));
            settlement.skips.iter().for_each(|skip| skips.push(skip));
        }
        let mut params = standings.settled();
        params.extend([param(&standings.revision), param(&traces), param(&leases), param(&tickets)]);
        params.extend(records.params());
        params.extend(skips.params());
        params.extend(self.stats.params());
        let rows = connection.write_rows(query::settle, &params).await?;
        rows.iter().map(|row| Ok(JobId(row.try_get(0)?))).collect()
    }
}

/// Which of these were recorded by a try whose answer was lost.
async fn recorded_before(
    connection: &Connection,
    others: &[(&Held, &Settlement)],
    unsure: &HashSet<Fence>,
) -> Result<HashSet<Fence>, PgError> {
    let (mut fences, mut records) = (Vec::new(), Records::default());
    for (_, settlement) in others {
        if let Some(record) = settlement.records.first().filter(|_| unsure.contains(&settlement.fence)) {
            fences.push(settlement.fence);
            records.push(record);
        }
    }
    if fences.is_empty() {
        return Ok(HashSet::new());
    }
    let rows = connection.rows(query::recorded, &records.attempts()).await?;
    let mut found = HashSet::new();
    for row in rows {
        let place: i64 = row.try_get(0)?;
        found.extend(usize::try_from(place - 1).ok().and_then(|place| fences.get(place)));
    }
    Ok(found)
}

/// What to answer for a settlement that was not taken although its job exists.
fn unsettled(row: &Row, held: &Held, vault: &Vault) -> Result<Settled, PgError> {
    let claim: (Option<i64>, Option<i64>) = (row.try_get(31)?, row.try_get(32)?);
    if claim != (Some(held.ticket.lease), Some(held.ticket.ticket)) {
        return Ok(Settled::Lost);
    }
    let row = row::job(row, vault, &mut Last::default())?;
    Ok(Settled::Changed(Box::new(row.job), row.sku))
}
