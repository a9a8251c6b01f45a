//! Seals entries as pieces of a chain, and finds what does not fit.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

use super::AuditKey;
use crate::instant::to_ticks;

/// The bytes of an entry in a piece: its number and its code.
const ROW: usize = 8 + 16;

/// Some entries that were sealed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditPiece {
    /// Its place in the chain, from 1.
    pub number: i64,
    /// When it was sealed.
    pub sealed_at: Timestamp,
    /// For each entry its number, big endian, and its code.
    pub rows: Vec<u8>,
    /// The code over all that, and over the code of the piece before.
    pub code: Vec<u8>,
}

impl AuditPiece {
    /// The entries with their codes.
    fn entries(&self) -> impl Iterator<Item = (i64, &[u8])> {
        self.rows.chunks_exact(ROW).map(|row| {
            let mut number = [0; 8];
            number.copy_from_slice(&row[..8]);
            (i64::from_be_bytes(number), &row[8..])
        })
    }

    /// How many entries it has.
    pub fn entry_count(&self) -> usize {
        self.rows.len() / ROW
    }

    /// The numbers of its first and last entry.
    pub fn range(&self) -> Option<(i64, i64)> {
        let numbers = || self.entries().map(|(number, _)| number);
        Some((numbers().min()?, numbers().max()?))
    }

    fn code_over(&self, key: &AuditKey, before: &[u8]) -> [u8; 16] {
        let (number, sealed_at) = (self.number.to_be_bytes(), to_ticks(self.sealed_at).to_be_bytes());
        key.code(&[b"piece", &number, &sealed_at, before, &self.rows])
    }
}

/// Seals entries, given as number and stored bytes. `last` are number and code of the piece before, or the anchor.
pub fn seal_piece<'a>(
    key: &AuditKey,
    last: Option<(i64, &[u8])>,
    sealed_at: Timestamp,
    entries: impl Iterator<Item = (i64, &'a [u8])>,
) -> AuditPiece {
    let mut rows = Vec::new();
    for (number, document) in entries {
        rows.extend_from_slice(&number.to_be_bytes());
        rows.extend_from_slice(&row_code(key, number, document));
    }
    let (number, before) = last.unwrap_or((0, &[]));
    let mut piece = AuditPiece { number: number + 1, sealed_at, rows, code: Vec::new() };
    piece.code = piece.code_over(key, before).to_vec();
    piece
}

fn row_code(key: &AuditKey, number: i64, document: &[u8]) -> [u8; 16] {
    key.code(&[b"entry", &number.to_be_bytes(), document])
}

/// What does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditProblem {
    /// An entry is not what it was when it was sealed.
    Changed {
        /// Which.
        entry: i64,
    },
    /// An entry that was sealed is not there.
    Missing {
        /// Which.
        entry: i64,
    },
    /// An entry was put in where everything was sealed already.
    Added {
        /// Which.
        entry: i64,
    },
    /// A piece of the chain is not what it was, or the one before it is not the one that it followed.
    PieceChanged {
        /// Which.
        piece: i64,
    },
    /// A piece of the chain is not there.
    PieceMissing {
        /// Which.
        piece: i64,
    },
}

impl fmt::Display for AuditProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { entry } => write!(f, "entry {entry} was changed after it was sealed"),
            Self::Missing { entry } => write!(f, "entry {entry} is missing"),
            Self::Added { entry } => write!(f, "entry {entry} was put in later"),
            Self::PieceChanged { piece } => {
                write!(f, "piece {piece} of the chain was changed, or does not follow the one before it")
            }
            Self::PieceMissing { piece } => write!(f, "piece {piece} of the chain is missing"),
        }
    }
}

/// What a part of the chain shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditVerification {
    /// How many entries were checked.
    pub checked: usize,
    /// What does not fit.
    pub problems: Vec<AuditProblem>,
    /// The last piece that was looked at; go on behind it. None if the chain ends here.
    pub next: Option<i64>,
    /// How many entries are not sealed yet; told at the end of the chain.
    pub unsealed: usize,
    /// The last piece and its code; told at the end of the chain. Kept elsewhere, it shows later whether the end was
    /// cut off.
    pub head: Option<(i64, String)>,
}

/// Checks a piece. `last` are number and code of the piece before, or the anchor; `entries` are all that are there from the
/// first to the last number of the piece.
pub fn verify_piece(
    key: &AuditKey,
    last: Option<(i64, &[u8])>,
    piece: &AuditPiece,
    mut entries: BTreeMap<i64, Vec<u8>>,
    found: &mut AuditVerification,
) {
    let (number, before) = last.unwrap_or((0, &[]));
    for missing in (number + 1..piece.number).take(100) {
        found.problems.push(AuditProblem::PieceMissing { piece: missing });
    }
    if piece.number == number + 1 && piece.code_over(key, before) != *piece.code {
        found.problems.push(AuditProblem::PieceChanged { piece: piece.number });
    }
    for (entry, code) in piece.entries() {
        found.checked += 1;
        match entries.remove(&entry) {
            None => found.problems.push(AuditProblem::Missing { entry }),
            Some(document) if row_code(key, entry, &document) != *code => {
                found.problems.push(AuditProblem::Changed { entry });
            }
            Some(_) => {}
        }
    }
    found.problems.extend(entries.into_keys().map(|entry| AuditProblem::Added { entry }));
}
