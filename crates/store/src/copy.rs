//! Copies everything from one store to another, table by table, as `punctual copy` does.
//!
//! Rows go as they are: ids, revisions, sealed secrets and the chain of the audit log stay the same, since seals, tags and codes
//! bind them. A [`CopySource`] reads rows in pages by their key, so that memory is bounded; a [`CopyTarget`] appends them in that
//! order, one transaction for a batch. So the last row of a table in the target says how far it has come, and a copy that was
//! killed goes on there. Whoever opens the target before it is complete is refused by its store.
//!
//! Which tables there are, and their columns, is read from the catalogues of both ([`Shape`]). What is copied is what both have;
//! [`COPIED`] has a line for each table, with its key, and [`NOT_COPIED`] says why a table is left out. Tests compare both
//! lists with the schemas, so that no table is forgotten.

mod run;
mod table;

use std::collections::BTreeMap;

use async_trait::async_trait;
use thiserror::Error;

use crate::Trouble;

pub use run::{CopiedTable, CopyProgress, CopyReport, CopyStage, copy};
pub use table::{COPIED, ColumnClass, NOT_COPIED, PlannedTable, Shape, TableKey, plan};

/// A value in a row. Numbers and booleans are integers, texts are their bytes: stores declare some columns differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// No value.
    Null,
    /// A number; 0 or 1 for a boolean.
    Integer(i64),
    /// Bytes, or a text in UTF-8.
    Bytes(Vec<u8>),
}

/// A row: one cell for each column of its [`PlannedTable`].
pub type CopyRow = Vec<Cell>;

/// The last number that was given out, by what is numbered: the name of a table, or [`REVISIONS`].
pub type LastNumbers = BTreeMap<String, i64>;

/// What the revisions of collections are called in [`LastNumbers`].
pub const REVISIONS: &str = "collection_revisions";

/// A store that is read. Nobody else may write it meanwhile: the implementation sees to that.
#[async_trait]
pub trait CopySource: Send + Sync {
    /// The tables and columns that there are.
    async fn shape(&self) -> Result<Shape, Trouble>;

    /// How many rows a table has.
    async fn count(&self, table: &str) -> Result<u64, Trouble>;

    /// At most `limit` rows with a key above this one, by their key.
    async fn page(
        &self,
        table: &PlannedTable,
        after: Option<&[Cell]>,
        limit: usize,
    ) -> Result<Vec<CopyRow>, Trouble>;

    /// The last numbers that were given out, as far as the store remembers them beside its rows.
    async fn last_numbers(&self) -> Result<LastNumbers, Trouble>;

    /// Fails if somebody else may have written meanwhile.
    async fn still_alone(&self) -> Result<(), Trouble>;
}

/// What was found in a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetState {
    /// No copy was begun.
    Fresh,
    /// A copy was begun of the source with this fingerprint.
    Begun(u32),
}

/// An empty store that is written. Until [`complete`](Self::complete) has returned, no server starts on it.
#[async_trait]
pub trait CopyTarget: CopySource {
    /// Whether a copy was begun.
    async fn state(&self) -> Result<TargetState, Trouble>;

    /// Notes that a copy begins, of the source with this fingerprint.
    async fn begin(&self, fingerprint: u32) -> Result<(), Trouble>;

    /// The key of the last row of a table.
    async fn last_key(&self, table: &PlannedTable) -> Result<Option<Vec<Cell>>, Trouble>;

    /// Appends rows in one transaction.
    async fn append(&self, table: &PlannedTable, rows: Vec<CopyRow>) -> Result<(), Trouble>;

    /// Sets what is counted beside the rows, so that no number is given out again. May be repeated.
    async fn set_last_numbers(&self, last: &LastNumbers) -> Result<(), Trouble>;

    /// Lets servers start on it. Everything is durable when this returns.
    async fn complete(&self) -> Result<(), Trouble>;
}

/// Why nothing, or not all, was copied.
#[derive(Debug, Error)]
pub enum CopyError {
    /// The source could not be read.
    #[error("could not read the source")]
    Source(#[source] Trouble),
    /// The target could not be written.
    #[error("could not write the target; the same command goes on where it stopped")]
    Target(#[source] Trouble),
    /// The schemas don't fit together.
    #[error("the schemas of source and target don't fit together: {}", .0.join("; "))]
    Shapes(Vec<String>),
    /// There is something in the target.
    #[error(
        "the target is not empty: there are rows in {}. Nothing was written; name a new, empty target",
        .0.join(", ")
    )]
    NotEmpty(Vec<String>),
    /// Another source, or another state of it, was begun to be copied.
    #[error(
        "the target has a part of a copy that was begun from another source, or before this one was changed. Nothing was \
         written; make the target empty, and begin again"
    )]
    OtherSource,
    /// What arrived is not what was sent.
    #[error("source and target differ: {}. Make the target empty, and begin again", .0.join("; "))]
    Different(Vec<String>),
}

impl CopyError {
    /// Whether the caller can change what was wrong before anything was written.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NotEmpty(_) | Self::OtherSource => true,
            Self::Source(_) | Self::Target(_) | Self::Shapes(_) | Self::Different(_) => false,
        }
    }
}
