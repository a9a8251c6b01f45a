//! Tables as they are, for `punctual copy`: a database whose nodes are stopped as a source, and an empty one as a target.
//!
//! Names of tables and columns come from PostgreSQL's catalogue; the statements in `queries/copy_*.sql` have places for them. One
//! connection works; another one holds a lock on `nodes`, so that no node joins, and nobody else copies, until it ends.

mod binary;
mod catalogue;
mod guard;

use async_trait::async_trait;
use futures_util::SinkExt;
use punctual_store::copy::{
    Cell, CopyRow, CopySource, CopyTarget, LastNumbers, PlannedTable, REVISIONS, Shape, TargetState,
};
use punctual_store::{Trouble, Vault};
use rustls::pki_types::CertificateDer;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use self::catalogue::Catalogue;
use self::guard::Guard;
use crate::connection::Connection;
use crate::connector::Connector;
use crate::error::PgError;
use crate::open;
use crate::param::params;
use crate::seals::KEY_CHECK;
use crate::tls::Tls;
use crate::{OpenError, ServerUrl, query, schema, session};

/// How many ids of jobs a node takes at once; see `job_ids`.
const JOB_IDS: i64 = 64;

/// A database that is copied from or to. While this exists no node can start on it.
pub struct PostgresCopy {
    connection: Connection,
    guard: Guard,
    catalogue: Catalogue,
}

