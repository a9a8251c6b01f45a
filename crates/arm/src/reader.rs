//! Reads JSON and collects all its problems.
//!
//! A reader does not stop at the first mistake: it adds the problem with its path, goes on without the member,
//! and the caller asks for the problems at the end. Paths are linked lists on the stack and become text only
//! for a report. `null` equals absent.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::{Problem, parse_instant, parse_span};

use crate::json::{Json, Members};

/// The most characters of a caller's text that a problem repeats.
const SHOWN_CHARS_MAX: usize = 80;

/// The most members of a map whose names are the caller's own; every use of one has a lower limit.
const MAP_LENGTH_MAX: usize = 1000;

/// Where a value is in a document.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Path::Root, name) => f.write_str(name),
            Self::Member(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// The problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn add(&mut self, path: Path<'_>, message: impl Into<String>) {
        self.0.push(Problem::new(path.to_string(), message));
    }

    /// Adds a problem whose path is a text already.
    pub(crate) fn add_at(&mut self, path: &str, message: impl Into<String>) {
        self.0.push(Problem::new(path, message));
    }

    /// Takes over problems whose paths are relative to `parent`.
    pub(crate) fn add_below(&mut self, parent: Path<'_>, problems: Vec<Problem>) {
        let parent = parent.to_string();
        self.0.extend(problems.into_iter().map(|problem| problem.below(&parent)));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}

/// A JSON object that is being read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'a> {
    members: &'a Members<'a>,
    path: Path<'a>,
}

impl<'a> Object<'a> {
    /// The value as an object, or a problem.
    pub(crate) fn of(value: &'a Json<'a>, path: Path<'a>, problems: &mut Problems) -> Option<Self> {
        let members = value.as_object();
        if members.is_none() {
            problems.add(path, format!("must be an object, not {}", kind(value)));
        }
        members.map(|members| Self { members, path })
    }

    pub(crate) fn path(&self) -> Path<'a> {
        self.path
    }

    /// A member's path.
    pub(crate) fn at<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path::Member(&self.path, name)
    }

    /// A member; none if it is absent or null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Json<'a>> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// Whether a member is null, which asks to remove it.
    pub(crate) fn nulled(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(Json::is_null)
    }

    pub(crate) fn note(&self, name: &str, message: impl Into<String>, problems: &mut Problems) {
        problems.add(Path::Member(&self.path, name), message);
    }

    pub(crate) fn text(&self, name: &str, problems: &mut Problems) -> Option<&'a str> {
        let value = self.get(name)?;
        if value.as_str().is_none() {
            self.note(name, format!("must be a string, not {}", kind(value)), problems);
        }
        value.as_str()
    }

    pub(crate) fn required_text(&self, name: &str, problems: &mut Problems) -> Option<&'a str> {
        if self.get(name).is_none() {
            self.note(name, "is required", problems);
        }
        self.text(name, problems)
    }

    pub(crate) fn boolean(&self, name: &str, problems: &mut Problems) -> Option<bool> {
        let value = self.get(name)?;
        if value.as_bool().is_none() {
            self.note(name, format!("must be true or false, not {}", kind(value)), problems);
        }
        value.as_bool()
    }

    pub(crate) fn integer(&self, name: &str, problems: &mut Problems) -> Option<i64> {
        integer(self.get(name)?, Path::Member(&self.path, name), problems)
    }

    pub(crate) fn instant(&self, name: &str, problems: &mut Problems) -> Option<Timestamp> {
        instant(self.get(name)?, Path::Member(&self.path, name), problems)
    }

    pub(crate) fn span(&self, name: &str, problems: &mut Problems) -> Option<SignedDuration> {
        let text = self.text(name, problems)?;
        match parse_span(text) {
            Ok(span) => Some(span),
            Err(malformed) => {
                self.note(name, format!("'{}' {malformed}", shown(text)), problems);
                None
            }
        }
    }

    /// A member whose value is one of some names, in any letter case.
    pub(crate) fn name_of<T: Copy>(
        &self,
        name: &str,
        known: &[(&str, T)],
        problems: &mut Problems,
    ) -> Option<T> {
        let text = self.text(name, problems)?;
        let found = known.iter().find(|(one, _)| one.eq_ignore_ascii_case(text));
        if found.is_none() {
            let names: Vec<_> = known.iter().map(|(one, _)| *one).collect();
            let message = format!("'{}' is not one of {}", shown(text), names.join(", "));
            self.note(name, message, problems);
        }
        found.map(|(_, value)| *value)
    }

    /// A member that is a map from strings to strings.
    pub(crate) fn texts(&self, name: &str, problems: &mut Problems) -> Vec<(String, String)> {
        let Some(value) = self.get(name) else { return Vec::new() };
        let path = Path::Member(&self.path, name);
        let Some(map) = Object::of(value, path, problems) else { return Vec::new() };
        if map.members.len() > MAP_LENGTH_MAX {
            let message = format!("must have at most {MAP_LENGTH_MAX} members, not {}", map.members.len());
            problems.add(path, message);
            return Vec::new();
        }
        let mut texts: Vec<(String, String)> = Vec::with_capacity(map.members.len());
        for (key, _) in map.members.iter() {
            if let Some(text) = map.text(key, problems)
                && !texts.iter().any(|(seen, _)| seen == key)
            {
                texts.push((key.to_owned(), text.to_owned()));
            }
        }
        texts
    }

    /// The elements of a member that is an array; a bare value counts as an array of one.
    pub(crate) fn items(&self, name: &str) -> &'a [Json<'a>] {
        match self.get(name) {
            None => &[],
            Some(Json::List(items)) => items,
            Some(one) => std::slice::from_ref(one),
        }
    }
}

