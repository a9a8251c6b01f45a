//! Brings the database to the schema of this program, while nodes of the version before may be serving.
//!
//! Release N works with schema N and N + 1, so that nodes are replaced one by one: a migration only adds, and what a release
//! stops using is removed by a later one, which sets `min_version`.

use std::cmp::Ordering;
use std::time::Duration;

use tokio_postgres::error::SqlState;

use crate::OpenError;
use crate::connection::Connection;
use crate::error::{Class, PgError};
use crate::param::params;
use crate::query;

const SCHEMA_VERSION: &str = include_str!("../migrations/0000_schema_version.sql");

/// In order; a version is the position in this list, from 1. A released migration is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_search.sql"),
    include_str!("../migrations/0003_keys_and_nodes.sql"),
    include_str!("../migrations/0004_stats.sql"),
    include_str!("../migrations/0005_reruns.sql"),
];

/// The version of the schema that this program writes.
pub(crate) const VERSION: usize = MIGRATIONS.len();

/// A migration that waits for a lock for too long is tried again.
const TRIES: usize = 30;
const PAUSE: Duration = Duration::from_millis(300);

/// Applies the missing migrations, each in a transaction of its own.
pub(crate) async fn migrate(connection: &Connection) -> Result<(), OpenError> {
    for _ in 0..TRIES {
        match migrate_once(connection).await {
            Ok(()) => return Ok(()),
            Err(Trial::Refused(error)) => return Err(error),
            Err(Trial::Again) => tokio::time::sleep(PAUSE).await,
        }
    }
    Err(OpenError::MigrationBusy)
}

/// Refuses a database that has another schema than this program writes. Changes nothing.
pub(crate) async fn check(connection: &Connection) -> Result<(), OpenError> {
    let row = connection.one(query::schema_version, &[]).await.map_err(|error| match &error {
        PgError::Sql(sql) if sql.code() == Some(&SqlState::UNDEFINED_TABLE) => OpenError::Empty,
        _ => OpenError::of(error),
    })?;
    let row = row.ok_or(OpenError::Empty)?;
    let version = |column| row.try_get::<_, i32>(column).map(|number| usize::try_from(number).unwrap_or(0));
    let (found, least) = (version(0).map_err(PgError::from)?, version(1).map_err(PgError::from)?);
    match found.cmp(&VERSION) {
        Ordering::Less => Err(OpenError::Older { found, known: VERSION }),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(OpenError::Newer { found, least, known: VERSION }),
    }
}

/// Why the schema could not be brought up to date.
enum Trial {
    Again,
    Refused(OpenError),
}

impl From<PgError> for Trial {
    fn from(error: PgError) -> Self {
        let raced = match &error {
            // Two nodes make the same table at once.
            PgError::Sql(error) => error.code().is_some_and(|code| {
                [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT]
                    .contains(code)
            }),
            _ => false,
        };
        if raced || matches!(error.class(), Class::Again | Class::Busy) {
            Self::Again
        } else {
            Self::Refused(OpenError::of(error))
        }
    }
}

async fn migrate_once(connection: &Connection) -> Result<(), Trial> {
    // After a failure the transaction is still open.
    connection.roll_back().await?;
    connection.batch(SCHEMA_VERSION).await?;
    loop {
        connection.begin().await?;
        connection.batch(query::lock_timeout).await?;
        let row = connection.one(query::schema_version_locked, &[]).await?.ok_or(PgError::Rows(0))?;
        let found: i32 = row.try_get(0).map_err(PgError::from)?;
        let least: i32 = row.try_get(1).map_err(PgError::from)?;
        let (found, least) = (usize::try_from(found).unwrap_or(0), usize::try_from(least).unwrap_or(0));
        if least > VERSION {
            return Err(Trial::Refused(OpenError::Newer { found, least, known: VERSION }));
        }
        let Some(migration) = MIGRATIONS.get(found) else {
            connection.roll_back().await?;
            return Ok(());
        };
        connection.batch(migration).await?;
        let version = i32::try_from(found + 1).unwrap_or(i32::MAX);
        connection.execute_for(1, query::set_schema_version, params![version]).await?;
        connection.commit().await?;
    }
}
