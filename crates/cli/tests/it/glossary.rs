//! The glossary is honest: each type and file that it names exists, and words that it replaced stay away.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Words that were metaphors of ours where the field has a word, or that meant several things, and what to
/// say instead. No type, function, module or constant has one of them in its name.
const RETIRED: [(&str, &str); 14] = [
    ("barren", "never reason"),
    ("book", "claims, findings"),
    ("crowd", "slots, full targets"),
    ("crowded", "full targets, jobs over the cap"),
    ("desk", "writer state"),
    ("joint", "link session"),
    ("leash", "abortable stream"),
    ("mishap", "error"),
    ("parcel", "message, claim delivery"),
    ("party", "broker login"),
    ("shelf", "cache, collection"),
    ("tether", "abortable stream"),
    ("trunk", "shared connection"),
    ("volley", "job batch"),
];

/// The keywords that come before the name of an item.
const ITEMS: [&str; 8] = ["struct", "enum", "trait", "type", "fn", "mod", "const", "static"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All Rust files of the workspace.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The names of all items in the source, each with a file that defines it.
fn items() -> BTreeMap<String, PathBuf> {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut items = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
            let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            while let Some(word) = words.next() {
                if ITEMS.contains(&word)
                    && let Some(name) = words.next().filter(|name| !name.is_empty())
                {
                    items.entry(name.to_owned()).or_insert_with(|| file.clone());
                }
            }
        }
    }
    items
}

/// The words of a name: `claims_of_node`, `ClaimsOfNode` and `CLAIMS_OF_NODE` have the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if letter != '_' {
            words.last_mut().expect("there is one").extend(letter.to_lowercase());
        }
        before = letter;
    }
    words
}

fn glossary() -> String {
    std::fs::read_to_string(root().join("docs/reference/glossary.md")).unwrap()
}

/// The cells of each row of the glossary's tables.
fn rows(text: &str) -> Vec<[&str; 3]> {
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| word |"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            cells.try_into().unwrap_or_else(|_| panic!("word, meaning, in the code: {line}"))
        })
        .collect()
}

/// What is in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn what_the_glossary_names_exists() {
    let (text, items) = (glossary(), items());
    let rows = rows(&text);
    assert!(rows.len() > 50, "{} rows", rows.len());
    let mut missing = Vec::new();
    for [word, meaning, code] in rows {
        // A word in the text may be a member of JSON; a type is told by its capital.
        let types =
            quoted(meaning).filter(|name| name.starts_with(char::is_uppercase) && !name.contains(' '));
        for name in types.chain(quoted(code)) {
            let exists = if name.contains('/') || name.contains('.') {
                root().join(name).exists()
            } else {
                name.split("::").all(|part| items.contains_key(part))
            };
            if !exists {
                missing.push(format!("{word}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "docs/reference/glossary.md names what is not there: {missing:#?}");
}

#[test]
fn the_glossary_has_each_word_once_per_subject() {
    let text = glossary();
    for subject in text.split("\n## ").skip(1) {
        let title = subject.lines().next().unwrap_or_default();
        let mut seen = BTreeSet::new();
        for [word, ..] in rows(subject) {
            assert!(seen.insert(word), "{title}: {word} is there twice");
        }
    }
}

#[test]
fn retired_words_stay_away() {
    let retired: BTreeMap<&str, &str> = RETIRED.into();
    let mut back = Vec::new();
    for (name, file) in items() {
        for word in words(&name) {
            if let Some(instead) = retired.get(word.as_str()) {
                back.push(format!(
                    "{name} in {}: say {instead}",
                    file.strip_prefix(root()).unwrap().display()
                ));
            }
        }
    }
    assert!(back.is_empty(), "docs/reference/glossary.md has other words: {back:#?}");
}

#[test]
fn names_are_split_into_words() {
    for name in ["claims_of_node", "ClaimsOfNode", "CLAIMS_OF_NODE"] {
        assert_eq!(words(name), ["claims", "of", "node"], "{name}");
    }
}
