//! The keys that seal secrets, and their text form.
//!
//! ```text
//! punctual keys 1
//! # a comment
//! 1 4f1c…(64 hex digits)
//! 2 9b07… 2026-11-17T09:30:00Z
//! ```
//!
//! The first line names the format. Each key has a number, and perhaps the time at which it was made; the highest number
//! seals, all of them open, so a key is rotated by adding a line. Where there are no lines, as in an environment
//! variable, commas are between the keys, and the first line may be left out. Callers read and write the text.

use std::fmt;

use jiff::Timestamp;
use punctual_model::{RandomSource, Secret};
use thiserror::Error;

const HEADER: &str = "punctual keys 1";
const KEY_LENGTH: usize = 32;
const COMMENT: &str = "# The highest number seals, all of them open. Losing this file loses the secrets.";

/// The most keys of a ring: more would be a mistake, and every start tries all of them.
const KEYS_MAX: usize = 100;

/// One or more 256-bit keys, each with its id.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRing {
    /// Ascending by id, never empty.
    keys: Vec<Key>,
}

#[derive(Clone, PartialEq, Eq)]
struct Key {
    id: u32,
    bytes: [u8; KEY_LENGTH],
    made_at: Option<Timestamp>,
}

impl Drop for Key {
    /// Overwrites the key, as far as that is possible without `unsafe`.
    fn drop(&mut self) {
        self.bytes.fill(0);
        std::hint::black_box(&self.bytes);
    }
}

/// What is wrong with a text of keys: every problem, by line, never the content of a line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}", .problems.join("; "))]
pub struct KeyRingError {
    /// One sentence each.
    pub problems: Vec<String>,
}

impl KeyRing {
    /// A ring with one new key. The random source must be unpredictable.
    pub fn generate(random: &dyn RandomSource) -> Self {
        Self { keys: vec![Key { id: 1, bytes: random_key(random), made_at: None }] }
    }

    /// A ring with one new key of this number, made now.
    pub fn generate_at(id: u32, made_at: Timestamp, random: &dyn RandomSource) -> Self {
        Self { keys: vec![Key { id, bytes: random_key(random), made_at: Some(made_at) }] }
    }

    /// The same ring with a new key that seals from now on. None if there is no number left.
    #[must_use]
    pub fn with_new_key(&self, made_at: Timestamp, random: &dyn RandomSource) -> Option<Self> {
        let id = self.newest().checked_add(1).filter(|id| *id < u32::MAX)?;
        if self.keys.len() >= KEYS_MAX {
            return None;
        }
        let mut keys = self.keys.clone();
        keys.push(Key { id, bytes: random_key(random), made_at: Some(made_at) });
        Some(Self { keys })
    }

    /// The same ring without a key. The newest stays.
    #[must_use]
    pub fn without(&self, id: u32) -> Self {
        let newest = self.newest();
        let keys = self.keys.iter().filter(|key| key.id != id || key.id == newest).cloned().collect();
        Self { keys }
    }

    /// The same ring with a new key that seals from now on.
    #[cfg(any(test, feature = "conformance"))]
    #[must_use]
    pub fn rotated(&self, random: &dyn RandomSource) -> Self {
        self.with_new_key(Timestamp::UNIX_EPOCH, random).expect("there are numbers left")
    }

    /// Reads a ring from the text of a file, or reports every problem of the text.
    pub fn parse(text: &str) -> Result<Self, KeyRingError> {
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let headed = lines.next().is_some_and(|(_, line)| line == HEADER);
        let problem = (!headed).then(|| format!("line 1: must be \"{HEADER}\""));
        Self::parse_keys(lines, "line", problem.into_iter().collect())
    }

    /// Reads a ring from a text that may have commas instead of lines, and that may lack the first line.
    pub fn parse_inline(text: &str) -> Result<Self, KeyRingError> {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#') && *line != HEADER);
        let parts = lines.flat_map(|line| line.split(',')).map(str::trim).filter(|part| !part.is_empty());
        Self::parse_keys(parts.enumerate().map(|(index, part)| (index + 1, part)), "key", Vec::new())
    }

    fn parse_keys<'a>(
        parts: impl Iterator<Item = (usize, &'a str)>,
        called: &str,
        mut problems: Vec<String>,
    ) -> Result<Self, KeyRingError> {
        let mut keys: Vec<Key> = Vec::new();
        for (number, part) in parts.filter(|(_, part)| !part.is_empty() && !part.starts_with('#')) {
            match parse_key(part) {
                Err(problem) => problems.push(format!("{called} {number}: {problem}")),
                Ok(key) if keys.iter().any(|one| one.id == key.id) => {
                    problems.push(format!("{called} {number}: key {} is there twice", key.id));
                }
                Ok(key) => match keys.iter().find(|one| one.bytes == key.bytes) {
                    // To rotate to the same key would protect nothing.
                    Some(same) => {
                        problems.push(format!("{called} {number}: is the same as key {}", same.id));
                    }
                    None => keys.push(key),
                },
            }
        }
        if keys.is_empty() && problems.is_empty() {
            problems.push("there is no key in it".to_owned());
        }
        if keys.len() > KEYS_MAX {
            problems.push(format!("there are more than {KEYS_MAX} keys in it"));
        }
        if !problems.is_empty() {
            return Err(KeyRingError { problems });
        }
        keys.sort_by_key(|key| key.id);
        Ok(Self { keys })
    }

    /// The text of the ring. Keep it readable by its owner only: it opens all secrets.
    pub fn render(&self) -> Secret {
        let lines: usize = self.keys.iter().map(Key::line_length).sum();
        // Sized exactly, so that no copy is left behind.
        let mut text = String::with_capacity(HEADER.len() + COMMENT.len() + 2 + lines);
        text.push_str(HEADER);
        text.push('\n');
        text.push_str(COMMENT);
        text.push('\n');
        self.keys.iter().for_each(|key| key.write_line(&mut text));
        Secret::new(text)
    }

