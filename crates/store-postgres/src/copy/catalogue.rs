//! The tables and columns of a database, their types, and statements with their names.

use std::collections::BTreeMap;

use punctual_store::copy::{Cell, ColumnClass, CopyRow, PlannedTable, Shape};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::connection::Connection;
use crate::error::PgError;
use crate::query;

/// The columns of all tables, by table and column.
pub(super) struct Catalogue(BTreeMap<String, BTreeMap<String, Column>>);

struct Column {
    kind: ColumnKind,
    /// Whether numbers come from a sequence of its own.
    identity: bool,
}

/// The types of columns that can be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Int8,
    Int4,
    Int2,
    Bool,
    Text,
    Bytea,
    Other,
}

impl Catalogue {
    pub(super) async fn read(connection: &Connection) -> Result<Self, PgError> {
        let mut tables: BTreeMap<String, BTreeMap<String, Column>> = BTreeMap::new();
        for row in connection.rows(query::copy_shape, &[]).await? {
            let kind = match row.try_get::<_, &str>(2)? {
                "int8" => ColumnKind::Int8,
                "int4" => ColumnKind::Int4,
                "int2" => ColumnKind::Int2,
                "bool" => ColumnKind::Bool,
                "text" => ColumnKind::Text,
                "bytea" => ColumnKind::Bytea,
                _ => ColumnKind::Other,
            };
            let column = Column { kind, identity: row.try_get(3)? };
            tables.entry(row.try_get(0)?).or_default().insert(row.try_get(1)?, column);
        }
        Ok(Self(tables))
    }

    pub(super) fn shape(&self) -> Shape {
        let class = |column: &Column| match column.kind {
            ColumnKind::Int8 | ColumnKind::Int4 | ColumnKind::Int2 | ColumnKind::Bool => ColumnClass::Number,
            ColumnKind::Text | ColumnKind::Bytea => ColumnClass::Bytes,
            ColumnKind::Other => ColumnClass::Other,
        };
        let columns = |columns: &BTreeMap<String, Column>| {
            columns.iter().map(|(name, column)| (name.clone(), class(column))).collect()
        };
        Shape { tables: self.0.iter().map(|(table, all)| (table.clone(), columns(all))).collect() }
    }

    pub(super) fn kind(&self, table: &str, column: &str) -> ColumnKind {
        let found = self.0.get(table).and_then(|columns| columns.get(column));
        found.map_or(ColumnKind::Other, |column| column.kind)
    }

    /// The columns whose numbers come from a sequence of their own, with their tables.
    pub(super) fn identities(&self) -> Vec<(String, String)> {
        let all =
            self.0.iter().flat_map(|(table, columns)| columns.iter().map(move |column| (table, column)));
        all.filter(|(_, (_, column))| column.identity)
            .map(|(table, (name, _))| (table.clone(), name.clone()))
            .collect()
    }

    /// A statement with the names of a table. Texts are ordered by their bytes, as everywhere else.
    pub(super) fn with_names(&self, sql: &str, table: &PlannedTable) -> String {
        let ordered = |column: &str| match self.kind(table.name, column) {
            ColumnKind::Text => format!("{} COLLATE \"C\"", quoted(column)),
            _ => quoted(column),
        };
        let key: Vec<String> = table.key_columns().map(ordered).collect();
        let descending: Vec<String> = key.iter().map(|column| format!("{column} DESC")).collect();
        let columns: Vec<String> = table.columns.iter().map(|column| quoted(column)).collect();
        let values: Vec<String> = (1..=key.len()).map(|place| format!("${place}")).collect();
        sql.replace("{table}", &quoted(table.name))
            .replace("{columns}", &columns.join(", "))
            .replace("{key}", &key.join(", "))
            .replace("{descending}", &descending.join(", "))
            .replace("{values}", &values.join(", "))
    }

    /// A key as parameters of a statement.
    #[expect(clippy::type_complexity, reason = "parameters and their types")]
    pub(super) fn key(
        &self,
        table: &PlannedTable,
        key: &[Cell],
    ) -> Result<Vec<(Box<dyn ToSql + Sync + Send>, Type)>, PgError> {
        let columns = table.key_columns().zip(key);
        columns
            .map(|(column, cell)| {
                Ok::<(Box<dyn ToSql + Sync + Send>, Type), PgError>(
                    match (cell, self.kind(table.name, column)) {
                        (Cell::Integer(number), _) => (Box::new(*number), Type::INT8),
                        (Cell::Bytes(bytes), ColumnKind::Bytea) => (Box::new(bytes.clone()), Type::BYTEA),
                        (Cell::Bytes(bytes), _) => {
                            (Box::new(text(table.name, column, bytes)?.to_owned()), Type::TEXT)
                        }
                        (Cell::Null, _) => return Err(unreadable(table.name, column, "a key is null")),
                    },
                )
            })
            .collect()
    }

    /// The cells of a row with these columns.
    pub(super) fn cells(&self, table: &str, columns: &[String], row: &Row) -> Result<CopyRow, PgError> {
        let cell = |(place, column): (usize, &String)| {
            let number = match self.kind(table, column) {
                ColumnKind::Int8 => row.try_get::<_, Option<i64>>(place)?,
                ColumnKind::Int4 => row.try_get::<_, Option<i32>>(place)?.map(i64::from),
                ColumnKind::Int2 => row.try_get::<_, Option<i16>>(place)?.map(i64::from),
                ColumnKind::Bool => row.try_get::<_, Option<bool>>(place)?.map(i64::from),
                ColumnKind::Text => {
                    let text = row.try_get::<_, Option<String>>(place)?;
                    return Ok(text.map_or(Cell::Null, |text| Cell::Bytes(text.into_bytes())));
                }
                ColumnKind::Bytea => {
                    return Ok(row.try_get::<_, Option<Vec<u8>>>(place)?.map_or(Cell::Null, Cell::Bytes));
                }
                ColumnKind::Other => return Err(unreadable(table, column, "its type is not known")),
            };
            Ok(number.map_or(Cell::Null, Cell::Integer))
        };
        columns.iter().enumerate().map(cell).collect()
    }
}

/// A name in a statement.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Bytes that are to be a text. PostgreSQL has none with a zero in it.
pub(super) fn text<'b>(table: &str, column: &str, bytes: &'b [u8]) -> Result<&'b str, PgError> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) => Err(unreadable(table, column, "PostgreSQL has no texts with a zero in them")),
        Err(_) => Err(unreadable(table, column, "it is not UTF-8")),
    }
}

pub(super) fn unreadable(table: &str, column: &str, detail: &str) -> PgError {
    PgError::Unreadable { what: format!("{table}.{column}"), detail: detail.to_owned() }
}
