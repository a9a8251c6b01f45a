//! Merges the layers of settings: defaults, file, environment, command line.
//!
//! Each setting of a layer is first tried alone on top of the defaults. So one start reports every problem,
//! each with its key and where it was set.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use super::Config;
use crate::exit::WrongUsage;

/// The defaults.
const DEFAULTS: &str = include_str!("../../../../config.default.toml");

/// The prefix of environment variables with settings, and the separator in their names.
const PREFIX: &str = "PUNCTUAL_";
const SEPARATOR: &str = "__";

/// Settings that are lists of sections, which only a file can have.
const LISTS_OF_SECTIONS: [&str; 1] = ["auth.issuers"];

/// A setting of the command line, which is above all others.
pub(crate) struct Override {
    /// The option by which it is given.
    pub(crate) option: &'static str,
    pub(crate) section: &'static str,
    pub(crate) key: &'static str,
    pub(crate) value: String,
}

/// The settings in the environment of this process, by name.
pub(crate) fn environment() -> Result<Vec<(String, String)>, WrongUsage> {
    let mut found = Vec::new();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.into_string().ok().filter(|name| path_of(name).is_some()) else { continue };
        let value = value.into_string();
        let value = value.map_err(|_| WrongUsage(format!("environment variable {name}: is not UTF-8")))?;
        found.push((name, value));
    }
    found.sort();
    Ok(found)
}

/// Merges the layers, or reports every problem.
pub(crate) fn load(
    file: Option<&Path>,
    environment: Vec<(String, String)>,
    overrides: Vec<Override>,
) -> Result<Config, WrongUsage> {
    let mut layers = Layers::new();
    if let Some(path) = file {
        layers.add_table(&[], read_file(path)?, Source::File(path));
    }
    for (name, text) in environment {
        if let Some(path) = path_of(&name) {
            layers.add_text(&path, &text, Source::Variable(&name));
        }
    }
    for Override { option, section, key, value } in overrides {
        layers.add_text(&[section.to_owned(), key.to_owned()], &value, Source::Option(option));
    }
    layers.finish()
}

/// Where a setting was made.
#[derive(Clone, Copy)]
enum Source<'a> {
    File(&'a Path),
    Variable(&'a str),
    Option(&'a str),
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "in {}", path.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Option(option) => write!(f, "option {option}"),
        }
    }
}

/// The settings merged so far.
struct Layers {
    defaults: Table,
    settings: Table,
    problems: Vec<String>,
}

impl Layers {
    fn new() -> Self {
        let defaults: Table = DEFAULTS.parse().expect("the defaults are TOML: a test reads them");
        Self { settings: defaults.clone(), defaults, problems: Vec::new() }
    }

    /// Adds the settings of a table, which is at `above`.
    fn add_table(&mut self, above: &[String], table: Table, source: Source<'_>) {
        for (name, value) in table {
            let path = [above, &[name]].concat();
            match (find(&self.defaults, &path), value) {
                (Some(Value::Table(_)), Value::Table(inner)) => self.add_table(&path, inner, source),
                (_, value) => self.add(&path, Ok(value), source),
            }
        }
    }

    /// Adds a setting that is written as text, which is read as the type of its default.
    fn add_text(&mut self, path: &[String], text: &str, source: Source<'_>) {
        let value = match find(&self.defaults, path) {
            Some(_) if is_list_of_sections(path) => {
                Err(format!("must be in a file, as sections [[{}]]", path.join(".")))
            }
            Some(default) => typed(default, text),
            // There is no such setting, whatever its value.
            None => Ok(Value::String(text.to_owned())),
        };
        self.add(path, value, source);
    }

    fn add(&mut self, path: &[String], value: Result<Value, String>, source: Source<'_>) {
        let checked = value.and_then(|value| self.check(path, &value).map(|()| value));
        match checked {
            Ok(value) => put(&mut self.settings, path, value),
            Err(why) => self.problems.push(format!("{}: {why} ({source})", path.join("."))),
        }
    }

