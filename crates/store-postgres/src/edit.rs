//! Edits: transactions that lock what they decide on, in the order numbers, collections by id, agenda by job.

mod collection;
mod housekeeping;
mod job;
mod repair;

use std::sync::{Arc, Mutex, PoisonError};

use punctual_model::audit::AuditEntry;
use punctual_model::{CollectionKey, JobId, Skip};
use punctual_store::codec;

use crate::audit;
use crate::columns::{Skips, Standings};
use crate::connection::Connection;
use crate::error::PgError;
use crate::node_claims::Ticket;
use crate::param::{param, params};
use crate::pool::Work;
use crate::query;
use crate::receipt;
use crate::store::Inner;

/// Claims that an edit has taken back. If it is not written, they are given back in the database.
#[derive(Clone, Default)]
pub(crate) struct Taken(Arc<Mutex<Vec<Ticket>>>);

impl Taken {
    /// Takes the claim of a job back, unless it is in flight. A second try of the same edit finds the first one's.
    fn take(&self, inner: &Inner, job: JobId) -> Option<Ticket> {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.extend(inner.take_back(job));
        tickets.iter().rev().find(|ticket| ticket.job == job).copied()
    }

    fn all(&self) -> Vec<Ticket> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Inner {
    /// Makes an edit in a transaction; `work` may be called several times. What it has taken back is free again if it
    /// fails.
    async fn edit<T, W>(self: &Arc<Self>, taken: &Taken, work: W) -> Result<T, PgError>
    where
        T: Send + 'static,
        W: for<'c> FnMut(&'c Connection) -> Work<'c, T> + Send + 'static,
    {
        let (inner, taken) = (Arc::clone(self), taken.clone());
        // Also if nobody waits any more: what was taken back must not be forgotten.
        let edit = tokio::spawn(async move {
            let done = receipt::edit(&inner.api, &*inner.random, work).await;
            if done.is_err() {
                inner.give_back(taken.all());
            }
            done
        });
        edit.await.unwrap_or(Err(PgError::Panicked))
    }
}

/// The folded names of a collection.
pub(crate) fn folded(key: &CollectionKey) -> [&str; 3] {
    [key.group.subscription.folded(), key.group.name.folded(), key.name.folded()]
}

/// Writes standings that were locked and compared. `tickets` are the claims that were taken back, in the order of the
/// standings.
async fn update_standings(
    connection: &Connection,
    standings: &Standings,
    tickets: &[Option<Ticket>],
) -> Result<(), PgError> {
    let holders: Vec<Option<i64>> = tickets.iter().map(|ticket| ticket.map(|it| it.lease)).collect();
    let numbers: Vec<Option<i64>> = tickets.iter().map(|ticket| ticket.map(|it| it.ticket)).collect();
    let mut params = standings.edited();
    params.extend([param(&holders), param(&numbers)]);
    let rows = connection.rows(query::update_standings, &params).await?;
    if rows.len() == standings.len() { Ok(()) } else { Err(PgError::Rows(rows.len() as u64)) }
}

/// Appends the skips of an edit and adds them to the trace counts of their jobs.
async fn append_skips(connection: &Connection, skips: &[Skip]) -> Result<(), PgError> {
    if skips.is_empty() {
        return Ok(());
    }
    connection.execute_for(skips.len(), query::insert_skips, &Skips::of(skips).params()).await?;
    let mut jobs: Vec<i64> = skips.iter().map(|skip| skip.job.0).collect();
    jobs.sort_unstable();
    let chunks: Vec<(i64, i64)> =
        jobs.chunk_by(|one, next| one == next).map(|chunk| (chunk[0], chunk.len() as i64)).collect();
    let (jobs, counts): (Vec<i64>, Vec<i64>) = chunks.into_iter().unzip();
    connection.execute(query::count_traces, params![jobs, counts]).await?;
    Ok(())
}

/// Appends what the audit log says of a change, in its transaction.
async fn note(connection: &Connection, entry: Option<&AuditEntry>) -> Result<(), PgError> {
    audit::append(connection, entry.map(codec::encode_audit).into_iter().collect()).await
}

/// Deletes the rows of jobs that are locked, given with their trace counts. Their history, which nobody can read any more,
/// is left to a later sweep: it may be long.
async fn remove_jobs(connection: &Connection, jobs: &[(i64, i64)]) -> Result<(), PgError> {
    if jobs.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = jobs.iter().map(|(job, _)| *job).collect();
    connection.execute_for(ids.len(), query::delete_standings, params![ids]).await?;
    connection.execute(query::delete_jobs, params![ids]).await?;
    let graves: Vec<i64> = jobs.iter().filter(|(_, count)| *count > 0).map(|(job, _)| *job).collect();
    if !graves.is_empty() {
        connection.execute(query::insert_graves, params![graves]).await?;
    }
    Ok(())
}
