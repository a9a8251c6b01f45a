//! Rows in the binary form of COPY.

use punctual_store::copy::{Cell, CopyRow, PlannedTable};

use super::catalogue::{Catalogue, ColumnKind, text, unreadable};
use crate::error::PgError;

/// What such data begins with: a signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// The columns of a planned table, and behind them those that are filled.
pub(super) fn encode(
    catalogue: &Catalogue,
    table: &PlannedTable,
    rows: &[CopyRow],
) -> Result<Vec<u8>, PgError> {
    let names = table.columns.iter().map(String::as_str).chain(table.fill.iter().map(|(name, _)| *name));
    let columns: Vec<(&str, ColumnKind)> =
        names.map(|name| (name, catalogue.kind(table.name, name))).collect();
    let count = i16::try_from(columns.len()).map_err(|_| unreadable(table.name, "*", "too many columns"))?;
    let mut data = HEADER.to_vec();
    for row in rows {
        data.extend(count.to_be_bytes());
        let cells = row.iter().chain(table.fill.iter().map(|(_, cell)| cell));
        for ((name, kind), cell) in columns.iter().zip(cells) {
            add(&mut data, table.name, name, *kind, cell)?;
        }
    }
    data.extend((-1_i16).to_be_bytes());
    Ok(data)
}

fn add(data: &mut Vec<u8>, table: &str, name: &str, kind: ColumnKind, cell: &Cell) -> Result<(), PgError> {
    let wrong = || unreadable(table, name, "it does not fit the column");
    match (cell, kind) {
        (Cell::Null, _) => data.extend((-1_i32).to_be_bytes()),
        (Cell::Integer(number), ColumnKind::Int8) => field(data, &number.to_be_bytes())?,
        (Cell::Integer(number), ColumnKind::Int4) => {
            field(data, &i32::try_from(*number).map_err(|_| wrong())?.to_be_bytes())?;
        }
        (Cell::Integer(number), ColumnKind::Int2) => {
            field(data, &i16::try_from(*number).map_err(|_| wrong())?.to_be_bytes())?;
        }
        (Cell::Integer(number @ (0 | 1)), ColumnKind::Bool) => field(data, &[u8::from(*number == 1)])?,
        (Cell::Bytes(bytes), ColumnKind::Bytea) => field(data, bytes)?,
        (Cell::Bytes(bytes), ColumnKind::Text) => field(data, text(table, name, bytes)?.as_bytes())?,
        _ => return Err(wrong()),
    }
    Ok(())
}

fn field(data: &mut Vec<u8>, bytes: &[u8]) -> Result<(), PgError> {
    let length = i32::try_from(bytes.len()).map_err(|_| PgError::invalid("a row that is too large"))?;
    data.extend(length.to_be_bytes());
    data.extend(bytes);
    Ok(())
}