/// Parses a body as JSON; the error says where it stops being JSON. A byte order mark at the start is skipped.
///
/// The parser's own message may quote the body, and so a secret: only the position is reported.
fn parse(body: &[u8]) -> Result<Json<'_>, String> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    if body.trim_ascii().is_empty() {
        return Err("the body is empty".to_owned());
    }
    serde_json::from_slice(body)
        .map_err(|error| format!("the body is not JSON (line {} column {})", error.line(), error.column()))
}

/// A body as a JSON object.
pub(crate) fn parse_object(body: &[u8]) -> Result<Json<'_>, String> {
    let document = parse(body)?;
    if document.as_object().is_some() {
        return Ok(document);
    }
    Err(format!("the body must be an object, not {}", kind(&document)))
}

/// An integer; a number whose fraction is zero counts as one.
pub(crate) fn integer(value: &Json<'_>, path: Path<'_>, problems: &mut Problems) -> Option<i64> {
    let whole = match value {
        Json::Integer(whole) => Some(*whole),
        // Up to 2^53 a float holds every integer exactly.
        Json::Float(number) if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 => {
            Some(*number as i64)
        }
        _ => None,
    };
    if whole.is_none() {
        let what = if matches!(value, Json::Float(_)) { "a whole number" } else { "a number" };
        problems.add(path, format!("must be {what}, not {}", kind(value)));
    }
    whole
}

/// An instant as text.
pub(crate) fn instant(value: &Json<'_>, path: Path<'_>, problems: &mut Problems) -> Option<Timestamp> {
    let Some(text) = value.as_str() else {
        problems.add(path, format!("must be a date and time as a string, not {}", kind(value)));
        return None;
    };
    match parse_instant(text) {
        Ok(instant) => Some(instant),
        Err(malformed) => {
            problems.add(path, format!("'{}' {malformed}", shown(text)));
            None
        }
    }
}

/// The type of a value, for people. Never the value itself: it may be a secret.
pub(crate) fn kind(value: &Json<'_>) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Float(_) => "a number with a fraction",
        Json::Integer(_) => "a number",
        Json::Text(_) => "a string",
        Json::List(_) => "an array",
        Json::Object(_) => "an object",
    }
}

/// A caller's text, cut to the length that a message may repeat.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
