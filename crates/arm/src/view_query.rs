//! Reads the queries of what views ask for, and tells everything that is wrong with one at once.

use std::fmt::Display;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use punctual_model::Scope;
use punctual_recurrence::parse_instant;

use crate::reader::shown;
use crate::{ApiError, Problem, Query, read_scope};

/// Reads a query and gathers its problems.
pub(crate) struct QueryReader<'a> {
    query: &'a Query,
    problems: Vec<Problem>,
}

impl<'a> QueryReader<'a> {
    pub(crate) fn new(query: &'a Query) -> Self {
        Self { query, problems: Vec::new() }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.query.get(name).filter(|text| !text.is_empty())
    }

    pub(crate) fn problem(&mut self, name: &str, message: impl Into<String>) {
        self.problems.push(Problem::new(name, message));
    }

    /// The scope; everything if none is given.
    pub(crate) fn scope(&mut self) -> Scope {
        let scope = self.text("scope").map(read_scope).transpose();
        scope
            .unwrap_or_else(|why| {
                self.problem("scope", why);
                None
            })
            .unwrap_or(Scope::Everything)
    }

    pub(crate) fn instant(&mut self, name: &str) -> Option<Timestamp> {
        let text = self.text(name)?;
        match parse_instant(text) {
            Ok(at) => Some(at),
            Err(why) => {
                self.problem(name, format!("'{}' {why}", shown(text)));
                None
            }
        }
    }

    /// One of some words, in any letter case.
    pub(crate) fn choice<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let found = choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        if found.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            self.problem(name, format!("must be {}, not '{}'", listed(&words), shown(text)));
        }
        found.map(|(_, value)| *value)
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        self.choice(name, &[("true", true), ("false", false)]).unwrap_or(false)
    }

    pub(crate) fn number(&mut self, name: &str, range: RangeInclusive<usize>) -> Option<usize> {
        let text = self.text(name)?;
        let number = text.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let (low, high) = (range.start(), range.end());
            self.problem(name, format!("must be from {low} to {high}, not '{}'", shown(text)));
        }
        number
    }

    /// What was read, or all problems.
    pub(crate) fn finish<T>(self, read: T) -> Result<T, ApiError> {
        if self.problems.is_empty() { Ok(read) } else { Err(ApiError::invalid(&self.problems)) }
    }
}

/// `a, b or c`.
fn listed(words: &[impl Display]) -> String {
    match words {
        [] => String::new(),
        [one] => one.to_string(),
        [others @ .., last] => {
            let others: Vec<String> = others.iter().map(ToString::to_string).collect();
            format!("{} or {last}", others.join(", "))
        }
    }
}
