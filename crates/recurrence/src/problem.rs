//! What is wrong with a rule, and where.

use std::fmt;

/// One problem of an input: the JSON path of the member at fault, and a sentence a person can act on.
///
/// ```
/// use punctual_recurrence::{Frequency, Rule};
///
/// let problems = Rule::every(0, Frequency::Day).check().unwrap_err();
/// assert_eq!(problems[0].path, "interval");
/// assert_eq!(problems[0].to_string(), "interval: must be from 1 to 548 with frequency day, not 0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, below the object that was checked: `schedule.hours[1]`. Empty for the object itself.
    pub path: String,
    /// What is wrong and what would be right, in lower case and without a full stop.
    pub message: String,
}

impl Problem {
    /// A problem at a path.
    ///
    /// ```
    /// use punctual_recurrence::Problem;
    ///
    /// assert_eq!(Problem::new("count", "must be positive").to_string(), "count: must be positive");
    /// ```
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// The same problem seen from an enclosing object.
    ///
    /// ```
    /// use punctual_recurrence::Problem;
    ///
    /// assert_eq!(Problem::new("count", "is odd").below("properties.recurrence").path, "properties.recurrence.count");
    /// assert_eq!(Problem::new("", "is odd").below("recurrence").path, "recurrence");
    /// ```
    #[must_use]
    pub fn below(self, parent: &str) -> Self {
        let path = match (parent, self.path.as_str()) {
            ("", path) => path.to_owned(),
            (parent, "") => parent.to_owned(),
            (parent, path) if path.starts_with('[') => format!("{parent}{path}"),
            (parent, path) => format!("{parent}.{path}"),
        };
        Self { path, message: self.message }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for Problem {}