    /// The text of the newest key alone, as it stands in a line.
    pub fn newest_line(&self) -> Secret {
        let mut text = String::new();
        if let Some(key) = self.keys.last() {
            text.reserve_exact(key.line_length());
            key.write_line(&mut text);
        }
        Secret::new(text)
    }

    /// The id of the key that seals.
    pub fn newest(&self) -> u32 {
        self.keys.last().map(|key| key.id).expect("a ring has a key")
    }

    /// The ids of all keys, ascending.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().map(|key| key.id)
    }

    /// When a key was made, if its text says so.
    pub fn made_at(&self, id: u32) -> Option<Timestamp> {
        self.keys.iter().find(|key| key.id == id).and_then(|key| key.made_at)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = (u32, &[u8; KEY_LENGTH])> {
        self.keys.iter().map(|key| (key.id, &key.bytes))
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRing({} keys, newest {})", self.keys.len(), self.newest())
    }
}

impl Key {
    fn line_length(&self) -> usize {
        let made_at = self.made_at.map_or(0, |at| 1 + at.to_string().len());
        self.id.to_string().len() + 1 + 2 * KEY_LENGTH + made_at + 1
    }

    fn write_line(&self, text: &mut String) {
        text.push_str(&self.id.to_string());
        text.push(' ');
        for byte in self.bytes {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(digit.into(), 16).expect("half a byte is a digit"));
            }
        }
        if let Some(at) = self.made_at {
            text.push(' ');
            text.push_str(&at.to_string());
        }
        text.push('\n');
    }
}

fn random_key(random: &dyn RandomSource) -> [u8; KEY_LENGTH] {
    let mut key = [0; KEY_LENGTH];
    key[..16].copy_from_slice(&random.random().to_be_bytes());
    key[16..].copy_from_slice(&random.random().to_be_bytes());
    key
}

fn parse_key(text: &str) -> Result<Key, &'static str> {
    let mut words = text.split_whitespace();
    let (id, digits) = words.next().zip(words.next()).ok_or("must be a number and a key")?;
    // The highest number is left free, so that a ring can always be rotated.
    let id =
        id.parse().ok().filter(|id| (1..u32::MAX).contains(id)).ok_or("must begin with a number from 1")?;
    let made_at = words.next().map(str::parse).transpose();
    let made_at = made_at.map_err(|_| "what follows the key must be a time such as 2026-11-17T09:30:00Z")?;
    if words.next().is_some() {
        return Err("must be a number, a key and perhaps a time");
    }
    let digits = digits.as_bytes();
    if digits.len() != 2 * KEY_LENGTH {
        return Err("the key must have 64 hex digits");
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut key = Key { id, bytes: [0; KEY_LENGTH], made_at };
    for (byte, pair) in key.bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let (high, low) = digit(pair[0]).zip(digit(pair[1])).ok_or("the key must have 64 hex digits")?;
        *byte = high << 4 | low;
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Counting;

    #[test]
    fn what_is_rendered_parses_again() {
        let random = Counting::default();
        let ring = KeyRing::generate(&random).rotated(&random);
        assert_eq!(KeyRing::parse(ring.render().expose()), Ok(ring.clone()));
        assert_eq!(KeyRing::parse_inline(ring.render().expose().trim_start_matches(HEADER)), Ok(ring));
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
    fn keys_without_lines_are_read_with_commas_and_every_problem_is_named() {
        let (one, other) = ("0f".repeat(32), "e1".repeat(32));
        let ring = KeyRing::parse_inline(&format!("2 {other} 2026-11-17T09:30:00Z, 1 {one}")).unwrap();
        assert_eq!(ring.ids().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(ring.made_at(1), None);
        assert_eq!(ring.made_at(2), Some("2026-11-17T09:30:00Z".parse().unwrap()));
        assert_eq!(KeyRing::parse_inline(&format!("1 {one}")).unwrap().newest(), 1);
        let error =
            KeyRing::parse_inline(&format!("1 {one}, 1 {one}, 0 {one}, 3 {one} soon, 4")).unwrap_err();
        assert_eq!(
            error.problems,
            [
                "key 2: key 1 is there twice",
                "key 3: must begin with a number from 1",
                "key 4: what follows the key must be a time such as 2026-11-17T09:30:00Z",
                "key 5: must be a number and a key",
            ]
        );
        assert!(KeyRing::parse_inline(" , ").is_err());
        let error = KeyRing::parse_inline(&format!("1 {one}, 2 {one}")).unwrap_err();
        assert_eq!(error.problems, ["key 2: is the same as key 1"]);
    }

    #[test]
    fn a_new_key_is_the_newest_and_an_old_one_can_go() {
        let random = Counting::default();
        let made_at = "2026-11-17T09:30:00Z".parse().unwrap();
        let ring = KeyRing::generate(&random).with_new_key(made_at, &random).unwrap();
        assert_eq!((ring.newest(), ring.made_at(2)), (2, Some(made_at)));
        assert_eq!(ring.without(1).ids().collect::<Vec<_>>(), [2]);
        assert_eq!(ring.without(2), ring, "the newest stays");
        assert_eq!(ring.without(7), ring);
        let last = KeyRing::generate_at(u32::MAX - 1, made_at, &random);
        assert_eq!(last.with_new_key(made_at, &random), None);
    }

    #[test]
    fn debug_shows_no_key() {
        let ring = KeyRing::parse(&format!("punctual keys 1\n5 {}", "ab".repeat(32))).unwrap();
        assert_eq!(format!("{ring:?}"), "KeyRing(1 keys, newest 5)");
    }
}
