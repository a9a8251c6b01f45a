//! The log filter: which log lines are written.
//!
//! A filter is a level, or a list with commas: a level for everything, and `target=level` for a module and
//! those below it. A bare word that is no level is refused. Log libraries take it as the name of a module, so
//! that a misspelt level would silence everything else.

use serde::Deserialize;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

use super::read;

/// `off` is a level, too, but messages don't suggest it.
const LEVELS: [(&str, LevelFilter); 5] = [
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// A filter that was checked.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(try_from = "String")]
pub(crate) struct LogFilter(Targets);

impl LogFilter {
    pub(crate) fn targets(&self) -> Targets {
        self.0.clone()
    }
}

impl TryFrom<String> for LogFilter {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut targets = Targets::new();
        for part in text.split(',').map(str::trim) {
            targets = match part.split_once('=') {
                None => targets.with_default(level(part, &text)?),
                Some((target, word)) if is_path(target) => targets.with_target(target, level(word, part)?),
                Some((target, _)) => {
                    return Err(format!(
                        "'{target}' in '{part}' is not the name of a module; write for example punctual_api=debug"
                    ));
                }
            };
        }
        Ok(Self(targets))
    }
}

/// The level of a word in a filter.
fn level(word: &str, within: &str) -> Result<LevelFilter, String> {
    if word.eq_ignore_ascii_case("off") {
        return Ok(LevelFilter::OFF);
    }
    let known = LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    known.map(|(_, level)| *level).ok_or_else(|| {
        let shown = if word == within { format!("'{word}'") } else { format!("'{word}' in '{within}'") };
        read::unknown("level", &shown, LEVELS.iter().map(|(name, _)| *name))
    })
}

/// Whether a text can be the path of a module, such as `punctual_api::router`.
fn is_path(text: &str) -> bool {
    let named = |part: &str| {
        !part.is_empty() && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter))
    };
    text.split("::").all(named)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    fn read(text: &str) -> Result<Targets, String> {
        LogFilter::try_from(text.to_owned()).map(|filter| filter.targets())
    }

    #[test]
    fn a_filter_is_a_level_and_levels_of_modules() {
        let filter = read("warn, punctual_api=debug,h2=off").unwrap();
        let check = |target: &str, level: Level, expected| {
            assert_eq!(filter.would_enable(target, &level), expected, "{target} {level}");
        };
        check("punctual_runner", Level::WARN, true);
        check("punctual_runner", Level::INFO, false);
        check("punctual_api::router", Level::DEBUG, true);
        check("punctual_api::router", Level::TRACE, false);
        check("h2", Level::ERROR, false);
        for level in ["error", "warn", "info", "debug", "trace", "INFO", "off"] {
            assert!(read(level).is_ok(), "{level}");
        }
    }

    #[test]
    fn what_is_no_level_is_refused_with_the_part_that_is_wrong() {
        let check = |text: &str, expected: &str| assert_eq!(read(text).unwrap_err(), expected, "{text}");
        check("verbose", "unknown level 'verbose'; use error, warn, info, debug or trace");
        check("", "unknown level ''; use error, warn, info, debug or trace");
        check("5", "unknown level '5'; use error, warn, info, debug or trace");
        check("punctual_api", "unknown level 'punctual_api'; use error, warn, info, debug or trace");
        check(
            "info,punctual_api=verbose",
            "unknown level 'verbose' in 'punctual_api=verbose'; use error, warn, info, debug or trace",
        );
        check("info,", "unknown level '' in 'info,'; use error, warn, info, debug or trace");
        check(
            "info,a b=debug",
            "'a b' in 'a b=debug' is not the name of a module; write for example punctual_api=debug",
        );
        check(
            "[span]=debug",
            "'[span]' in '[span]=debug' is not the name of a module; write for example punctual_api=debug",
        );
    }
}
