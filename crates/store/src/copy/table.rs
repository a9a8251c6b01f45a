//! Which tables are copied, and how those of two schemas fit together.

use std::collections::{BTreeMap, BTreeSet};

use super::Cell;

/// A table that is copied.
#[derive(Clone, Copy, Debug)]
pub struct TableKey {
    /// Its name.
    pub name: &'static str,
    /// Unique columns, in the order of an index that both schemas have.
    pub key: &'static [&'static str],
    /// Columns that only one of the schemas has, and the number that they get where the other one has none; none for a null.
    /// What they must be is set when all rows are there.
    pub own: &'static [(&'static str, Option<i64>)],
}

const fn by(name: &'static str, key: &'static [&'static str]) -> TableKey {
    TableKey { name, key, own: &[] }
}

/// The tables that are copied. Whoever adds a table to both schemas adds a line.
pub const COPIED: &[TableKey] = &[
    by("unregistered", &["subscription"]),
    by("groups", &["id"]),
    // Counted where several nodes share the quota.
    TableKey { name: "collections", key: &["id"], own: &[("job_count", Some(0))] },
    by("jobs", &["id"]),
    // Claims are the business of one cluster.
    TableKey { name: "agenda", key: &["job"], own: &[("holder", None), ("ticket", None)] },
    by("history", &["job", "nominal_at", "cause", "step", "attempt", "generation", "kind"]),
    by("skips", &["job", "first_at", "id"]),
    by("reruns", &["job", "run_at"]),
    by("graves", &["job"]),
    by("stats_minutes", &["collection", "begins_at", "writer"]),
    by("stats_hours", &["collection", "begins_at"]),
    by("tokens", &["id"]),
    by("sessions", &["id"]),
    by("server_secrets", &["name"]),
    by("keys", &["id"]),
    by("resealing", &["id"]),
    by("audit", &["number"]),
    by("audit_pieces", &["number"]),
    by("audit_chain", &["id"]),
    // Numbers that PostgreSQL has in sequences.
    TableKey {
        name: "counters",
        key: &["id"],
        own: &[("sequence", Some(0)), ("revision", Some(0)), ("job_count", Some(0))],
    },
];

/// The tables that are not copied, and why.
pub const NOT_COPIED: &[(&str, &str)] = &[
    ("schema_version", "each store has its own schema"),
    ("numbers", "the last numbers are set when all rows are there; leases belong to one cluster"),
    ("nodes", "nodes have to be stopped"),
    ("receipts", "of writes whose answers were lost, which nobody waits for any more"),
];

/// What is stored in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnClass {
    /// Integers or booleans.
    Number,
    /// Bytes or a text.
    Bytes,
    /// Something that can't be copied.
    Other,
}

/// The tables of a store, and their columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// By the names of tables and columns.
    pub tables: BTreeMap<String, BTreeMap<String, ColumnClass>>,
}

/// A table that is copied, with the columns that both stores have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTable {
    /// Its name.
    pub name: &'static str,
    /// The columns that are copied, by name.
    pub columns: Vec<String>,
    /// The places of the key's columns among those.
    pub key: Vec<usize>,
    /// Columns that only the target has, with what they get.
    pub fill: Vec<(&'static str, Cell)>,
}

impl PlannedTable {
    /// The key of a row.
    pub fn key_of(&self, row: &[Cell]) -> Vec<Cell> {
        self.key.iter().map(|place| row[*place].clone()).collect()
    }

    /// The columns of the key.
    pub fn key_columns(&self) -> impl Iterator<Item = &str> {
        self.key.iter().map(|place| self.columns[*place].as_str())
    }
}

