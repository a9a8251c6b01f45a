//! One connection: statements, transactions, and what is not known if it breaks.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::task::AbortHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::error::PgError;
use crate::param::Param;
use crate::query;

/// A connection to the database.
pub(crate) struct Connection {
    client: Client,
    /// The task that reads and writes the socket.
    driver: AbortHandle,
    /// Statements that were prepared, by the address of their text; none where that is not possible.
    statements: Option<Mutex<HashMap<usize, Statement>>>,
    /// Something that commits was sent and not answered.
    unanswered: AtomicBool,
    /// Something was committed since it was taken.
    committed: AtomicBool,
    /// Nothing is under way: it may be used by others.
    idle: AtomicBool,
}

impl Connection {
    pub(crate) fn new(client: Client, driver: AbortHandle, prepare: bool) -> Self {
        Self {
            client,
            driver,
            statements: prepare.then(Mutex::default),
            unanswered: AtomicBool::new(false),
            committed: AtomicBool::new(false),
            idle: AtomicBool::new(true),
        }
    }

    /// Whether it can be used.
    pub(crate) fn is_open(&self) -> bool {
        self.idle.load(Ordering::Relaxed) && !self.client.is_closed()
    }

    /// Whether something that commits was sent and not answered.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// Whether something was committed since it was taken.
    pub(crate) fn has_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    /// Marks it as used; it is closed if [`done`](Self::done) is not called.
    pub(crate) fn taken(&self) {
        self.committed.store(false, Ordering::Relaxed);
        self.idle.store(false, Ordering::Relaxed);
    }

    /// Nothing is under way any more.
    pub(crate) fn done(&self) {
        self.idle.store(true, Ordering::Relaxed);
    }

    /// For statements that are not in a file as they are.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Runs a query.
    pub(crate) async fn rows(&self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>, PgError> {
        match self.statement(sql, params).await? {
            Some(statement) => Ok(self.client.query(&statement, &values(params)).await?),
            None => Ok(self.client.query_typed(sql, params).await?),
        }
    }

    /// Runs a query for at most one row.
    pub(crate) async fn one(&self, sql: &'static str, params: &[Param<'_>]) -> Result<Option<Row>, PgError> {
        Ok(self.rows(sql, params).await?.into_iter().next())
    }

    /// Runs a query for one number.
    pub(crate) async fn number(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> Result<Option<i64>, PgError> {
        match self.one(sql, params).await? {
            Some(row) => Ok(row.try_get(0)?),
            None => Ok(None),
        }
    }

    /// Runs a statement in a transaction; returns how many rows it has changed.
    pub(crate) async fn execute(&self, sql: &'static str, params: &[Param<'_>]) -> Result<u64, PgError> {
        match self.statement(sql, params).await? {
            Some(statement) => Ok(self.client.execute(&statement, &values(params)).await?),
            None => Ok(self.client.execute_typed(sql, params).await?),
        }
    }

    /// The same for a statement that must change so many rows.
    pub(crate) async fn execute_for(
        &self,
        expected: usize,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> Result<(), PgError> {
        let rows = self.execute(sql, params).await?;
        if usize::try_from(rows) == Ok(expected) { Ok(()) } else { Err(PgError::Rows(rows)) }
    }

    /// Runs a statement that commits by itself.
    pub(crate) async fn write(&self, sql: &'static str, params: &[Param<'_>]) -> Result<u64, PgError> {
        // Prepared before: if that fails, nothing was written.
        self.statement(sql, params).await?;
        self.committing(self.execute(sql, params)).await
    }

    /// Runs a query that commits by itself.
    pub(crate) async fn write_rows(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, PgError> {
        self.statement(sql, params).await?;
        self.committing(self.rows(sql, params)).await
    }

    /// Begins a transaction.
    pub(crate) async fn begin(&self) -> Result<(), PgError> {
        Ok(self.client.batch_execute(query::begin_write).await?)
    }

    /// Begins a transaction that reads one snapshot.
    pub(crate) async fn begin_read(&self) -> Result<(), PgError> {
        Ok(self.client.batch_execute(query::begin_read).await?)
    }

    pub(crate) async fn commit(&self) -> Result<(), PgError> {
        self.committing(async { Ok(self.client.batch_execute(query::commit).await?) }).await
    }

    /// Ends a transaction without writing anything.
    pub(crate) async fn roll_back(&self) -> Result<(), PgError> {
        Ok(self.client.batch_execute(query::rollback).await?)
    }

    /// Runs statements of a file that has several.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), PgError> {
        Ok(self.client.batch_execute(sql).await?)
    }

    /// Remembers until there is an answer that something may have been written.
    async fn committing<T>(&self, sent: impl Future<Output = Result<T, PgError>>) -> Result<T, PgError> {
        self.unanswered.store(true, Ordering::Relaxed);
        let answer = sent.await;
        self.committed.store(answer.is_ok(), Ordering::Relaxed);
        let answered = answer.as_ref().map_or_else(|error| !error.is_fatal(), |_| true);
        if answered {
            self.unanswered.store(false, Ordering::Relaxed);
        }
        answer
    }

    /// The prepared form of a statement; none if statements are not prepared.
    async fn statement(&self, sql: &'static str, params: &[Param<'_>]) -> Result<Option<Statement>, PgError> {
        let Some(statements) = &self.statements else { return Ok(None) };
        let known =
            statements.lock().unwrap_or_else(PoisonError::into_inner).get(&sql.as_ptr().addr()).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let types: Vec<_> = params.iter().map(|(_, kind)| kind.clone()).collect();
        let statement = self.client.prepare_typed(sql, &types).await?;
        statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(sql.as_ptr().addr(), statement.clone());
        Ok(Some(statement))
    }
}

fn values<'a>(params: &[Param<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|(value, _)| *value).collect()
}

impl Drop for Connection {
    /// One that is in use is cut off, so that the server ends its transaction. Others say good-bye by themselves.
    fn drop(&mut self) {
        if !self.idle.load(Ordering::Relaxed) {
            self.driver.abort();
        }
    }
}