impl PostgresCopy {
    /// Opens a database to copy from. Refused while a node runs, or if these keys are not those of the database.
    pub async fn source(
        url: &ServerUrl,
        authorities: &[CertificateDer<'static>],
        vault: &Vault,
    ) -> Result<Self, OpenError> {
        let (connector, connection) = connect(url, authorities).await?;
        schema::check(&connection).await?;
        if connection.number(query::number, params!["copying"]).await?.is_some() {
            return Err(OpenError::Copying);
        }
        let check = connection.one(query::key_check, &[]).await?.ok_or(OpenError::Empty)?;
        let check: Vec<u8> = check.try_get(0).map_err(PgError::from)?;
        vault.open(KEY_CHECK, &check).map_err(OpenError::WrongKey)?;
        Self::guarded(&connector, connection).await
    }

    /// Opens a database to copy to, and makes its tables. Refused while a node runs.
    pub async fn target(url: &ServerUrl, authorities: &[CertificateDer<'static>]) -> Result<Self, OpenError> {
        let (connector, connection) = connect(url, authorities).await?;
        match schema::check(&connection).await {
            Ok(()) => {}
            Err(OpenError::Empty | OpenError::Older { found: 0, .. }) => schema::migrate(&connection).await?,
            // A copy goes on that an earlier version began; other data is not migrated by the way.
            Err(OpenError::Older { .. })
                if connection.number(query::number, params!["copying"]).await?.is_some() =>
            {
                schema::migrate(&connection).await?;
            }
            Err(other) => return Err(other),
        }
        Self::guarded(&connector, connection).await
    }

    async fn guarded(connector: &Connector, connection: Connection) -> Result<Self, OpenError> {
        let guard = Guard::take(connector).await?;
        let catalogue = Catalogue::read(&connection).await?;
        Ok(Self { connection, guard, catalogue })
    }

    /// Asks for rows with a statement that has names put in.
    async fn rows(
        &self,
        sql: &str,
        params: &[(Box<dyn ToSql + Sync + Send>, Type)],
    ) -> Result<Vec<Row>, PgError> {
        let params: Vec<(&(dyn ToSql + Sync), Type)> =
            params.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect();
        Ok(self.connection.client().query_typed(sql, &params).await?)
    }

    /// Does something in a transaction that may take as long as it needs.
    async fn patiently<T>(&self, work: impl Future<Output = Result<T, PgError>>) -> Result<T, PgError> {
        self.connection.begin().await?;
        self.connection.rows(query::copy_patience, &[]).await?;
        let done = work.await?;
        self.connection.commit().await?;
        Ok(done)
    }

    async fn count_rows(&self, table: &str) -> Result<u64, PgError> {
        let sql = query::copy_count.replace("{table}", &catalogue::quoted(table));
        let count = self.patiently(async {
            let rows = self.rows(&sql, &[]).await?;
            Ok(rows.first().ok_or(PgError::Rows(0))?.try_get::<_, i64>(0)?)
        });
        Ok(u64::try_from(count.await?).unwrap_or(0))
    }

    async fn read_page(
        &self,
        table: &PlannedTable,
        after: Option<&[Cell]>,
        limit: usize,
    ) -> Result<Vec<CopyRow>, PgError> {
        let sql = if after.is_some() { query::copy_page } else { query::copy_first };
        let sql = self.catalogue.with_names(sql, table).replace("{limit}", &limit.to_string());
        let after = self.catalogue.key(table, after.unwrap_or_default())?;
        let rows = self.rows(&sql, &after).await?;
        rows.iter().map(|row| self.catalogue.cells(table.name, &table.columns, row)).collect()
    }

    async fn read_last_key(&self, table: &PlannedTable) -> Result<Option<Vec<Cell>>, PgError> {
        let rows = self.rows(&self.catalogue.with_names(query::copy_last, table), &[]).await?;
        let cells = |row| self.catalogue.cells(table.name, &table.columns, row);
        Ok(rows.first().map(cells).transpose()?.map(|row| table.key_of(&row)))
    }

    async fn read_last_numbers(&self) -> Result<LastNumbers, PgError> {
        let mut last = LastNumbers::new();
        for (table, column) in self.catalogue.identities() {
            let number = self.connection.number(query::copy_last_identity, params![table, column]).await?;
            last.insert(table, number.unwrap_or(0));
        }
        let jobs = self.connection.number(query::last_job, &[]).await?;
        last.insert("jobs".to_owned(), jobs.unwrap_or(0));
        let revision = self.connection.number(query::copy_last_revision, &[]).await?;
        last.insert(REVISIONS.to_owned(), revision.unwrap_or(0));
        Ok(last)
    }

    /// The number that was given last in a column: what is said of this name, or what there is if that is higher.
    async fn last_of(
        &self,
        last: &LastNumbers,
        name: &str,
        (table, column): (&str, &str),
    ) -> Result<i64, PgError> {
        let sql = query::copy_highest
            .replace("{table}", &catalogue::quoted(table))
            .replace("{column}", &catalogue::quoted(column));
        let rows = self.rows(&sql, &[]).await?;
        let highest: Option<i64> = rows.first().ok_or(PgError::Rows(0))?.try_get(0)?;
        Ok(highest.unwrap_or(0).max(last.get(name).copied().unwrap_or(0)))
    }

    async fn write_last_numbers(&self, last: &LastNumbers) -> Result<(), PgError> {
        self.connection.execute(query::copy_count_jobs, &[]).await?;
        self.connection.execute_for(2, query::copy_count_callers, &[]).await?;
        for (table, column) in self.catalogue.identities() {
            let number = self.last_of(last, &table, (&table, &column)).await?;
            if number > 0 {
                self.connection.rows(query::copy_set_identity, params![table, column, number]).await?;
            }
        }
        let job = self.last_of(last, "jobs", ("jobs", "id")).await?;
        if job > 0 {
            // The last block ends with it.
            let first = (job - JOB_IDS + 1).max(1);
            self.connection.rows(query::copy_set_job_ids, params![first]).await?;
        }
        let revision = self.last_of(last, REVISIONS, ("collections", "revision")).await?;
        if revision > 0 {
            self.connection.rows(query::copy_set_revision, params![revision]).await?;
        }
        Ok(())
    }

    async fn write_rows(&self, table: &PlannedTable, rows: &[CopyRow]) -> Result<(), PgError> {
        let data = binary::encode(&self.catalogue, table, rows)?;
        let columns =
            table.columns.iter().map(String::as_str).chain(table.fill.iter().map(|(name, _)| *name));
        let columns: Vec<String> = columns.map(catalogue::quoted).collect();
        let sql = query::copy_in
            .replace("{table}", &catalogue::quoted(table.name))
            .replace("{columns}", &columns.join(", "));
        self.patiently(async {
            let sink = self.connection.client().copy_in::<_, std::io::Cursor<Vec<u8>>>(&sql).await?;
            let mut sink = std::pin::pin!(sink);
            sink.send(std::io::Cursor::new(data)).await?;
            let written = sink.finish().await?;
            if usize::try_from(written) == Ok(rows.len()) { Ok(()) } else { Err(PgError::Rows(written)) }
        })
        .await
    }
}

impl std::fmt::Debug for PostgresCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PostgresCopy")
    }
}

