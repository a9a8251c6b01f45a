//! Searches bytes for secrets, in each of the forms in which something may have written them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// A secret in one form.
struct Pattern {
    name: String,
    bytes: Vec<u8>,
}

/// What is searched for.
pub(super) struct Search {
    patterns: Vec<Pattern>,
    /// Whether a pattern begins with these two bytes.
    begins: Vec<bool>,
}

impl Search {
    pub(super) fn new() -> Self {
        Self { patterns: Vec::new(), begins: vec![false; 1 << 16] }
    }

    /// Looks for a secret, in all forms.
    pub(super) fn add(&mut self, name: &str, secret: &[u8]) {
        assert!(secret.len() >= 8, "{name} is too short to be told from anything else");
        for (form, bytes) in forms(secret) {
            self.begins[usize::from(bytes[0]) << 8 | usize::from(bytes[1])] = true;
            self.patterns.push(Pattern { name: format!("{name} {form}"), bytes });
        }
    }

    /// Which secrets are in a text, and in which form.
    pub(super) fn find(&self, text: &[u8]) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        for (at, pair) in text.windows(2).enumerate() {
            if self.begins[usize::from(pair[0]) << 8 | usize::from(pair[1])] {
                let here = self.patterns.iter().filter(|pattern| text[at..].starts_with(&pattern.bytes));
                found.extend(here.map(|pattern| pattern.name.as_str()));
            }
        }
        found
    }

    /// The same in all files below a folder but one, each finding with the name of its file.
    pub(super) fn find_below(&self, folder: &Path, but: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(self.find_below(&path, but));
            } else if path != but {
                let here = self.find(&fs::read(&path).unwrap());
                found.extend(here.into_iter().map(|secret| format!("{}: {secret}", path.display())));
            }
        }
        found
    }
}

/// The forms of a secret: as it is, in hexadecimal, percent-encoded, as escapes of JSON, in UTF-16, and in base64, at any
/// place of what was encoded.
fn forms(secret: &[u8]) -> Vec<(String, Vec<u8>)> {
    let each = |form: &dyn Fn(&u8) -> String| secret.iter().map(form).collect::<String>().into_bytes();
    let mut forms = vec![
        ("as it is".to_owned(), secret.to_vec()),
        ("in hexadecimal".to_owned(), each(&|byte| format!("{byte:02x}"))),
        ("in HEXADECIMAL".to_owned(), each(&|byte| format!("{byte:02X}"))),
        ("percent-encoded".to_owned(), each(&|byte| format!("%{byte:02x}"))),
        ("PERCENT-encoded".to_owned(), each(&|byte| format!("%{byte:02X}"))),
        ("escaped".to_owned(), each(&|byte| format!("\\u{byte:04x}"))),
        ("ESCAPED".to_owned(), each(&|byte| format!("\\u{byte:04X}"))),
        ("as a list of numbers".to_owned(), each(&|byte| format!("{byte}, "))),
        ("in UTF-16".to_owned(), secret.iter().flat_map(|byte| [*byte, 0]).collect()),
        ("reversed".to_owned(), secret.iter().rev().copied().collect()),
    ];
    for before in 0..3 {
        let padded = [&vec![0; before], secret].concat();
        // The letters that no byte around the secret has a part in.
        let (from, to) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        for (alphabet, encoded) in
            [("base64", STANDARD_NO_PAD.encode(&padded)), ("base64url", URL_SAFE_NO_PAD.encode(&padded))]
        {
            forms.push((format!("in {alphabet} at {before}"), encoded.as_bytes()[from..to].to_vec()));
        }
    }
    forms
}

#[test]
fn a_secret_is_found_in_every_form() {
    let mut search = Search::new();
    search.add("it", b"hunter22-hunter22");
    let find = |text: &str| search.find(text.as_bytes()).into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(find("a hunter22-hunter22."), ["it as it is"]);
    assert_eq!(find("a hunter22-hunter2."), Vec::<String>::new());
    assert_eq!(
        find(
            r#"{"a": "\u0068\u0075\u006e\u0074\u0065\u0072\u0032\u0032\u002d\u0068\u0075\u006e\u0074\u0065\u0072\u0032\u0032"}"#
        ),
        ["it escaped"]
    );
    for (before, at) in [("user:", 2), ("a:", 2), ("", 0), ("abcd", 1)] {
        let text = STANDARD_NO_PAD.encode(format!("{before}hunter22-hunter22 and more"));
        let name = format!("it in base64 at {at}");
        assert!(find(&text).contains(&name), "{before}: {:?}", find(&text));
    }
    assert_eq!(find("68756e74657232322d68756e7465723232"), ["it in hexadecimal"]);
}
