//! Tables as they are, for `punctual copy`: the data of a stopped server as a source, and a new data file as a target.
//!
//! Names of tables and columns come from SQLite's catalogue; the statements in `queries/copy_*.sql` have places for them.

mod target;

use std::collections::BTreeMap;

use async_trait::async_trait;
use punctual_store::Trouble;
use punctual_store::copy::{
    Cell, ColumnClass, CopyRow, CopySource, LastNumbers, PlannedTable, REVISIONS, Shape,
};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};

pub use self::target::SqliteTarget;
use crate::error::SqliteError;
use crate::{StoppedStore, query, row};

/// The declared types of all columns, by table and column.
pub(crate) struct Catalogue(BTreeMap<String, BTreeMap<String, String>>);

impl Catalogue {
    pub(crate) fn read(conn: &Connection) -> Result<Self, SqliteError> {
        let mut tables: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let rows = row::many(conn, query::copy_shape, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        for (table, column, kind) in rows {
            tables.entry(table).or_default().insert(column, kind);
        }
        Ok(Self(tables))
    }

    fn shape(&self) -> Shape {
        let class = |kind: &String| match kind.as_str() {
            "INTEGER" => ColumnClass::Number,
            "TEXT" | "BLOB" => ColumnClass::Bytes,
            _ => ColumnClass::Other,
        };
        let columns = |columns: &BTreeMap<String, String>| {
            columns.iter().map(|(column, kind)| (column.clone(), class(kind))).collect()
        };
        Shape { tables: self.0.iter().map(|(table, all)| (table.clone(), columns(all))).collect() }
    }

    /// What is bound for a cell: bytes as a text where the column has texts, since SQLite tells them apart.
    fn value(&self, table: &str, column: &str, cell: &Cell) -> Result<Value, SqliteError> {
        let is_text =
            || self.0.get(table).and_then(|columns| columns.get(column)).is_some_and(|kind| kind == "TEXT");
        Ok(match cell {
            Cell::Null => Value::Null,
            Cell::Integer(number) => Value::Integer(*number),
            Cell::Bytes(bytes) if is_text() => {
                let text = String::from_utf8(bytes.clone()).map_err(|_| SqliteError::Unreadable {
                    what: format!("{table}.{column}"),
                    detail: "it is not UTF-8".to_owned(),
                })?;
                Value::Text(text)
            }
            Cell::Bytes(bytes) => Value::Blob(bytes.clone()),
        })
    }

    fn key(&self, table: &PlannedTable, key: &[Cell]) -> Result<Vec<Value>, SqliteError> {
        let columns = table.key_columns().zip(key);
        columns.map(|(column, cell)| self.value(table.name, column, cell)).collect()
    }
}

/// Names of a statement, quoted.
fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    names.into_iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect()
}

/// As many places for values.
fn places(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// A statement with the names of a table.
fn with_names(sql: &str, table: &PlannedTable) -> String {
    let key = quoted(table.key_columns());
    let descending: Vec<String> = key.iter().map(|column| format!("{column} DESC")).collect();
    sql.replace("{table}", &quoted([table.name])[0])
        .replace("{columns}", &quoted(table.columns.iter().map(String::as_str)).join(", "))
        .replace("{key}", &key.join(", "))
        .replace("{descending}", &descending.join(", "))
}

pub(crate) fn count(conn: &Connection, table: &str) -> Result<u64, SqliteError> {
    let sql = query::copy_count.replace("{table}", &quoted([table])[0]);
    Ok(u64::try_from(row::number(conn, &sql, [])?.unwrap_or(0)).unwrap_or(0))
}

pub(crate) fn page(
    conn: &Connection,
    catalogue: &Catalogue,
    table: &PlannedTable,
    after: Option<&[Cell]>,
    limit: usize,
) -> Result<Vec<CopyRow>, SqliteError> {
    let sql = if after.is_some() { query::copy_page } else { query::copy_first };
    let sql = with_names(sql, table)
        .replace("{values}", &places(table.key.len()))
        .replace("{limit}", &limit.to_string());
    let after = catalogue.key(table, after.unwrap_or_default())?;
    row::many(conn, &sql, params_from_iter(after), |row| cells(row, table.columns.len()))
}

fn cells(row: &rusqlite::Row<'_>, count: usize) -> Result<CopyRow, SqliteError> {
    let cell = |place: usize| {
        Ok(match row.get_ref(place)? {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(number) => Cell::Integer(number),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_owned()),
            ValueRef::Real(_) => return Err(SqliteError::invalid("a column with a fraction")),
        })
    };
    (0..count).map(cell).collect()
}

pub(crate) fn last_key(conn: &Connection, table: &PlannedTable) -> Result<Option<Vec<Cell>>, SqliteError> {
    row::one(conn, &with_names(query::copy_last, table), [], |row| cells(row, table.key.len()))
}

pub(crate) fn last_numbers(conn: &Connection) -> Result<LastNumbers, SqliteError> {
    let given = row::many(conn, query::copy_sequences, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut last: LastNumbers = given.into_iter().collect();
    let counted = row::one(conn, query::counters, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if let Some((sequence, revision)) = counted {
        last.insert("history".to_owned(), sequence);
        last.insert(REVISIONS.to_owned(), revision);
    }
    Ok(last)
}

impl StoppedStore {
    fn catalogue(&self) -> Result<&Catalogue, Trouble> {
        if let Some(known) = self.catalogue.get() {
            return Ok(known);
        }
        let read = self.ask("read the schema", Catalogue::read)?;
        Ok(self.catalogue.get_or_init(|| read))
    }
}

#[async_trait]
impl CopySource for StoppedStore {
    async fn shape(&self) -> Result<Shape, Trouble> {
        Ok(self.catalogue()?.shape())
    }

    async fn count(&self, table: &str) -> Result<u64, Trouble> {
        self.ask("count rows", |conn| count(conn, table))
    }

    async fn page(
        &self,
        table: &PlannedTable,
        after: Option<&[Cell]>,
        limit: usize,
    ) -> Result<Vec<CopyRow>, Trouble> {
        let catalogue = self.catalogue()?;
        self.ask("read rows", |conn| page(conn, catalogue, table, after, limit))
    }

    async fn last_numbers(&self) -> Result<LastNumbers, Trouble> {
        self.ask("read the last numbers", last_numbers)
    }

    /// The lock on the directory sees to that.
    async fn still_alone(&self) -> Result<(), Trouble> {
        Ok(())
    }
}
