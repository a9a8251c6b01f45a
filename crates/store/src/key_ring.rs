//! The keys that seal secrets, and their text form.
//!
//! ```text
//! punctual keys 1
//! # a comment
//! 1 4f1c…(64 hex digits)
//! 2 9b07…
//! ```
//!
//! The first line names the format. Each key has a number; the highest one seals, all of them open, so a key is
//! rotated by adding a line. Callers read and write the file.

use std::fmt;

use punctual_model::RandomSource;
use thiserror::Error;

const HEADER: &str = "punctual keys 1";
const KEY_LENGTH: usize = 32;

/// One or more 256-bit keys, each with its id.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRing {
    /// Ascending by id, never empty.
    keys: Vec<(u32, [u8; KEY_LENGTH])>,
}

/// What is wrong with a text of keys: every problem, by line, never the content of a line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("not a key file: {}", .problems.join("; "))]
pub struct KeyRingError {
    /// One sentence each.
    pub problems: Vec<String>,
}

impl KeyRing {
    /// A ring with one new key. The random source must be unpredictable.
    pub fn generate(random: &dyn RandomSource) -> Self {
        Self { keys: vec![(1, random_key(random))] }
    }

    /// The same ring with a new key that seals from now on.
    #[cfg(any(test, feature = "conformance"))]
    #[must_use]
    pub fn rotated(&self, random: &dyn RandomSource) -> Self {
        let mut keys = self.keys.clone();
        keys.push((self.newest() + 1, random_key(random)));
        Self { keys }
    }

    /// Reads a ring, or reports every problem of the text.
    pub fn parse(text: &str) -> Result<Self, KeyRingError> {
        let mut problems = Vec::new();
        let mut keys: Vec<(u32, [u8; KEY_LENGTH])> = Vec::new();
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        if lines.next().is_none_or(|(_, line)| line != HEADER) {
            problems.push(format!("line 1: must be \"{HEADER}\""));
        }
        for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            match parse_line(line) {
                Err(problem) => problems.push(format!("line {number}: {problem}")),
                Ok((id, _)) if keys.iter().any(|(one, _)| *one == id) => {
                    problems.push(format!("line {number}: key {id} is there twice"));
                }
                Ok(key) => keys.push(key),
            }
        }
        if keys.is_empty() && problems.is_empty() {
            problems.push("there is no key in it".to_owned());
        }
        if !problems.is_empty() {
            return Err(KeyRingError { problems });
        }
        keys.sort_by_key(|(id, _)| *id);
        Ok(Self { keys })
    }

    /// The text of the ring. Keep it readable by its owner only: it opens all secrets.
    pub fn render(&self) -> String {
        let line = |(id, key): &(u32, [u8; KEY_LENGTH])| format!("{id} {}\n", hex(key));
        let keys: String = self.keys.iter().map(line).collect();
        format!(
            "{HEADER}\n# The highest number seals, all of them open. Losing this file loses the secrets.\n{keys}"
        )
    }

    /// The id of the key that seals.
    pub fn newest(&self) -> u32 {
        self.keys.last().map(|(id, _)| *id).expect("a ring has a key")
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = (u32, &[u8; KEY_LENGTH])> {
        self.keys.iter().map(|(id, key)| (*id, key))
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRing({} keys, newest {})", self.keys.len(), self.newest())
    }
}

impl Drop for KeyRing {
    /// Overwrites the keys, as far as that is possible without `unsafe`.
    fn drop(&mut self) {
        self.keys.iter_mut().for_each(|(_, key)| key.fill(0));
        std::hint::black_box(&self.keys);
    }
}

fn random_key(random: &dyn RandomSource) -> [u8; KEY_LENGTH] {
    let mut key = [0; KEY_LENGTH];
    key[..16].copy_from_slice(&random.random().to_be_bytes());
    key[16..].copy_from_slice(&random.random().to_be_bytes());
    key
}

fn parse_line(line: &str) -> Result<(u32, [u8; KEY_LENGTH]), &'static str> {
    let (id, key) = line.split_once(char::is_whitespace).ok_or("must be a number and a key")?;
    // The highest number is left free, so that a ring can always be rotated.
    let id =
        id.parse().ok().filter(|id| (1..u32::MAX).contains(id)).ok_or("must begin with a number from 1")?;
    let digits = key.trim().as_bytes();
    if digits.len() != 2 * KEY_LENGTH {
        return Err("the key must have 64 hex digits");
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = [0; KEY_LENGTH];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let (high, low) = digit(pair[0]).zip(digit(pair[1])).ok_or("the key must have 64 hex digits")?;
        *byte = high << 4 | low;
    }
    Ok((id, bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes any text");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Counting;

    #[test]
    fn what_is_rendered_parses_again() {
        let random = Counting::default();
        let ring = KeyRing::generate(&random).rotated(&random);
        assert_eq!(KeyRing::parse(&ring.render()), Ok(ring));
    }

    #[test]
    fn every_problem_is_named_and_no_key_is_shown() {
        let key = "0f".repeat(32);
        let text = format!("keys\n1 {key}\n1 {key}\nx {key}\n3 {}zz\n4\n", &key[2..]);
        let error = KeyRing::parse(&text).unwrap_err();
        assert_eq!(
            error.problems,
            [
                "line 1: must be \"punctual keys 1\"",
                "line 3: key 1 is there twice",
                "line 4: must begin with a number from 1",
                "line 5: the key must have 64 hex digits",
                "line 6: must be a number and a key",
            ]
        );
        assert!(!error.to_string().contains("0f0f"));
    }

    #[test]
    fn a_text_without_keys_is_refused() {
        let check = |text: &str| assert!(KeyRing::parse(text).is_err(), "{text:?}");
        check("");
        check("punctual keys 1");
        check("punctual keys 2\n");
    }

    #[test]
    fn debug_shows_no_key() {
        let ring = KeyRing::parse(&format!("punctual keys 1\n5 {}", "ab".repeat(32))).unwrap();
        assert_eq!(format!("{ring:?}"), "KeyRing(1 keys, newest 5)");
    }
}
