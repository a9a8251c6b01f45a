//! Brings a data file to the schema of this program, and refuses one from the future.

use rusqlite::{Connection, params};

use crate::{OpenError, query};

const SCHEMA_VERSION: &str = include_str!("../migrations/0000_schema_version.sql");

/// In order; a version is the place in this list, from 1. What was released is never changed.
const MIGRATIONS: &[(&str, &str)] = &[
    ("first", include_str!("../migrations/0001_first.sql")),
    ("pruned", include_str!("../migrations/0002_pruned.sql")),
];

/// The version of the schema that this program writes.
pub(crate) const VERSION: usize = MIGRATIONS.len();

/// Applies what is missing, each migration in a transaction of its own.
pub(crate) fn migrate(conn: &mut Connection) -> Result<(), OpenError> {
    conn.execute_batch(SCHEMA_VERSION)?;
    let found: i64 = conn.query_row(query::schema_version, [], |row| row.get(0))?;
    let known = VERSION;
    let found = usize::try_from(found).unwrap_or_default();
    if found > known {
        return Err(OpenError::Newer { found, known });
    }
    for (index, (name, sql)) in MIGRATIONS.iter().enumerate().skip(found) {
        let tx = conn.transaction()?;
        tx.execute_batch(sql)?;
        tx.execute(query::set_schema_version, params![crate::row::bound(index + 1), name])?;
        tx.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrating_twice_changes_nothing() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn).unwrap();
        migrate(&mut conn).unwrap();
        let version: i64 = conn.query_row(query::schema_version, [], |row| row.get(0)).unwrap();
        assert_eq!(version, 2);
    }

    #[test]
    fn a_newer_schema_is_refused() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn).unwrap();
        conn.execute(query::set_schema_version, params![7, "future"]).unwrap();
        let error = migrate(&mut conn).unwrap_err();
        assert!(matches!(error, OpenError::Newer { found: 7, known: 2 }), "{error}");
    }
}