/// How to copy from a store of one shape to one of another; every problem if they don't fit.
pub fn plan(source: &Shape, target: &Shape) -> Result<Vec<PlannedTable>, Vec<String>> {
    let mut problems = Vec::new();
    let mut planned = Vec::new();
    for table in COPIED {
        let name = table.name;
        let (Some(from), Some(to)) = (source.tables.get(name), target.tables.get(name)) else {
            problems.push(format!("the table {name} is not in both"));
            continue;
        };
        let own = |column: &str| table.own.iter().find(|(own, _)| *own == column);
        for (column, class) in from {
            match to.get(column) {
                None if own(column).is_some() => {}
                None => problems.push(format!("only the source has the column {name}.{column}")),
                Some(other) if other != class => {
                    problems.push(format!("the column {name}.{column} is {class:?} and {other:?}"));
                }
                Some(_) if *class == ColumnClass::Other => {
                    problems.push(format!("the column {name}.{column} has a type that can't be copied"));
                }
                Some(_) => {}
            }
        }
        let mut fill = Vec::new();
        for column in to.keys().filter(|column| !from.contains_key(*column)) {
            match own(column) {
                Some((column, number)) => fill.push((*column, number.map_or(Cell::Null, Cell::Integer))),
                None => problems.push(format!("only the target has the column {name}.{column}")),
            }
        }
        let columns: Vec<String> = from.keys().filter(|column| to.contains_key(*column)).cloned().collect();
        let place = |wanted: &&str| columns.iter().position(|column| column == wanted);
        let key: Option<Vec<usize>> = table.key.iter().map(place).collect();
        match key {
            Some(key) => planned.push(PlannedTable { name, columns, key, fill }),
            None => problems.push(format!("the key of {name} is not in both")),
        }
    }
    // A table that both have is copied, or it is said why not.
    let known: BTreeSet<&str> =
        COPIED.iter().map(|table| table.name).chain(NOT_COPIED.iter().map(|(name, _)| *name)).collect();
    for name in source.tables.keys().filter(|name| target.tables.contains_key(*name)) {
        if !known.contains(name.as_str()) {
            problems.push(format!("nobody says whether the table {name} is copied"));
        }
    }
    if problems.is_empty() { Ok(planned) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All tables with the columns of their keys, and one more.
    fn shape() -> Shape {
        let columns = |table: &TableKey| {
            let key = table.key.iter().map(|column| ((*column).to_owned(), ColumnClass::Number));
            key.chain([("text".to_owned(), ColumnClass::Bytes)]).collect()
        };
        Shape { tables: COPIED.iter().map(|table| (table.name.to_owned(), columns(table))).collect() }
    }

    #[test]
    fn what_only_the_target_has_is_filled() {
        let mut target = shape();
        for column in ["holder", "ticket"] {
            let agenda = target.tables.get_mut("agenda").unwrap();
            agenda.insert(column.to_owned(), ColumnClass::Number);
        }
        let planned = plan(&shape(), &target).unwrap();
        let agenda = planned.iter().find(|table| table.name == "agenda").unwrap();
        assert_eq!(agenda.columns, ["job", "text"]);
        assert_eq!(agenda.fill, [("holder", Cell::Null), ("ticket", Cell::Null)]);
        let back = plan(&target, &shape()).unwrap();
        let agenda = back.iter().find(|table| table.name == "agenda").unwrap();
        assert_eq!((agenda.columns.len(), agenda.fill.len()), (2, 0));
    }

    #[test]
    fn whatever_does_not_fit_is_named() {
        let check = |change: fn(&mut Shape), expected: &str| {
            let mut other = shape();
            change(&mut other);
            let problems = plan(&shape(), &other).unwrap_err();
            assert_eq!(problems, [expected]);
        };
        let with = |shape: &mut Shape, column: &str, class| {
            shape.tables.get_mut("graves").unwrap().insert(column.to_owned(), class);
        };
        assert!(plan(&shape(), &shape()).is_ok());
        check(|other| drop(other.tables.remove("skips")), "the table skips is not in both");
        check(
            |other| other.tables.get_mut("graves").unwrap().retain(|column, _| column != "text"),
            "only the source has the column graves.text",
        );
        let mut more = shape();
        with(&mut more, "more", ColumnClass::Number);
        assert_eq!(plan(&shape(), &more).unwrap_err(), ["only the target has the column graves.more"]);
        let mut changed = shape();
        with(&mut changed, "text", ColumnClass::Number);
        assert_eq!(plan(&shape(), &changed).unwrap_err(), ["the column graves.text is Bytes and Number"]);
        let mut odd = shape();
        with(&mut odd, "text", ColumnClass::Other);
        assert_eq!(plan(&odd, &odd).unwrap_err(), ["the column graves.text has a type that can't be copied"]);
        let mut new = shape();
        new.tables.insert("new".to_owned(), BTreeMap::new());
        assert_eq!(plan(&new, &new).unwrap_err(), ["nobody says whether the table new is copied"]);
    }
}
