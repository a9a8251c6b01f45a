//! Migrates a data file to the schema of this program, and refuses a later one.

use rusqlite::{Connection, params};

use crate::{OpenError, query};

const SCHEMA_VERSION: &str = include_str!("../migrations/0000_schema_version.sql");

/// In order; a version is the position in this list, from 1. A released migration is never changed.
const MIGRATIONS: &[(&str, &str)] = &[
    ("first", include_str!("../migrations/0001_first.sql")),
    ("pruned", include_str!("../migrations/0002_pruned.sql")),
    ("ahead", include_str!("../migrations/0003_ahead.sql")),
    ("census", include_str!("../migrations/0004_census.sql")),
    ("tokens", include_str!("../migrations/0005_tokens.sql")),
    ("server secrets", include_str!("../migrations/0006_server_secrets.sql")),
    ("audit", include_str!("../migrations/0007_audit.sql")),
    ("sessions", include_str!("../migrations/0008_sessions.sql")),
    ("keys", include_str!("../migrations/0009_keys.sql")),
    ("search", include_str!("../migrations/0010_search.sql")),
    ("stats", include_str!("../migrations/0011_stats.sql")),
    ("reruns", include_str!("../migrations/0012_reruns.sql")),
];

/// The version of the schema that this program writes.
pub(crate) const VERSION: usize = MIGRATIONS.len();

/// Applies the missing migrations, each in a transaction of its own.
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
        assert_eq!(usize::try_from(version), Ok(VERSION));
    }

    #[test]
    fn what_was_pruned_before_it_was_noted_ended_before_all_that_is_left() {
        let check = |records: &str, expected: Option<i64>| {
            let mut conn = Connection::open_in_memory().unwrap();
            conn.execute_batch(SCHEMA_VERSION).unwrap();
            conn.execute_batch(MIGRATIONS[0].1).unwrap();
            conn.execute(query::set_schema_version, params![1, "first"]).unwrap();
            conn.execute(query::insert_counters, params![b"x"]).unwrap();
            conn.execute_batch(records).unwrap();
            migrate(&mut conn).unwrap();
            let before: Option<i64> = conn.query_row(query::pruned_before, [], |row| row.get(0)).unwrap();
            assert_eq!(before, expected, "{records}");
        };
        check("", None);
        let record = |sequence: i64, ended_at: i64| {
            format!(
                "INSERT INTO history VALUES ({sequence}, 1, 1, {sequence}, 0, 0, 0, 1, 0, {ended_at}, 0, 0, '');"
            )
        };
        check(&(record(1, 70) + &record(2, 60) + &record(3, 90)), Some(60));
    }

    #[test]
    fn a_newer_schema_is_refused() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn).unwrap();
        conn.execute(query::set_schema_version, params![99, "future"]).unwrap();
        let error = migrate(&mut conn).unwrap_err();
        assert!(matches!(error, OpenError::Newer { found: 99, known: VERSION }), "{error}");
    }
}
