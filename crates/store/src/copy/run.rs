//! Copies all tables, goes on where a copy was stopped, and compares source and target afterwards.

use sha2::{Digest, Sha256};

use super::{Cell, CopyError, CopyRow, CopySource, CopyTarget, LastNumbers, PlannedTable, TargetState, plan};
use crate::Trouble;

/// Rows that are asked for at once. A row may be large, so that this bounds what is in memory.
const PAGE: usize = 256;

/// A batch is written when it has so many rows, or so many bytes.
const BATCH_ROWS: usize = 8_192;
const BATCH_BYTES: usize = 4 << 20;

/// How far a copy has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress {
    /// What is being done.
    pub stage: CopyStage,
    /// The table.
    pub table: &'static str,
    /// Rows of all tables that were copied or compared, and how many there are.
    pub done: u64,
    /// How many there are.
    pub total: u64,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyStage {
    /// Rows are copied.
    Copying,
    /// Rows of the target are compared with those of the source.
    Comparing,
}

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyReport {
    /// Each table.
    pub tables: Vec<CopiedTable>,
    /// Whether an earlier copy was gone on with.
    pub resumed: bool,
}

/// A table that is the same in source and target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedTable {
    /// Its name.
    pub name: &'static str,
    /// How many rows it has.
    pub row_count: u64,
    /// The SHA-256 of its rows by their key, in hex digits.
    pub digest: String,
}

/// Copies everything, compares it, and lets servers start on the target. Whatever ends it, the same call goes on.
pub async fn copy(
    source: &dyn CopySource,
    target: &dyn CopyTarget,
    tell: &mut (dyn FnMut(CopyProgress) + Send),
) -> Result<CopyReport, CopyError> {
    let shapes = (source.shape().await.map_err(CopyError::Source)?, target.shape().await);
    let tables = plan(&shapes.0, &shapes.1.map_err(CopyError::Target)?).map_err(CopyError::Shapes)?;
    let last = source.last_numbers().await.map_err(CopyError::Source)?;
    let mut counts = Vec::new();
    for table in &tables {
        counts.push(source.count(table.name).await.map_err(CopyError::Source)?);
    }
    let fingerprint = fingerprint(&tables, &counts, &last);
    let state = target.state().await.map_err(CopyError::Target)?;
    match state {
        TargetState::Begun(found) if found == fingerprint => {}
        TargetState::Begun(_) => return Err(CopyError::OtherSource),
        TargetState::Fresh => {
            refuse_rows(target, &tables).await?;
            target.begin(fingerprint).await.map_err(CopyError::Target)?;
        }
    }
    let total = counts.iter().sum();
    let mut done = 0;
    for (table, count) in tables.iter().zip(&counts) {
        let mut tell = |rows: u64| {
            let done = done + rows;
            tell(CopyProgress { stage: CopyStage::Copying, table: table.name, done, total });
        };
        copy_table(source, target, table, &mut tell).await?;
        done += count;
    }
    target.set_last_numbers(&last).await.map_err(CopyError::Target)?;
    let compared = compare(source, target, &tables, total, tell).await?;
    check_numbers(&last, &target.last_numbers().await.map_err(CopyError::Target)?)?;
    source.still_alone().await.map_err(CopyError::Source)?;
    target.still_alone().await.map_err(CopyError::Target)?;
    target.complete().await.map_err(CopyError::Target)?;
    Ok(CopyReport { tables: compared, resumed: state != TargetState::Fresh })
}

/// Tells a source apart from others and from its own later states, roughly: what was copied is compared at the end.
fn fingerprint(tables: &[PlannedTable], counts: &[u64], last: &LastNumbers) -> u32 {
    let mut hash = Sha256::new();
    for (table, count) in tables.iter().zip(counts) {
        hash.update(format!("{} {count}\n", table.name));
    }
    for (name, number) in last {
        hash.update(format!("{name} {number}\n"));
    }
    let hash = hash.finalize();
    // Without a sign it fits wherever a store keeps a small number, and it is never 0.
    (u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) >> 1).max(1)
}

async fn refuse_rows(target: &dyn CopyTarget, tables: &[PlannedTable]) -> Result<(), CopyError> {
    let mut used = Vec::new();
    for table in tables {
        if target.last_key(table).await.map_err(CopyError::Target)?.is_some() {
            used.push(table.name.to_owned());
        }
    }
    if used.is_empty() { Ok(()) } else { Err(CopyError::NotEmpty(used)) }
}

