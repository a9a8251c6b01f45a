//! Judging a history on both stores, and making one that fails short.

use std::fmt::Write;

use crate::op::Op;
use crate::world::{Backing, Ending, play};

/// What a history came to.
#[derive(Debug)]
pub enum Verdict {
    /// Everything is as it must be.
    Right(Ending),
    /// Something is not: on which store, after which operation, and what.
    Wrong {
        /// On which store; none if the stores differ.
        backing: Option<Backing>,
        /// After which operation.
        at: usize,
        /// What is wrong.
        problems: Vec<String>,
    },
}

impl Verdict {
    /// Whether something is wrong.
    pub fn wrong(&self) -> bool {
        matches!(self, Self::Wrong { .. })
    }
}

/// Plays a history on each of some stores; they must come to the same.
pub fn verdict(ops: &[Op], backings: &[Backing]) -> Verdict {
    let mut first: Option<Ending> = None;
    for backing in backings {
        match (play(ops, *backing), &first) {
            (Err(failure), _) => {
                let (at, problems) = (failure.at, failure.problems);
                return Verdict::Wrong { backing: Some(*backing), at, problems };
            }
            (Ok(ending), Some(first)) if ending != *first => {
                let problems = vec![format!("the stores differ:\n{first:#?}\n{ending:#?}")];
                return Verdict::Wrong { backing: None, at: ops.len(), problems };
            }
            (Ok(ending), _) => first = Some(ending),
        }
    }
    Verdict::Right(first.expect("there is a store to play on"))
}

/// Makes a history that fails short: leaves out whatever is not needed for it to fail (delta debugging).
pub fn shrink(ops: &[Op], wrong: impl Fn(&[Op]) -> bool) -> Vec<Op> {
    let mut short = ops.to_vec();
    let mut piece = short.len().div_ceil(2).max(1);
    loop {
        let mut from = 0;
        let mut removed = false;
        while from < short.len() {
            let mut without = short.clone();
            without.drain(from..(from + piece).min(short.len()));
            if wrong(&without) {
                short = without;
                removed = true;
            } else {
                from += piece;
            }
        }
        if piece == 1 && !removed {
            return short;
        }
        if !removed {
            piece = piece.div_ceil(2).max(1);
        }
    }
}

/// A history as a test for `tests/found`.
pub fn print_test(ops: &[Op], problems: &[String]) -> String {
    let mut text = String::from("#[test]\nfn name_the_claim_here() {\n");
    for problem in problems.iter().take(3) {
        let line = problem.lines().next().unwrap_or_default();
        let _ = writeln!(text, "    // {line}");
    }
    text.push_str("    check(&[\n");
    for op in ops {
        let _ = writeln!(text, "        {op:?},");
    }
    text.push_str("    ]);\n}\n");
    text
}