async fn connect(
    url: &ServerUrl,
    authorities: &[CertificateDer<'static>],
) -> Result<(Connector, Connection), OpenError> {
    let tls = Tls::new(url.ssl_mode, authorities).map_err(OpenError::Tls)?;
    // Nothing is asked so often that preparing it pays.
    let connector = Connector::new(url.clone(), tls, false);
    let connection = open::first(&connector, url).await?;
    match session::problem(&connection).await? {
        Some(problem) => Err(OpenError::Session(problem)),
        None => Ok((connector, connection)),
    }
}

#[async_trait]
impl CopySource for PostgresCopy {
    async fn shape(&self) -> Result<Shape, Trouble> {
        Ok(self.catalogue.shape())
    }

    async fn count(&self, table: &str) -> Result<u64, Trouble> {
        self.count_rows(table).await.map_err(|error| error.trouble("count rows"))
    }

    async fn page(
        &self,
        table: &PlannedTable,
        after: Option<&[Cell]>,
        limit: usize,
    ) -> Result<Vec<CopyRow>, Trouble> {
        self.read_page(table, after, limit).await.map_err(|error| error.trouble("read rows"))
    }

    async fn last_numbers(&self) -> Result<LastNumbers, Trouble> {
        self.read_last_numbers().await.map_err(|error| error.trouble("read the last numbers"))
    }

    async fn still_alone(&self) -> Result<(), Trouble> {
        self.guard.check().await.map_err(|error| error.trouble("keep nodes from starting"))
    }
}

#[async_trait]
impl CopyTarget for PostgresCopy {
    async fn state(&self) -> Result<TargetState, Trouble> {
        let found = self.connection.number(query::number, params!["copying"]).await;
        let found = found.map_err(|error| error.trouble("look for an earlier copy"))?;
        let begun = |number: i64| TargetState::Begun(u32::try_from(number).unwrap_or(0));
        Ok(found.map_or(TargetState::Fresh, begun))
    }

    async fn begin(&self, fingerprint: u32) -> Result<(), Trouble> {
        let begun = self.connection.execute_for(1, query::copy_begin, params![i64::from(fingerprint)]).await;
        begun.map_err(|error| error.trouble("begin a copy"))
    }

    async fn last_key(&self, table: &PlannedTable) -> Result<Option<Vec<Cell>>, Trouble> {
        self.read_last_key(table).await.map_err(|error| error.trouble("read the last row"))
    }

    async fn append(&self, table: &PlannedTable, rows: Vec<CopyRow>) -> Result<(), Trouble> {
        self.write_rows(table, &rows).await.map_err(|error| error.trouble("write rows"))
    }

    async fn set_last_numbers(&self, last: &LastNumbers) -> Result<(), Trouble> {
        let set = self.patiently(self.write_last_numbers(last)).await;
        set.map_err(|error| error.trouble("set the last numbers"))
    }

    async fn complete(&self) -> Result<(), Trouble> {
        let completed = self.connection.execute_for(1, query::copy_complete, &[]).await;
        completed.map_err(|error| error.trouble("complete the copy"))
    }
}