    /// Checks that a setting can be used while all others have their defaults.
    fn check(&self, path: &[String], value: &Value) -> Result<(), String> {
        let Some(default) = find(&self.defaults, path) else {
            return Err("there is no such setting; config.default.toml lists them all".to_owned());
        };
        if is_list_of_sections(path) {
            let sections = value.as_array().is_some_and(|items| items.iter().all(Value::is_table));
            if !sections {
                return Err(format!("must be sections [[{}]], not {}", path.join("."), article(value)));
            }
        } else if !fits(default, value) {
            return Err(format!("must be {}, not {}", wanted(default), article(value)));
        }
        let mut alone = self.defaults.clone();
        put(&mut alone, path, value.clone());
        read(alone).map(drop).map_err(|why| match value {
            // Serde's message for a number that the type can't hold.
            Value::Integer(number) if why.starts_with("invalid value") => {
                let range = if *number < 0 { "must be 0 or more, not" } else { "too large:" };
                format!("{range} {number}")
            }
            _ => why,
        })
    }

    fn finish(self) -> Result<Config, WrongUsage> {
        if !self.problems.is_empty() {
            return Err(WrongUsage::of_settings(&self.problems));
        }
        read(self.settings).map_err(|why| WrongUsage(format!("the settings are not usable: {why}")))
    }
}

fn is_list_of_sections(path: &[String]) -> bool {
    LISTS_OF_SECTIONS.contains(&path.join(".").as_str())
}

fn read_file(path: &Path) -> Result<Table, WrongUsage> {
    let wrong =
        |why: String| WrongUsage(format!("could not use the configuration {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    text.parse().map_err(|error: toml::de::Error| {
        // Its own words show the line, which may have a password in it.
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map(|before| format!("line {}: ", before.matches('\n').count() + 1));
        wrong(format!("{}{}", line.unwrap_or_default(), error.message()))
    })
}

fn read(settings: Table) -> Result<Config, String> {
    Config::deserialize(Value::Table(settings)).map_err(|error| error.message().to_owned())
}

/// The path of the setting that an environment variable names, such as `server.listen`.
fn path_of(name: &str) -> Option<Vec<String>> {
    let name = name.strip_prefix(PREFIX)?;
    name.contains(SEPARATOR).then(|| name.split(SEPARATOR).map(str::to_lowercase).collect())
}

fn find<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(first)?, |value, name| value.get(name))
}

/// Replaces an existing setting.
fn put(table: &mut Table, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    let mut place = table.get_mut(first);
    for name in rest {
        place = place.and_then(|value| value.get_mut(name));
    }
    if let Some(place) = place {
        *place = value;
    }
}

/// Converts a text to the type of the default.
fn typed(default: &Value, text: &str) -> Result<Value, String> {
    let value = match default {
        Value::String(_) => Some(Value::String(text.to_owned())),
        Value::Integer(_) => text.parse().map(Value::Integer).ok(),
        Value::Float(_) => text.parse().map(Value::Float).ok(),
        Value::Boolean(_) => text.parse().map(Value::Boolean).ok(),
        // A list is written with commas.
        Value::Array(_) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Some(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        Value::Table(_) | Value::Datetime(_) => None,
    };
    value.ok_or_else(|| format!("must be {}", wanted(default)))
}

/// Whether a value has the type of the default.
fn fits(default: &Value, value: &Value) -> bool {
    match (default, value) {
        (Value::Float(_), Value::Integer(_)) => true,
        (Value::Array(_), Value::Array(items)) => items.iter().all(Value::is_str),
        _ => default.same_type(value),
    }
}

fn wanted(default: &Value) -> String {
    match default {
        Value::String(text) if text.is_empty() => "a string".to_owned(),
        Value::String(_) => format!("a string such as {default}"),
        Value::Integer(_) => format!("a whole number such as {default}"),
        Value::Float(_) => format!("a number such as {default}"),
        Value::Boolean(_) => "true or false".to_owned(),
        Value::Array(_) => "a list of strings".to_owned(),
        Value::Table(_) => "a section with settings in it".to_owned(),
        Value::Datetime(_) => "a date".to_owned(),
    }
}

fn article(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list of something else",
        Value::Table(_) => "a section",
        Value::Datetime(_) => "a date",
    }
}

#[cfg(test)]
mod tests;