/// Copies the rows behind the last one that the target has. The next batch is read while one is written.
async fn copy_table(
    source: &dyn CopySource,
    target: &dyn CopyTarget,
    table: &PlannedTable,
    tell: &mut (dyn FnMut(u64) + Send),
) -> Result<(), CopyError> {
    let mut after = target.last_key(table).await.map_err(CopyError::Target)?;
    let mut done = match after {
        Some(_) => target.count(table.name).await.map_err(CopyError::Target)?,
        None => 0,
    };
    tell(done);
    let mut batch = read_batch(source, table, after.as_deref()).await.map_err(CopyError::Source)?;
    while let Some(last) = batch.last() {
        after = Some(table.key_of(last));
        let count = batch.len() as u64;
        let write = target.append(table, std::mem::take(&mut batch));
        let read = read_batch(source, table, after.as_deref());
        let (written, next) = tokio::join!(write, read);
        written.map_err(CopyError::Target)?;
        batch = next.map_err(CopyError::Source)?;
        done += count;
        tell(done);
    }
    Ok(())
}

async fn read_batch(
    source: &dyn CopySource,
    table: &PlannedTable,
    after: Option<&[Cell]>,
) -> Result<Vec<CopyRow>, Trouble> {
    let mut after = after.map(<[Cell]>::to_vec);
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
        let page = source.page(table, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(table.key_of(last));
        let ended = page.len() < PAGE;
        bytes += page.iter().flatten().map(size).sum::<usize>();
        batch.extend(page);
        if ended {
            break;
        }
    }
    Ok(batch)
}

fn size(cell: &Cell) -> usize {
    match cell {
        Cell::Null => 1,
        Cell::Integer(_) => 8,
        Cell::Bytes(bytes) => bytes.len(),
    }
}

/// Reads both sides again, by their keys, and compares counts and digests.
async fn compare(
    source: &dyn CopySource,
    target: &dyn CopyTarget,
    tables: &[PlannedTable],
    total: u64,
    tell: &mut (dyn FnMut(CopyProgress) + Send),
) -> Result<Vec<CopiedTable>, CopyError> {
    let (mut done, mut same, mut different) = (0, Vec::new(), Vec::new());
    for table in tables {
        let (mut from, mut to) = (Summary::default(), Summary::default());
        while !(from.ended && to.ended) {
            tell(CopyProgress {
                stage: CopyStage::Comparing,
                table: table.name,
                done: done + from.row_count,
                total,
            });
            let (read, written) = tokio::join!(from.add_page(source, table), to.add_page(target, table));
            read.map_err(CopyError::Source)?;
            written.map_err(CopyError::Target)?;
        }
        done += from.row_count;
        let (source_rows, target_rows) = (from.row_count, to.row_count);
        let (digest, found) = (from.digest(), to.digest());
        if source_rows != target_rows {
            different.push(format!("{} has {source_rows} rows and {target_rows} in the target", table.name));
        } else if digest != found {
            different.push(format!("rows of {} have other values in the target", table.name));
        } else {
            same.push(CopiedTable { name: table.name, row_count: source_rows, digest });
        }
    }
    if different.is_empty() { Ok(same) } else { Err(CopyError::Different(different)) }
}

/// Count and digest of the rows of a table so far.
#[derive(Default)]
struct Summary {
    row_count: u64,
    hash: Sha256,
    after: Option<Vec<Cell>>,
    ended: bool,
}

impl Summary {
    /// Adds the rows of the next page.
    async fn add_page(&mut self, store: &dyn CopySource, table: &PlannedTable) -> Result<(), Trouble> {
        if self.ended {
            return Ok(());
        }
        let page = store.page(table, self.after.as_deref(), PAGE).await?;
        for row in &page {
            for cell in row {
                self.add(cell);
            }
        }
        self.row_count += page.len() as u64;
        self.ended = page.len() < PAGE;
        self.after = page.last().map(|row| table.key_of(row));
        Ok(())
    }

    /// Each cell with its kind and length, so that no two rows look alike.
    fn add(&mut self, cell: &Cell) {
        match cell {
            Cell::Null => self.hash.update([0]),
            Cell::Integer(number) => {
                self.hash.update([1]);
                self.hash.update(number.to_be_bytes());
            }
            Cell::Bytes(bytes) => {
                self.hash.update([2]);
                self.hash.update((bytes.len() as u64).to_be_bytes());
                self.hash.update(bytes);
            }
        }
    }

    fn digest(self) -> String {
        self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The target may be further than the source, never behind.
fn check_numbers(source: &LastNumbers, target: &LastNumbers) -> Result<(), CopyError> {
    let behind = |(name, number): (&String, &i64)| {
        let found = target.get(name)?;
        (found < number).then(|| format!("the last number of {name} is {number}, and {found} in the target"))
    };
    let behind: Vec<String> = source.iter().filter_map(behind).collect();
    if behind.is_empty() { Ok(()) } else { Err(CopyError::Different(behind)) }
}
