//! Plays a history on both stores, and shrinks one that fails.

use std::fmt::Write;

use crate::op::Op;
use crate::world::{Backing, Ending, play};

/// The result of a history.
#[derive(Debug)]
pub enum PlayResult {
    /// Everything is as it must be.
    Right(Ending),
    /// Something is wrong.
    Wrong {
        /// The store; none if the stores differ.
        backing: Option<Backing>,
        /// After which operation.
        at: usize,
        /// What is wrong.
        problems: Vec<String>,
    },
}

impl PlayResult {
    /// Whether something is wrong.
    pub fn wrong(&self) -> bool {
        matches!(self, Self::Wrong { .. })
    }
}

/// Plays a history on each of some stores, which must come to the same result.
pub fn play_on_each(ops: &[Op], backings: &[Backing]) -> PlayResult {
    let mut first: Option<Ending> = None;
    for backing in backings {
        match (play(ops, *backing), &first) {
            (Err(failure), _) => {
                let (at, problems) = (failure.at, failure.problems);
                return PlayResult::Wrong { backing: Some(*backing), at, problems };
            }
            // Nodes with leases share the slots of a target, so that they come to the same at other times.
            (Ok(_), Some(_)) if *backing == Backing::Leased => {}
            (Ok(ending), Some(first)) if ending != *first => {
                let problems = vec![format!("the stores differ:\n{first:#?}\n{ending:#?}")];
                return PlayResult::Wrong { backing: None, at: ops.len(), problems };
            }
            (Ok(ending), _) => first = Some(ending),
        }
    }
    PlayResult::Right(first.expect("there is a store to play on"))
}

/// Shrinks a history that fails: removes whatever is not needed for it to fail (delta debugging).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::history;
    use crate::op::words::*;

    #[test]
    fn only_what_is_needed_is_left() {
        let noise = history(3);
        let ops = [&noise[..], &[CrashAll], &noise[..], &[Resume(9)], &noise[..]].concat();
        let wrong = |ops: &[Op]| {
            let crash = ops.iter().position(|op| *op == CrashAll);
            crash.is_some_and(|at| ops[at..].contains(&Resume(9)))
        };
        assert_eq!(shrink(&ops, wrong), [CrashAll, Resume(9)]);
    }

    #[test]
    fn a_history_is_printed_in_the_words_of_a_test() {
        let sketch = Sketch {
            start: Some(-2),
            every: Some((3, Hour)),
            count: None,
            end: None,
            on: true,
            retry: Fixed(15, 2),
            errors: 1,
        };
        let ops = [Put(0, sketch), Patch(0, Retry(Never)), Fault(Settle, After, Busy), TickTo(1, Fired)];
        let text = print_test(&ops, &["j0: is lost".into()]);
        for line in [
            "    // j0: is lost",
            "        Put(0, Sketch { start: Some(-2), every: Some((3, Hour)), count: None, end: None, on: true, retry: Fixed(15, 2), errors: 1 }),",
            "        Patch(0, Retry(Never)),",
            "        Fault(Settle, After, Busy),",
            "        TickTo(1, Fired),",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
        }
    }
}
